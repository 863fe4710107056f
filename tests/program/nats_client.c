/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JetStream requests that tests make and gaspipe does not: streams made and deleted, messages
 * published and read. usage: nats_client URL make STREAM SUBJECT REPLICAS [queue] | delete STREAM |
 * remove STREAM N | publish SUBJECT ID | read STREAM publish sends each line of stdin as a message
 * with the ID "ID.N", and repeats what is not acknowledged; read prints SUBJECT and message, in the
 * order of the stream. Exit status: 0, 1 it failed, 2 usage.
 */
#include <inttypes.h>
#include <nats/nats.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 100, PAUSE_MS = 200, SERVERS_MAX = 8 };

static int fail(const char *what, natsStatus status, jsErrCode code)
{
    fprintf(stderr, "nats_client: cannot %s: %s (%d)\n", what, natsStatus_GetText(status),
            (int)code);
    return 1;
}

static int make_stream(jsCtx *js, char **arguments)
{
    const char *subjects[] = {arguments[1]};
    jsStreamConfig config;
    jsErrCode code = 0;
    natsStatus status;
    int tries = 0;

    (void)jsStreamConfig_Init(&config);
    config.Name = arguments[0];
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.Replicas = strtol(arguments[2], NULL, 10);
    config.Storage = js_FileStorage;
    if (arguments[3] != NULL)
        config.Retention = js_WorkQueuePolicy;
    do {
        status = js_AddStream(NULL, js, &config, NULL, &code);
        if (status != NATS_OK)
            nats_Sleep(PAUSE_MS);
    } while (status != NATS_OK && ++tries < TRIES); /* a cluster may have no leader yet */
    return status == NATS_OK ? 0 : fail("make the stream", status, code);
}

static int publish_line(jsCtx *js, const char *subject, const char *id, const char *line)
{
    jsPubOptions options;
    jsErrCode code = 0;
    natsStatus status;
    int tries = 0;

    (void)jsPubOptions_Init(&options);
    options.MsgId = id;
    do {
        status = js_Publish(NULL, js, subject, line, (int)strlen(line), &options, &code);
        if (status != NATS_OK)
            nats_Sleep(PAUSE_MS);
    } while (status != NATS_OK && ++tries < TRIES);
    return status == NATS_OK ? 0 : fail("publish", status, code);
}

static int publish(jsCtx *js, char **arguments)
{
    char *line = NULL, id[256];
    size_t size = 0;
    int result = 0;

    for (int number = 1; result == 0 && getline(&line, &size, stdin) > 0; number++) {
        line[strcspn(line, "\n")] = '\0';
        snprintf(id, sizeof id, "%s.%d", arguments[1], number);
        result = publish_line(js, arguments[0], id, line);
    }
    free(line);
    return result;
}

static int read_stream(jsCtx *js, const char *stream)
{
    jsStreamInfo *info = NULL;
    jsErrCode code = 0;
    natsStatus status = js_GetStreamInfo(&info, js, stream, NULL, &code);
    uint64_t first, last;

    if (status != NATS_OK)
        return fail("read the stream", status, code);
    first = info->State.FirstSeq;
    last = info->State.LastSeq;
    jsStreamInfo_Destroy(info);
    for (uint64_t at = first; at <= last && at > 0; at++) {
        natsMsg *message = NULL;

        status = js_GetMsg(&message, js, stream, at, NULL, &code);
        if (status == NATS_OK)
            printf("%s %.*s\n", natsMsg_GetSubject(message), natsMsg_GetDataLength(message),
                   natsMsg_GetData(message));
        natsMsg_Destroy(message);
        if (status != NATS_OK && status != NATS_NOT_FOUND)
            return fail("read a message", status, code);
    }
    return 0;
}

static int run(jsCtx *js, char **arguments, int count)
{
    const char *command = arguments[0];
    natsStatus status;
    jsErrCode code = 0;

    if (count >= 4 && strcmp(command, "make") == 0)
        return make_stream(js, arguments + 1);
    if (count == 3 && strcmp(command, "publish") == 0)
        return publish(js, arguments + 1);
    if (count == 2 && strcmp(command, "read") == 0)
        return read_stream(js, arguments[1]);
    if (count == 2 && strcmp(command, "delete") == 0)
        status = js_DeleteStream(js, arguments[1], NULL, &code);
    else if (count == 3 && strcmp(command, "remove") == 0)
        status = js_DeleteMsg(js, arguments[1], strtoull(arguments[2], NULL, 10), NULL, &code);
    else
        return 2;
    return status == NATS_OK ? 0 : fail(command, status, code);
}

/* One URL, or those of a cluster with commas between. */
static natsStatus set_servers(natsOptions *options, char *urls)
{
    const char *servers[SERVERS_MAX];
    char *rest = NULL;
    int count = 0;

    for (char *url = strtok_r(urls, ",", &rest); url != NULL && count < SERVERS_MAX;
         url = strtok_r(NULL, ",", &rest))
        servers[count++] = url;
    return natsOptions_SetServers(options, servers, count);
}

int main(int argc, char **argv)
{
    natsConnection *connection = NULL;
    natsOptions *options = NULL;
    jsCtx *js = NULL;
    natsStatus status;
    int result;

    if (argc < 4)
        return 2;
    status = natsOptions_Create(&options);
    if (status == NATS_OK)
        status = set_servers(options, argv[1]);
    if (status == NATS_OK)
        status = natsOptions_SetMaxReconnect(options, -1);
    if (status == NATS_OK)
        status = natsOptions_SetReconnectWait(options, PAUSE_MS);
    if (status == NATS_OK)
        status = natsConnection_Connect(&connection, options);
    if (status == NATS_OK)
        status = natsConnection_JetStream(&js, connection, NULL);
    result = status == NATS_OK ? run(js, argv + 2, argc - 2) : fail("connect", status, 0);
    jsCtx_Destroy(js);
    natsConnection_Destroy(connection);
    natsOptions_Destroy(options);
    return result;
}
