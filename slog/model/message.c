/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/model/message.h"

#include "base/array.h"
#include "slog/model/digest.h"

/* The last element of an array that begins with the string `kind`; none of another array. */
static struct scan_span message_in(struct scan_span object, const char *kind)
{
    struct scan_span element, last = {0};
    struct scan_cursor cursor;

    if (object.at == NULL || !scan_open(object, '[', &cursor) ||
        scan_element(&cursor, &element) != SCAN_FOUND || !scan_is(scan_string(element), kind))
        return last;
    while (scan_element(&cursor, &element) == SCAN_FOUND)
        last = element;
    return last;
}

static struct model_message identify(struct scan_span message)
{
    struct scan_span promise = scan_string(scan_get(message, "result"));
    struct model_message identity = {0};

    if (message.at == NULL)
        return identity;
    identity.promised = promise.at != NULL;
    if (identity.promised)
        message = promise;
    identity.digest = digest_add(DIGEST_START, message.at, message.length);
    if (identity.digest == 0)
        identity.digest = 1;
    return identity;
}

struct model_message message_sent(struct scan_span ksc)
{
    return identify(message_in(ksc, "send"));
}

struct model_message message_delivered(struct scan_span kd)
{
    return identify(message_in(kd, "message"));
}

/* Unlike the digest of a result promise, which tells a message apart. */
static uint64_t digest_of_promise(struct scan_span promise)
{
    uint64_t digest = digest_add(DIGEST_START, "settled", strlen("settled"));

    digest = digest_add(digest, promise.at, promise.length);
    return digest != 0 ? digest : 1;
}

static int add_promise(struct scan_span entry, struct promises *promises, struct error *error)
{
    struct scan_span promise;
    struct scan_cursor cursor;
    uint64_t *at;

    if (!scan_open(entry, '[', &cursor) || scan_element(&cursor, &promise) != SCAN_FOUND)
        return 0;
    at = array_reserve(promises->at, &promises->capacity, promises->count + 1, sizeof *at);
    if (at == NULL)
        return error_memory(error, "promises");
    promises->at = at;
    at[promises->count++] = digest_of_promise(promise);
    return 0;
}

/* Both have a list of arrays, a promise the first element of each, as their last element. */
static int add_promises(struct scan_span object, const char *kind, struct promises *promises,
                        struct error *error)
{
    struct scan_span list = message_in(object, kind), entry;
    struct scan_cursor cursor;

    if (list.at == NULL || !scan_open(list, '[', &cursor))
        return 0;
    while (scan_element(&cursor, &entry) == SCAN_FOUND) {
        if (add_promise(entry, promises, error) != 0)
            return -1;
    }
    return 0;
}

int message_resolved(struct scan_span ksc, struct promises *promises, struct error *error)
{
    return add_promises(ksc, "resolve", promises, error);
}

int message_notified(struct scan_span kd, struct promises *promises, struct error *error)
{
    return add_promises(kd, "notify", promises, error);
}
