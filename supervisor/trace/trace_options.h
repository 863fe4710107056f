/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_TRACE_TRACE_OPTIONS_H
#define GASPIPE_SUPERVISOR_TRACE_TRACE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/option/option.h"
#include "trace/memory.h"
#include "trace/patch/patch_plan.h"
#include "trace/read/trace_file.h"

/* The options of `gaspipe trace`. Texts are borrowed from the command line. */
struct trace_options {
    bool json;
    struct trace_choice choice;
    struct option_list libraries;        /* patterns of files' names */
    struct trace_request_marks requests; /* begin NULL: none */
    struct option_list sources;          /* patterns of source files */
    bool all;                            /* short leaf functions, too */
    enum trace_policy policy;
    uint64_t top;                            /* functions in the table; 0: all */
    const char *folded, *callgrind, *report; /* files; NULL: none */
    const char *perfetto;                    /* a file; NULL: none */
    const char *profile, *slog;              /* files; NULL: none */
    const char *output;                      /* the trace itself; NULL: not kept */
    enum trace_clock_kind clock;
    uint64_t process;      /* a running one; 0: a program is started */
    uint64_t milliseconds; /* how long it is traced; 0: until it ends */
    uint64_t overhead;     /* percent; 0: no budget */
    bool text;             /* print the calls of `read` in order */
    const char *read;      /* an existing trace; NULL: none */
    char **arguments;      /* the program and its own; end with NULL */
};

extern const struct option_table trace_options_table;

/* To be freed in any case. */
enum option_result trace_options_parse(struct trace_options *options, int argc, char **argv,
                                       struct error *error);
void trace_options_free(struct trace_options *options);

#endif
