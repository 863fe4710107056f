/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_LOG_H
#define GASPIPE_BASE_LOG_H

/*
 * The one logger: lines for people on stderr, each `NAME: words`, written with
 * one write(2) so that lines of several processes do not mix.
 */

/* Sets NAME; the string is borrowed for the process's life. */
void log_name(const char *name);

/* Something that the user should know; cut to 4 KiB; control characters become blanks. */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
