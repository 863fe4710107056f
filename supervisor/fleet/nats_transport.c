/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/number.h"
#include "base/output/spool.h"
#include "base/stamp.h"
#include "supervisor/fleet/nats_records.h"
#include "supervisor/fleet/transport.h"

#define JOBS     "GASPIPE_JOBS"
#define NOTES    "GASPIPE_NOTES"
#define CONSUMER "workers"

enum { FETCH_MS = 1000, RETRY_MS = 2000, REFUSED_MS = 10000, ACKS_MAX = 100000 };

struct nats_transport {
    struct fleet_transport transport;
    struct nats_link link;
    natsSubscription *jobs; /* of workers; NULL until one is taken */
    uint64_t lease_ms;
    int64_t clock_offset; /* the server's clock minus CLOCK_MONOTONIC, nanoseconds; 0: not known */
};

static struct nats_transport *nats_of(struct fleet_transport *transport)
{
    return (struct nats_transport *)transport;
}

static int nats_missing(struct nats_transport *nats, const char *what, const char *key,
                        struct error *error)
{
    return error_set(error, ERROR_INPUT, "%s: %s %s: it is missing", nats->link.name, what, key);
}

/* ---- objects ---- */

static int nats_has_object(struct fleet_transport *transport, const char *hash, bool *found,
                           struct error *error)
{
    return nats_object_has(&nats_of(transport)->link, hash, found, error);
}

static int nats_put_object(struct fleet_transport *transport, const char *hash, int packed,
                           struct error *error)
{
    return nats_object_put(&nats_of(transport)->link, hash, packed, error);
}

static int nats_get_object(struct fleet_transport *transport, const char *hash, int *packed,
                           struct error *error)
{
    struct nats_transport *nats = nats_of(transport);
    bool found = false;
    int result;

    *packed = temporary_file_open(error);
    if (*packed < 0)
        return -1;
    result = nats_object_get(&nats->link, hash, *packed, &found, error);
    if (result == 0 && !found)
        result = nats_missing(nats, "the object", hash, error);
    if (result == 0)
        return 0;
    close(*packed);
    *packed = -1;
    return -1;
}

/* ---- notes ---- */

static void name_note(char subject[NATS_SUBJECT_SIZE], const char *kind, const char *id)
{
    snprintf(subject, NATS_SUBJECT_SIZE, "gaspipe.note.%s.%s", kind, id);
}

static int get_note(struct nats_transport *nats, const char *kind, const char *id,
                    struct buf *value, struct error *error)
{
    char subject[NATS_SUBJECT_SIZE];
    bool found;

    name_note(subject, kind, id);
    return nats_link_get(&nats->link, NOTES, subject, value, &found, error);
}

static int set_note(struct nats_transport *nats, const char *kind, const char *id,
                    const char *value, struct error *error)
{
    char subject[NATS_SUBJECT_SIZE];

    name_note(subject, kind, id);
    return nats_link_set(&nats->link, NOTES, subject, value, strlen(value), error);
}

static int noted_state(struct nats_transport *nats, const char *id, enum fleet_state *state,
                       struct error *error)
{
    struct buf value = {0};
    int result = get_note(nats, "state", id, &value, error);
    const char *text = buf_string(&value);

    *state = FLEET_UNKNOWN;
    if (text != NULL && strcmp(text, "failed") == 0)
        *state = FLEET_FAILED;
    else if (text != NULL && strcmp(text, "cancelled") == 0)
        *state = FLEET_CANCELLED;
    buf_free(&value);
    return result;
}

/* ---- jobs ---- */

static void name_job(char subject[NATS_SUBJECT_SIZE], const char *id)
{
    snprintf(subject, NATS_SUBJECT_SIZE, "gaspipe.job.%s", id);
}

/* FLEET_WAITING also of a job that is taken. */
static int state_known(struct nats_transport *nats, const char *id, enum fleet_state *state,
                       struct error *error)
{
    char subject[NATS_SUBJECT_SIZE];
    bool found;

    if (nats_record_get(&nats->link, "result", id, NULL, &found, error) != 0)
        return -1;
    *state = FLEET_DONE;
    if (found)
        return 0;
    if (noted_state(nats, id, state, error) != 0 || *state != FLEET_UNKNOWN)
        return *state != FLEET_UNKNOWN ? 0 : -1;
    name_job(subject, id);
    if (nats_link_get(&nats->link, JOBS, subject, NULL, &found, error) != 0)
        return -1;
    *state = found ? FLEET_WAITING : FLEET_UNKNOWN;
    return 0;
}

