/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_REPORTER_H
#define GASPIPE_COUNTER_QEMU_REPORTER_H

#include <stdbool.h>
#include <stdint.h>

#include "counter/gasmark.h"
#include "counter/qemu/tally.h"
#include "counter/report.h"

/*
 * The arithmetic of a region between two marks. It is given the tally of the
 * moment and does not ask for it, so that it knows nothing of threads.
 */

enum region_state {
    REGION_CLOSED,
    REGION_RUNNING,
    REGION_PAUSED,
};

/* All zeros: a region that was never open. */
struct region {
    enum region_state state;
    struct tally entered;            /* the tally when it last began to run */
    struct tally kept;               /* what it did before that */
    uint64_t limit;                  /* instructions; 0: none */
    uint64_t calls[REPORT_SYSCALLS]; /* system calls that began in it, by report_call() */
};

/* Opens at zero, whatever the region was before. */
void region_start(struct region *region, struct tally now, uint64_t limit);

/* Does nothing to a region that is not open. */
void region_stop(struct region *region, struct tally now);

/* Does nothing to a region that is not running. */
void region_pause(struct region *region, struct tally now);

/* Does nothing to a region that is not paused. */
void region_resume(struct region *region, struct tally now);

/* A system call of that number begins. Does nothing to a region that is not running. */
void region_note_call(struct region *region, int64_t number);

/* What happened in the region so far, or until it was closed. */
struct tally region_tally(const struct region *region, struct tally now);

bool region_over_limit(const struct region *region, struct tally now);

/*
 * Keeps the report (report.h) of this process. Where none was asked for, all of
 * these do nothing.
 */

/* Maps the file and takes a record. False, with words on stderr, when it cannot. */
bool reporter_open(const char *path);

/* The words that translated code adds to: the record's, or private ones. */
uint64_t *reporter_words(void);
uint64_t *reporter_kind_words(void);

/* Since this thread's last flush it has done so much, words left out. */
void reporter_add(struct tally done);

void reporter_syscall(int64_t number);

/* A region was stopped; calls are its system calls, REPORT_SYSCALLS of them, by report_call(). */
void reporter_region(unsigned thread, struct tally tally, const uint64_t *calls);

void reporter_precision(enum gasmark_precision precision);
void reporter_over_limit(void);

/* The file behind a descriptor of the guest was mapped to be executed. */
void reporter_object(int fd);

/* The files that QEMU itself has loaded: the program and its dynamic linker. */
void reporter_loaded_objects(void);

#endif
