// SPDX-License-Identifier: Apache-2.0
#include "player.h"

// Tries all ways of so many steps: thinks the longer the further it is.
static int best(int distance, int depth)
{
    int least = distance < 0 ? -distance : distance;
    if (depth == 0)
        return least;
    for (int step = -3; step <= 3; step++) {
        int result = best(distance - step, depth - 1);
        least = result < least ? result : least;
    }
    return least;
}

int play(const Board *board)
{
    int choice = 0, least = 1000;
    for (int step = -3; step <= 3; step++) {
        int result = best(board->target - board->position - step, 3);
        if (result < least) {
            least = result;
            choice = step;
        }
    }
    return choice;
}
