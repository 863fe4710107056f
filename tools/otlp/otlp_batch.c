/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/otlp/otlp_batch.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/json/json_text.h"
#include "base/json/scan.h"
#include "base/number.h"
#include "base/output/output_file.h"
#include "base/stamp.h"
#include "slog/model/describe.h"

struct otlp_post {
    CURL *curl;
    char *url;
    struct curl_slist *headers;
    struct buf answer;
    char problem[CURL_ERROR_SIZE];
    int64_t timeout;      /* nanoseconds */
    int64_t silent_until; /* nothing is sent before this, CLOCK_MONOTONIC */
    uint64_t spans, refused;
    struct buf why; /* why the first spans were refused */
};

/*
 * Sends spans to a collector with OTLP/HTTP, and counts those that it refuses.
 *
 * A request without an answer, or answered 429, 502, 503 or 504, is sent again after the time in
 * Retry-After, or 0.5, 1, 2, … seconds, for a minute in all (OTEL_EXPORTER_OTLP_TIMEOUT, in
 * milliseconds). After giving up, it sends nothing for as long again and counts all spans as
 * refused: a dead collector costs a minute once, not for each request.
 *
 * Protocol: https://opentelemetry.io/docs/specs/otlp/#otlphttp
 */
struct otlp_post;

enum {
    MILLISECOND = 1000 * 1000,
    FIRST_DELAY_MS = 500,
    TIMEOUT_MS = 60 * 1000,
    ATTEMPT_MS = 10 * 1000,
    TIMEOUT_MOST_MS = 24 * 60 * 60 * 1000,
    /* Answers are kept up to this size: only the status of the spans matters. */
    ANSWER_MOST = 64 * 1024,
};

enum outcome { TAKEN, REFUSED, TOO_LARGE, NOT_NOW };

enum { HTTP_TOO_LARGE = 413 };

/* ---- time --------------------------------------------------------------- */

static int64_t post_now(void)
{
    return stamp_now().mono;
}

static void post_wait_until(int64_t moment)
{
    struct timespec until = {.tv_sec = moment / 1000000000, .tv_nsec = moment % 1000000000};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

/* ---- opening ------------------------------------------------------------ */

static int take_url(struct otlp_post *post, const char *url, struct error *error)
{
    CURLU *parts = curl_url();
    char *path = NULL;
    int result = 0;

    if (parts == NULL)
        return error_memory(error, "sending spans");
    if (curl_url_set(parts, CURLUPART_URL, url, 0) != CURLUE_OK ||
        curl_url_get(parts, CURLUPART_PATH, &path, 0) != CURLUE_OK)
        result = error_set(error, ERROR_USAGE,
                           "--otlp %s: not a URL, such as http://localhost:4318", url);
    else if ((strcmp(path, "/") == 0 &&
              curl_url_set(parts, CURLUPART_PATH, "/v1/traces", 0) != CURLUE_OK) ||
             curl_url_get(parts, CURLUPART_URL, &post->url, 0) != CURLUE_OK)
        result = error_memory(error, "sending spans");
    curl_free(path);
    curl_url_cleanup(parts);
    return result;
}

static int take_timeout(struct otlp_post *post, struct error *error)
{
    static const char name[] = "OTEL_EXPORTER_OTLP_TIMEOUT";
    const char *text = getenv(name);
    uint64_t milliseconds = TIMEOUT_MS;

    if (text != NULL && text[0] != '\0' &&
        (!number_read(text, TIMEOUT_MOST_MS, &milliseconds) || milliseconds == 0))
        return error_set(error, ERROR_USAGE, "%s needs milliseconds from 1 to %d, not '%s'", name,
                         TIMEOUT_MOST_MS, text);
    post->timeout = (int64_t)milliseconds * MILLISECOND;
    return 0;
}

static int add_header(struct otlp_post *post, const char *header, struct error *error)
{
    struct curl_slist *longer = curl_slist_append(post->headers, header);

    if (longer == NULL)
        return error_memory(error, "sending spans");
    post->headers = longer;
    return 0;
}

/* The name of an HTTP header is a token (RFC 9110, 5.6.2). */
static bool is_token(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)text[i]) && strchr("!#$%&'*+-.^_`|~", text[i]) == NULL)
            return false;
    }
    return length > 0;
}

