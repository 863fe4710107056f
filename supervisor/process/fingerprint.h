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
 * The files that a count depends on, except what is pinned, each by its SHA-256. Counts with the
 * same fingerprint can be compared; a difference is then the program's own doing.
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

/* 0, or -1 with ERROR_SYSTEM: a file cannot be read. */
int fingerprint_take(struct fingerprint *fingerprint, const struct guest_tools *tools,
                     const char *options, const struct report *report, struct error *error);

/*
 * The fingerprint of a launcher's counted workers: the files that each executes, and its limits,
 * which show in its count. 0, or -1 with ERROR_SYSTEM.
 */
int fingerprint_take_launcher(struct fingerprint *fingerprint, const struct launch_config *config,
                              enum launcher_program program, struct error *error);

/* The SHA-256 of a file, in hexadecimal. 0, or -1 with ERROR_SYSTEM. */
int fingerprint_hash(const char *path, char hex[FINGERPRINT_HEX_SIZE], struct error *error);

/* The same for the bytes of several pieces, in order. */
int fingerprint_hash_parts(const struct iovec *parts, int count, char hex[FINGERPRINT_HEX_SIZE],
                           struct error *error);

/* A fingerprint that is all zeros may be freed. */
void fingerprint_free(struct fingerprint *fingerprint);

#endif
