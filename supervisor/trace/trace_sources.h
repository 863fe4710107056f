/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_TRACE_TRACE_SOURCES_H
#define GASPIPE_SUPERVISOR_TRACE_TRACE_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/option/option.h"
#include "trace/report/trace_report.h"

/* Where functions stand in source files, as far as their modules' debug information says so. */
struct trace_sources {
    struct trace_module_symbols *modules; /* owned */
    size_t count, capacity;
};

/* All zeros is the beginning. */
void trace_sources_close(struct trace_sources *sources);

/*
 * Fills in source, line and inlined functions of those that the tree has, if the file that is there
 * has the build-id of the one that was traced ("": not known). `inlined` is to be freed; others are
 * borrowed from the sources. -1 with ERROR_SYSTEM without memory.
 */
int trace_sources_fill(struct trace_sources *sources, const struct call_tree *tree,
                       struct traced_function *functions, size_t count, struct error *error);

/* Whether the function is defined in a source file that one of the patterns matches, as in glob(7):
 * its path, or what stands in that behind a slash. */
bool trace_sources_match(struct trace_sources *sources, const char *module, uint64_t address,
                         const struct option_list *patterns);

#endif
