/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_JSON_JSON_NODES_H
#define GASPIPE_BASE_JSON_JSON_NODES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The most values that one JSON text may consist of, arrays and objects included. Each takes
 * jansson up to 136 bytes on top of its text (an empty array, x86-64), so 64 MiB of `[]` would
 * take 2.6 GB. This keeps it below 300 MB.
 */
enum { JSON_NODES_MAX = 1 << 21 };

/*
 * How many values a text that a vat or a line sends may have: values take as much memory as text.
 * With this and NETSTRING_CAP_UP (proto/netstring.h) gaspipe stays below 300 MB with all its
 * copies.
 */
static inline size_t json_nodes_affordable(size_t length)
{
    enum { TEXT_MAX = 24 << 20, BYTES_PER_NODE = 32, LEAST = 1 << 16 };
    const size_t most = length < TEXT_MAX ? (TEXT_MAX - length) / BYTES_PER_NODE : 0;

    return most > LEAST ? most : LEAST;
}

/* Whether a JSON text consists of more values than that. Any text is safe. */
bool json_nodes_exceed(const char *text, size_t length, size_t most);

#endif
