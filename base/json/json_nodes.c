/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/json_nodes.h"

#include <string.h>

/* Past the end of the string whose quotation mark is at `at`. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\')
            at++;
    return at < end ? at + 1 : end;
}

/* Each value but the first follows a bracket or a comma; empty brackets count one too many. */
bool json_nodes_exceed(const char *text, size_t length, size_t most)
{
    const char *end = text + length;
    size_t nodes = 1;

    /* A value and its comma are two bytes. */
    if (length / 2 < most)
        return false;
    while (text < end && nodes <= most) {
        if (*text == '"') {
            text = skip_string(text, end);
            continue;
        }
        nodes += *text == '[' || *text == '{' || *text == ',';
        text++;
    }
    return nodes > most;
}
