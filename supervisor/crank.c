/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/crank.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "slog/describe.h"
#include "supervisor/capdata.h"
#include "supervisor/crank_slog.h"

void crank_init(struct crank *crank, struct slog_writer *slog)
{
    memset(crank, 0, sizeof *crank);
    crank->slog = slog;
}

void crank_free(struct crank *crank)
{
    struct buf *const bufs[] = {&crank->vd, &crank->result, &crank->text, &crank->description,
                                &crank->method};

    for (size_t i = 0; i < sizeof bufs / sizeof bufs[0]; i++)
        buf_free(bufs[i]);
    free(crank->events);
    free(crank->worker_times);
    spans_free(&crank->spans);
}

static void clear(struct crank *crank)
{
    buf_clear(&crank->vd);
    buf_clear(&crank->result);
    buf_clear(&crank->description);
    buf_clear(&crank->method);
    crank->result_promise[0] = '\0';
    crank->kernel_promise[0] = '\0';
    crank->rejected = false;
    crank->syscall_num = 0;
    crank->event_count = 0;
    crank->sent = (struct stamp){0};
}

/* ---- what the delivery is ---- */

/* Of ["message",TARGET,{"methargs":…,"result":PROMISE}]; "" where there is none. */
static void take_promise(struct scan_span message, char promise[KERNEL_REF_SIZE])
{
    struct scan_cursor cursor;
    struct scan_span element = {0}, name;

    if (!scan_open(message, '[', &cursor))
        return;
    for (int i = 0; i < 3; i++)
        if (scan_element(&cursor, &element) != SCAN_FOUND)
            return;
    name = scan_string(scan_get(element, "result"));
    if (name.at != NULL && name.length < KERNEL_REF_SIZE)
        snprintf(promise, KERNEL_REF_SIZE, "%.*s", (int)name.length, name.at);
}

static void describe_message(struct crank *crank, struct scan_span vd)
{
    struct scan_cursor cursor;
    struct scan_span element = {0};

    scan_open(vd, '[', &cursor);
    for (int i = 0; i < 3; i++)
        scan_element(&cursor, &element);
    describe_method(element, &crank->method);
    take_promise(vd, crank->result_promise);
}

/* A copy with room behind it: the scanner reads whole blocks. */
static struct scan_span padded(struct buf *buf, const char *text)
{
    buf_clear(buf);
    buf_append_string(buf, text);
    if (buf_reserve(buf, SCAN_PADDING) != 0)
        return (struct scan_span){0};
    memset(buf->data + buf->length, 0, SCAN_PADDING);
    return (struct scan_span){buf->data, buf->length};
}

static int describe(struct crank *crank, struct error *error)
{
    const struct scan_span vd = padded(&crank->vd, crank->delivery.vd);

    if (vd.at == NULL)
        return error_memory(error, "a delivery");
    describe_delivery(vd, &crank->description);
    if (strcmp(crank->delivery.dispatch, "message") == 0) {
        describe_message(crank, vd);
        take_promise(padded(&crank->text, crank->delivery.kd), crank->kernel_promise);
    } else {
        buf_append_string(&crank->method, crank->delivery.dispatch);
    }
    if (buf_string(&crank->description) == NULL || buf_string(&crank->method) == NULL ||
        buf_failed(&crank->text))
        return error_memory(error, "a delivery");
    return 0;
}

int crank_begin(struct crank *crank, const struct kernel_delivery *delivery, const char *vat_name,
                struct error *error)
{
    clear(crank);
    crank->delivery = *delivery;
    crank->vat_name = vat_name;
    snprintf(crank->vat_id_text, sizeof crank->vat_id_text, "v%" PRId64, delivery->vat);
    crank->common = (struct slog_delivery){
        .crank_num = delivery->crank_num,
        .vat_id = crank->vat_id_text,
        .delivery_num = delivery->delivery_num,
        .dispatch = delivery->dispatch,
    };
    return describe(crank, error);
}

int crank_sent(struct crank *crank, struct stamp sent, struct error *error)
{
    crank->sent = sent;
    return crank_slog_deliver(crank, error);
}

/* ---- what the vat asks and says ---- */

static int note_event(struct crank *crank, bool console, struct stamp come, struct stamp answered,
                      struct error *error)
{
    struct model_event *events = array_reserve(crank->events, &crank->event_capacity,
                                               crank->event_count + 1, sizeof *events);

    if (events == NULL)
        return error_memory(error, "a request");
    crank->events = events;
    crank->events[crank->event_count++] = (struct model_event){
        .console = console,
        .arrived = come.mono,
        .answered = answered.mono,
    };
    return 0;
}

