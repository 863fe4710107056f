// SPDX-License-Identifier: Apache-2.0
#include "player.h"

// Goes straight to the treasure.
int play(const Board *board)
{
    int distance = board->target - board->position;
    return distance > 3 ? 3 : distance < -3 ? -3 : distance;
}
