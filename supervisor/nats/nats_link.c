/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/nats/nats_link.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/nats/nats_time.h"

enum { TRIES = 60, PAUSE_MS = 500, CONNECT_MS = 5000, CLOCK_MS = 2000 };

/* ---- errors ---- */

/* As of a cluster that has just started: it knows its other servers, or a leader, later. */
static bool lacks_servers(jsErrCode code)
{
    return code == JSClusterNotAvailErr || code == JSClusterNoPeersErr ||
           code == JSClusterNotActiveErr || code == JSClusterNotLeaderErr;
}

int nats_link_fail(const struct nats_link *link, natsStatus status, jsErrCode code,
                   const char *what, struct error *error)
{
    switch (status) {
    case NATS_CONNECTION_AUTH_FAILED:
    case NATS_NOT_PERMITTED:
        return error_set(error, ERROR_INPUT, "%s: not authorized: %s", link->name, what);
    case NATS_NO_SERVER:
        return error_set(error, ERROR_SYSTEM, "%s: no server can be reached", link->name);
    case NATS_TIMEOUT:
        if (link->refused)
            return error_set(error, ERROR_INPUT, "%s: not authorized: %s", link->name, what);
        break;
    default:
        break;
    }
    if (code == JSNotEnabledErr || code == JSNotEnabledForAccountErr ||
        status == NATS_NO_RESPONDERS)
        return error_set(error, ERROR_INPUT,
                         "%s: the server has no JetStream (nats-server -js), or no leader",
                         link->name);
    if (lacks_servers(code))
        return error_set(error, ERROR_SYSTEM,
                         "%s: cannot %s: its cluster has no leader, or fewer servers with "
                         "JetStream than replicas are asked for; start the others, or submit with "
                         "fewer --replicas",
                         link->name, what);
    return error_set(error, ERROR_SYSTEM, "%s: cannot %s: %s (%d)", link->name, what,
                     natsStatus_GetText(status), (int)code);
}

int nats_link_fail_for_now(const struct nats_link *link, natsStatus status, jsErrCode code,
                           const char *what, struct error *error)
{
    (void)nats_link_fail(link, status, code, what, error);
    error->kind = ERROR_SYSTEM;
    return -1;
}

bool nats_link_again(struct nats_link *link, natsStatus status, jsErrCode code, int *tries)
{
    const bool passing = status == NATS_TIMEOUT || status == NATS_NO_RESPONDERS ||
                         status == NATS_CONNECTION_DISCONNECTED ||
                         status == NATS_STALE_CONNECTION || lacks_servers(code);

    if (!passing || link->refused || (*tries)++ >= TRIES)
        return false;
    nats_Sleep(PAUSE_MS);
    return true;
}

/* ---- the connection ---- */

/* scheme://user:password@host becomes scheme://host, for each of several. */
static void hide_secrets(char name[NATS_NAME_SIZE], const char *url)
{
    size_t used = 0;

    while (*url != '\0' && used < NATS_NAME_SIZE - 1) {
        const size_t length = strcspn(url, ",");
        const char *at = memrchr(url, '@', length);
        const char *scheme = strstr(url, "://");
        const size_t head =
            scheme != NULL && scheme < url + length ? (size_t)(scheme + 3 - url) : 0;
        const char *host = at != NULL ? at + 1 : url + head;

        used += (size_t)snprintf(name + used, NATS_NAME_SIZE - used, "%.*s%.*s%s", (int)head, url,
                                 (int)(url + length - host), host, url[length] != '\0' ? "," : "");
        url += length + (url[length] != '\0');
    }
}

/* libnats prints to stderr what nobody handles. Called on a thread of its own. */
static void note_error(natsConnection *connection, natsSubscription *subscription,
                       natsStatus status, void *closure)
{
    struct nats_link *link = closure;

    (void)connection;
    (void)subscription;
    if (status == NATS_NOT_PERMITTED)
        link->refused = true;
}

static natsStatus set_servers(natsOptions *options, const char *url)
{
    char copy[4096];
    const char *servers[64];
    char *rest = NULL;
    int count = 0;

    if (snprintf(copy, sizeof copy, "%s", url) >= (int)sizeof copy)
        return NATS_INVALID_ARG;
    for (char *one = strtok_r(copy, ",", &rest); one != NULL && count < 64;
         one = strtok_r(NULL, ",", &rest))
        servers[count++] = one;
    return natsOptions_SetServers(options, servers, count);
}