int crank_understood(struct crank *crank, const struct vat_syscall *syscall, const char *ksc,
                     struct stamp come, struct error *error)
{
    return crank_slog_syscall(crank, syscall, ksc, come, error);
}

/* Whether it resolves the promise of the message in hand: that is what people wait for. */
static int keep_result(struct crank *crank, const struct vat_syscall *syscall, struct error *error)
{
    const json_t *resolution;
    size_t i;

    if (syscall->resolutions == NULL || crank->result_promise[0] == '\0')
        return 0;
    json_array_foreach(syscall->resolutions, i, resolution)
    {
        const char *promise = json_string_value(json_array_get(resolution, 0));

        if (promise == NULL || strcmp(promise, crank->result_promise) != 0)
            continue;
        crank->rejected = json_is_true(json_array_get(resolution, 1));
        return capdata_keep(&crank->result, json_array_get(resolution, 2), error);
    }
    return 0;
}

int crank_answered(struct crank *crank, const struct vat_syscall *syscall,
                   const struct kernel_syscall_texts *texts, struct stamp come,
                   struct stamp answered, struct error *error)
{
    if (note_event(crank, false, come, answered, error) != 0 ||
        keep_result(crank, syscall, error) != 0 ||
        crank_slog_syscall_result(crank, syscall, texts, come, answered, error) != 0)
        return -1;
    crank->syscall_num++;
    return 0;
}

int crank_said(struct crank *crank, const struct vat_console *console, struct stamp come,
               struct error *error)
{
    if (note_event(crank, true, come, come, error) != 0)
        return -1;
    return crank_slog_console(crank, console, come, error);
}

/* ---- how it ended ---- */

static int fill_times(struct crank *crank, const struct crank_end *end,
                      struct delivery_report *report, struct error *error)
{
    size_t count = end->meter != NULL ? end->meter->stamp_count : 0;
    struct model_delivery delivery = {0};
    struct moments moments;
    int64_t *times;

    times =
        array_reserve(crank->worker_times, &crank->worker_time_capacity, count + 1, sizeof *times);
    if (times == NULL)
        return error_memory(error, "a delivery's times");
    crank->worker_times = times;
    for (size_t i = 0; i < count; i++)
        times[i] = end->meter->stamps[i].mono;
    moments = (struct moments){
        .sent = crank->sent.mono,
        .returned = end->returned.mono,
        .stamps = times,
        .stamp_count = count,
        .events = crank->events,
        .event_count = crank->event_count,
        .steady = true,
    };
    if (spans_build(&crank->spans, &moments, &delivery, error) != 0)
        return -1;
    report->total = delivery.total;
    report->pipe = delivery.pipe;
    report->worker = delivery.worker;
    report->kernel = delivery.kernel;
    return 0;
}

static int fill_report(struct crank *crank, const struct crank_end *end,
                       struct delivery_report *report, struct error *error)
{
    const struct meter *meter = end->meter;

    *report = (struct delivery_report){
        .vat_number = crank->delivery.vat,
        .vat_id = crank->vat_id_text,
        .vat = crank->vat_name,
        .crank_num = crank->delivery.crank_num,
        .delivery_num = crank->common.delivery_num,
        .dispatch = crank->delivery.dispatch,
        .promise = crank->kernel_promise,
        .description = buf_string(&crank->description),
        .method = buf_string(&crank->method),
        .ok = end->problem == NULL,
        .error = end->problem,
        .blame = end->blame,
        .compute = meter != NULL ? (int64_t)meter->compute : REPORT_NONE,
        .instructions =
            meter != NULL && meter->counted ? (int64_t)meter->instructions : REPORT_NONE,
        .processor = meter != NULL && meter->cpu_known
                         ? (meter->cpu.user + meter->cpu.system) * 1000
                         : REPORT_NONE,
        .frames = meter != NULL ? (int64_t)meter->stamp_count : 0,
    };
    if (fill_times(crank, end, report, error) != 0)
        return -1;
    if (!report->ok || crank->rejected || crank->result.length == 0)
        return 0;
    if (capdata_show(&crank->result, &crank->text, error) != 0)
        return -1;
    report->result = buf_string(&crank->text);
    return 0;
}

int crank_finish(struct crank *crank, const struct crank_end *end, struct delivery_report *report,
                 struct error *error)
{
    if (fill_report(crank, end, report, error) != 0)
        return -1;
    return crank_slog_result(crank, end, error);
}
