/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SANDBOX_PROBE_H
#define GASPIPE_SANDBOX_PROBE_H

enum { SANDBOX_MISSING_SIZE = 256 };

/*
 * What this system lacks for the whole sandbox, in words: "Landlock, network namespaces". ""
 * when nothing is missing. Changes nothing about the calling process; takes a child process that
 * ends at once.
 */
void sandbox_probe(char missing[SANDBOX_MISSING_SIZE]);

/* Puts ", " and `what` behind the words that are there. */
void sandbox_note_missing(char missing[SANDBOX_MISSING_SIZE], const char *what);

#endif
