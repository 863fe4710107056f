/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/crank.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "supervisor/crank_parts.h"
#include "supervisor/smallcaps.h"
#include "supervisor/vat_numbers.h"

void crank_init(struct crank *crank, struct store *store, struct slog_writer *slog)
{
    memset(crank, 0, sizeof *crank);
    crank->store = store;
    crank->slog = slog;
}

void crank_free(struct crank *crank)
{
    struct buf *const bufs[] = {&crank->vd,          &crank->kd,     &crank->message,
                                &crank->result,      &crank->answer, &crank->scratch,
                                &crank->description, &crank->method};

    for (size_t i = 0; i < sizeof bufs / sizeof bufs[0]; i++)
        buf_free(bufs[i]);
    free(crank->events);
    free(crank->worker_times);
    spans_free(&crank->spans);
}

static void clear(struct crank *crank)
{
    buf_clear(&crank->vd);
    buf_clear(&crank->kd);
    buf_clear(&crank->message);
    buf_clear(&crank->result);
    buf_clear(&crank->description);
    buf_clear(&crank->method);
    crank->syscall_num = 0;
    crank->event_count = 0;
    crank->sent = (struct stamp){0};
}

static int prepare(struct crank *crank, int64_t crank_num, const struct crank_vat *vat,
                   const struct delivery_line *line, struct error *error)
{
    clear(crank);
    crank->started = stamp_now();
    crank->crank_num = crank_num;
    crank->vat_id = vat->id;
    crank->vat_name = vat->name;
    snprintf(crank->vat_id_text, sizeof crank->vat_id_text, "v%" PRId64, vat->id);
    crank->common = (struct slog_delivery){
        .crank_num = crank_num,
        .vat_id = crank->vat_id_text,
        .delivery_num = vat->delivery_num,
        .dispatch = line == NULL ? "startVat" : "message",
    };
    return crank_make_texts(crank, line, error);
}

int crank_begin(struct crank *crank, int64_t crank_num, const struct crank_vat *vat,
                const struct delivery_line *line, struct error *error)
{
    if (prepare(crank, crank_num, vat, line, error) != 0)
        return -1;
    return store_mark(crank->store, error);
}

int crank_refuse(struct crank *crank, const struct crank_vat *vat, const struct delivery_line *line,
                 struct delivery_report *report, struct error *error)
{
    if (prepare(crank, 0, vat, line, error) != 0)
        return -1;
    *report = (struct delivery_report){
        .vat_id = crank->vat_id_text,
        .vat = crank->vat_name,
        .crank_num = REPORT_NONE,
        .delivery_num = REPORT_NONE,
        .description = buf_string(&crank->description),
        .method = buf_string(&crank->method),
        .compute = REPORT_NONE,
        .instructions = REPORT_NONE,
        .total = REPORT_NONE,
        .pipe = REPORT_NONE,
        .worker = REPORT_NONE,
        .kernel = REPORT_NONE,
        .processor = REPORT_NONE,
    };
    return 0;
}

int crank_sent(struct crank *crank, struct stamp sent, struct error *error)
{
    crank->sent = sent;
    return crank_log_start(crank, error);
}

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

/* The result as JSON for people and programs, out of the body kept. */
static int fill_result(struct crank *crank, struct delivery_report *report, struct error *error)
{
    json_t *body = json_loadb(crank->result.data, crank->result.length, JSON_DECODE_ANY, NULL);
    const char *text = json_string_value(body);
    json_t *value = NULL, *decoded = NULL;
    int result = 0;

    if (text != NULL && text[0] == '#')
        value = json_loads(text + 1, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (value != NULL) {
        decoded = smallcaps_decode(value);
        buf_clear(&crank->result);
        if (crank_put_json(&crank->result, decoded) != 0)
            result = error_memory(error, "a result");
    }
    report->result = buf_string(&crank->result);
    json_decref(decoded);
    json_decref(value);
    json_decref(body);
    return result;
}

static int fill_report(struct crank *crank, const struct crank_end *end,
                       struct delivery_report *report, struct error *error)
{
    const struct meter *meter = end->meter;

    *report = (struct delivery_report){
        .vat_id = crank->vat_id_text,
        .vat = crank->vat_name,
        .crank_num = crank->crank_num,
        .delivery_num = crank->common.delivery_num,
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
    if (report->ok && crank->result.length > 0)
        return fill_result(crank, report, error);
    return 0;
}

int crank_finish(struct crank *crank, const struct crank_end *end, struct delivery_report *report,
                 struct error *error)
{
    int result =
        end->problem != NULL ? store_undo(crank->store, error) : store_release(crank->store, error);

    if (result != 0 || vat_numbers_count_delivery(crank->store, crank->vat_id, error) != 0 ||
        store_block_commit(crank->store, error) != 0)
        return -1;
    if (fill_report(crank, end, report, error) != 0)
        return -1;
    return crank_log_end(crank, end, error);
}

void crank_abandon(struct crank *crank)
{
    store_block_rollback(crank->store);
}
