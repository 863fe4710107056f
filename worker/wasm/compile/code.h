/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_WASM_COMPILE_CODE_H
#define GASPIPE_WORKER_WASM_COMPILE_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "worker/wasm/compile/operations.h"
#include "worker/wasm/module/module.h"

/*
 * Compiled code is threaded code for a register machine. A function's frame is an array of
 * 64-bit slots: parameters, locals, then the operand stack. An instruction names the slots
 * of its operands and of its result, so most of WebAssembly's pushes and pops need no
 * instruction here. 32-bit values have zeros in the upper half. A null reference is 0;
 * worker/wasm/run/machine.h has the others.
 */
struct wasm_cell {
    const void *execute; /* the interpreter's address for this operation */
    union {
        struct {
            uint16_t d, a, b, c; /* result, operands: slots */
        };
        struct {
            uint16_t dd, aa;
            int32_t k; /* a constant, or the distance of a jump in cells */
        };
        uint64_t wide;
    };
};

/*
 * Fields of the operations that are not "d = a op b":
 *
 *   binary with _K          d, a, k: the constant, sign-extended
 *   JUMP_compare            dd: left, aa: right, k
 *   JUMP_compare_K          dd: left, aa: the constant, 16 bits, sign-extended, k
 *   JUMP, JUMP_IF/UNLESS    aa: condition, k
 *   JUMP_TABLE              aa: index, k: entries; then a cell JUMP for the default and for each
 *   load                    d, aa: address, k: offset (unsigned)
 *   store                   dd: address, aa: value, k: offset (unsigned)
 *   RETURN_ONE              aa: what is returned
 *   CALL, CALL_IMPORT       aa: slot of the first argument and result, k: function
 *   CALL_INDIRECT           aa: likewise, dd: slot of the index, k: type;
 *                           then a cell with the table in `wide`
 *   COPY                    d, a
 *   COPY_RANGE              d, a, b: how many
 *   CONSTANT                dd, k: sign-extended
 *   CONSTANT_WIDE           dd; then a cell with the bits in `wide`
 *   SELECT                  d = c ? a : b
 *   GLOBAL_GET/SET          dd or aa, k: global
 *   GAS                     k: operations of the block that begins here
 *   MEMORY_SIZE             d
 *   MEMORY_GROW             d, a
 *   MEMORY_COPY/FILL        d, a, b: the three operands
 *   MEMORY_INIT             likewise; then a cell with the segment in `wide`
 *   DATA_DROP, ELEMENT_DROP k
 *   TABLE_GET/SET           dd, aa, k: table
 *   TABLE_SIZE              dd, k
 *   TABLE_GROW              d = grow(value a, by b); c: then a cell with the table
 *   TABLE_FILL/COPY/INIT    d, a, b: the three operands; then a cell with the table in
 *                           `d`.. of `wide`: low half the (first) table, high half the second
 *                           table or the segment
 *   REF_FUNC                dd, k: function
 */

/* A place where an instruction can trap. The block's gas was charged before; `spent` is the part
 * for instructions that did run. */
struct wasm_trap_place {
    uint32_t cell;
    uint32_t gas_cell; /* the block's GAS */
    uint32_t end_cell; /* the first cell after the block */
    uint32_t spent;    /* operations of the block up to and including this instruction */
};

struct wasm_code {
    struct wasm_cell *cells; /* owned; NULL: imported, or the frame is too large to run */
    uint32_t cell_count;
    struct wasm_trap_place *traps; /* owned, in order of cells */
    uint32_t trap_count;
    uint32_t parameters;       /* slots */
    uint32_t locals;           /* slots, with the parameters */
    uint64_t stack_bytes;      /* counted against the limit on the stack: 64, and 4 or 8 for each
                                  local and operand */
    uint32_t frame_operations; /* charged at entry: an eighth of that, without operands */
};

/*
 * Validates and compiles all functions of a decoded module. Returns an array with one code
 * for each function, imported ones first and empty; free it with wasm_code_free_all(). NULL
 * with *error and *fault, as wasm_module_decode(). `handlers` is wasm_handlers(). Time and
 * memory are bounded by a multiple of the module's size.
 */
struct wasm_code *wasm_compile(struct wasm_module *module, const void *const *handlers,
                               enum wasm_fault *fault, struct error *error);
void wasm_code_free_all(struct wasm_code *codes, uint32_t count);

#endif
