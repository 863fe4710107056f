// SPDX-License-Identifier: Apache-2.0
// Calls each player once a turn, with a budget, and prints what its turn cost.
// usage: game PLAYER.so...
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <vector>

#include <gasmeter.h>

#include "player.h"

static const int turns = 5;
static const uint64_t budget = 100000;

struct Player {
    const char *name;
    int (*play)(const Board *);
    Board board;
    int step;
    bool out;
};

static void call(void *argument)
{
    Player *player = static_cast<Player *>(argument);
    player->step = player->play(&player->board);
}

static void take_turn(Player &player, int turn)
{
    uint64_t cost;
    player.board.turn = turn;
    if (gasmeter_turn(budget, call, &player, &cost) == GASMETER_SPENT) {
        std::printf("turn %d  %-12s stopped after %llu\n", turn, player.name, (unsigned long long)cost);
        player.out = true;
        return;
    }
    if (player.step >= -3 && player.step <= 3)
        player.board.position += player.step;
    std::printf("turn %d  %-12s at %d, cost %llu\n", turn, player.name, player.board.position,
                (unsigned long long)cost);
}

int main(int argc, char **argv)
{
    std::vector<Player> players;
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW);
        void *play = library ? dlsym(library, "play") : nullptr;
        if (!play) {
            std::fprintf(stderr, "game: %s\n", dlerror());
            return 3;
        }
        const char *slash = std::strrchr(argv[i], '/');
        players.push_back({slash ? slash + 1 : argv[i],
                           reinterpret_cast<int (*)(const Board *)>(play), {0, 50, 61}, 0, false});
    }
    for (int turn = 1; turn <= turns; turn++)
        for (Player &player : players)
            if (!player.out)
                take_turn(player, turn);
}
