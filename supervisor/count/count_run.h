/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_COUNT_COUNT_RUN_H
#define GASPIPE_SUPERVISOR_COUNT_COUNT_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "counter/report.h"
#include "supervisor/process/guest.h"

/* One run of a program under QEMU, counted. */

struct count_program {
    const char *const *arguments;   /* of the user, argv[0] first; ends with NULL */
    const char *const *environment; /* all of it; ends with NULL */
    const char *directory;          /* to run in; NULL: the present one */
    const char *plugin_options;     /* of the counter, in addition to this module's */
    int profile_fd;                 /* of a file that the counter appends a profile to, or -1 */
};

/* Counts of a process and of all that it started. */
struct count_total {
    uint64_t instructions;
    uint64_t bytes_read;
    uint64_t bytes_written;
    uint64_t syscalls;
    uint64_t faults;
    uint64_t kinds[KIND_COUNT];      /* instructions of each; zeros unless asked for */
    uint64_t calls[REPORT_SYSCALLS]; /* of each system call, by report_call() */
    uint32_t processes;              /* each execve(2) counts as another process */
    bool exact;                      /* no fault within a block that was counted as a whole */
    bool complete;                   /* there was a record for each process */
    bool over_limit;                 /* a process was ended because of its instruction limit */
};

struct count_run {
    int status;            /* as waitpid(2) gives it */
    struct report *report; /* mapped; owned */
    struct count_total total;
};

/*
 * Runs the program with this process's stdin, stdout and stderr, and waits for its end, but not for
 * processes that it leaves running. 0, or -1 with ERROR_INPUT (no such program) or ERROR_SYSTEM.
 */
int count_run(struct count_run *run, const struct guest_tools *tools,
              const struct count_program *program, struct error *error);

/*
 * Waits for a program. Ctrl-C ends the program only, and its counts until then are reported. 0, or
 * -1 with ERROR_SYSTEM.
 */
int count_run_wait(pid_t child, int *status, struct error *error);

/* Record `index` of total.processes, at most REPORT_PROCESSES_MAX. */
const struct report_process *count_run_process(const struct count_run *run, size_t index);

/* How many regions were stopped and have a record. */
size_t count_run_regions(const struct count_run *run);

/* Returns true if both runs have the same counts. */
bool count_run_agrees(const struct count_run *run, const struct count_run *other);

/* A run that is all zeros may be freed. */
void count_run_free(struct count_run *run);

#endif
