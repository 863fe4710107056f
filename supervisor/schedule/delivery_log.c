/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/delivery_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "slog/model/describe.h"
#include "supervisor/schedule/delivery_log_slog.h"
#include "supervisor/schedule/delivery_log_times.h"
#include "supervisor/schedule/plain_value.h"

void delivery_log_init(struct delivery_log *log, struct slog_writer *slog)
{
    memset(log, 0, sizeof *log);
    log->slog = slog;
}

void delivery_log_free(struct delivery_log *log)
{
    struct buf *const bufs[] = {&log->vd, &log->result, &log->text, &log->description,
                                &log->method};

    for (size_t i = 0; i < sizeof bufs / sizeof bufs[0]; i++)
        buf_free(bufs[i]);
    free(log->requests);
    delivery_log_times_free(&log->times);
}

static void clear(struct delivery_log *log)
{
    buf_clear(&log->vd);
    buf_clear(&log->result);
    buf_clear(&log->description);
    buf_clear(&log->method);
    log->result_promise[0] = '\0';
    log->kernel_promise[0] = '\0';
    log->rejected = false;
    log->syscall_num = 0;
    log->request_count = 0;
    log->sent = (struct stamp){0};
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

static void describe_message(struct delivery_log *log, struct scan_span vd)
{
    struct scan_cursor cursor;
    struct scan_span element = {0};

    scan_open(vd, '[', &cursor);
    for (int i = 0; i < 3; i++)
        scan_element(&cursor, &element);
    describe_method(element, &log->method);
    take_promise(vd, log->result_promise);
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

static int describe(struct delivery_log *log, struct error *error)
{
    const struct scan_span vd = padded(&log->vd, log->delivery.vd);

    if (vd.at == NULL)
        return error_memory(error, "a delivery");
    describe_delivery(vd, &log->description);
    if (strcmp(log->delivery.dispatch, "message") == 0) {
        describe_message(log, vd);
        take_promise(padded(&log->text, log->delivery.kd), log->kernel_promise);
    } else {
        buf_append_string(&log->method, log->delivery.dispatch);
    }
    if (buf_string(&log->description) == NULL || buf_string(&log->method) == NULL ||
        buf_failed(&log->text))
        return error_memory(error, "a delivery");
    return 0;
}

int delivery_log_begin(struct delivery_log *log, const struct kernel_delivery *delivery,
                       const char *vat_name, struct error *error)
{
    clear(log);
    log->delivery = *delivery;
    log->vat_name = vat_name;
    snprintf(log->vat_id_text, sizeof log->vat_id_text, "v%" PRId64, delivery->vat);
    log->common = (struct slog_delivery){
        .crank_num = delivery->crank_num,
        .vat_id = log->vat_id_text,
        .delivery_num = delivery->delivery_num,
        .dispatch = delivery->dispatch,
    };
    return describe(log, error);
}

int delivery_log_sent(struct delivery_log *log, struct stamp sent, struct error *error)
{
    log->sent = sent;
    return delivery_log_slog_deliver(log, error);
}

/* ---- what the vat asks and says ---- */

static int note_request(struct delivery_log *log, struct stamp come, struct stamp answered,
                        struct error *error)
{
    struct delivery_log_request *requests = array_reserve(log->requests, &log->request_capacity,
                                                          log->request_count + 1, sizeof *requests);

    if (requests == NULL)
        return error_memory(error, "a request");
    log->requests = requests;
    log->requests[log->request_count++] = (struct delivery_log_request){come, answered};
    return 0;
}

int delivery_log_understood(struct delivery_log *log, const struct vat_syscall *syscall,
                            const struct kernel_syscall_texts *texts, struct stamp come,
                            struct error *error)
{
    return delivery_log_slog_syscall(log, syscall, texts, come, error);
}

/* Whether it resolves the promise of the message in hand: that is what people wait for. */
static int keep_result(struct delivery_log *log, const struct vat_syscall *syscall,
                       struct error *error)
{
    const json_t *resolution;
    size_t i;

    if (syscall->resolutions == NULL || log->result_promise[0] == '\0')
        return 0;
    json_array_foreach(syscall->resolutions, i, resolution)
    {
        const char *promise = json_string_value(json_array_get(resolution, 0));

        if (promise == NULL || strcmp(promise, log->result_promise) != 0)
            continue;
        log->rejected = json_is_true(json_array_get(resolution, 1));
        return plain_value_keep(&log->result, json_array_get(resolution, 2), error);
    }
    return 0;
}

int delivery_log_answered(struct delivery_log *log, const struct vat_syscall *syscall,
                          const struct kernel_syscall_texts *texts, struct stamp come,
                          struct stamp answered, struct error *error)
{
    if (note_request(log, come, answered, error) != 0 || keep_result(log, syscall, error) != 0 ||
        delivery_log_slog_syscall_result(log, syscall, texts, come, answered, error) != 0)
        return -1;
    log->syscall_num++;
    return 0;
}

int delivery_log_said(struct delivery_log *log, const struct vat_console *console,
                      struct stamp come, struct error *error)
{
    if (note_request(log, come, come, error) != 0)
        return -1;
    return delivery_log_slog_console(log, console, come, error);
}

/* ---- how it ended ---- */

static int fill_report(struct delivery_log *log, const struct delivery_log_end *end,
                       struct delivery_report *report, struct error *error)
{
    const struct meter *meter = end->meter;

    *report = (struct delivery_report){
        .vat_number = log->delivery.vat,
        .vat_id = log->vat_id_text,
        .vat = log->vat_name,
        .crank_num = log->delivery.crank_num,
        .delivery_num = log->common.delivery_num,
        .dispatch = log->delivery.dispatch,
        .promise = log->kernel_promise,
        .description = buf_string(&log->description),
        .method = buf_string(&log->method),
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
    if (delivery_log_times_fill(log, end, report, error) != 0)
        return -1;
    if (!report->ok || log->rejected || log->result.length == 0)
        return 0;
    if (plain_value_show(&log->result, &log->text, error) != 0)
        return -1;
    report->result = buf_string(&log->text);
    return 0;
}

int delivery_log_finish(struct delivery_log *log, const struct delivery_log_end *end,
                        struct delivery_report *report, struct error *error)
{
    if (fill_report(log, end, report, error) != 0)
        return -1;
    return delivery_log_slog_result(log, end, error);
}
