/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_PATCH_MODULE_CODE_H
#define GASPIPE_TRACE_PATCH_MODULE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * The code of an ELF file for x86-64: where its functions begin, and its calls of libraries.
 * Addresses are the file's, to which its base in a process is added.
 */

struct code_function {
    uint64_t address, size;
    uint64_t room;    /* where the next function or the end of the section is */
    const char *name; /* borrowed from the module; "0x…" where there are no symbols */
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
    bool stripped;                 /* the functions are those of its unwind table */
    char build_id[41];             /* hexadecimal; "": it has none */
    struct module_code_file *file;
};

/* 0, or -1 with ERROR_INPUT: no ELF file for x86-64, or it names no functions. */
int module_code_open(struct module_code *code, const char *path, struct error *error);
void module_code_close(struct module_code *code);

/* The address of a variable of the program; 0: its symbols name none. */
uint64_t module_code_variable(const struct module_code *code, const char *name);

/* The bytes of text from this address on, and how many follow; NULL: it is no text. */
const uint8_t *module_code_bytes(const struct module_code *code, uint64_t address, size_t *length);

#endif
