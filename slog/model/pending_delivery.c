/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/model/pending_delivery.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/json/scan.h"
#include "slog/model/describe.h"
#include "slog/model/fnv1a.h"

/* No word is stored. */
#define NO_WORD SIZE_MAX

/* The last element of an array whose first is the string `kind`; empty for other arrays. */
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

static struct model_message identify_message(struct scan_span message)
{
    struct scan_span promise = scan_string(scan_get(message, "result"));
    struct model_message identity = {0};

    if (message.at == NULL)
        return identity;
    identity.promised = promise.at != NULL;
    if (identity.promised)
        message = promise;
    identity.digest = fnv1a_add(FNV1A_START, message.at, message.length);
    if (identity.digest == 0)
        identity.digest = 1;
    return identity;
}

/* The message of a `send` (ksc) or of a `message` (kd); none of another object. */
static struct model_message message_sent(struct scan_span ksc)
{
    return identify_message(message_in(ksc, "send"));
}

static struct model_message message_delivered(struct scan_span kd)
{
    return identify_message(message_in(kd, "message"));
}

/* Differs from the digest of the same promise as a result, which identifies a message. */
static uint64_t digest_of_promise(struct scan_span promise)
{
    uint64_t digest = fnv1a_add(FNV1A_START, "settled", strlen("settled"));

    digest = fnv1a_add(digest, promise.at, promise.length);
    return digest != 0 ? digest : 1;
}

static int pending_add_promise(struct scan_span entry, struct promises *promises,
                               struct error *error)
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

/* The last element of both is a list of arrays that begin with a promise. */
static int add_promises(struct scan_span object, const char *kind, struct promises *promises,
                        struct error *error)
{
    struct scan_span list = message_in(object, kind), entry;
    struct scan_cursor cursor;

    if (list.at == NULL || !scan_open(list, '[', &cursor))
        return 0;
    while (scan_element(&cursor, &entry) == SCAN_FOUND) {
        if (pending_add_promise(entry, promises, error) != 0)
            return -1;
    }
    return 0;
}

/*
 * Appends the promises that a `resolve` settles (ksc) or a `notify` reports (kd). -1 when out of
 * memory.
 */
static int message_resolved(struct scan_span ksc, struct promises *promises, struct error *error)
{
    return add_promises(ksc, "resolve", promises, error);
}

static int message_notified(struct scan_span kd, struct promises *promises, struct error *error)
{
    return add_promises(kd, "notify", promises, error);
}

struct pending_delivery *pending_new(struct error *error)
{
    struct pending_delivery *pending = calloc(1, sizeof *pending);

    if (pending == NULL)
        error_memory(error, "a delivery");
    return pending;
}

void pending_free(struct pending_delivery *pending)
{
    if (pending == NULL)
        return;
    buf_free(&pending->words);
    free(pending->requests);
    free(pending->promises.at);
    free(pending);
}

void pending_reset(struct pending_delivery *pending)
{
    buf_clear(&pending->words);
    pending->request_count = 0;
    pending->consoles = 0;
    pending->promises.count = pending->notified = 0;
    pending->syscall_digest = FNV1A_START;
    pending->message = (struct model_message){0};
    pending->changed = false;
}

/* The vat's side, or if absent the kernel's. */
static struct scan_span vat_side(struct scan_span vat, struct scan_span kernel)
{
    return vat.at != NULL ? vat : kernel;
}

/* Ends the word that begins at `start`, which is returned. */
static size_t end_word(struct buf *words, size_t start)
{
    buf_append_byte(words, '\0');
    return start;
}

/* The word at this offset, or "". */
static const char *pending_word(const struct pending_delivery *pending, size_t place)
{
    return place == NO_WORD ? "" : pending->words.data + place;
}

/* Appends the beginning of a text. Cutting a character or an escape does no harm. */
static size_t add_clipped(struct pending_delivery *pending, struct scan_span text)
{
    size_t start = pending->words.length;
    bool cut = text.length > MODEL_WORDS;

    if (text.at == NULL)
        return NO_WORD;
    if (cut)
        text.length = MODEL_WORDS;
    describe_string(text, &pending->words);
    if (cut)
        buf_append_string(&pending->words, "…");
    return end_word(&pending->words, start);
}

