/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/report/request_slog.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_text.h"
#include "trace/read/trace_requests.h"

/* The steps of a request, in their order. */
enum slog_step { REQUEST_ARRIVES, REQUEST_BEGINS, REQUEST_ENDS };

struct slog_moment {
    int64_t time;
    enum slog_step step;
    size_t request; /* index of its delivery */
};

static int by_moment(const void *a, const void *b)
{
    const struct slog_moment *const x = a, *const y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->request != y->request)
        return x->request < y->request ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step;
}

static bool is_request(const struct archive_delivery *delivery)
{
    return delivery->request.thread != 0;
}

static void put_slog_times(struct buf *out, const struct archive *archive, int64_t time)
{
    const int64_t passed = time - archive->clock.first.mono;

    /* Its wall clock is not in a trace; CLOCK_MONOTONIC stands in its place. */
    buf_printf(out, ",\"time\":%.6f,\"monotime\":%.9f}\n", (double)time / 1e9,
               (double)passed / 1e9);
}

/* To the target that the identifier names. */
static void put_message(struct buf *out, const struct archive_delivery *delivery)
{
    char id[TRACE_VALUE_WORDS];
    struct buf body = {0};

    trace_value_words(id, delivery->request.id);
    buf_append_string(&body, "#[");
    json_text_string(&body, delivery->method, strlen(delivery->method));
    buf_append_string(&body, ",[]]");
    buf_printf(out, "\"%s\",{\"methargs\":{\"body\":", id);
    json_text_string(out, body.data != NULL ? body.data : "", body.length);
    buf_printf(out, ",\"slots\":[]},\"result\":\"kp%" PRId64 "\"}", delivery->crank_num);
    buf_free(&body);
}

static void put_deliver(struct buf *out, const struct archive *archive, int64_t crank,
                        const char *vat, int64_t number, const struct archive_delivery *message,
                        int64_t time)
{
    buf_printf(out,
               "{\"type\":\"deliver\",\"crankNum\":%" PRId64
               ",\"vatID\":\"%s\",\"deliveryNum\":%" PRId64 ",\"replay\":false,\"kd\":",
               crank, vat, number);
    if (message != NULL) {
        buf_append_string(out, "[\"message\",");
        put_message(out, message);
        buf_append_byte(out, ']');
    } else {
        buf_append_string(
            out, "[\"message\",\"arrivals\",{\"methargs\":{\"body\":\"#[\\\"arrive\\\",[]]\","
                 "\"slots\":[]},\"result\":null}]");
    }
    put_slog_times(out, archive, time);
}

static void put_deliver_result(struct buf *out, const struct archive *archive, int64_t crank,
                               const char *vat, int64_t number, int64_t time)
{
    buf_printf(out,
               "{\"type\":\"deliver-result\",\"crankNum\":%" PRId64
               ",\"vatID\":\"%s\",\"deliveryNum\":%" PRId64
               ",\"replay\":false,\"dr\":[\"ok\",null,null]",
               crank, vat, number);
    put_slog_times(out, archive, time);
}

/* A delivery without length that sends the message. */
static void put_arrival(struct buf *out, const struct archive *archive,
                        const struct archive_delivery *delivery, int64_t time)
{
    const int64_t number = delivery->crank_num / 2, crank = delivery->crank_num - 1;

    put_deliver(out, archive, crank, "arrivals", number, NULL, time);
    buf_printf(out,
               "{\"type\":\"syscall\",\"crankNum\":%" PRId64
               ",\"vatID\":\"arrivals\",\"deliveryNum\":%" PRId64
               ",\"syscallNum\":0,\"replay\":false,\"ksc\":[\"send\",",
               crank, number);
    put_message(out, delivery);
    buf_append_byte(out, ']');
    put_slog_times(out, archive, time);
    buf_printf(out,
               "{\"type\":\"syscall-result\",\"crankNum\":%" PRId64
               ",\"vatID\":\"arrivals\",\"deliveryNum\":%" PRId64
               ",\"syscallNum\":0,\"replay\":false,\"ksr\":[\"ok\",null]",
               crank, number);
    put_slog_times(out, archive, time);
    put_deliver_result(out, archive, crank, "arrivals", number, time);
}

static void put_moment(struct buf *out, const struct archive *archive,
                       const struct slog_moment *moment)
{
    const struct archive_delivery *const delivery = &archive->deliveries[moment->request];

    if (moment->step == REQUEST_ARRIVES)
        put_arrival(out, archive, delivery, moment->time);
    else if (moment->step == REQUEST_BEGINS)
        put_deliver(out, archive, delivery->crank_num, delivery->vat_id, delivery->delivery_num,
                    delivery, moment->time);
    else
        put_deliver_result(out, archive, delivery->crank_num, delivery->vat_id,
                           delivery->delivery_num, moment->time);
}

static void put_vat_line(struct buf *out, const struct archive *archive, const char *vat,
                         const char *name)
{
    buf_printf(out, "{\"type\":\"create-vat\",\"vatID\":\"%s\",\"dynamic\":false,\"name\":", vat);
    json_text_string(out, name, strlen(name));
    put_slog_times(out, archive, archive->clock.first.mono);
}

/* The requests of a thread lie together. */
static void put_slog_vats(struct buf *out, const struct archive *archive)
{
    put_vat_line(out, archive, "arrivals", "arrivals");
    for (size_t i = 0; i < archive->delivery_count; i++)
        if (i == 0 || archive->deliveries[i].delivery_num == 1)
            put_vat_line(out, archive, archive->deliveries[i].vat_id, archive->deliveries[i].vat);
}

int request_slog_put(struct buf *out, const struct archive *archive, struct error *error)
{
    const size_t count = archive->delivery_count;
    struct slog_moment *moments;

    if (count == 0 || !is_request(&archive->deliveries[0]))
        return error_set(error, ERROR_INPUT,
                         "the trace has no requests: record it with --request-begin and "
                         "--request-end");
    moments = calloc(3 * count, sizeof *moments);
    if (moments == NULL)
        return error_memory(error, "the requests of a trace");
    for (size_t i = 0; i < count; i++) {
        const struct archive_delivery *const delivery = &archive->deliveries[i];

        moments[3 * i] = (struct slog_moment){delivery->request.arrived, REQUEST_ARRIVES, i};
        moments[3 * i + 1] = (struct slog_moment){delivery->begin, REQUEST_BEGINS, i};
        moments[3 * i + 2] = (struct slog_moment){delivery->end, REQUEST_ENDS, i};
    }
    qsort(moments, 3 * count, sizeof *moments, by_moment);
    put_slog_vats(out, archive);
    for (size_t i = 0; i < 3 * count; i++)
        put_moment(out, archive, &moments[i]);
    free(moments);
    return buf_failed(out) ? error_memory(error, "the requests of a trace") : 0;
}