/* Notes that this worker has a job for that time; 0: no longer. */
static int note_taken(struct nats_transport *nats, const char *id, uint64_t lease_ms,
                      struct error *error)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, lease_ms);
    return set_note(nats, "taken", id, text, error);
}

/* The server's time. Does not write into the fleet's streams, as a user who only looks at the fleet
 * may not be allowed to. */
static int read_clock(struct nats_transport *nats, int64_t *now, struct error *error)
{
    int64_t time = 0;
    bool exact;

    if (nats->clock_offset == 0) {
        if (nats_link_time(&nats->link, NOTES, &time, &exact, error) != 0)
            return -1;
        if (!exact)
            log_line("%s: its time cannot be asked for with these credentials: jobs may pass for "
                     "taken though all workers are lost",
                     nats->link.name);
        nats->clock_offset = time - stamp_now().mono;
    }
    *now = stamp_now().mono + nats->clock_offset;
    return 0;
}

static int is_taken(struct nats_transport *nats, const char *id, bool *taken, struct error *error)
{
    char subject[NATS_SUBJECT_SIZE];
    struct buf lease = {0};
    int64_t since, now = 0;
    uint64_t milliseconds = 0;
    int result;

    name_note(subject, "taken", id);
    result = nats_link_get_dated(&nats->link, NOTES, subject, &lease, &since, error);
    if (result == 0 && lease.length > 0 && buf_string(&lease) != NULL &&
        number_read(lease.data, INT32_MAX, &milliseconds) && milliseconds > 0)
        result = read_clock(nats, &now, error);
    *taken = milliseconds > 0 && now - since < (int64_t)milliseconds * 1000000;
    buf_free(&lease);
    return result;
}

static int nats_job_state(struct fleet_transport *transport, const char *id,
                          enum fleet_state *state, struct error *error)
{
    struct nats_transport *nats = nats_of(transport);
    bool taken;

    if (state_known(nats, id, state, error) != 0)
        return -1;
    if (*state != FLEET_WAITING)
        return 0;
    if (is_taken(nats, id, &taken, error) != 0)
        return -1;
    *state = taken ? FLEET_TAKEN : FLEET_WAITING;
    return 0;
}

static int nats_put_job(struct fleet_transport *transport, const char *id, const struct buf *job,
                        int64_t weight, bool *added, struct error *error)
{
    struct nats_transport *nats = nats_of(transport);
    char subject[NATS_SUBJECT_SIZE];
    enum fleet_state state;
    bool is_new;

    (void)weight; /* a queue keeps the order in which it was filled */
    if (state_known(nats, id, &state, error) != 0)
        return -1;
    *added = fleet_state_takes_job(state);
    if (!*added)
        return 0;
    if (state != FLEET_UNKNOWN && (set_note(nats, "words", id, "", error) != 0 ||
                                   set_note(nats, "state", id, "none", error) != 0))
        return -1;
    name_job(subject, id);
    if (nats_record_put(&nats->link, "job", id, job, &is_new, error) != 0)
        return -1;
    return nats_link_add(&nats->link, JOBS, subject, job->data, job->length, added, error);
}

static int nats_cancel(struct fleet_transport *transport, const char *id, struct error *error)
{
    struct nats_transport *nats = nats_of(transport);
    char subject[NATS_SUBJECT_SIZE];
    enum fleet_state state;

    if (state_known(nats, id, &state, error) != 0)
        return -1;
    if (state != FLEET_WAITING)
        return 0;
    name_job(subject, id);
    if (set_note(nats, "state", id, "cancelled", error) != 0)
        return -1;
    return nats_link_remove(&nats->link, JOBS, subject, error);
}

/* ---- leases ---- */

static int nats_subscribe(struct nats_transport *nats, struct error *error)
{
    jsSubOptions options;
    jsErrCode code = 0;
    natsStatus status = jsSubOptions_Init(&options);
    int tries = 0;

    if (nats->jobs != NULL)
        return 0;
    options.Stream = JOBS;
    options.ManualAck = true;
    options.Config.AckPolicy = js_AckExplicit;
    options.Config.AckWait = (int64_t)nats->lease_ms * 1000000;
    options.Config.MaxAckPending = ACKS_MAX;
    options.Config.MaxDeliver = -1;
    while (status == NATS_OK) {
        status = js_PullSubscribe(&nats->jobs, nats->link.js, "gaspipe.job.*", CONSUMER, NULL,
                                  &options, &code);
        if (status == NATS_OK)
            return 0;
        /* The consumer is there, with the lease of the worker that came first: that counts. */
        options.Config.AckWait = 0;
        options.Config.MaxAckPending = 0;
        options.Config.MaxDeliver = 0;
        if (tries++ == 0 || nats_link_again(&nats->link, status, code, &tries))
            status = NATS_OK;
    }
    return nats_link_fail(&nats->link, status, code, "take jobs", error);
}

