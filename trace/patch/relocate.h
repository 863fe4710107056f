/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_PATCH_RELOCATE_H
#define GASPIPE_TRACE_PATCH_RELOCATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/patch/module_code.h"

/* Where the branches of a module lead to: what is branched to cannot be overwritten. */
struct branches {
    uint64_t *targets; /* rising */
    size_t count, capacity;
};

/* 0, or -1 with ERROR_SYSTEM without memory. */
int branches_find(struct branches *branches, const struct module_code *code, struct error *error);
void branches_free(struct branches *branches);

/* Whether one leads to [begin, end). */
bool branches_lead_into(const struct branches *branches, uint64_t begin, uint64_t end);

/* What became of a function that was to be traced. */
enum trace_fate {
    TRACE_PATCHED,
    TRACE_TOO_SHORT,
    TRACE_BRANCHED_INTO, /* a branch leads into its first five bytes */
    TRACE_UNMOVABLE,     /* an instruction there cannot be moved */
    TRACE_NO_ROOM,       /* there are more functions than numbers or memory for them */
    TRACE_FATES,
};

/* In words: "too short". */
const char *trace_fate_words(enum trace_fate fate);

enum { TRACE_JUMP_SIZE = 5, RELOCATED_MAX = 64 };

/*
 * Writes to `out` what does the same as the function's first five bytes (and what is begun by
 * them) and goes on behind them, for execution at the address `at`; `base` is the module's in the
 * process. *length: at most RELOCATED_MAX bytes.
 */
enum trace_fate relocate_entry(const struct module_code *code, const struct branches *branches,
                               const struct code_function *function, uint64_t base, uint64_t at,
                               uint8_t out[RELOCATED_MAX], size_t *length);

#endif
