/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/message.h"

#include "slog/digest.h"

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
