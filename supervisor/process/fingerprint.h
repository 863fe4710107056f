/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_FINGERPRINT_H
#define GASPIPE_SUPERVISOR_PROCESS_FINGERPRINT_H

#include <stddef.h>
#include <sys/uio.h>

#include "base/error.h"
#include "counter/report.h"
#include "supervisor/process/guest.h"
#include "supervisor/process/launcher.h"

/*
 * What a count depends on beside what is pinned: the files that were executed,
 * each by its SHA-256. Two counts may be compared when their fingerprints are
 * the same; then what differs is the program's own doing.
 */

#define FINGERPRINT_HEX_SIZE 65 /* 32 bytes in hexadecimal, and '\0' */

struct fingerprint_file {
    char *path;                      /* owned */
    char hash[FINGERPRINT_HEX_SIZE]; /* "": it is gone, and not in the hash of all */
};

struct fingerprint {
    char hash[FINGERPRINT_HEX_SIZE]; /* of all hashes below and the counter's options */
    struct fingerprint_file *files;  /* QEMU, the counter, then the guest's in order of path */
    size_t count;
};

/* 0, or -1 with ERROR_SYSTEM: a file cannot be read (any more). */
int fingerprint_take(struct fingerprint *fingerprint, const struct guest_tools *tools,
                     const char *options, const struct report *report, struct error *error);

/*
 * Of workers that a launcher starts under the counter, whose limits show in
 * their counts: of the files that every worker executes. 0, or -1 with
 * ERROR_SYSTEM.
 */
int fingerprint_take_launcher(struct fingerprint *fingerprint, const struct launch_config *config,
                              enum launcher_program program, struct error *error);

/* The SHA-256 of a file, in hexadecimal. 0, or -1 with ERROR_SYSTEM. */
int fingerprint_hash(const char *path, char hex[FINGERPRINT_HEX_SIZE], struct error *error);

/* The same of the bytes of several pieces, one behind the other. */
int fingerprint_hash_parts(const struct iovec *parts, int count, char hex[FINGERPRINT_HEX_SIZE],
                           struct error *error);

/* A fingerprint that is all zeros may be freed. */
void fingerprint_free(struct fingerprint *fingerprint);

#endif
