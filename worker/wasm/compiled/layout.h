/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_WASM_COMPILED_LAYOUT_H
#define GASPIPE_WORKER_WASM_COMPILED_LAYOUT_H

#include <stdint.h>

/*
 * The memory layout that compiled code (aot/) and the worker that runs it share.
 *
 * The context ends where the linear memory begins, so one pointer, the memory's base, leads to
 * both. Compiled code checks no address: after the memory lie 8 GiB that cannot be accessed.
 */
enum {
    COMPILED_CONTEXT_SIZE = 65536,
    COMPILED_VALUES_MAX = 56, /* arguments of a host function */
    COMPILED_GLOBALS_AT = 1024,
    COMPILED_GLOBALS_MAX = (COMPILED_CONTEXT_SIZE - COMPILED_GLOBALS_AT) / 8,
    /* Bytes of the operand-stack limit (struct wasm_code) that a small function without calls may
     * use untested: its caller has tested that they are left. */
    COMPILED_LEAF_STACK = 2048,
};

/* An operation that a function of the worker carries out: an opcode of the binary format, or
 * COMPILED_PREFIXED and an opcode after the prefix. */
enum { COMPILED_PREFIXED = 0x100 };

struct wasm_table;

struct compiled_context {
    int64_t left;                     /* operations that may still be charged; negative: none */
    int64_t stack_left;               /* as wasm_machine.stack_left */
    int64_t linear_base, linear_unit; /* operations that each operation on many items costs, and
                                         each item */
    uint64_t pages;                   /* of the memory */
    struct wasm_table *tables;
    void (*host)(uint8_t *base, uint32_t import);
    uint64_t (*operate)(uint8_t *base, uint32_t operation, uint64_t first, uint64_t second,
                        uint64_t third, uint64_t items); /* items: two indices, the low one first */
    uint64_t values[COMPILED_VALUES_MAX];                /* of a call of the host, and its result */
    void *runner;                                        /* the worker's */
};

_Static_assert(sizeof(struct compiled_context) <= COMPILED_GLOBALS_AT, "globals follow");

/*
 * The file is an ELF shared object with one segment, readable and executable, that depends on no
 * address. This header follows ELF's.
 */
enum { COMPILED_HEADER_AT = 128, COMPILED_VERSION = 1, COMPILED_HASH_SIZE = 32 };

#define COMPILED_MAGIC "gaspipe"

struct compiled_header {
    char magic[8];
    uint32_t version; /* of this layout */
    uint32_t function_count;
    uint8_t hash[COMPILED_HASH_SIZE];     /* SHA-256 of the module */
    uint8_t checksum[COMPILED_HASH_SIZE]; /* SHA-256 of the file with zeros here */
    uint64_t size;                        /* of the file */
    uint32_t entries_at; /* int32_t for each function: its entry, counted from here; 0: none */
    uint32_t code_at, code_size;
    uint32_t reserved;
    char compiler[64]; /* text */
};

/* An entry takes arguments from `values` and puts results there. */
typedef void compiled_entry(uint8_t *base, uint64_t *values);

#endif
