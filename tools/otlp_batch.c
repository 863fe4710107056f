/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/otlp_batch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json_text.h"
#include "tools/otlp_post.h"

/* Collectors take some megabytes at once; the OpenTelemetry SDKs send 512 spans. */
enum { GIVE_AT = 512 * 1024 };

struct otlp_batch {
    struct buf request; /* begun, without its end */
    size_t empty;       /* the length that it has without spans */
    uint64_t spans;
    struct otlp_post *post; /* NULL: a file */
    int fd;
    const char *path; /* borrowed from argv */
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

static int open_target(struct otlp_batch *batch, const char *where, struct error *error)
{
    if (strncmp(where, "http://", 7) == 0 || strncmp(where, "https://", 8) == 0) {
        batch->post = otlp_post_open(where, error);
        return batch->post != NULL ? 0 : -1;
    }
    batch->fd = open(where, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (batch->fd < 0)
        return error_system(error, errno, "%s: cannot write the spans", where);
    return 0;
}

struct otlp_batch *otlp_batch_open(const char *where, struct error *error)
{
    struct otlp_batch *batch = calloc(1, sizeof *batch);

    if (batch == NULL) {
        error_memory(error, "spans");
        return NULL;
    }
    batch->fd = -1;
    batch->path = where;
    if (begin_request(batch, error) == 0 && open_target(batch, where, error) == 0)
        return batch;
    buf_free(&batch->request);
    free(batch);
    return NULL;
}

struct buf *otlp_batch_span(struct otlp_batch *batch)
{
    if (batch->spans++ > 0)
        buf_append_byte(&batch->request, ',');
    return &batch->request;
}

void otlp_batch_fail(struct otlp_batch *batch)
{
    batch->request.failed = true;
}

int otlp_batch_flush(struct otlp_batch *batch, struct error *error)
{
    struct buf *request = &batch->request;

    if (batch->spans == 0 && !buf_failed(request))
        return 0;
    buf_append_string(request, "]}]}]}\n");
    if (buf_failed(request))
        return error_memory(error, "spans");
    if (batch->post != NULL)
        otlp_post_send(batch->post, request, batch->spans);
    else if (io_write_all(batch->fd, request->data, request->length) != 0)
        return error_system(error, errno, "%s: cannot write the spans", batch->path);
    request->length = batch->empty;
    batch->spans = 0;
    return 0;
}

int otlp_batch_give(struct otlp_batch *batch, struct error *error)
{
    return batch->request.length < GIVE_AT && !buf_failed(&batch->request)
               ? 0
               : otlp_batch_flush(batch, error);
}

int otlp_batch_close(struct otlp_batch *batch, struct error *error)
{
    struct error second;
    int result;

    if (batch == NULL)
        return 0;
    result = otlp_batch_flush(batch, error);
    if (batch->fd >= 0 && close(batch->fd) != 0 && result == 0)
        result = error_system(error, errno, "%s: cannot write the spans", batch->path);
    if (otlp_post_close(batch->post, &second) != 0 && result == 0) {
        *error = second;
        result = -1;
    }
    buf_free(&batch->request);
    free(batch);
    return result;
}
