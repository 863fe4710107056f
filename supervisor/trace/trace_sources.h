/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_TRACE_TRACE_SOURCES_H
#define GASPIPE_SUPERVISOR_TRACE_TRACE_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/option/option.h"
#include "trace/calls/call_tree.h"
#include "trace/report/trace_report.h"

/* The source files of functions, from their modules' debug information. All zeros: none yet. */
struct trace_sources {
    struct trace_module_symbols *modules; /* owned */
    size_t count, capacity;
};

/*
 * Fills in source, line and inlined functions of the tree's functions, if the module's file still
 * has the build-id that was traced ("": not known). `inlined` is to be freed; the others are
 * borrowed from the sources. -1 with ERROR_SYSTEM if out of memory.
 */
int trace_sources_fill(struct trace_sources *sources, const struct call_tree *tree,
                       struct traced_function *functions, size_t count, struct error *error);

/* Returns true if a pattern, as in glob(7), matches the function's source file: the path, or the
 * part after any of its slashes. */
bool trace_sources_match(struct trace_sources *sources, const char *module, uint64_t address,
                         const struct option_list *patterns);

void trace_sources_close(struct trace_sources *sources);

#endif
