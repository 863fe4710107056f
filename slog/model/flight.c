/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/model/flight.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/json/scan.h"
#include "slog/model/describe.h"
#include "slog/model/digest.h"

/* Where no word is. */
#define FLIGHT_NO_WORD SIZE_MAX

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

/*
 * The message of a `send` (the kernel's syscall object, ksc) or of a `message`
 * (its delivery object, kd). None when the object is of another kind or no object.
 */
static struct model_message message_sent(struct scan_span ksc)
{
    return identify(message_in(ksc, "send"));
}

static struct model_message message_delivered(struct scan_span kd)
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

/*
 * Appends the promises that a `resolve` settles (ksc), or that a `notify` tells of
 * (kd); none of another object. -1 when memory ran out.
 */
static int message_resolved(struct scan_span ksc, struct promises *promises, struct error *error)
{
    return add_promises(ksc, "resolve", promises, error);
}

static int message_notified(struct scan_span kd, struct promises *promises, struct error *error)
{
    return add_promises(kd, "notify", promises, error);
}

struct flight *flight_new(struct error *error)
{
    struct flight *flight = calloc(1, sizeof *flight);

    if (flight == NULL)
        error_memory(error, "a delivery");
    return flight;
}

void flight_free(struct flight *flight)
{
    if (flight == NULL)
        return;
    buf_free(&flight->words);
    free(flight->requests);
    free(flight->promises.at);
    free(flight);
}

void flight_reset(struct flight *flight)
{
    buf_clear(&flight->words);
    flight->request_count = 0;
    flight->consoles = 0;
    flight->promises.count = flight->notified = 0;
    flight->syscall_digest = DIGEST_START;
    flight->message = (struct model_message){0};
    flight->changed = false;
}

/* What the vat sees, or where that is missing what the kernel does. */
static struct scan_span vat_side(struct scan_span vat, struct scan_span kernel)
{
    return vat.at != NULL ? vat : kernel;
}

/* Ends the word that was being appended since `start`, and returns where it is. */
static size_t end_word(struct buf *words, size_t start)
{
    buf_append_byte(words, '\0');
    return start;
}

const char *flight_word(const struct flight *flight, size_t place)
{
    return place == FLIGHT_NO_WORD ? "" : flight->words.data + place;
}

/* The beginning of a text; that a character or an escape is cut at its end does no harm. */
static size_t add_clipped(struct flight *flight, struct scan_span text)
{
    size_t start = flight->words.length;
    bool cut = text.length > MODEL_WORDS;

    if (text.at == NULL)
        return FLIGHT_NO_WORD;
    if (cut)
        text.length = MODEL_WORDS;
    describe_string(text, &flight->words);
    if (cut)
        buf_append_string(&flight->words, "…");
    return end_word(&flight->words, start);
}

int flight_describe(struct flight *flight, const struct record *record, struct error *error)
{
    struct scan_span vd = vat_side(record->vd, record->kd);
    struct scan_span kind = describe_kind(vd);
    struct buf *words = &flight->words;
    size_t start;

    flight->bytes = vd.length;
    if (kind.at == NULL)
        kind = record->dispatch;
    start = words->length;
    describe_string(kind, words);
    flight->kind = end_word(words, start);
    start = words->length;
    describe_delivered_method(vd, words);
    flight->method = end_word(words, start);
    start = words->length;
    if (vd.at != NULL)
        describe_delivery(vd, words);
    else
        describe_string(kind, words);
    flight->description = end_word(words, start);
    flight->arguments = flight->wordy ? add_clipped(flight, describe_words(vd)) : FLIGHT_NO_WORD;
    return buf_failed(words) ? error_memory(error, "a delivery's description") : 0;
}

int flight_add_causes(struct flight *flight, const struct record *record, struct error *error)
{
    flight->message = message_delivered(record->kd);
    if (message_notified(record->kd, &flight->promises, error) != 0)
        return -1;
    flight->notified = flight->promises.count;
    return 0;
}

static int reserve_requests(struct flight *flight, struct error *error)
{
    struct request *requests;

    if (flight->request_count < flight->request_capacity)
        return 0;
    requests = array_reserve(flight->requests, &flight->request_capacity, flight->request_count + 1,
                             sizeof *requests);
    if (requests == NULL)
        return error_memory(error, "a delivery's syscalls");
    flight->requests = requests;
    return 0;
}

static size_t add_label(struct flight *flight, const struct record *record)
{
    struct scan_span vsc = vat_side(record->vsc, record->ksc);
    size_t start = flight->words.length;

    if (record->type == RECORD_CONSOLE) {
        buf_append_string(&flight->words, "console");
    } else {
        flight->syscall_digest = digest_add(flight->syscall_digest, vsc.at, vsc.length);
        describe_syscall(vsc, &flight->words);
    }
    return end_word(&flight->words, start);
}

static size_t add_said(struct flight *flight, const struct record *record)
{
    if (!flight->wordy)
        return FLIGHT_NO_WORD;
    if (record->type == RECORD_CONSOLE)
        return add_clipped(flight, record_member(record, "args"));
    return add_clipped(flight, describe_words(vat_side(record->vsc, record->ksc)));
}

/* What only some reports want to know of a request. */
static int add_words(struct flight *flight, struct request *request, const struct record *record,
                     struct error *error)
{
    request->label = add_label(flight, record);
    request->said = add_said(flight, record);
    request->message = message_sent(record->ksc);
    request->promises = flight->promises.count;
    if (message_resolved(record->ksc, &flight->promises, error) != 0)
        return -1;
    request->promise_count = flight->promises.count - request->promises;
    return 0;
}

int flight_add_request(struct flight *flight, const struct record *record, struct moment arrived,
                       uint32_t kind, bool labelled, struct error *error)
{
    bool console = record->type == RECORD_CONSOLE;
    struct request *request;

    if (reserve_requests(flight, error) != 0)
        return -1;
    request = &flight->requests[flight->request_count++];
    *request = (struct request){.console = console,
                                .changed_before = flight->changed,
                                .arrived = arrived,
                                .answered = arrived,
                                .syscall_num = record->syscall_num,
                                .request_bytes = vat_side(record->vsc, record->ksc).length,
                                .kind = kind,
                                .said = FLIGHT_NO_WORD,
                                .answer = FLIGHT_NO_WORD};
    flight->changed = false;
    flight->consoles += console;
    if (!console)
        request->answered = (struct moment){MODEL_NONE, MODEL_NONE};
    if (labelled && add_words(flight, request, record, error) != 0)
        return -1;
    return buf_failed(&flight->words) ? error_memory(error, "a syscall's description") : 0;
}

/* Most say that all went well, and nothing else. */
static size_t add_answer(struct flight *flight, struct scan_span answer)
{
    return scan_is(answer, "[\"ok\",null]") ? FLIGHT_NO_WORD
                                            : add_clipped(flight, describe_words(answer));
}

void flight_answer(struct flight *flight, const struct record *record, struct moment answered)
{
    for (size_t i = flight->request_count; i > 0; i--) {
        struct request *request = &flight->requests[i - 1];

        if (request->console)
            continue;
        if (request->answered.real == MODEL_NONE && request->syscall_num == record->syscall_num) {
            request->answered = answered;
            request->answer_bytes = vat_side(record->vsr, record->ksr).length;
            if (flight->wordy)
                request->answer = add_answer(flight, vat_side(record->vsr, record->ksr));
            request->changed_within = flight->changed;
            flight->changed = false;
        }
        return;
    }
}
