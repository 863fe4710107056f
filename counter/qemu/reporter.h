/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_REPORTER_H
#define GASPIPE_COUNTER_QEMU_REPORTER_H

#include <stdbool.h>
#include <stdint.h>

#include "counter/gasmark.h"
#include "counter/qemu/tally.h"
#include "counter/report.h"

/* The arithmetic of a region between two marks. Callers pass the current tally, so this module
 * needs to know nothing about threads. */

enum region_state {
    REGION_CLOSED,
    REGION_RUNNING,
    REGION_PAUSED,
};

/* All zeros: a region that was never open. */
struct region {
    enum region_state state;
    struct tally entered;            /* the tally when it last started or resumed */
    struct tally kept;               /* the sum of its earlier intervals */
    uint64_t limit;                  /* instructions; 0: none */
    uint64_t calls[REPORT_SYSCALLS]; /* system calls that began in it, indexed by report_call() */
};

/* Opens the region at zero, whatever its state. */
void region_start(struct region *region, struct tally now, uint64_t limit);

/* Does nothing to a region that is not open. */
void region_stop(struct region *region, struct tally now);

/* Does nothing to a region that is not running. */
void region_pause(struct region *region, struct tally now);

/* Does nothing to a region that is not paused. */
void region_resume(struct region *region, struct tally now);

/* Counts a system call. Does nothing to a region that is not running. */
void region_note_call(struct region *region, int64_t number);

/* Returns the region's totals so far; final once it is stopped. */
struct tally region_tally(const struct region *region, struct tally now);

bool region_over_limit(const struct region *region, struct tally now);

/* Writes this process's record in the report (report.h). If no report was requested, these
 * functions do nothing. */

/* Maps the file and takes a record. Returns false on failure; reports it on stderr. */
bool reporter_open(const char *path);

/* Returns the words that translated code adds to: the record's, or private ones. */
uint64_t *reporter_words(void);
uint64_t *reporter_kind_words(void);

/* Adds what this thread did since its last flush, without the words. */
void reporter_add(struct tally done);

void reporter_syscall(int64_t number);

/* A region was stopped; calls: its REPORT_SYSCALLS counts of system calls, indexed by
 * report_call(). */
void reporter_region(unsigned thread, struct tally tally, const uint64_t *calls);

void reporter_precision(enum gasmark_precision precision);
void reporter_over_limit(void);

/* The guest mapped executable code from this descriptor's file. */
void reporter_object(int fd);

/* Adds the files that QEMU itself loaded: the program and its dynamic linker. */
void reporter_loaded_objects(void);

#endif
