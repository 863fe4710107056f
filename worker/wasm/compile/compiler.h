/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_WASM_COMPILE_COMPILER_H
#define GASPIPE_WORKER_WASM_COMPILE_COMPILER_H

#include "worker/wasm/compile/code.h"
#include "worker/wasm/module/module.h"

/* Opcodes of the binary format, by the specification's names. */
enum wasm_opcode {
    WASM_UNREACHABLE = 0x00,
    WASM_NOP = 0x01,
    WASM_BLOCK = 0x02,
    WASM_LOOP = 0x03,
    WASM_IF = 0x04,
    WASM_ELSE = 0x05,
    WASM_END = 0x0b,
    WASM_BR = 0x0c,
    WASM_BR_IF = 0x0d,
    WASM_BR_TABLE = 0x0e,
    WASM_RETURN = 0x0f,
    WASM_CALL = 0x10,
    WASM_CALL_INDIRECT = 0x11,
    WASM_DROP = 0x1a,
    WASM_SELECT = 0x1b,
    WASM_SELECT_TYPED = 0x1c,
    WASM_LOCAL_GET = 0x20,
    WASM_LOCAL_SET = 0x21,
    WASM_LOCAL_TEE = 0x22,
    WASM_GLOBAL_GET = 0x23,
    WASM_GLOBAL_SET = 0x24,
    WASM_TABLE_GET = 0x25,
    WASM_TABLE_SET = 0x26,
    WASM_FIRST_LOAD = 0x28,
    WASM_FIRST_STORE = 0x36,
    WASM_LAST_STORE = 0x3e,
    WASM_MEMORY_SIZE = 0x3f,
    WASM_MEMORY_GROW = 0x40,
    WASM_I32_CONST = 0x41,
    WASM_I64_CONST = 0x42,
    WASM_F32_CONST = 0x43,
    WASM_F64_CONST = 0x44,
    WASM_FIRST_NUMERIC = 0x45,
    WASM_LAST_NUMERIC = 0xc4,
    WASM_REF_NULL = 0xd0,
    WASM_REF_IS_NULL = 0xd1,
    WASM_REF_FUNC = 0xd2,
    WASM_PREFIX = 0xfc,
};

/* After WASM_PREFIX. */
enum wasm_prefixed {
    WASM_LAST_SATURATING = 7,
    WASM_MEMORY_INIT = 8,
    WASM_DATA_DROP = 9,
    WASM_MEMORY_COPY = 10,
    WASM_MEMORY_FILL = 11,
    WASM_TABLE_INIT = 12,
    WASM_ELEM_DROP = 13,
    WASM_TABLE_COPY = 14,
    WASM_TABLE_GROW = 15,
    WASM_TABLE_SIZE = 16,
    WASM_TABLE_FILL = 17,
};

/* The block type without values. */
enum { WASM_EMPTY_BLOCK = 0x40 };

/*
 * State of compiling one function. The compiler validates as the specification's appendix
 * does, and translates in the same pass. Each entry of the operand stack has a type and a
 * place: its own slot, a local, or a constant. The last two need no instruction until an
 * instruction needs the slot. Where paths of control meet, all operands are settled, that
 * is, copied to their own slots.
 */

enum wasm_place { WASM_PLACE_SLOT, WASM_PLACE_LOCAL, WASM_PLACE_CONSTANT };

struct wasm_operand {
    uint8_t type;
    uint8_t place;  /* enum wasm_place */
    uint32_t local; /* of WASM_PLACE_LOCAL */
    uint64_t bits;  /* of WASM_PLACE_CONSTANT */
};

enum wasm_control_kind {
    WASM_CONTROL_BLOCK,
    WASM_CONTROL_LOOP,
    WASM_CONTROL_IF,
    WASM_CONTROL_ELSE
};

#define WASM_NO_CELL UINT32_MAX

struct wasm_control {
    enum wasm_control_kind kind;
    struct wasm_bytes parameters; /* types */
    struct wasm_bytes results;
    uint32_t height;     /* of the operand stack below its parameters */
    bool is_unreachable; /* after an unconditional branch */
    bool is_dead;        /* begins in unreachable code */
    uint32_t start;      /* of a loop: its first cell */
    uint32_t jumps;      /* list of cells that jump to its end, each with the next one's number;
                            WASM_NO_CELL ends it */
    uint32_t else_jump;  /* of an if: the cell that jumps to its else */
    uint32_t stub;       /* list of br_table cells that move operands and jump there */
};

struct wasm_compiler {
    struct wasm_module *module;
    const struct wasm_function_type *type;
    const void *const *handlers; /* by enum wasm_operation */
    struct wasm_reader reader;
    enum wasm_fault fault; /* WASM_FAULT_NONE: the fault is the reader's */

    uint8_t *locals; /* types */
    uint32_t *lazy;  /* for each local, the number of operands in it */
    uint32_t local_count;
    uint32_t local_capacity;

    struct wasm_operand *operands;
    uint32_t operand_count;
    uint32_t operand_capacity;
    uint32_t operand_most;
    uint64_t operand_bytes;
    uint64_t operand_bytes_most;

    struct wasm_control *controls;
    uint32_t control_count;
    uint32_t control_capacity;

