/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker without an engine: it sends the bytes that its message holds.
 *
 *     hostile_worker [IGNORED...]     (fds 3 and 4, as gaspipe-worker)
 *
 * Every command is answered with success, but a message to the vat whose method is
 * "say": each string of its first argument is sent up as a request, in turn, and
 * the answer to each is waited for; then the delivery is answered ["ok",null]. Any
 * other message's result promise is fulfilled with its arguments.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "proto/netstring.h"

static struct netstring_decoder decoder;
static char input[1 << 16];
static size_t input_used, input_end;

/* The next frame; false at the end of the input. */
static bool next_frame(struct iovec *payload)
{
    for (;;) {
        struct error error = {0};
        enum netstring_result result;
        size_t used;
        ssize_t more;

        result = netstring_decode(&decoder, input + input_used, input_end - input_used, &used,
                                  payload, &error);
        input_used += used;
        if (result == NETSTRING_FRAME)
            return true;
        more = result == NETSTRING_MORE ? read(3, input, sizeof input) : -1;
        if (more <= 0)
            return false;
        input_used = 0;
        input_end = (size_t)more;
    }
}

static void send_frame(const char *prefix, const char *bytes, size_t length)
{
    const struct iovec parts[] = {{(char *)prefix, strlen(prefix)}, {(char *)bytes, length}};
    struct netstring_frame frame;

    netstring_encode(&frame, parts, 2);
    if (io_writev_all(4, frame.pieces, frame.count) != 0)
        exit(2);
}

static void answer(const char *result)
{
    send_frame(".{\"currentHeapCount\":1,\"compute\":1,\"allocate\":1,\"timestamps\":[1,2]}\1",
               result, strlen(result));
}

/* Sends a request and ignores the answer. */
static void ask(const char *bytes, size_t length)
{
    struct iovec frame;

    send_frame("?", bytes, length);
    if (!next_frame(&frame))
        exit(0);
}

static void say(const json_t *texts)
{
    const json_t *text;
    size_t i;

    json_array_foreach(texts, i, text)
    {
        ask(json_string_value(text), json_string_length(text));
    }
}

/* ["resolve",[[PROMISE,false,{body,slots}]]]: the message's own arguments. */
static void echo(const json_t *message, const json_t *arguments)
{
    json_t *methargs = json_object_get(message, "methargs");
    char *body = json_dumps(arguments, JSON_COMPACT | JSON_ENCODE_ANY), *request;
    json_t *syscall;
    char *marked;

    if (asprintf(&marked, "#%s", body) < 0)
        abort();
    syscall = json_pack("[s[s[[sb{s:s,s:O}]]]]", "syscall", "resolve",
                        json_string_value(json_object_get(message, "result")), 0, "body", marked,
                        "slots", json_object_get(methargs, "slots"));
    request = json_dumps(syscall, JSON_COMPACT);
    ask(request, strlen(request));
    free(request);
    json_decref(syscall);
    free(marked);
    free(body);
}

static void deliver(const json_t *delivery)
{
    const json_t *message = json_array_get(delivery, 2);
    const char *body =
        json_string_value(json_object_get(json_object_get(message, "methargs"), "body"));
    json_t *call = body != NULL ? json_loads(body + 1, 0, NULL) : NULL;
    const char *method = json_string_value(json_array_get(call, 0));
    const json_t *arguments = json_array_get(call, 1);

    if (method != NULL && strcmp(method, "say") == 0)
        say(json_array_get(arguments, 0));
    else if (method != NULL && json_is_string(json_object_get(message, "result")))
        echo(message, arguments);
    json_decref(call);
    answer("[\"ok\",null]");
}

/* Puts a byte where a snapshot is wanted: `@N` is descriptor N. */
static void save(const char *place)
{
    if (io_write_all((int)strtol(place + 1, NULL, 10), "s", 1) != 0)
        exit(2);
    answer("1");
}

static void obey(const struct iovec *payload)
{
    const char *bytes = payload->iov_base;
    json_t *words = bytes[0] == '?' ? json_loadb(bytes + 1, payload->iov_len - 1, 0, NULL) : NULL;
    const char *word = json_string_value(json_array_get(words, 0));

    if (bytes[0] == 'w')
        save(bytes + 1);
    else if (word == NULL)
        answer("");
    else if (strcmp(word, "deliver") == 0)
        deliver(json_array_get(words, 1));
    else
        answer("[\"dispatchReady\"]");
    json_decref(words);
}

int main(void)
{
    struct iovec payload;

    netstring_decoder_init(&decoder, NETSTRING_CAP_DEFAULT);
    while (next_frame(&payload)) {
        if (payload.iov_len > 0 && *(char *)payload.iov_base == 'q')
            return 0;
        obey(&payload);
    }
    return 0;
}