/* The next message of the queue, or NULL. */
static int nats_fetch(struct nats_transport *nats, natsMsg **message, struct error *error)
{
    natsMsgList list = {0};
    jsErrCode code = 0;
    natsStatus status;
    int tries = 0;

    *message = NULL;
    do
        status = natsSubscription_Fetch(&list, nats->jobs, 1, FETCH_MS, &code);
    while (status != NATS_OK && status != NATS_TIMEOUT &&
           nats_link_again(&nats->link, status, code, &tries));
    if (status == NATS_TIMEOUT)
        return 0;
    if (status != NATS_OK)
        return nats_link_fail(&nats->link, status, code, "take jobs", error);
    if (list.Count > 0) {
        *message = list.Msgs[0];
        list.Msgs[0] = NULL;
    }
    natsMsgList_Destroy(&list);
    return 0;
}

/* The number of its failures, each of which has a line of reason. */
static int count_failures(struct nats_transport *nats, const char *id, struct buf *words,
                          unsigned *failures, struct error *error)
{
    if (get_note(nats, "words", id, words, error) != 0)
        return -1;
    *failures = 0;
    for (size_t i = 0; i < words->length; i++)
        *failures += words->data[i] == '\n';
    return 0;
}

static int nats_mark_failed(struct nats_transport *nats, const char *id, natsMsg *message,
                            struct error *error)
{
    if (set_note(nats, "state", id, "failed", error) != 0)
        return -1;
    /* If this is lost, the job comes again, and its next worker sees the note. */
    (void)natsMsg_Term(message, NULL);
    return 0;
}

/* How often workers of other builds refused it. */
static int count_refusals(struct nats_transport *nats, const char *id, uint64_t *times,
                          struct error *error)
{
    struct buf text = {0};
    int result = get_note(nats, "refused", id, &text, error);

    *times = 0;
    if (result == 0 && text.length > 0 &&
        (buf_string(&text) == NULL || !number_read(text.data, INT32_MAX, times)))
        result = error_set(error, ERROR_INPUT, "%s: the note of refusals of the job %s is damaged",
                           nats->transport.name, id);
    buf_free(&text);
    return result;
}

/* Returns true if too many of its workers were lost without a reason. */
static int was_lost_often(struct nats_transport *nats, const char *id, natsMsg *message,
                          bool *often, struct error *error)
{
    jsMsgMetaData *meta = NULL;
    struct buf words = {0};
    unsigned failures;
    int result;

    *often = false;
    if (natsMsg_GetMetaData(&meta, message) != NATS_OK)
        return 0;
    result = count_failures(nats, id, &words, &failures, error);
    *often = result == 0 && meta->NumDelivered > (uint64_t)failures + FLEET_LOSSES_MAX;
    if (*often) {
        uint64_t refusals;

        result = count_refusals(nats, id, &refusals, error);
        *often = result == 0 && meta->NumDelivered > failures + FLEET_LOSSES_MAX + refusals;
    }
    jsMsgMetaData_Destroy(meta);
    buf_free(&words);
    if (*often)
        result = set_note(nats, "words", id, "too many of its workers were lost\n", error);
    return result;
}

/* 1: this worker has the job; 0: it needs no work; -1 with the error. */
static int nats_transport_judge(struct nats_transport *nats, natsMsg *message, const char *id,
                                struct error *error)
{
    enum fleet_state state;
    bool often;

    if (state_known(nats, id, &state, error) != 0 ||
        was_lost_often(nats, id, message, &often, error) != 0)
        return -1;
    if (often)
        return nats_mark_failed(nats, id, message, error);
    if (state != FLEET_DONE && state != FLEET_CANCELLED && state != FLEET_FAILED)
        return 1;
    (void)natsMsg_Ack(message, NULL); /* if it is lost, it is judged once more */
    return 0;
}

static int make_lease(struct fleet_lease *lease, const char *id, natsMsg *message,
                      struct error *error)
{
    *lease = (struct fleet_lease){.hold = message};
    snprintf(lease->id, sizeof lease->id, "%s", id);
    if (buf_append(&lease->job, natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message)) ==
        0)
        return 1;
    natsMsg_Destroy(message);
    *lease = (struct fleet_lease){0};
    return error_memory(error, "a job");
}

