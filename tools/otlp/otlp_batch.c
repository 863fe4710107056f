/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/otlp/otlp_batch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json/json_text.h"
#include "base/output/output_file.h"
#include "tools/otlp/otlp_post.h"

/* Collectors take some megabytes at once; the OpenTelemetry SDKs send 512 spans. */
enum { GIVE_AT = 512 * 1024 };

struct otlp_batch {
    struct buf request; /* begun, without its end */
    size_t empty;       /* the length that it has without spans */
    size_t *spans;      /* where each begins, a comma before it but for the first; owned */
    size_t span_count, span_capacity;
    size_t give_at;         /* the length at which it is given on */
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

/* Of a request that the collector found too large: as deep as the spans can be halved. */
static int post_halves(struct otlp_batch *batch, size_t first, size_t count, struct error *error)
{
    size_t half = count / 2;

    if (post_part(batch, first, half, error) != 0)
        return -1;
    return post_part(batch, first + half, count - half, error);
}

/* What follows is made smaller from the first, once something was too large. */
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

/* What is not whole does not take its name. */
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