static natsStatus set_options(natsOptions *options, struct nats_link *link,
                              const struct nats_access *access)
{
    natsStatus status = set_servers(options, access->url);

    if (status == NATS_OK)
        status = natsOptions_SetName(options, "gaspipe");
    if (status == NATS_OK)
        status = natsOptions_SetTimeout(options, CONNECT_MS);
    if (status == NATS_OK)
        status = natsOptions_SetMaxReconnect(options, -1);
    if (status == NATS_OK)
        status = natsOptions_SetReconnectWait(options, PAUSE_MS);
    if (status == NATS_OK)
        status = natsOptions_SetErrorHandler(options, note_error, link);
    if (status == NATS_OK && access->credentials != NULL)
        status = natsOptions_SetUserCredentialsFromFiles(options, access->credentials, NULL);
    if (status == NATS_OK && access->ca != NULL)
        status = natsOptions_SetSecure(options, true);
    if (status == NATS_OK && access->ca != NULL)
        status = natsOptions_LoadCATrustedCertificates(options, access->ca);
    if (status == NATS_OK && access->certificate != NULL)
        status = natsOptions_LoadCertificatesChain(options, access->certificate, access->key);
    return status;
}

/* With all signals blocked, since libnats starts threads: ours are for the thread that waits for
 * them. */