int pending_describe(struct pending_delivery *pending, const struct record *record,
                     struct error *error)
{
    struct scan_span vd = vat_side(record->vd, record->kd);
    struct scan_span kind = describe_kind(vd);
    struct buf *words = &pending->words;
    size_t start;

    pending->bytes = vd.length;
    if (kind.at == NULL)
        kind = record->dispatch;
    start = words->length;
    describe_string(kind, words);
    pending->kind = end_word(words, start);
    start = words->length;
    describe_delivered_method(vd, words);
    pending->method = end_word(words, start);
    start = words->length;
    if (vd.at != NULL)
        describe_delivery(vd, words);
    else
        describe_string(kind, words);
    pending->description = end_word(words, start);
    pending->arguments = pending->wordy ? add_clipped(pending, describe_words(vd)) : NO_WORD;
    return buf_failed(words) ? error_memory(error, "a delivery's description") : 0;
}

int pending_add_causes(struct pending_delivery *pending, const struct record *record,
                       struct error *error)
{
    pending->message = message_delivered(record->kd);
    if (message_notified(record->kd, &pending->promises, error) != 0)
        return -1;
    pending->notified = pending->promises.count;
    return 0;
}

static int reserve_requests(struct pending_delivery *pending, struct error *error)
{
    struct request *requests;

    if (pending->request_count < pending->request_capacity)
        return 0;
    requests = array_reserve(pending->requests, &pending->request_capacity,
                             pending->request_count + 1, sizeof *requests);
    if (requests == NULL)
        return error_memory(error, "a delivery's syscalls");
    pending->requests = requests;
    return 0;
}

static size_t add_label(struct pending_delivery *pending, const struct record *record)
{
    struct scan_span vsc = vat_side(record->vsc, record->ksc);
    size_t start = pending->words.length;

    if (record->type == RECORD_CONSOLE) {
        buf_append_string(&pending->words, "console");
    } else {
        pending->syscall_digest = fnv1a_add(pending->syscall_digest, vsc.at, vsc.length);
        describe_syscall(vsc, &pending->words);
    }
    return end_word(&pending->words, start);
}

static size_t request_add_said(struct pending_delivery *pending, const struct record *record)
{
    if (!pending->wordy)
        return NO_WORD;
    if (record->type == RECORD_CONSOLE)
        return add_clipped(pending, record_member(record, "args"));
    return add_clipped(pending, describe_words(vat_side(record->vsc, record->ksc)));
}

/* Stores what only some reports need of a request. */
static int request_add_words(struct pending_delivery *pending, struct request *request,
                             const struct record *record, struct error *error)
{
    request->label = add_label(pending, record);
    request->said = request_add_said(pending, record);
    request->message = message_sent(record->ksc);
    request->promises = pending->promises.count;
    if (message_resolved(record->ksc, &pending->promises, error) != 0)
        return -1;
    request->promise_count = pending->promises.count - request->promises;
    return 0;
}

int pending_add_request(struct pending_delivery *pending, const struct record *record,
                        struct moment arrived, uint32_t kind, bool labelled, struct error *error)
{
    bool console = record->type == RECORD_CONSOLE;
    struct request *request;

    if (reserve_requests(pending, error) != 0)
        return -1;
    request = &pending->requests[pending->request_count++];
    *request = (struct request){.console = console,
                                .changed_before = pending->changed,
                                .arrived = arrived,
                                .answered = arrived,
                                .syscall_num = record->syscall_num,
                                .request_bytes = vat_side(record->vsc, record->ksc).length,
                                .kind = kind,
                                .label = NO_WORD,
                                .said = NO_WORD,
                                .answer = NO_WORD};
    pending->changed = false;
    pending->consoles += console;
    if (!console)
        request->answered = (struct moment){MODEL_NONE, MODEL_NONE};
    if (labelled && request_add_words(pending, request, record, error) != 0)
        return -1;
    return buf_failed(&pending->words) ? error_memory(error, "a syscall's description") : 0;
}

/* Most answers only report success. */
static size_t add_answer(struct pending_delivery *pending, struct scan_span answer)
{
    return scan_is(answer, "[\"ok\",null]") ? NO_WORD
                                            : add_clipped(pending, describe_words(answer));
}

