/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_LOG_H
#define GASPIPE_BASE_LOG_H

/*
 * The logger: lines on stderr, each `NAME: words`, written with one write(2) so that lines of
 * several processes do not mix.
 */

/* Sets NAME; the string is borrowed for the process's life. */
void log_name(const char *name);

/* Prints a line for the user, cut to 4 KiB; control characters become blanks. */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
