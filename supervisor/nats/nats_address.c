/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/nats/nats_address.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char scheme_end[] = "://";

/* What a server takes as the name of a stream. */
static bool is_stream_name(const char *name)
{
    const size_t length = strlen(name);

    return length > 0 && length < NATS_STREAM_SIZE && strcspn(name, " \t\r\n\f.*>/\\,:@") == length;
}

int nats_address_parse(struct nats_address *address, const char *text, struct error *error)
{
    const char *slash = strrchr(text, '/');
    const char *scheme = strstr(text, scheme_end);
    const size_t length = slash != NULL ? (size_t)(slash - text) : 0;

    if (slash == NULL || scheme == NULL || scheme == text ||
        length <= (size_t)(scheme - text) + strlen(scheme_end) || slash[-1] == '/' ||
        length >= NATS_URL_SIZE || !is_stream_name(slash + 1))
        return error_set(error, ERROR_USAGE, "--from needs nats://HOST[:PORT]/STREAM");
    snprintf(address->url, sizeof address->url, "%.*s", (int)length, text);
    snprintf(address->stream, sizeof address->stream, "%s", slash + 1);
    return 0;
}