static int nats_transport_take(struct fleet_transport *transport, const char *id,
                               struct fleet_lease *lease, bool *left, struct error *error)
{
    static const char head[] = "gaspipe.job.";
    struct nats_transport *nats = nats_of(transport);
    natsMsg *message;
    uint64_t count;

    if (id != NULL)
        return error_set(error, ERROR_USAGE, "--job goes with --from DIR");
    for (;;) {
        const char *subject;
        int judged;

        if (nats_subscribe(nats, error) != 0 || nats_fetch(nats, &message, error) != 0)
            return -1;
        if (message == NULL)
            break;
        subject = natsMsg_GetSubject(message);
        judged = strncmp(subject, head, sizeof head - 1) == 0 &&
                         strlen(subject) == sizeof head - 1 + FLEET_HASH_SIZE - 1
                     ? nats_transport_judge(nats, message, subject + sizeof head - 1, error)
                     : error_set(error, ERROR_INPUT,
                                 "%s: its stream %s has a message that is no "
                                 "job",
                                 nats->link.name, JOBS);
        if (judged == 1 && note_taken(nats, subject + sizeof head - 1, nats->lease_ms, error) != 0)
            judged = -1;
        if (judged == 1)
            return make_lease(lease, subject + sizeof head - 1, message, error);
        natsMsg_Destroy(message);
        if (judged < 0)
            return -1;
    }
    if (nats_link_count(&nats->link, JOBS, &count, error) != 0)
        return -1;
    *left = count > 0;
    return 0;
}

static int nats_extend(struct fleet_transport *transport, struct fleet_lease *lease, bool *lost,
                       struct error *error)
{
    enum fleet_state state;

    if (noted_state(nats_of(transport), lease->id, &state, error) != 0 ||
        note_taken(nats_of(transport), lease->id, nats_of(transport)->lease_ms, error) != 0)
        return -1;
    *lost = state == FLEET_CANCELLED;
    /* While the server is away, libnats keeps messages and sends them later. */
    (void)natsMsg_InProgress(lease->hold, NULL);
    return 0;
}

static void nats_free_lease(struct fleet_lease *lease)
{
    buf_free(&lease->job);
    natsMsg_Destroy(lease->hold);
    *lease = (struct fleet_lease){0};
}

static int nats_transport_finish(struct fleet_transport *transport, struct fleet_lease *lease,
                                 const struct buf *result, struct error *error)
{
    bool added;
    int status =
        nats_record_put(&nats_of(transport)->link, "result", lease->id, result, &added, error);

    /* If that is lost, the job comes once more, and its result is there. */
    if (status == 0)
        (void)natsMsg_AckSync(lease->hold, NULL, NULL);
    nats_free_lease(lease);
    return status;
}

static int nats_fail_job(struct fleet_transport *transport, struct fleet_lease *lease,
                         const char *why, struct error *error)
{
    struct nats_transport *nats = nats_of(transport);
    struct buf words = {0};
    unsigned failures;
    int status = count_failures(nats, lease->id, &words, &failures, error);

    buf_printf(&words, "%s\n", why);
    if (status == 0 && buf_string(&words) == NULL)
        status = error_memory(error, "a message");
    if (status == 0)
        status = set_note(nats, "words", lease->id, words.data, error);
    if (status == 0)
        status = note_taken(nats, lease->id, 0, error);
    if (status == 0 && failures + 1 >= FLEET_FAILURES_MAX)
        status = nats_mark_failed(nats, lease->id, lease->hold, error);
    else if (status == 0)
        (void)natsMsg_NakWithDelay(lease->hold, RETRY_MS, NULL); /* else when the lease ends */
    buf_free(&words);
    nats_free_lease(lease);
    return status;
}

static int nats_release(struct fleet_transport *transport, struct fleet_lease *lease,
                        struct error *error)
{
    (void)note_taken(nats_of(transport), lease->id, 0, error); /* else until the lease ends */
    (void)natsMsg_Nak(lease->hold, NULL);                      /* likewise */
    (void)natsConnection_FlushTimeout(nats_of(transport)->link.connection, RETRY_MS);
    nats_free_lease(lease);
    return 0;
}

/* With a delay: otherwise this worker would get the same job next. The refusals must not count as
 * lost workers. */
