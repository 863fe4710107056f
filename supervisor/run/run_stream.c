/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/run_stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int open_stream(struct run_stream *stream, const struct run_options *options,
                       struct error *error)
{
    struct nats_access access = options->nats;

    if (nats_address_parse(&stream->address, options->from, error) != 0)
        return -1;
    access.url = stream->address.url;
    if (nats_link_open(&stream->link, &access, error) != 0 ||
        nats_reader_open(&stream->reader, &stream->link, stream->address.stream, error) != 0)
        return -1;
    snprintf(stream->identity, sizeof stream->identity, "%s.%" PRId64, stream->address.stream,
             stream->reader.created);
    return 0;
}

/* Results that come back as lines would make more results, without end. */
static int open_results(struct run_stream *stream, const struct run_options *options,
                        uv_loop_t *loop, const struct stream_results_listener *listener,
                        struct error *error)
{
    struct stream_results_options results = {
        .loop = loop,
        .subject = options->results_to,
        .identity = stream->identity,
    };
    char subject[NATS_URL_SIZE];

    snprintf(subject, sizeof subject, "%s.1", options->results_to);
    if (nats_writer_open(&results.writer, &stream->link, subject, error) != 0)
        return -1;
    if (strcmp(results.writer.stream, stream->address.stream) == 0)
        return error_set(error, ERROR_INPUT, "%s: results to %s would be lines of the stream %s",
                         stream->link.name, options->results_to, stream->address.stream);
    stream->results = stream_results_open(&results, listener, error);
    return stream->results != NULL ? 0 : -1;
}

struct run_stream *run_stream_open(const struct run_options *options, uv_loop_t *loop,
                                   const struct stream_results_listener *listener,
                                   struct error *error)
{
    struct run_stream *stream = calloc(1, sizeof *stream);

    if (stream == NULL) {
        error_memory(error, "the stream");
        return NULL;
    }
    if (open_stream(stream, options, error) == 0 &&
        (options->results_to == NULL || open_results(stream, options, loop, listener, error) == 0))
        return stream;
    run_stream_free(stream);
    return NULL;
}

void run_stream_free(struct run_stream *stream)
{
    if (stream == NULL)
        return;
    nats_link_close(&stream->link);
    free(stream);
}
