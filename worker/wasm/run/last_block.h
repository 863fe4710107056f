/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_WASM_RUN_LAST_BLOCK_H
#define GASPIPE_WORKER_WASM_RUN_LAST_BLOCK_H

#include "worker/wasm/run/machine.h"

/*
 * Gas is charged a block at a time, ahead. These put right what differs from charging each
 * instruction when it is run.
 */

/*
 * For a trap at that cell: gives back to machine->left what its block was charged for the
 * instructions behind. WASM_TRAP_GAS instead of `trap` when gas had run out before.
 */
enum wasm_trap wasm_settle_trap(struct wasm_machine *machine, const struct wasm_code *code,
                                const struct wasm_cell *pc, enum wasm_trap trap);

/*
 * For a block, at its GAS cell, that costs more than is left: where to go on. An instruction of
 * it that could still be paid may trap, and that is what the call then ends with. So a copy
 * of the block is run that ends in `out_of_gas`, that operation's place. NULL: gas has run out.
 */
const struct wasm_cell *wasm_last_block(struct wasm_machine *machine, const struct wasm_code *code,
                                        const struct wasm_cell *gas, const void *out_of_gas);

#endif