static int nats_transport_refuse(struct fleet_transport *transport, struct fleet_lease *lease,
                                 struct error *error)
{
    struct nats_transport *nats = nats_of(transport);
    char text[24];
    uint64_t times;
    int result = count_refusals(nats, lease->id, &times, error);

    if (result == 0) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)times + 1);
        result = set_note(nats, "refused", lease->id, text, error);
    }
    if (result == 0)
        result = note_taken(nats, lease->id, 0, error);
    (void)natsMsg_NakWithDelay(lease->hold, REFUSED_MS, NULL); /* else when the lease ends */
    (void)natsConnection_FlushTimeout(nats->link.connection, RETRY_MS);
    nats_free_lease(lease);
    return result;
}

/* ---- results, runs ---- */

static int nats_get_result(struct fleet_transport *transport, const char *id, struct buf *result,
                           struct error *error)
{
    struct nats_transport *nats = nats_of(transport);
    bool found;

    if (nats_record_get(&nats->link, "result", id, result, &found, error) != 0)
        return -1;
    return found ? 0 : nats_missing(nats, "the result of", id, error);
}

static int nats_get_words(struct fleet_transport *transport, const char *id, struct buf *words,
                          struct error *error)
{
    return get_note(nats_of(transport), "words", id, words, error);
}

static int nats_put_run(struct fleet_transport *transport, const char *name, const struct buf *jobs,
                        struct error *error)
{
    bool added;

    return nats_record_put(&nats_of(transport)->link, "run", name, jobs, &added, error);
}

static int nats_get_run(struct fleet_transport *transport, const char *name, struct buf *jobs,
                        struct error *error)
{
    struct nats_transport *nats = nats_of(transport);
    bool found;

    if (nats_record_get(&nats->link, "run", name, jobs, &found, error) != 0)
        return -1;
    return found ? 0 : nats_missing(nats, "the run", name, error);
}

struct naming {
    fleet_each *each;
    void *context;
};

static int nats_name_run(void *context, const char *subject, struct error *error)
{
    const struct naming *naming = context;

    return naming->each(naming->context, strrchr(subject, '.') + 1, error);
}

static int nats_list_runs(struct fleet_transport *transport, fleet_each *each, void *context,
                          struct error *error)
{
    struct naming naming = {each, context};

    return nats_link_subjects(&nats_of(transport)->link, NATS_RECORDS, "gaspipe.record.run.*",
                              nats_name_run, &naming, error);
}

/* ---- opening ---- */

static void close_nats(struct fleet_transport *transport)
{
    struct nats_transport *nats = nats_of(transport);

    natsSubscription_Destroy(nats->jobs);
    nats_link_close(&nats->link);
    nats_Close();
    free(nats);
}

static int open_nats(struct nats_transport *nats, const struct nats_access *access, int replicas,
                     struct error *error)
{
    static const struct nats_stream streams[] = {
        {NATS_OBJECTS, "gaspipe.object.>", false},
        {JOBS, "gaspipe.job.>", true},
        {NATS_RECORDS, "gaspipe.record.>", false},
        {NOTES, "gaspipe.note.>", false},
    };

    if (nats_link_open(&nats->link, access, error) != 0)
        return -1;
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        if (nats_link_stream(&nats->link, &streams[i], replicas, error) != 0)
            return -1;
    return 0;
}

struct fleet_transport *nats_transport_open(const struct nats_access *access, int replicas,
                                            uint64_t lease_ms, struct error *error)
{
    static const struct fleet_operations operations = {
        .has_object = nats_has_object,
        .put_object = nats_put_object,
        .get_object = nats_get_object,
        .put_job = nats_put_job,
        .take = nats_transport_take,
        .extend = nats_extend,
        .finish = nats_transport_finish,
        .fail = nats_fail_job,
        .release = nats_release,
        .refuse = nats_transport_refuse,
        .state = nats_job_state,
        .get_result = nats_get_result,
        .get_words = nats_get_words,
        .cancel = nats_cancel,
        .put_run = nats_put_run,
        .get_run = nats_get_run,
        .list_runs = nats_list_runs,
        .close = close_nats,
    };
    struct nats_transport *nats = calloc(1, sizeof *nats);

    if (nats == NULL) {
        error_memory(error, "a fleet's connection");
        return NULL;
    }
    nats->transport = (struct fleet_transport){
        .operations = &operations, .name = nats->link.name, .renewal_ms = lease_ms / 4 + 1};
    nats->lease_ms = lease_ms;
    if (open_nats(nats, access, replicas, error) == 0)
        return &nats->transport;
    close_nats(&nats->transport);
    return NULL;
}
