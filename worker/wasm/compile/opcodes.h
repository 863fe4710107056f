/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_WASM_COMPILE_OPCODES_H
#define GASPIPE_WORKER_WASM_COMPILE_OPCODES_H

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

/* Behind WASM_PREFIX. */
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

/* A block's type that is none. */
enum { WASM_EMPTY_BLOCK = 0x40 };

#endif
