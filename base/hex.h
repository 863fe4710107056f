/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_HEX_H
#define GASPIPE_BASE_HEX_H

#include <stddef.h>

/* The room that `length` bytes take as hexadecimal digits, with the '\0'. */
#define HEX_SIZE(length) (2 * (length) + 1)

/* Writes bytes as lower-case digits and a '\0'; `text` has room for HEX_SIZE(length). */
void hex_write(char *text, const void *bytes, size_t length);

#endif
