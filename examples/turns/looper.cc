// SPDX-License-Identifier: Apache-2.0
#include "player.h"

// Never answers from its third turn on.
int play(const Board *board)
{
    for (int number = 1; board->turn >= 3; number++)
        if (number == 0)
            return 1;
    return 1;
}
