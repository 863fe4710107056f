/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/transcript/gc_reads.h"

#include <string.h>

#include "base/buf.h"

enum access { ACCESS_NONE, ACCESS_GET, ACCESS_NEXT, ACCESS_SET, ACCESS_DELETE };

/* A syscall on a record of a collection. */
struct record_access {
    enum access access;
    struct scan_span key;        /* without quotes, escapes as they are */
    struct scan_span collection; /* its beginning, "vc.N." */
    struct scan_span value;      /* of ACCESS_SET, JSON */
};

/* "vc.N." of the key; none: it is no collection's. */
static struct scan_span collection_of(struct scan_span key)
{
    const char *dot = NULL;

    if (key.at != NULL && key.length > 3 && memcmp(key.at, "vc.", 3) == 0)
        dot = memchr(key.at + 3, '.', key.length - 3);
    if (dot == NULL)
        return (struct scan_span){0};
    return (struct scan_span){key.at, (size_t)(dot + 1 - key.at)};
}

static enum access access_named(struct scan_span word)
{
    static const struct {
        const char *name;
        enum access access;
    } names[] = {{"\"vatstoreGet\"", ACCESS_GET},
                 {"\"vatstoreGetNextKey\"", ACCESS_NEXT},
                 {"\"vatstoreSet\"", ACCESS_SET},
                 {"\"vatstoreDelete\"", ACCESS_DELETE}};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (scan_is(word, names[i].name))
            return names[i].access;
    return ACCESS_NONE;
}

static struct record_access access_of(struct scan_span syscall)
{
    static const struct record_access none;
    struct record_access access = {0};
    struct scan_cursor cursor;
    struct scan_span word, key;

    if (!scan_open(syscall, '[', &cursor) || scan_element(&cursor, &word) != SCAN_FOUND ||
        scan_element(&cursor, &key) != SCAN_FOUND)
        return none;
    access.access = access_named(word);
    access.key = scan_string(key);
    access.collection = collection_of(access.key);
    if (access.collection.at == NULL ||
        (access.access == ACCESS_SET && scan_element(&cursor, &access.value) != SCAN_FOUND))
        return none;
    return access;
}

bool gc_reads_is_one(struct scan_span syscall)
{
    const enum access access = access_of(syscall).access;

    return access == ACCESS_GET || access == ACCESS_NEXT;
}

/* ---- what is known: {KEY: answer}, and under each collection {KEY: the key behind it} ---- */

static json_t *following_keys(const json_t *known, struct scan_span collection)
{
    return json_object_getn(known, collection.at, collection.length);
}

/* What is not remembered, for want of memory, is a difference later on. */
static void gc_reads_keep(json_t *object, struct scan_span key, const char *answer, size_t length)
{
    (void)json_object_setn_new(object, key.at, key.length, json_stringn(answer, length));
}

static void keep_following(json_t *known, const struct record_access *access,
                           struct scan_span answer)
{
    json_t *keys = following_keys(known, access->collection);

    if (keys == NULL) {
        keys = json_object();
        if (json_object_setn_new(known, access->collection.at, access->collection.length, keys) !=
            0)
            return;
    }
    gc_reads_keep(keys, access->key, answer.at, answer.length);
}

static void keep_written(json_t *known, const struct record_access *access)
{
    struct buf answer = {0};

    buf_append_string(&answer, "[\"ok\",");
    if (access->access == ACCESS_SET)
        buf_append(&answer, access->value.at, access->value.length);
    else
        buf_append_string(&answer, "null");
    buf_append_byte(&answer, ']');
    if (buf_failed(&answer))
        (void)json_object_deln(known, access->key.at, access->key.length); /* nor is it stale */
    else
        gc_reads_keep(known, access->key, answer.data, answer.length);
    buf_free(&answer);
    /* Which key follows which may have changed. */
    (void)json_object_deln(known, access->collection.at, access->collection.length);
}

void gc_reads_remember(json_t *known, struct scan_span syscall, struct scan_span answer)
{
    const struct record_access access = access_of(syscall);

    if (access.access == ACCESS_GET)
        gc_reads_keep(known, access.key, answer.at, answer.length);
    else if (access.access == ACCESS_NEXT)
        keep_following(known, &access, answer);
    else if (access.access != ACCESS_NONE)
        keep_written(known, &access);
}

struct scan_span gc_reads_recall(const json_t *known, struct scan_span syscall)
{
    const struct record_access access = access_of(syscall);
    const json_t *answers = known, *answer = NULL;

    if (access.access == ACCESS_NEXT)
        answers = following_keys(known, access.collection);
    if (access.access == ACCESS_GET || access.access == ACCESS_NEXT)
        answer = json_object_getn(answers, access.key.at, access.key.length);
    return (struct scan_span){json_string_value(answer), json_string_length(answer)};
}
