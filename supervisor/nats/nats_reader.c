/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/nats/nats_reader.h"

#include <inttypes.h>

/* A server that has just started may know a stream only after a while. */
enum { MISSING_MAX = 20 };

enum { FETCH_MS = 1000, BATCH_MAX = 256 };

static const int64_t idle_ns = INT64_C(60000000000); /* then the server drops our consumer */

static const char reading[] = "read the stream";

static int fail_missing(const struct nats_reader *reader, struct error *error)
{
    return error_set(error, ERROR_INPUT, "%s: it has no stream %s", reader->link->name,
                     reader->stream);
}

/* ---- what the stream is ---- */

static int check_shape(const struct nats_reader *reader, const jsStreamConfig *config,
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
    result = check_shape(reader, info->Config, error);
    jsStreamInfo_Destroy(info);
    return result;
}

/* Whether the stream still has what is due. */
static int check_state(const struct nats_reader *reader, const jsStreamInfo *info,
                       struct error *error)
{
    const char *name = reader->link->name;

    if (info->Created != reader->created)
        return error_set(error, ERROR_INPUT, "%s: the stream %s was deleted and made anew", name,
                         reader->stream);
    if (info->State.LastSeq + 1 < reader->next)
        return error_set(error, ERROR_INPUT,
                         "%s: the stream %s ends at message %" PRIu64 ", but %" PRIu64
                         " were delivered: the server has lost messages",
                         name, reader->stream, info->State.LastSeq, reader->next - 1);
    if (reader->next > 1 && info->State.FirstSeq > reader->next)
        return error_set(error, ERROR_INPUT,
                         "%s: the stream %s begins at message %" PRIu64 ": those from %" PRIu64
                         " on are gone; --new-input goes on without them",
                         name, reader->stream, info->State.FirstSeq, reader->next);
    return 0;
}

static int check_stream(struct nats_reader *reader, struct error *error)
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
    result = check_state(reader, info, error);
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

static int subscribe(struct nats_reader *reader, struct error *error)
{
    jsConsumerInfo *info = NULL;
    jsSubOptions options;
    jsErrCode code = 0;
    natsStatus status;

    if (check_stream(reader, error) != 0)
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

static int take_message(struct nats_reader *reader, natsMsg *message,
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

    if (reader->subscription == NULL && subscribe(reader, error) != 0)
        return -1;
    status =
        natsSubscription_Fetch(&list, reader->subscription, batch_size(reader), FETCH_MS, &code);
    if (status == NATS_TIMEOUT)
        return check_consumer(reader, error);
    if (status != NATS_OK)
        result = nats_link_fail_for_now(reader->link, status, code, reading, error);
    for (int i = 0; result == 0 && i < list.Count; i++)
        result = take_message(reader, list.Msgs[i], each, context, error);
    natsMsgList_Destroy(&list);
    if (result != 0)
        nats_reader_close(reader);
    return result;
}
