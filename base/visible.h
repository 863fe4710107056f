/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_VISIBLE_H
#define GASPIPE_BASE_VISIBLE_H

#include <stddef.h>

/*
 * What contracts, workers and files say could steer the terminal of the one who reads it, or
 * show him another text than there is. Such are control characters, those of two bytes in UTF-8
 * (U+0080 to U+009F) and alone on a line (bytes 80 to 9f), the characters that turn the direction
 * of the text around (U+202E and the like), line and paragraph separators, and bytes that are
 * not UTF-8.
 */

/* Makes text fit for a line on a terminal: each byte of such a character becomes a blank. */
void visible_bytes(char *bytes, size_t length);

/*
 * Writes whole lines, text or JSON, with \u202e in the place of such a character and \ufffd in
 * that of a byte that is not UTF-8; in JSON's strings that means the same. Newlines, CR before a
 * newline, tabs, and the two colours that gaspipe uses (ESC [31m and ESC [0m) stay. 0, or -1 with
 * errno.
 */
int visible_write(int fd, const char *lines, size_t length);

/* The characters in a line of the terminal that fd is; 0: it is none, or does not tell. */
size_t visible_width(int fd);

#endif
