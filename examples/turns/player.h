// SPDX-License-Identifier: Apache-2.0
#pragma once

// The interface between the game and its players. A player is a library that exports play().
struct Board {
    int turn;
    int position; // of the player, 0 to 99
    int target;   // where the treasure is
};

extern "C" int play(const Board *board); // the step: -3 to 3
