/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_PATCH_MODULE_CODE_H
#define GASPIPE_TRACE_PATCH_MODULE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The functions and library calls of an ELF file for x86-64. Addresses are the file's; in a
 * process, its base is added to them. */

struct code_function {
    uint64_t address, size;
    uint64_t space;   /* where the next function or the end of the section is */
    const char *name; /* borrowed from the module; "0x…" without symbols */
};

/* A slot that the dynamic linker fills with a function of another file. */
struct code_call {
    uint64_t slot;
    const char *name;
    bool read_only; /* once it is filled */
};

struct module_code {
    struct code_function *functions; /* by address; no two have the same */
    size_t function_count;
    struct code_call *calls;
    size_t call_count;
    uint64_t text_begin, text_end; /* around all segments that are executed */
    char build_id[41];             /* hexadecimal; "": it has none */
    struct module_code_file *file;
};

/* 0, or -1 with ERROR_INPUT: no ELF file for x86-64, or it names no functions. */
int module_code_open(struct module_code *code, const char *path, struct error *error);
void module_code_close(struct module_code *code);

/* The address of a variable of the program, or 0. */
uint64_t module_code_variable(const struct module_code *code, const char *name);

/* The bytes of text from this address on, and their number; NULL if it is not text. */
const uint8_t *module_code_bytes(const struct module_code *code, uint64_t address, size_t *length);

/* Returns true if the function calls nothing and repeats nothing, so that it takes about as long as
 * it has bytes. */
bool module_code_is_leaf(const struct module_code *code, const struct code_function *function);

/* The targets of a module's branches, which must not be overwritten. */
struct branches {
    uint64_t *targets; /* rising */
    size_t count, capacity;
};

/* 0, or -1 with ERROR_SYSTEM if out of memory. */
int branches_find(struct branches *branches, const struct module_code *code, struct error *error);
void branches_free(struct branches *branches);

/* The result of patching a function. */
enum trace_outcome {
    TRACE_PATCHED,
    TRACE_TOO_SHORT,
    TRACE_BRANCHED_INTO, /* a branch leads into its first five bytes */
    TRACE_UNMOVABLE,     /* an instruction there cannot be moved */
    TRACE_LEAF,          /* short, and calls nothing; not asked for */
    TRACE_NO_SPACE,      /* more functions than numbers or memory for them */
    TRACE_OUTCOMES,
};

/* In words: "too short". */
const char *trace_outcome_words(enum trace_outcome outcome);

enum { TRACE_JUMP_SIZE = 5, RELOCATED_MAX = 64 };

/*
 * Writes code to `out`, for the address `at`, that does the same as the function's instructions
 * that begin in its first five bytes, and then jumps to the next one. `base` is the module's in the
 * process. *length: at most RELOCATED_MAX bytes.
 */
enum trace_outcome relocate_entry(const struct module_code *code, const struct branches *branches,
                                  const struct code_function *function, uint64_t base, uint64_t at,
                                  uint8_t out[RELOCATED_MAX], size_t *length);

#endif