    struct wasm_cell *cells;
    uint32_t cell_count;
    uint32_t cell_capacity;
    bool is_too_large; /* the frame has more slots than a cell can name: no code is emitted */
    enum wasm_operation last_operation; /* of the cell that made the top operand */
    uint32_t last_cell;                 /* that cell, while it is the last one; else WASM_NO_CELL */

    uint32_t gas_cell; /* of the current block; WASM_NO_CELL: none has begun */
    uint32_t gas_spent;
    uint32_t first_trap; /* of the current block */
    struct wasm_trap_place *traps;
    uint32_t trap_count;
    uint32_t trap_capacity;

    uint32_t block_count;

    const uint8_t *instruction; /* its first byte; NULL before the first one */
    /* If an operand has a wrong type: the types of the first such operand. */
    bool has_types;
    uint8_t expected_type;
    uint8_t found_type; /* WASM_UNKNOWN: there was no operand */
};

/* ---- errors; each function returns false and stops the compilation ---- */
bool wasm_compile_fail(struct wasm_compiler *compiler, const char *words);
bool wasm_compile_stop(struct wasm_compiler *compiler, enum wasm_fault fault, const char *words);

/* Makes space for one more item in an array that doubles. False if out of memory. */
bool wasm_compile_reserve(struct wasm_compiler *compiler, void *items, uint32_t count,
                          uint32_t *capacity, size_t size);

/* ---- operands (emit.c) ---- */
void wasm_push(struct wasm_compiler *compiler, uint8_t type);
void wasm_push_local(struct wasm_compiler *compiler, uint32_t local);
void wasm_push_constant(struct wasm_compiler *compiler, uint8_t type, uint64_t bits);
void wasm_push_all(struct wasm_compiler *compiler, struct wasm_bytes types);

/* Pops an operand of the type; WASM_UNKNOWN: of any type. */
struct wasm_operand wasm_pop(struct wasm_compiler *compiler, uint8_t type);
void wasm_pop_all(struct wasm_compiler *compiler, struct wasm_bytes types);

/* Checks the types of the top operands without moving them. `refine`: gives operands of unknown
 * type these types. */
void wasm_check_all(struct wasm_compiler *compiler, struct wasm_bytes types, bool refine);

/* The innermost block. */
struct wasm_control *wasm_top_control(struct wasm_compiler *compiler);

/* Drops the operands above that height. */
void wasm_cut(struct wasm_compiler *compiler, uint32_t height);

/* Returns the own slot of an operand at that place of the stack. */
uint16_t wasm_own_slot(const struct wasm_compiler *compiler, uint32_t place);

/* Returns the slot of a popped operand; moves a constant to its own slot first. `place`: its
 * place on the stack. */
uint16_t wasm_slot_of(struct wasm_compiler *compiler, struct wasm_operand operand, uint32_t place);

/* Settles the operands from that place upwards. */
void wasm_settle(struct wasm_compiler *compiler, uint32_t from);

/* Settles the operands that lie in the local, which is about to change. */
void wasm_settle_local(struct wasm_compiler *compiler, uint32_t local);

/* ---- cells (emit.c) ---- */
bool wasm_is_emitting(const struct wasm_compiler *compiler);

/* Appends a cell, to be filled in. Never NULL: in unreachable code a dummy cell is returned. */
struct wasm_cell *wasm_emit(struct wasm_compiler *compiler, enum wasm_operation operation);
struct wasm_cell *wasm_emit_wide(struct wasm_compiler *compiler, uint64_t wide);
void wasm_emit_copy(struct wasm_compiler *compiler, uint16_t to, uint16_t from);
void wasm_emit_constant(struct wasm_compiler *compiler, uint16_t to, uint64_t bits);

/* Notes that the last cell made the top operand. */
void wasm_emitted_top(struct wasm_compiler *compiler, enum wasm_operation operation);

/* Returns true if it did, and no cell or operand was added or removed since. */
bool wasm_top_is_last(const struct wasm_compiler *compiler);

/* Removes the last cell, which made the operand that was on top. */
struct wasm_cell wasm_take_back(struct wasm_compiler *compiler);

/* Charges the operation to the current block. */
void wasm_charge(struct wasm_compiler *compiler, uint32_t operations);
void wasm_gas_begin(struct wasm_compiler *compiler);
void wasm_gas_end(struct wasm_compiler *compiler);

/* Notes that the next cell can trap, after everything charged so far has run. */
void wasm_mark_trap(struct wasm_compiler *compiler);

/* ---- control (control.c) ---- */
bool wasm_compile_control(struct wasm_compiler *compiler, uint8_t opcode);
bool wasm_compile_call(struct wasm_compiler *compiler, uint8_t opcode);
bool wasm_compile_memory(struct wasm_compiler *compiler, uint8_t opcode);
bool wasm_compile_table(struct wasm_compiler *compiler, uint8_t opcode);
bool wasm_compile_prefixed(struct wasm_compiler *compiler);
bool wasm_compile_numeric(struct wasm_compiler *compiler, uint8_t opcode);

/* The function's body is one block. */
void wasm_enter_function(struct wasm_compiler *compiler);

#endif
