/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/nats.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char scheme_end[] = "://";

/* True for a name that a server accepts. */
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

/* Moves *at past the decimals, which follow the point. */
static int64_t read_decimals(const char **at)
{
    int64_t nanoseconds = 0;

    for (int64_t unit = 100000000; unit > 0 && **at >= '0' && **at <= '9'; unit /= 10, ++*at)
        nanoseconds += unit * (**at - '0');
    return nanoseconds;
}

bool nats_time_read(const char *text, int64_t *nanoseconds)
{
    struct tm parts = {0};
    const char *at = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    int64_t decimals = 0, whole;

    if (at == NULL)
        return false;
    if (*at == '.') {
        at++;
        decimals = read_decimals(&at);
    }
    whole = timegm(&parts);
    return strcmp(at, "Z") == 0 && whole >= 0 &&
           !__builtin_mul_overflow(whole, (int64_t)1000000000, nanoseconds) &&
           !__builtin_add_overflow(*nanoseconds, decimals, nanoseconds);
}

enum { TRIES = 60, SIGNED_TRIES = 4, PAUSE_MS = 500, CONNECT_MS = 5000, CLOCK_MS = 2000 };

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

/* The same of a failure that may pass: always ERROR_SYSTEM. */
static int nats_link_fail_for_now(const struct nats_link *link, natsStatus status, jsErrCode code,
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

/* libnats prints unhandled errors to stderr. Called in a thread of its own. */
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

/*
 * Blocks all signals meanwhile: the threads that libnats starts must not take those that another
 * thread of this process waits for. libnats 3.4 omits a signature whose first byte is 0, so a
 * server refuses one connection of 256 although the credentials are right. Each try signs another
 * nonce.
 */
static natsStatus connect_quietly(struct nats_link *link, natsOptions *options, bool is_signed)
{
    sigset_t all, before;
    natsStatus status;
    int tries = is_signed ? SIGNED_TRIES : 1;

    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* cannot fail: the words are right */
    do
        status = natsConnection_Connect(&link->connection, options);
    while (status == NATS_CONNECTION_AUTH_FAILED && --tries > 0);
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
                         "%s: cannot use the URL, credentials or certificates: %s", link->name,
                         natsStatus_GetText(status));
    }
    status = connect_quietly(link, options, access->credentials != NULL);
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
                     "%s: the stream %s has another shape than a fleet's (subjects %s, %s, one "
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
        return error_set(error, ERROR_INPUT, "%s: no stream %s; gaspipe fleet submit creates it",
                         link->name, stream->name);
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

static int publish_message(struct nats_link *link, const char *stream, const char *subject,
                           const void *bytes, size_t length, bool once, bool *added,
                           struct error *error)
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
    return publish_message(link, stream, subject, bytes, length, true, added, error);
}

