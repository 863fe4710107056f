/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_COUNT_COUNT_OPTIONS_H
#define GASPIPE_SUPERVISOR_COUNT_COUNT_OPTIONS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/option/option.h"

/* The command line of `gaspipe count`. Strings are borrowed from argv. */
struct count_options {
    uint64_t repeat;
    uint64_t limit;             /* instructions of a process; 0: none */
    int precision, rep, random; /* words of the options, by index; 0: the default */
    bool rep_given;             /* if not, the counter uses what QEMU can do */
    bool json;
    bool kinds;                    /* instructions by kind, too */
    struct option_list variables;  /* NAME=VALUE */
    const char *output;            /* a file for the result; NULL: stderr */
    const char *directory;         /* to run in; NULL: the present one */
    const char *profile;           /* a file for folded stacks, or NULL */
    const char *profile_json;      /* a file for the same as JSON lines, or NULL */
    const char *profile_callgrind; /* a file for the same as callgrind has it, or NULL */
    int counter;                   /* enum count_counter */
    uint64_t cost_limit;           /* units of block cost of a process; 0: none */
    struct option_list versus;     /* commands to compare with, as a shell would take them */
    uint64_t timed;                /* native runs of each, for their times */
    bool timed_given;
    const char *markdown, *csv;   /* files for the comparison, or NULL */
    const char *save, *against;   /* files of baselines, or NULL */
    double allow;                 /* percent above the baseline */
    const char *gas;              /* a file with a gas model, or NULL */
    struct buf plugin;            /* options for libgascount.so */
    const char **environment;     /* owned array: the pinned one, then --env; ends with NULL */
    const char *const *arguments; /* the program and its arguments; ends with NULL */
};

/* QEMU, or the meter that is compiled into the program. */
enum count_counter { COUNT_QEMU, COUNT_COMPILED };

extern const struct option_table count_options_table;

/* argv[0] is "count". To be freed whatever the result. */
enum option_result count_options_parse(struct count_options *options, int argc, char **argv,
                                       struct error *error);

void count_options_free(struct count_options *options);

#endif
