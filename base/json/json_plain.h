/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_JSON_JSON_PLAIN_H
#define GASPIPE_BASE_JSON_JSON_PLAIN_H

#include <jansson.h>
#include <stddef.h>

/*
 * What json_loadb() makes of a text, several times as fast, where the text is plain: ASCII, no
 * \uXXXX, integers of up to 18 digits as its only numbers, keys without escapes, no more than 64
 * values within each other. NULL for all other texts, JSON or not, and when memory ran out: then
 * json_loadb() has to judge. Of its flags this knows JSON_DECODE_ANY, JSON_REJECT_DUPLICATES and
 * JSON_ALLOW_NUL; with others no text is plain.
 */
json_t *json_plain_read(const char *text, size_t length, size_t flags);

#endif