void pending_answer(struct pending_delivery *pending, const struct record *record,
                    struct moment answered)
{
    for (size_t i = pending->request_count; i > 0; i--) {
        struct request *request = &pending->requests[i - 1];

        if (request->console)
            continue;
        if (request->answered.real == MODEL_NONE && request->syscall_num == record->syscall_num) {
            request->answered = answered;
            request->answer_bytes = vat_side(record->vsr, record->ksr).length;
            if (pending->wordy)
                request->answer = add_answer(pending, vat_side(record->vsr, record->ksr));
            request->changed_within = pending->changed;
            pending->changed = false;
        }
        return;
    }
}

bool pending_is_precise(const struct pending_delivery *pending, const struct outcome *outcome,
                        struct moment returned)
{
    const struct stamps *stamps = &outcome->monotimes;

    if (stamps->count != outcome->timestamps.count)
        return false;
    if (pending->sent.mono == MODEL_NONE || returned.mono == MODEL_NONE)
        return false;
    for (size_t i = 0; i < pending->request_count; i++) {
        if (pending->requests[i].arrived.mono == MODEL_NONE)
            return false;
    }
    /* A worker on another host has another clock. */
    return stamps->count == 0 ||
           (stamps->at[0] >= pending->sent.mono && stamps->at[stamps->count - 1] <= returned.mono);
}

void pending_make_events(const struct pending_delivery *pending, bool precise,
                         const struct names *kinds, struct model_event *events)
{
    for (size_t i = 0; i < pending->request_count; i++) {
        const struct request *request = &pending->requests[i];

        events[i] = (struct model_event){
            .console = request->console,
            .changed_before = request->changed_before,
            .changed_within = request->changed_within,
            .arrived = precise ? request->arrived.mono : request->arrived.real,
            .answered = precise ? request->answered.mono : request->answered.real,
            .request_bytes = request->request_bytes,
            .answer_bytes = request->answer_bytes,
            .kind = names_text(kinds, request->kind),
            .label = pending_word(pending, request->label),
            .said = pending_word(pending, request->said),
            .answered_by = pending_word(pending, request->answer),
            .message = request->message,
            .promises =
                request->promise_count > 0 ? pending->promises.at + request->promises : NULL,
            .promise_count = request->promise_count,
        };
    }
}

void pending_fill_words(const struct pending_delivery *pending, struct model_delivery *delivery)
{
    const char *words = pending->words.data;

    delivery->kind = words + pending->kind;
    delivery->method = words + pending->method;
    delivery->description = words + pending->description;
    delivery->arguments = pending_word(pending, pending->arguments);
    delivery->block_height = pending->block_height;
    delivery->syscall_digest = pending->syscall_digest;
    delivery->message = pending->message;
    delivery->promises = pending->promises.at;
    delivery->promise_count = pending->notified;
    delivery->bytes = pending->bytes;
}

static int64_t wait_of(int64_t waited, int64_t total)
{
    return waited >= 0 && waited <= total ? waited : MODEL_NONE;
}

/* Both ends can wait at the same moment: no moment counts twice. */
static void fit_waits(struct model_delivery *delivery)
{
    const struct model_waits waits = model_waits_of(delivery);
    const int64_t rest = delivery->total - delivery->cpu_wait;

    if (delivery->pipe != MODEL_NONE) {
        delivery->cpu_wait = waits.by_gaspipe;
        delivery->worker_cpu_wait = waits.by_worker;
    } else if (delivery->worker_cpu_wait > rest) {
        delivery->worker_cpu_wait = rest;
    }
}

/* Only slow deliveries have them, and the worker's only next to gaspipe's. */
void pending_fill_cpu_waits(const struct record *record, struct model_delivery *delivery)
{
    enum { SLOW = 900 * 1000 };

    if (delivery->total < SLOW || delivery->replay)
        return;
    delivery->cpu_wait = wait_of(record->cpu_wait, delivery->total);
    if (delivery->cpu_wait != MODEL_NONE)
        delivery->worker_cpu_wait = wait_of(record->worker_cpu_wait, delivery->total);
    if (delivery->worker_cpu_wait != MODEL_NONE)
        fit_waits(delivery);
}
