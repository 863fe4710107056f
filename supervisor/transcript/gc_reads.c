/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/transcript/gc_reads.h"

#include <string.h>

/* The key of ["vatstoreGet",KEY], without quotes, if it is that of such a read. */
static struct scan_span key_of(struct scan_span syscall)
{
    struct scan_span word, key;
    struct scan_cursor cursor;
    const char *bar;

    if (!scan_open(syscall, '[', &cursor) || scan_element(&cursor, &word) != SCAN_FOUND ||
        !scan_is(word, "\"vatstoreGet\"") || scan_element(&cursor, &key) != SCAN_FOUND)
        return (struct scan_span){0};
    key = scan_string(key);
    bar = key.at != NULL ? memchr(key.at, '|', key.length) : NULL;
    if (bar != NULL && memcmp(key.at, "vc.", 3) == 0) {
        const struct scan_span field = {bar, (size_t)(key.at + key.length - bar)};

        if (scan_is(field, "|schemata") || scan_is(field, "|label"))
            return key;
    }
    return (struct scan_span){0};
}

bool gc_reads_is_one(struct scan_span syscall)
{
    return key_of(syscall).at != NULL;
}

void gc_reads_remember(json_t *known, struct scan_span syscall, struct scan_span answer)
{
    const struct scan_span key = key_of(syscall);

    /* What is not remembered, for want of memory, is a difference later on. */
    if (key.at != NULL)
        (void)json_object_setn_new(known, key.at, key.length,
                                   json_stringn(answer.at, answer.length));
}

struct scan_span gc_reads_recall(const json_t *known, struct scan_span syscall)
{
    const struct scan_span key = key_of(syscall);
    const json_t *answer = key.at != NULL ? json_object_getn(known, key.at, key.length) : NULL;

    return (struct scan_span){json_string_value(answer), json_string_length(answer)};
}
