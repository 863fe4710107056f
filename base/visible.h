/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_VISIBLE_H
#define GASPIPE_BASE_VISIBLE_H

#include <stddef.h>

/*
 * Makes text fit for a line on a terminal: each control character, also those of
 * two bytes that UTF-8 has (U+0080 to U+009F), becomes blanks. What contracts and
 * workers say could otherwise steer the terminal of the one who reads it.
 */
void visible_bytes(char *bytes, size_t length);

#endif
