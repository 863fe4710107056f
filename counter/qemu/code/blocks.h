/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_CODE_BLOCKS_H
#define GASPIPE_COUNTER_QEMU_CODE_BLOCKS_H

#include <stdbool.h>

#include "counter/gasmark.h"
#include "counter/qemu/emulator/qemu_plugin_api.h"

/* How the blocks that are translated from now on are to be counted. */
struct blocks_manner {
    enum gasmark_precision precision;
    bool repeat_once; /* a string instruction counts once, not once for each iteration */
    bool kinds;       /* with the kinds of the instructions */
    bool shared;      /* others can see the memory: atomic operations are TALLY_ATOMIC */
};

/* Makes the instructions of a block count, while it is being translated. */
void blocks_count(struct qemu_plugin_tb *tb, struct blocks_manner manner);

#endif
