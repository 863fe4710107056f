/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/metrics/metrics_sink.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/output/output_file.h"
#include "base/stamp.h"
#include "tools/metrics/metrics_server.h"

enum { PAUSE_NS = 1000000000 };

struct metrics_sink {
    struct metrics *metrics;
    struct metrics_server *server; /* NULL: none */
    const char *path;              /* NULL: none */
    int64_t next;                  /* when to flush again, CLOCK_MONOTONIC */
};

struct metrics_sink *metrics_sink_open(const char *path, const char *where, struct error *error)
{
    struct metrics_sink *sink = calloc(1, sizeof *sink);

    if (sink == NULL) {
        error_memory(error, "the metrics");
        return NULL;
    }
    sink->path = path;
    sink->metrics = metrics_new(error);
    if (sink->metrics != NULL && where != NULL)
        sink->server = metrics_server_open(where, error);
    if (sink->metrics == NULL || (where != NULL && sink->server == NULL)) {
        metrics_sink_close(sink);
        return NULL;
    }
    if (sink->server != NULL)
        log_line("metrics are served at %s", metrics_server_url(sink->server));
    return sink;
}

struct metrics *metrics_sink_metrics(struct metrics_sink *sink)
{
    return sink->metrics;
}

static int write_all(struct metrics_sink *sink, struct buf texts[2], struct error *error)
{
    struct buf copy = {0};
    int result = 0;

    if (metrics_put(sink->metrics, METRICS_PROMETHEUS, &texts[0], error) != 0 ||
        metrics_put(sink->metrics, METRICS_OPENMETRICS, &texts[1], error) != 0)
        return -1;
    if (buf_failed(&texts[0]) || buf_failed(&texts[1]))
        return error_memory(error, "the metrics");
    if (sink->path != NULL) {
        buf_append(&copy, texts[0].data, texts[0].length);
        result = output_file_write_whole(sink->path, "the metrics", &copy, error);
    }
    buf_free(&copy);
    if (result == 0 && sink->server != NULL)
        metrics_server_set(sink->server, &texts[0], &texts[1]);
    return result;
}

int metrics_sink_flush(struct metrics_sink *sink, bool now, struct error *error)
{
    const int64_t time = stamp_now().mono;
    struct buf texts[2] = {0};
    int result;

    if (!now && time < sink->next)
        return 0;
    result = write_all(sink, texts, error);
    buf_free(&texts[0]);
    buf_free(&texts[1]);
    sink->next = stamp_now().mono + PAUSE_NS;
    return result;
}

void metrics_sink_close(struct metrics_sink *sink)
{
    if (sink == NULL)
        return;
    metrics_server_close(sink->server);
    metrics_free(sink->metrics);
    free(sink);
}
