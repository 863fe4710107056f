/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_WASM_MODULE_MODULE_H
#define GASPIPE_WORKER_WASM_MODULE_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Reads WebAssembly's binary format from untrusted bytes. A reader remembers the first error
 * in `fault`; every later read returns 0 and does not move. So a caller may read several
 * items before it checks, but must check before a loop whose count comes from the bytes.
 */
struct wasm_reader {
    const uint8_t *start; /* offsets in messages count from here */
    const uint8_t *at;
    const uint8_t *end;
    const char *fault; /* NULL: no error; text without a newline */
    size_t fault_offset;
};

/* A name or other bytes inside the module; not terminated. */
struct wasm_bytes {
    const uint8_t *data;
    uint32_t length;
};

struct wasm_reader wasm_reader_over(const uint8_t *bytes, size_t length);

/* Sets the fault unless there is one. Always false. */
bool wasm_reader_fail(struct wasm_reader *reader, const char *fault);

size_t wasm_reader_left(const struct wasm_reader *reader);

uint8_t wasm_read_byte(struct wasm_reader *reader);
uint32_t wasm_read_u32(struct wasm_reader *reader); /* LEB128 */
int32_t wasm_read_s32(struct wasm_reader *reader);  /* LEB128 */
int64_t wasm_read_s33(struct wasm_reader *reader);  /* LEB128, of a block's type */
int64_t wasm_read_s64(struct wasm_reader *reader);  /* LEB128 */
uint64_t wasm_read_fixed(struct wasm_reader *reader, unsigned bytes); /* little-endian, of 4 or 8 */

/* A length and so many bytes. */
struct wasm_bytes wasm_read_bytes(struct wasm_reader *reader);

/* As wasm_read_bytes(), and they are UTF-8. */
struct wasm_bytes wasm_read_name(struct wasm_reader *reader);

/* Reads the count of a vector. Items take at least a byte each, which bounds memory. */
uint32_t wasm_read_count(struct wasm_reader *reader);

bool wasm_is_utf8(const uint8_t *bytes, size_t length);

/*
 * A decoded module: WebAssembly 1.0 with sign extension, saturating conversion, bulk memory,
 * multi-value, mutable globals and reference types, as in version 2.0 of the specification
 * without vectors. All but the functions' bodies is validated; the compiler
 * (worker/wasm/compile/) validates those.
 */

/* The types of values, by their byte in the binary format. */
enum wasm_type {
    WASM_UNKNOWN = 0, /* of an operand in unreachable code */
    WASM_I32 = 0x7f,
    WASM_I64 = 0x7e,
    WASM_F32 = 0x7d,
    WASM_F64 = 0x7c,
    WASM_FUNCREF = 0x70,
    WASM_EXTERNREF = 0x6f,
};

bool wasm_is_type(uint8_t byte);
bool wasm_is_reference(uint8_t type);

struct wasm_function_type {
    struct wasm_bytes parameters; /* each byte a type */
    struct wasm_bytes results;
    uint32_t same_as; /* the first type of the module that equals this one */
};

enum wasm_kind { WASM_FUNCTION, WASM_TABLE, WASM_MEMORY, WASM_GLOBAL };

#define WASM_NO_MAXIMUM UINT32_MAX

struct wasm_range {
    uint32_t minimum;
    uint32_t maximum; /* WASM_NO_MAXIMUM: none was given */
    bool has_maximum;
};

struct wasm_table_type {
    uint8_t type; /* WASM_FUNCREF or WASM_EXTERNREF */
    struct wasm_range range;
};

/* A constant expression: one instruction. */
struct wasm_constant {
    enum { WASM_CONSTANT_VALUE, WASM_CONSTANT_GLOBAL, WASM_CONSTANT_FUNCTION } kind;
    uint64_t value; /* the value's bits (0: a null reference), or the index */
};

struct wasm_global {
    uint8_t type;
    bool is_mutable;
    struct wasm_constant initial; /* nothing for an imported one */
};

struct wasm_import {
    struct wasm_bytes module;
    struct wasm_bytes name;
    enum wasm_kind kind;
    uint32_t index; /* in the index space of its kind */
};

struct wasm_export {
    struct wasm_bytes name;
    enum wasm_kind kind;
    uint32_t index;
};

struct wasm_function {
    uint32_t type;
    bool is_declared; /* named outside of bodies, so ref.func may name it */
    struct wasm_bytes body;
};

enum wasm_segment_mode { WASM_SEGMENT_ACTIVE, WASM_SEGMENT_PASSIVE, WASM_SEGMENT_DECLARATIVE };