static bool is_printable(const char *text, int length)
{
    for (int i = 0; i < length; i++) {
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return false;
    }
    return true;
}

/* Adds NAME=VALUE of `length` bytes. Messages do not show the value, which may be secret. */
static int add_header_pair(struct otlp_post *post, const char *pair, size_t length,
                           struct error *error)
{
    const char *equals = memchr(pair, '=', length);
    size_t name = equals == NULL ? 0 : (size_t)(equals - pair);
    struct buf header = {0};
    int value_length, result = -1;
    char *value;

    if (!is_token(pair, name))
        return error_set(error, ERROR_USAGE,
                         "OTEL_EXPORTER_OTLP_HEADERS: has a part that is not like NAME=VALUE");
    value = curl_easy_unescape(post->curl, equals + 1, (int)(length - name - 1), &value_length);
    if (value == NULL)
        return error_memory(error, "sending spans");
    buf_append(&header, pair, name);
    /* curl sends a header without a value when a semicolon stands for the colon. */
    buf_append_string(&header, value_length == 0 ? ";" : ": ");
    buf_append(&header, value, (size_t)value_length);
    if (!is_printable(value, value_length))
        error_set(error, ERROR_USAGE,
                  "OTEL_EXPORTER_OTLP_HEADERS: the value of %.*s has a control character in it",
                  (int)name, pair);
    else if (buf_string(&header) == NULL)
        error_memory(error, "sending spans");
    else
        result = add_header(post, header.data, error);
    buf_free(&header);
    curl_free(value);
    return result;
}

static int take_headers(struct otlp_post *post, struct error *error)
{
    const char *text = getenv("OTEL_EXPORTER_OTLP_HEADERS");

    if (add_header(post, "Content-Type: application/json", error) != 0 ||
        /* Otherwise curl asks before it sends large requests, and waits a second for the answer. */
        add_header(post, "Expect:", error) != 0)
        return -1;
    while (text != NULL && *text != '\0') {
        size_t length;

        text += strspn(text, " ");
        length = strcspn(text, ",");
        if (length > 0 && add_header_pair(post, text, length, error) != 0)
            return -1;
        text += length + (text[length] == ',');
    }
    return 0;
}

static size_t keep_answer(char *bytes, size_t size, size_t count, void *context)
{
    struct otlp_post *post = context;

    if (post->answer.length + size * count <= ANSWER_MOST)
        buf_append(&post->answer, bytes, size * count);
    return size * count;
}

static int set_up(struct otlp_post *post, struct error *error)
{
    CURL *curl = post->curl;

    if (curl_easy_setopt(curl, CURLOPT_URL, post->url) != CURLE_OK ||
        curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") != CURLE_OK ||
        curl_easy_setopt(curl, CURLOPT_USERAGENT, "slogreport/" GASPIPE_VERSION) != CURLE_OK ||
        curl_easy_setopt(curl, CURLOPT_HTTPHEADER, post->headers) != CURLE_OK ||
        curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, post->problem) != CURLE_OK ||
        curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep_answer) != CURLE_OK ||
        curl_easy_setopt(curl, CURLOPT_WRITEDATA, post) != CURLE_OK)
        return error_memory(error, "sending spans");
    return 0;
}

static void free_post(struct otlp_post *post)
{
    curl_slist_free_all(post->headers);
    curl_free(post->url);
    if (post->curl != NULL)
        curl_easy_cleanup(post->curl);
    curl_global_cleanup();
    buf_free(&post->answer);
    buf_free(&post->why);
    free(post);
}

/*
 * A URL without a path gets /v1/traces. OTEL_EXPORTER_OTLP_HEADERS has headers to add: NAME=VALUE
 * separated by commas, values percent-encoded. NULL with ERROR_USAGE if the URL or one of the
 * variables is invalid.
 */
