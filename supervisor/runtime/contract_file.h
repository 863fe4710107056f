/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUNTIME_CONTRACT_FILE_H
#define GASPIPE_SUPERVISOR_RUNTIME_CONTRACT_FILE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * A contract's file: the source for the plain runtime, a module of WebAssembly, a shared object of
 * native code, or a bundle as @endo/bundle-source writes it, JSON with a moduleFormat.
 */
struct contract_file {
    struct buf bundle; /* JSON, terminated and followed by SCAN_PADDING readable bytes */
    bool is_plain;     /* for the kernel it is a plain contract: no bundle of a file */
    bool is_wasm;      /* a module of WebAssembly */
    bool is_native;    /* an ELF file, which ought to be a shared object */
    char id[160];      /* "b1-HASH" as SwingSet names bundles of endoZipBase64; else "b0-HASH" */
};

/*
 * Reads the file into a contract that is all zeros. -1 with ERROR_INPUT when it
 * is missing, too long for a frame, or neither UTF-8 text nor a bundle. The bundle
 * is the caller's to give back, on failure too.
 */
int contract_file_read(struct contract_file *contract, const char *path, struct error *error);

/* The lines of the source in a bundle of the plain runtime; 0 for another bundle. */
long contract_file_lines(const struct buf *bundle);

/* Appends line `number` (from 1) of that source, without the blanks around it; nothing if there is
 * no such line. */
void contract_file_line(const struct buf *bundle, long number, struct buf *line);

/* The line of its source in which a plain contract was, by XS's stack of an error: the innermost "
 * at f (contract.js:LINE)"; 0 if none. */
long contract_file_place(const char *stack);

/* ---- what a line calls ---- */

/*
 * XS says that something is no function, and names the function that called it. What was called
 * stands in the line of the source.
 *
 * Appends what the line calls, such as "Date.now", or "Date.now or f" where it calls several
 * things. False, with nothing appended: the problem is another one, or the line calls nothing
 * that has a name. NULL is allowed for both texts.
 */
bool callee_find(const char *problem, const char *line, struct buf *callee);

#endif