static natsStatus connect_quietly(struct nats_link *link, natsOptions *options)
{
    sigset_t all, before;
    natsStatus status;

    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* cannot fail: the words are right */
    status = natsConnection_Connect(&link->connection, options);
    if (status == NATS_OK)
        status = natsConnection_JetStream(&link->js, link->connection, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

int nats_link_open(struct nats_link *link, const struct nats_access *access, struct error *error)
{
    natsOptions *options = NULL;
    natsStatus status;

    *link = (struct nats_link){0};
    hide_secrets(link->name, access->url);
    /* libnats reads them when it connects, and says nothing of why it cannot. */
    if (access->credentials != NULL && faccessat(AT_FDCWD, access->credentials, R_OK, 0) != 0)
        return error_set(error, ERROR_INPUT, "the credentials %s: %s", access->credentials,
                         strerror(errno));
    status = natsOptions_Create(&options);
    if (status == NATS_OK)
        status = set_options(options, link, access);
    if (status != NATS_OK) {
        natsOptions_Destroy(options);
        return error_set(error, ERROR_INPUT,
                         "%s: its URL, credentials or certificates cannot be used: %s", link->name,
                         natsStatus_GetText(status));
    }
    status = connect_quietly(link, options);
    natsOptions_Destroy(options);
    return status == NATS_OK ? 0 : nats_link_fail(link, status, 0, "connect", error);
}

void nats_link_close(struct nats_link *link)
{
    jsCtx_Destroy(link->js);
    natsConnection_Destroy(link->connection);
    *link = (struct nats_link){0};
}

/* ---- streams ---- */

static int check_shape(const struct nats_link *link, const struct nats_stream *stream,
                       const jsStreamConfig *config, struct error *error)
{
    const jsRetentionPolicy retention = stream->is_queue ? js_WorkQueuePolicy : js_LimitsPolicy;

    if (config->SubjectsLen == 1 && strcmp(config->Subjects[0], stream->subject) == 0 &&
        config->Retention == retention && config->MaxMsgsPerSubject == 1)
        return 0;
    return error_set(error, ERROR_INPUT,
                     "%s: its stream %s is of another shape than a fleet's (subjects %s, %s, one "
                     "message a subject)",
                     link->name, stream->name, stream->subject,
                     stream->is_queue ? "a work queue" : "kept up to limits");
}

static natsStatus make_stream(struct nats_link *link, const struct nats_stream *stream,
                              int replicas, jsErrCode *code)
{
    const char *subjects[] = {stream->subject};
    jsStreamConfig config;
    natsStatus status = jsStreamConfig_Init(&config);

    if (status != NATS_OK)
        return status;
    config.Name = stream->name;
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.Retention = stream->is_queue ? js_WorkQueuePolicy : js_LimitsPolicy;
    config.MaxMsgsPerSubject = 1;
    config.Storage = js_FileStorage;
    config.Replicas = replicas;
    return js_AddStream(NULL, link->js, &config, NULL, code);
}

int nats_link_stream(struct nats_link *link, const struct nats_stream *stream, int replicas,
                     struct error *error)
{
    jsStreamInfo *info = NULL;
    jsErrCode code = 0;
    natsStatus status;
    int tries = 0, result;

    do {
        code = 0;
        status = js_GetStreamInfo(&info, link->js, stream->name, NULL, &code);
        if (status == NATS_NOT_FOUND && replicas > 0) {
            status = make_stream(link, stream, replicas, &code);
            if (status == NATS_OK)
                return 0;
        }
    } while (status != NATS_OK && nats_link_again(link, status, code, &tries));
    if (status == NATS_NOT_FOUND)
        return error_set(error, ERROR_INPUT,
                         "%s: it has no stream %s, which gaspipe fleet submit makes", link->name,
                         stream->name);
    if (status != NATS_OK)
        return nats_link_fail(link, status, code, "use its streams", error);
    result = check_shape(link, stream, info->Config, error);
    jsStreamInfo_Destroy(info);
    return result;
}

int nats_link_count(struct nats_link *link, const char *stream, uint64_t *count,
                    struct error *error)
{
    jsStreamInfo *info = NULL;
    jsErrCode code = 0;
    natsStatus status;
    int tries = 0;

    do
        status = js_GetStreamInfo(&info, link->js, stream, NULL, &code);
    while (status != NATS_OK && nats_link_again(link, status, code, &tries));
    if (status != NATS_OK)
        return nats_link_fail(link, status, code, "count the jobs", error);
    *count = info->State.Msgs;
    jsStreamInfo_Destroy(info);
    return 0;
}

/* "created" of an ephemeral consumer, which libnats cannot make without a subscription. */
static natsStatus make_consumer(struct nats_link *link, const char *stream, natsMsg **reply)
{
    char subject[NATS_NAME_SIZE], request[NATS_NAME_SIZE];

    snprintf(subject, sizeof subject, "$JS.API.CONSUMER.CREATE.%s", stream);
    snprintf(
        request, sizeof request,
        "{\"stream_name\":\"%s\",\"config\":{\"deliver_policy\":\"new\",\"ack_policy\":\"none\","
        "\"inactive_threshold\":%lld,\"mem_storage\":true,\"num_replicas\":1}}",
        stream, CLOCK_MS * 1000000LL);
    return natsConnection_RequestString(reply, link->connection, subject, request, CLOCK_MS);
}

/* False: the answer says nothing of it. */
static bool read_created(const natsMsg *reply, int64_t *time)
{
    json_t *json =
        json_loadb(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), 0, NULL);
    const char *created = json_string_value(json_object_get(json, "created"));
    const bool found = created != NULL && nats_time_read(created, time);

    json_decref(json);
    return found;
}

int nats_link_time(struct nats_link *link, const char *stream, int64_t *now, bool *exact,
                   struct error *error)
{
    jsStreamInfo *info = NULL;
    natsMsg *reply = NULL;
    jsErrCode code = 0;
    natsStatus status = make_consumer(link, stream, &reply);
    int tries = 0;

    *exact = status == NATS_OK && read_created(reply, now);
    natsMsg_Destroy(reply);
    link->refused = false;
    if (*exact)
        return 0;
    do
        status = js_GetStreamInfo(&info, link->js, stream, NULL, &code);
    while (status != NATS_OK && nats_link_again(link, status, code, &tries));
    if (status != NATS_OK)
        return nats_link_fail(link, status, code, "use its streams", error);
    *now = info->State.LastTime;
    jsStreamInfo_Destroy(info);
    return 0;
}

int nats_link_subjects(struct nats_link *link, const char *stream, const char *filter,
                       int (*each)(void *context, const char *subject, struct error *error),
                       void *context, struct error *error)
{
    jsStreamInfo *info = NULL;
    jsOptions options;
    jsErrCode code = 0;
    natsStatus status = jsOptions_Init(&options);
    int tries = 0, result = 0;

    options.Stream.Info.SubjectsFilter = filter;
    while (status == NATS_OK) {
        status = js_GetStreamInfo(&info, link->js, stream, &options, &code);
        if (status == NATS_OK)
            break;
        if (nats_link_again(link, status, code, &tries))
            status = NATS_OK;
    }
    if (status != NATS_OK)
        return nats_link_fail(link, status, code, "list the runs", error);
    for (int i = 0; result == 0 && info->State.Subjects != NULL && i < info->State.Subjects->Count;
         i++)
        result = each(context, info->State.Subjects->List[i].Subject, error);
    jsStreamInfo_Destroy(info);
    return result;
}

/* ---- values ---- */

static natsStatus get_last(struct nats_link *link, const char *stream, const char *subject,
                           natsMsg **message, jsErrCode *code)
{
    natsStatus status;
    int tries = 0;

    do {
        *code = 0;
        status = js_GetLastMsg(message, link->js, stream, subject, NULL, code);
    } while (status != NATS_OK && nats_link_again(link, status, *code, &tries));
    return status == NATS_NOT_FOUND || *code == JSNoMessageFoundErr ? NATS_NOT_FOUND : status;
}

int nats_link_get_dated(struct nats_link *link, const char *stream, const char *subject,
                        struct buf *value, int64_t *time, struct error *error)
{
    natsMsg *message = NULL;
    jsErrCode code;
    natsStatus status = get_last(link, stream, subject, &message, &code);
    int result = 0;

    *time = 0;
    if (status != NATS_OK)
        return status == NATS_NOT_FOUND ? 0 : nats_link_fail(link, status, code, "read", error);
    *time = natsMsg_GetTime(message);
    if (value != NULL &&
        buf_append(value, natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message)) != 0)
        result = error_memory(error, "a message");
    natsMsg_Destroy(message);
    return result;
}

