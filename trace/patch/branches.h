/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_PATCH_BRANCHES_H
#define GASPIPE_TRACE_PATCH_BRANCHES_H

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

#endif
