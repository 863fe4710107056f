/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_VISIBLE_H
#define GASPIPE_BASE_VISIBLE_H

#include <stddef.h>

/* Guards the terminal. Text from contracts, workers and files could control the reader's terminal
 * or display a false text. The dangerous characters are control characters, line and paragraph
 * separators, characters that change the direction of text (such as U+202E), and bytes that are not
 * UTF-8. Control characters include U+0080 to U+009F and, alone on a line, the bytes 80 to 9f. */

/* Makes text safe for a terminal line: each byte of a dangerous character becomes a blank. */
void visible_bytes(char *bytes, size_t length);

/* Writes whole lines, text or JSON. It writes \u202e etc. for a dangerous character and \ufffd for
 * a byte that is not UTF-8; in JSON strings these mean the same. Newlines, CR before a newline,
 * tabs, and gaspipe's two colours (ESC [31m and ESC [0m) stay. Returns 0, or -1 with errno. */
int visible_write(int fd, const char *lines, size_t length);

/* Returns the terminal's width in characters; 0 if fd is not a terminal or has no known width. */
size_t visible_width(int fd);

#endif