int nats_link_get(struct nats_link *link, const char *stream, const char *subject,
                  struct buf *value, bool *found, struct error *error)
{
    int64_t time = 0;
    const int result = nats_link_get_dated(link, stream, subject, value, &time, error);

    *found = result == 0 && time != 0;
    return result;
}

static int publish(struct nats_link *link, const char *stream, const char *subject,
                   const void *bytes, size_t length, bool once, bool *added, struct error *error)
{
    jsErrCode code = 0;
    jsPubOptions options;
    natsStatus status;
    int tries = 0;

    (void)jsPubOptions_Init(&options); /* fails without its argument only */
    options.ExpectStream = stream;
    options.ExpectNoMessage = once;
    do {
        code = 0;
        status = js_Publish(NULL, link->js, subject, bytes, (int)length, &options, &code);
    } while (status != NATS_OK && code != JSStreamWrongLastSequenceErr &&
             nats_link_again(link, status, code, &tries));
    *added = status == NATS_OK;
    if (status == NATS_OK || (once && code == JSStreamWrongLastSequenceErr))
        return 0;
    return nats_link_fail(link, status, code, "store a message", error);
}

int nats_link_add(struct nats_link *link, const char *stream, const char *subject,
                  const void *bytes, size_t length, bool *added, struct error *error)
{
    return publish(link, stream, subject, bytes, length, true, added, error);
}

int nats_link_set(struct nats_link *link, const char *stream, const char *subject,
                  const void *bytes, size_t length, struct error *error)
{
    bool added;

    return publish(link, stream, subject, bytes, length, false, &added, error);
}

int nats_link_remove(struct nats_link *link, const char *stream, const char *subject,
                     struct error *error)
{
    natsMsg *message = NULL;
    jsErrCode code;
    natsStatus status = get_last(link, stream, subject, &message, &code);

    if (status == NATS_NOT_FOUND)
        return 0;
    if (status == NATS_OK) {
        status = js_DeleteMsg(link->js, stream, natsMsg_GetSequence(message), NULL, &code);
        natsMsg_Destroy(message);
    }
    if (status == NATS_OK || code == JSNoMessageFoundErr)
        return 0;
    return nats_link_fail(link, status, code, "remove a job", error);
}
