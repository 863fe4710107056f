/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_REPORTER_H
#define GASPIPE_COUNTER_QEMU_REPORTER_H

#include <stdbool.h>
#include <stdint.h>

#include "counter/gasmark.h"
#include "counter/qemu/tally.h"
#include "counter/report.h"

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