int nats_link_set(struct nats_link *link, const char *stream, const char *subject,
                  const void *bytes, size_t length, struct error *error)
{
    bool added;

    return publish_message(link, stream, subject, bytes, length, false, &added, error);
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

/* ---- reading a stream ---- */

/* A server that has just started may know a stream only after a while. */
enum { MISSING_MAX = 20 };

enum { FETCH_MS = 1000, BATCH_MAX = 256 };

static const int64_t idle_ns = INT64_C(60000000000); /* then the server drops our consumer */

static const char reading[] = "read the stream";

static int fail_missing(const struct nats_reader *reader, struct error *error)
{
    return error_set(error, ERROR_INPUT, "%s: no stream %s", reader->link->name, reader->stream);
}

/* ---- what the stream is ---- */

static int check_reader_shape(const struct nats_reader *reader, const jsStreamConfig *config,
                              struct error *error)
{
    if (config->Retention == js_LimitsPolicy)
        return 0;
    return error_set(error, ERROR_INPUT,
                     "%s: the stream %s removes its messages when they are read; it must keep them "
                     "(retention: limits)",
                     reader->link->name, reader->stream);
}

int nats_reader_open(struct nats_reader *reader, struct nats_link *link, const char *stream,
                     struct error *error)
{
    jsStreamInfo *info = NULL;
    jsErrCode code = 0;
    natsStatus status;
    int result;

    *reader = (struct nats_reader){.link = link, .stream = stream, .next = 1};
    status = js_GetStreamInfo(&info, link->js, stream, NULL, &code);
    if (status == NATS_NOT_FOUND)
        return fail_missing(reader, error);
    if (status != NATS_OK)
        return nats_link_fail(link, status, code, reading, error);
    reader->created = info->Created;
    result = check_reader_shape(reader, info->Config, error);
    jsStreamInfo_Destroy(info);
    return result;
}

/* Checks that the stream still has the messages that are due. */
static int check_reader_state(const struct nats_reader *reader, const jsStreamInfo *info,
                              struct error *error)
{
    const char *name = reader->link->name;

    if (info->Created != reader->created)
        return error_set(error, ERROR_INPUT, "%s: the stream %s was deleted and created again",
                         name, reader->stream);
    if (info->State.LastSeq + 1 < reader->next)
        return error_set(error, ERROR_INPUT,
                         "%s: the stream %s ends at message %" PRIu64 ", but %" PRIu64
                         " were delivered: the server has lost messages",
                         name, reader->stream, info->State.LastSeq, reader->next - 1);
    if (reader->next > 1 && info->State.FirstSeq > reader->next)
        return error_set(error, ERROR_INPUT,
                         "%s: the stream %s begins at message %" PRIu64 ": those from %" PRIu64
                         " on are gone; --again continues without them",
                         name, reader->stream, info->State.FirstSeq, reader->next);
    return 0;
}

static int check_reader_stream(struct nats_reader *reader, struct error *error)
{
    jsStreamInfo *info = NULL;
    jsErrCode code = 0;
    natsStatus status = js_GetStreamInfo(&info, reader->link->js, reader->stream, NULL, &code);
    int result;

    if (status == NATS_NOT_FOUND && ++reader->missing >= MISSING_MAX)
        return fail_missing(reader, error);
    if (status != NATS_OK)
        return nats_link_fail_for_now(reader->link, status, code, reading, error);
    reader->missing = 0;
    result = check_reader_state(reader, info, error);
    jsStreamInfo_Destroy(info);
    return result;
}

/* ---- messages ---- */

static natsStatus add_consumer(struct nats_reader *reader, jsConsumerInfo **info, jsErrCode *code)
{
    jsConsumerConfig config;

    (void)jsConsumerConfig_Init(&config); /* fails without its argument only */
    config.DeliverPolicy = js_DeliverByStartSequence;
    config.OptStartSeq = reader->next;
    config.AckPolicy = js_AckNone;
    config.InactiveThreshold = idle_ns;
    config.MemoryStorage = true;
    config.Replicas = 1;
    return js_AddConsumer(info, reader->link->js, reader->stream, &config, NULL, code);
}

static int subscribe_reader(struct nats_reader *reader, struct error *error)
{
    jsConsumerInfo *info = NULL;
    jsSubOptions options;
    jsErrCode code = 0;
    natsStatus status;

    if (check_reader_stream(reader, error) != 0)
        return -1;
    status = add_consumer(reader, &info, &code);
    if (status == NATS_OK) {
        (void)jsSubOptions_Init(&options); /* likewise */
        options.Stream = reader->stream;
        options.Consumer = info->Name;
        options.Config.MemoryStorage = true; /* libnats compares it with the consumer's */
        status = js_PullSubscribe(&reader->subscription, reader->link->js, NULL, NULL, NULL,
                                  &options, &code);
    }
    jsConsumerInfo_Destroy(info);
    reader->pending = 0;
    return status == NATS_OK ? 0
                             : nats_link_fail_for_now(reader->link, status, code, reading, error);
}

void nats_reader_close(struct nats_reader *reader)
{
    natsSubscription_Destroy(reader->subscription);
    reader->subscription = NULL;
}

static int take_stream_message(struct nats_reader *reader, natsMsg *message,
                               int (*each)(void *context, uint64_t sequence, const char *bytes,
                                           size_t length, struct error *error),
                               void *context, struct error *error)
{
    jsMsgMetaData *data = NULL;
    const natsStatus status = natsMsg_GetMetaData(&data, message);
    uint64_t sequence;

    if (status != NATS_OK)
        return nats_link_fail_for_now(reader->link, status, 0, reading, error);
    sequence = data->Sequence.Stream;
    reader->pending = data->NumPending;
    jsMsgMetaData_Destroy(data);
    if (sequence < reader->next)
        return 0;
    if (each(context, sequence, natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message),
             error) != 0)
        return -1;
    reader->next = sequence + 1;
    return 0;
}

/*
 * No message has come. A server that was restarted has forgotten our consumer, and answers nothing
 * to those that ask for messages of one that it does not know.
 */