struct wasm_element_segment {
    enum wasm_segment_mode mode;
    uint8_t type;
    uint32_t table;
    struct wasm_constant offset;
    struct wasm_constant *items; /* owned */
    uint32_t count;
};

struct wasm_data_segment {
    enum wasm_segment_mode mode;
    struct wasm_constant offset;
    struct wasm_bytes bytes;
};

/* Limits on a module; it is refused with WASM_FAULT_LIMIT beyond one. UINT32_MAX or SIZE_MAX: no
 * limit. worker/near/call/parameters.txt has NEAR's. */
struct wasm_limits {
    uint32_t functions; /* with the imported ones */
    uint32_t locals;    /* of all functions together, without parameters */
    uint32_t tables;
    uint32_t table_elements; /* each table's minimum */
    uint32_t types;
    uint32_t globals;
    uint32_t function_parameters; /* of a function with a body */
    uint32_t module_parameters;   /* of all of these together */
    uint32_t operand_bytes;       /* of a function's operand stack at its highest */
    uint32_t function_body_bytes; /* of a function */
    uint32_t function_blocks;     /* block, loop and if of a function */
    uint32_t module_blocks;
    /* Costs of operations on many bytes or elements, in operations. */
    uint32_t linear_base;
    uint32_t linear_unit;
    bool only_env_functions;    /* NEAR: only functions may be imported, and only from "env" */
    bool no_bulk_or_references; /* earlier NEAR: both features are refused */
    bool no_saturating;         /* likewise, conversions that saturate */
    bool no_multi_value;        /* NEAR: at most one result, and no parameters of blocks */
};

/* No limits. Linear operations cost 1 each. */
extern const struct wasm_limits wasm_no_limits;

/* Why a module was refused. */
enum wasm_fault {
    WASM_FAULT_NONE,
    WASM_FAULT_MALFORMED, /* not WebAssembly, or invalid */
    WASM_FAULT_FUNCTIONS, /* above a limit */
    WASM_FAULT_LOCALS,
    WASM_FAULT_TABLES,
    WASM_FAULT_TABLE_ELEMENTS,
    WASM_FAULT_BODY,
    WASM_FAULT_BLOCKS,
    WASM_FAULT_TYPES,
    WASM_FAULT_GLOBALS,
    WASM_FAULT_PARAMETERS,
    WASM_FAULT_OPERANDS,
    WASM_FAULT_IMPORT,        /* only_env_functions */
    WASM_FAULT_IMPORT_MEMORY, /* a memory, likewise */
    WASM_FAULT_NO_MEMORY,     /* the host's, not the module's */
};

struct wasm_module {
    uint8_t *bytes; /* owned; all wasm_bytes point into it */
    size_t length;
    const struct wasm_limits *limits; /* borrowed */

    struct wasm_function_type *types;
    uint32_t type_count;
    struct wasm_import *imports;
    uint32_t import_count;
    struct wasm_function *functions; /* imported ones first, and so for all kinds */
    uint32_t function_count;
    uint32_t imported_functions;
    struct wasm_table_type *tables;
    uint32_t table_count;
    uint32_t imported_tables;
    struct wasm_range *memories; /* pages */
    uint32_t memory_count;
    uint32_t imported_memories;
    struct wasm_global *globals;
    uint32_t global_count;
    uint32_t imported_globals;
    struct wasm_export *exports;
    uint32_t export_count;
    struct wasm_element_segment *elements;
    uint32_t element_count;
    struct wasm_data_segment *data;
    uint32_t data_count;
    bool has_data_count; /* the section that announces it was there */
    bool has_start;
    uint32_t start;
    uint64_t local_count; /* of all functions compiled so far */
    uint64_t block_count; /* likewise */
    uint64_t parameter_count;
};

/* Decodes a copy of the bytes. NULL with *error (ERROR_INPUT, or ERROR_SYSTEM if out of memory)
 * and *fault. Time and memory are bounded by a multiple of `length`. */
struct wasm_module *wasm_module_decode(const uint8_t *bytes, size_t length,
                                       const struct wasm_limits *limits, enum wasm_fault *fault,
                                       struct error *error);
void wasm_module_free(struct wasm_module *module);

const struct wasm_function_type *wasm_type_of_function(const struct wasm_module *module,
                                                       uint32_t function);
bool wasm_same_type(const struct wasm_function_type *left, const struct wasm_function_type *right);

/* The export of that name, or NULL. */
const struct wasm_export *wasm_module_export(const struct wasm_module *module, const char *name,
                                             size_t length);

bool wasm_bytes_are(struct wasm_bytes bytes, const char *text);

#endif
