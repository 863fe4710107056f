/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SANDBOX_PROBE_H
#define GASPIPE_SANDBOX_PROBE_H

enum { SANDBOX_MISSING_SIZE = 256 };

/*
 * Lists what the system lacks for the whole sandbox: "Landlock, network namespaces"; "" if
 * nothing. Does not change the calling process; runs a short child process.
 */
void sandbox_probe(char missing[SANDBOX_MISSING_SIZE]);

/* Appends ", " and `what`. */
void sandbox_note_missing(char missing[SANDBOX_MISSING_SIZE], const char *what);

#endif