static struct otlp_post *otlp_post_open(const char *url, struct error *error)
{
    struct otlp_post *post = calloc(1, sizeof *post);

    if (post == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        error_memory(error, "sending spans");
        free(post);
        return NULL;
    }
    post->curl = curl_easy_init();
    if (post->curl == NULL)
        error_memory(error, "sending spans");
    else if (take_url(post, url, error) == 0 && take_timeout(post, error) == 0 &&
             take_headers(post, error) == 0 && set_up(post, error) == 0)
        return post;
    free_post(post);
    return NULL;
}

/* ---- answers ------------------------------------------------------------ */

static struct scan_span answer_of(struct otlp_post *post)
{
    if (buf_reserve(&post->answer, SCAN_PADDING) != 0 || post->answer.length == 0)
        return (struct scan_span){0};
    return (struct scan_span){post->answer.data, post->answer.length};
}

/* Keeps the first reason only; later ones are mostly the same. */
static void refuse_spans(struct otlp_post *post, uint64_t spans, const char *words,
                         struct scan_span message)
{
    bool first = post->refused == 0;

    post->refused += spans;
    if (!first)
        return;
    buf_append_string(&post->why, words);
    message = scan_string(message);
    if (message.at != NULL && message.length > 0) {
        buf_append_string(&post->why, ": ");
        describe_string(message, &post->why);
    }
}

/* A collector may accept a request but reject some spans permanently. */
static void look_for_partial_success(struct otlp_post *post, uint64_t spans)
{
    struct scan_span answer = answer_of(post), partial, rejected;
    int64_t count = 0;

    if (answer.at == NULL)
        return;
    partial = scan_get(answer, "partialSuccess");
    if (partial.at == NULL)
        return;
    rejected = scan_get(partial, "rejectedSpans");
    if (rejected.at != NULL && scan_string(rejected).at != NULL)
        rejected = scan_string(rejected);
    if (rejected.at == NULL || !scan_decimal(rejected, 0, &count) || count <= 0)
        return;
    refuse_spans(post, (uint64_t)count < spans ? (uint64_t)count : spans,
                 "the collector rejected them", scan_get(partial, "errorMessage"));
}

static bool is_passing(long status)
{
    return status == 429 || (status >= 502 && status <= 504);
}

/* Sends a request once. `words` describes the failure unless TAKEN. */
static enum outcome attempt(struct otlp_post *post, const struct buf *request, int64_t timeout,
                            char words[CURL_ERROR_SIZE])
{
    CURL *curl = post->curl;
    long status = 0, milliseconds = (long)(timeout / MILLISECOND);
    CURLcode code;

    buf_clear(&post->answer);
    post->problem[0] = '\0';
    if (milliseconds > ATTEMPT_MS)
        milliseconds = ATTEMPT_MS;
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, milliseconds > 0 ? milliseconds : 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->data);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->length);
    code = curl_easy_perform(curl);
    if (code != CURLE_OK) {
        snprintf(words, CURL_ERROR_SIZE, "%s",
                 post->problem[0] != '\0' ? post->problem : curl_easy_strerror(code));
        return NOT_NOW;
    }
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    snprintf(words, CURL_ERROR_SIZE, "HTTP status %ld", status);
    if (status >= 200 && status < 300)
        return TAKEN;
    if (status == HTTP_TOO_LARGE)
        return TOO_LARGE;
    return is_passing(status) ? NOT_NOW : REFUSED;
}

