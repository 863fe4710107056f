/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_COUNT_COMPILED_COUNT_COMPILED_H
#define GASPIPE_SUPERVISOR_COUNT_COMPILED_COUNT_COMPILED_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "gas/gas_model.h"
#include "supervisor/count/count_options.h"

/* One native run of a program that gaspipe-cc has compiled. */

struct cost_program {
    const char *const *arguments;   /* of the user, argv[0] first; ends with NULL */
    const char *const *environment; /* all of it; ends with NULL */
    const char *directory;          /* to run in; NULL: the present one */
    uint64_t limit;                 /* units for each process; 0: none */
    int profile_fd;                 /* of a file that processes append their profiles to, or -1 */
};

struct cost_run {
    int status;        /* as waitpid(2) gives it */
    json_t *processes; /* array: the lines of docs/compiled-meter.md, as processes ended; owned */
    uint64_t cost;     /* of all processes */
    bool over_limit;   /* a process was ended because of its limit */
};

/*
 * Runs the program to its end, with stdin, stdout and stderr as they are here. 0, or -1 with
 * ERROR_INPUT (no such program, or none with a meter) or ERROR_SYSTEM.
 */
int cost_run(struct cost_run *run, const struct cost_program *program, struct error *error);

/* The result of `gaspipe count --counter compiled`. */
struct cost_findings {
    const char *const *arguments; /* of the user, ends with NULL */
    const struct cost_run *runs;
    size_t run_count;            /* at least 1 */
    const struct gas_model *gas; /* NULL: no prices */
};

/*
 * `gaspipe count --counter compiled`: runs the program options->repeat times and writes the counts.
 * `gas` may be NULL. 0, or -1 with the error; ERROR_DELIVERY: a run failed, or the runs differ.
 */
int count_compiled(const struct count_options *options, const struct gas_model *gas,
                   struct error *error);

#endif
