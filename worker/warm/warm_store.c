/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/warm/warm_store.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* ---- requests: ["syscall",["NAME","KEY","VALUE"]] ---- */

/* What is read of one. */
struct rest {
    const char *at, *end;
};

/* The text of the next JSON string, owned; NULL: there is none. */
static char *next_string(struct rest *rest)
{
    const char *start = memchr(rest->at, '"', (size_t)(rest->end - rest->at)), *at;

    if (start == NULL)
        return NULL;
    start++;
    for (at = start; at < rest->end && *at != '"'; at++)
        if (*at == '\\')
            at++;
    if (at >= rest->end)
        return NULL;
    rest->at = at + 1;
    return strndup(start, (size_t)(at - start));
}

/* ---- the store ---- */

/* Of the first entry whose key is not before `key`; that may be behind the last one. */
static size_t find(const struct warm_store *store, const char *key)
{
    size_t low = 0, high = store->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (strcmp(store->entries[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has(const struct warm_store *store, size_t at, const char *key)
{
    return at < store->count && strcmp(store->entries[at].key, key) == 0;
}

static void take_out(struct warm_store *store, const char *key)
{
    const size_t at = find(store, key);
    struct warm_store_entry *entry = store->entries + at;

    if (!has(store, at, key))
        return;
    free(entry->key);
    free(entry->value);
    store->count--;
    memmove(entry, entry + 1, (store->count - at) * sizeof *entry);
}

/* Takes both texts over; without memory it forgets them. */
static void put(struct warm_store *store, char *key, char *value)
{
    struct warm_store_entry *more;
    size_t at;

    take_out(store, key);
    at = find(store, key);
    more = array_reserve(store->entries, &store->capacity, store->count + 1, sizeof *more);
    if (more == NULL) {
        free(key);
        free(value);
        return;
    }
    store->entries = more;
    memmove(more + at + 1, more + at, (store->count - at) * sizeof *more);
    more[at] = (struct warm_store_entry){key, value};
    store->count++;
}

/* ---- answers ---- */

static void answer(struct warm_store *store, const char *text)
{
    if (text == NULL)
        buf_append_string(&store->answer, "[\"ok\",null]");
    else
        buf_printf(&store->answer, "[\"ok\",\"%s\"]", text);
}

static void get(struct warm_store *store, const char *key)
{
    const size_t at = find(store, key);

    answer(store, has(store, at, key) ? store->entries[at].value : NULL);
}

static void get_next_key(struct warm_store *store, const char *key)
{
    size_t at = find(store, key);

    at += has(store, at, key);
    answer(store, at < store->count ? store->entries[at].key : NULL);
}

/* A syscall of that name, with `rest` behind it. */
static void serve(struct warm_store *store, const char *name, struct rest *rest)
{
    char *key = next_string(rest);
    char *value = NULL;

    if (key == NULL) {
        answer(store, NULL);
    } else if (strcmp(name, "vatstoreGet") == 0) {
        get(store, key);
    } else if (strcmp(name, "vatstoreGetNextKey") == 0) {
        get_next_key(store, key);
    } else {
        if (strcmp(name, "vatstoreDelete") == 0)
            take_out(store, key);
        if (strcmp(name, "vatstoreSet") == 0 && (value = next_string(rest)) != NULL) {
            put(store, key, value);
            key = NULL;
        }
        answer(store, NULL);
    }
    free(key);
}

struct iovec warm_store_answer(struct warm_store *store, struct iovec request)
{
    struct rest rest = {request.iov_base, (char *)request.iov_base + request.iov_len};
    char *const kind = next_string(&rest);
    char *const name = kind != NULL ? next_string(&rest) : NULL;

    buf_clear(&store->answer);
    if (name != NULL && strcmp(kind, "syscall") == 0)
        serve(store, name, &rest);
    else
        answer(store, NULL);
    free(kind);
    free(name);
    return (struct iovec){store->answer.data, store->answer.length};
}

void warm_store_free(struct warm_store *store)
{
    for (size_t i = 0; i < store->count; i++) {
        free(store->entries[i].key);
        free(store->entries[i].value);
    }
    free(store->entries);
    buf_free(&store->answer);
    *store = (struct warm_store){0};
}