static int check_consumer(struct nats_reader *reader, struct error *error)
{
    jsConsumerInfo *info = NULL;
    jsErrCode code = 0;
    const natsStatus status =
        natsSubscription_GetConsumerInfo(&info, reader->subscription, NULL, &code);

    jsConsumerInfo_Destroy(info);
    reader->pending = 0;
    if (status == NATS_OK)
        return 0;
    nats_reader_close(reader);
    return status == NATS_NOT_FOUND
               ? 0
               : nats_link_fail_for_now(reader->link, status, code, reading, error);
}

/* As many as the server has: it would keep us waiting for more. */
static int batch_size(const struct nats_reader *reader)
{
    return reader->pending == 0          ? 1
           : reader->pending < BATCH_MAX ? (int)reader->pending
                                         : BATCH_MAX;
}

int nats_reader_fetch(struct nats_reader *reader,
                      int (*each)(void *context, uint64_t sequence, const char *bytes,
                                  size_t length, struct error *error),
                      void *context, struct error *error)
{
    natsMsgList list = {0};
    jsErrCode code = 0;
    natsStatus status;
    int result = 0;

    if (reader->subscription == NULL && subscribe_reader(reader, error) != 0)
        return -1;
    status =
        natsSubscription_Fetch(&list, reader->subscription, batch_size(reader), FETCH_MS, &code);
    if (status == NATS_TIMEOUT)
        return check_consumer(reader, error);
    if (status != NATS_OK)
        result = nats_link_fail_for_now(reader->link, status, code, reading, error);
    for (int i = 0; result == 0 && i < list.Count; i++)
        result = take_stream_message(reader, list.Msgs[i], each, context, error);
    natsMsgList_Destroy(&list);
    if (result != 0)
        nats_reader_close(reader);
    return result;
}

/* ---- publishing ---- */

enum { ANSWER_MS = 2000 };

int nats_writer_open(struct nats_writer *writer, struct nats_link *link, const char *subject,
                     struct error *error)
{
    jsStreamNamesList *names = NULL;
    jsErrCode code = 0;
    jsOptions options;
    natsStatus status;
    bool found;

    *writer = (struct nats_writer){.link = link};
    (void)jsOptions_Init(&options); /* fails without its argument only */
    options.Stream.Info.SubjectsFilter = subject;
    status = js_StreamNames(&names, link->js, &options, &code);
    if (status != NATS_OK && status != NATS_NOT_FOUND)
        return nats_link_fail(link, status, code, "list its streams", error);
    found = status == NATS_OK && names->Count > 0;
    if (found)
        snprintf(writer->stream, sizeof writer->stream, "%s", names->List[0]);
    jsStreamNamesList_Destroy(names);
    if (found)
        return 0;
    return error_set(error, ERROR_INPUT, "%s: no stream takes the subject %s", link->name, subject);
}

/* Checks that the subject's message has this ID. */
static int compare_id(struct nats_writer *writer, const char *subject, const char *id,
                      struct error *error)
{
    natsMsg *message = NULL;
    jsErrCode code = 0;
    natsStatus status =
        js_GetLastMsg(&message, writer->link->js, writer->stream, subject, NULL, &code);
    const char *found = "";
    int result = 0;

    if (status == NATS_OK && natsMsgHeader_Get(message, "Nats-Msg-Id", &found) != NATS_OK)
        found = "";
    if (status != NATS_OK) {
        result = nats_link_fail_for_now(writer->link, status, code, "read a result", error);
    } else if (strcmp(found, id) != 0) {
        result = error_set(error, ERROR_INPUT, "%s: the subject %s has the result of another run",
                           writer->link->name, subject);
    }
    natsMsg_Destroy(message);
    return result;
}

int nats_writer_put(struct nats_writer *writer, const char *subject, const char *id,
                    const char *bytes, size_t length, struct error *error)
{
    jsErrCode code = 0;
    jsPubOptions options;
    natsStatus status;

    (void)jsPubOptions_Init(&options); /* fails without its argument only */
    options.MaxWait = ANSWER_MS;
    options.MsgId = id;
    options.ExpectStream = writer->stream;
    /* The server forgets IDs, after two minutes by default, but not subjects. */
    options.ExpectNoMessage = true;
    status = js_Publish(NULL, writer->link->js, subject, bytes, (int)length, &options, &code);
    if (status == NATS_OK)
        return 0;
    if (code == JSStreamWrongLastSequenceErr)
        return compare_id(writer, subject, id, error);
    return nats_link_fail_for_now(writer->link, status, code, "publish_message a result", error);
}
