/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_REPLAY_CHILDREN_H
#define GASPIPE_SUPERVISOR_REPLAY_REPLAY_CHILDREN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "supervisor/replay/output/replay_result.h"

/*
 * A replay in several processes, each of which is gaspipe replay with our command line, options
 * of its own in front, and JSON lines as its output.
 */

enum { REPLAY_JOB_OPTIONS = 4 };

/* What one of the processes has to do. */
struct replay_job {
    const char *options[REPLAY_JOB_OPTIONS]; /* borrowed; NULL behind the last, --part=I/N */
    int64_t weight;                          /* the heaviest are started first */
};

struct replay_children {
    const struct replay_job *jobs; /* borrowed; so is all of it */
    size_t job_count;
    size_t at_once; /* as many run at the same time, at least 1 */
    int argc;       /* of the command line; argv[0] is "replay" */
    char **argv;
    bool json; /* what the jobs tell besides results is printed as JSON lines */
};

/* What all jobs found. */
struct replay_parts {
    struct replay_result **results; /* owned; the first of each job, then the second ... */
    size_t count, capacity;
};

/*
 * -1 with the error of the job that failed first in the source, or of the system;
 * replay_parts_free() in either case.
 */
int replay_children_run(struct replay_parts *parts, const struct replay_children *children,
                        struct error *error);

void replay_parts_free(struct replay_parts *parts);

/*
 * In the process of a part: goes to the folder that the command was given in, and ends with the
 * parent. -1 with ERROR_SYSTEM.
 */
int replay_children_join(struct error *error);

/* Prints the error of a part, for its parent; `line` of the source is how far it had come. */
void replay_children_print_error(const struct error *problem, uint64_t line);

#endif