/* The time to wait before the next attempt: Retry-After or the backoff. */
static int64_t delay_of(struct otlp_post *post, int attempts)
{
    curl_off_t seconds = 0;

    if (curl_easy_getinfo(post->curl, CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK && seconds > 0)
        return seconds < TIMEOUT_MOST_MS / 1000 ? seconds * 1000 * MILLISECOND : INT64_MAX / 4;
    return ((int64_t)FIRST_DELAY_MS << (attempts < 16 ? attempts : 16)) * MILLISECOND;
}

/*
 * Sends a request with this many spans, again until it is accepted or refused or the timeout ends.
 * False if the collector found it too large (413) and it has more than one span: then nothing is
 * counted, and it must be sent again in parts.
 */
static bool otlp_post_send(struct otlp_post *post, const struct buf *request, uint64_t spans)
{
    int64_t deadline = post_now() + post->timeout, next = 0;
    char words[CURL_ERROR_SIZE];
    enum outcome outcome = NOT_NOW;

    if (post_now() < post->silent_until) {
        post->spans += spans;
        post->refused += spans;
        return true;
    }
    for (int attempts = 0; outcome == NOT_NOW && next < deadline; attempts++) {
        post_wait_until(next);
        outcome = attempt(post, request, deadline - post_now(), words);
        next = post_now() + delay_of(post, attempts);
    }
    if (outcome == TOO_LARGE && spans > 1)
        return false;
    post->spans += spans;
    if (outcome == TAKEN) {
        look_for_partial_success(post, spans);
        return true;
    }
    if (outcome == NOT_NOW)
        post->silent_until = post_now() + post->timeout;
    refuse_spans(post, spans, words, scan_get(answer_of(post), "message"));
    return true;
}

/* Frees. -1 with ERROR_SYSTEM if spans were refused. NULL is allowed. */
static int otlp_post_close(struct otlp_post *post, struct error *error)
{
    int result = 0;

    if (post == NULL)
        return 0;
    if (post->refused > 0)
        result = error_set(error, ERROR_SYSTEM,
                           "%s: %" PRIu64 " of %" PRIu64 " spans were not taken: %s; run it again, "
                           "or keep them with --otlp FILE",
                           post->url, post->refused, post->spans,
                           buf_string(&post->why) != NULL ? post->why.data : "out of memory");
    free_post(post);
    return result;
}

/* Collectors take some megabytes at once; the OpenTelemetry SDKs send 512 spans. */
enum { GIVE_AT = 512 * 1024 };

struct otlp_batch {
    struct buf request; /* without its end */
    size_t empty;       /* its length without spans */
    size_t *spans;      /* where each begins, a comma before it but for the first; owned */
    size_t span_count, span_capacity;
    size_t give_at;         /* the length at which it is sent */
    struct otlp_post *post; /* NULL: a file */
    struct output_file file;
    bool unwritten; /* some spans are missing from the file */
};

static int begin_request(struct otlp_batch *batch, struct error *error)
{
    const char *service = getenv("OTEL_SERVICE_NAME");
    struct buf *out = &batch->request;

    if (service == NULL || service[0] == '\0')
        service = "kernel";
    buf_append_string(out, "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":"
                           "\"service.name\",\"value\":{\"stringValue\":");
    json_text_string(out, service, strlen(service));
    buf_append_string(out, "}}]},\"scopeSpans\":[{\"scope\":{\"name\":\"slogreport\",\"version\":"
                           "\"" GASPIPE_VERSION "\"},\"spans\":[");
    batch->empty = out->length;
    return buf_failed(out) ? error_memory(error, "spans") : 0;
}

bool otlp_batch_is_url(const char *where)
{
    return strncmp(where, "http://", 7) == 0 || strncmp(where, "https://", 8) == 0;
}

static int open_target(struct otlp_batch *batch, const char *where, bool growing,
                       struct error *error)
{
    if (otlp_batch_is_url(where)) {
        batch->post = otlp_post_open(where, error);
        return batch->post != NULL ? 0 : -1;
    }
    return (growing ? output_file_open_growing : output_file_open)(&batch->file, where, "the spans",
                                                                   error);
}

struct otlp_batch *otlp_batch_open(const char *where, bool growing, struct error *error)
{
    struct otlp_batch *batch = calloc(1, sizeof *batch);

    if (batch == NULL) {
        error_memory(error, "spans");
        return NULL;
    }
    batch->file.fd = -1;
    batch->give_at = GIVE_AT;
    if (begin_request(batch, error) == 0 && open_target(batch, where, growing, error) == 0)
        return batch;
    buf_free(&batch->request);
    free(batch);
    return NULL;
}

struct buf *otlp_batch_span(struct otlp_batch *batch)
{
    size_t *spans =
        array_reserve(batch->spans, &batch->span_capacity, batch->span_count + 1, sizeof *spans);

    if (spans == NULL) {
        batch->request.failed = true;
        return &batch->request;
    }
    batch->spans = spans;
    spans[batch->span_count] = batch->request.length;
    if (batch->span_count++ > 0)
        buf_append_byte(&batch->request, ',');
    return &batch->request;
}

void otlp_batch_fail(struct otlp_batch *batch)
{
    batch->request.failed = true;
}

static const char request_end[] = "]}]}]}\n";

/* A request of some of the spans. */
static int make_part(const struct otlp_batch *batch, size_t first, size_t count, struct buf *part,
                     struct error *error)
{
    size_t from = batch->spans[first] + (first > 0);
    size_t to = first + count < batch->span_count ? batch->spans[first + count]
                                                  : batch->request.length - strlen(request_end);

    buf_append(part, batch->request.data, batch->empty);
    buf_append(part, batch->request.data + from, to - from);
    buf_append_string(part, request_end);
    return buf_failed(part) ? error_memory(error, "spans") : 0;
}

static int post_halves(struct otlp_batch *batch, size_t first, size_t count, struct error *error);

static int post_part(struct otlp_batch *batch, size_t first, size_t count, struct error *error)
{
    struct buf part = {0};
    int result = make_part(batch, first, count, &part, error);
    bool settled = result != 0 || otlp_post_send(batch->post, &part, count);

    buf_free(&part);
    return settled ? result : post_halves(batch, first, count, error);
}

/* Sends a request that was too large in halves, and these in halves if need be. */
static int post_halves(struct otlp_batch *batch, size_t first, size_t count, struct error *error)
{
    size_t half = count / 2;

    if (post_part(batch, first, half, error) != 0)
        return -1;
    return post_part(batch, first + half, count - half, error);
}

/* After a request was too large, later ones are smaller. */
static int post_request(struct otlp_batch *batch, struct error *error)
{
    if (otlp_post_send(batch->post, &batch->request, batch->span_count))
        return 0;
    batch->give_at = batch->request.length / 2;
    return post_halves(batch, 0, batch->span_count, error);
}

static int write_request(struct otlp_batch *batch, struct error *error)
{
    struct buf *request = &batch->request;

    if (output_file_write_bytes(&batch->file, request->data, request->length, error) == 0)
        return 0;
    batch->unwritten = true;
    return -1;
}

int otlp_batch_flush(struct otlp_batch *batch, struct error *error)
{
    struct buf *request = &batch->request;
    int result;

    if (batch->span_count == 0 && !buf_failed(request))
        return 0;
    buf_append_string(request, request_end);
    if (buf_failed(request))
        return error_memory(error, "spans");
    result = batch->post != NULL ? post_request(batch, error) : write_request(batch, error);
    request->length = batch->empty;
    batch->span_count = 0;
    return result;
}

int otlp_batch_give(struct otlp_batch *batch, struct error *error)
{
    return batch->request.length < batch->give_at && !buf_failed(&batch->request)
               ? 0
               : otlp_batch_flush(batch, error);
}

/* An incomplete file does not replace the old one. */
static int close_file(struct otlp_batch *batch, struct error *error)
{
    int result = batch->unwritten ? 0 : output_file_finish(&batch->file, error);

    output_file_discard(&batch->file);
    return result;
}

int otlp_batch_close(struct otlp_batch *batch, struct error *error)
{
    struct error second;
    int result;

    if (batch == NULL)
        return 0;
    result = otlp_batch_flush(batch, error);
    if ((batch->post != NULL ? otlp_post_close(batch->post, &second)
                             : close_file(batch, &second)) != 0 &&
        result == 0) {
        *error = second;
        result = -1;
    }
    buf_free(&batch->request);
    free(batch->spans);
    free(batch);
    return result;
}
