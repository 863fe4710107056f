/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/crank.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json_text.h"
#include "slog/describe.h"
#include "supervisor/smallcaps.h"

/* What npm @agoric/xsnap 0.15.0 calls its meter. */
#define METER_TYPE "xs-meter-36"

/* SwingSet's first kernel promises and objects have such numbers; ours are as
 * easily told from small integers. */
enum { FIRST_PROMISE = 60, FIRST_OBJECT = 20 };

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

/* ---- texts ---- */

static void put_text(struct buf *buf, const char *text)
{
    json_text_string(buf, text, strlen(text));
}

static int put_json(struct buf *buf, const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    int result = -1;

    if (text != NULL)
        result = buf_append_string(buf, text);
    else
        buf->failed = true;
    free(text);
    return result;
}

static void put_start_texts(struct crank *crank)
{
    static const char parameters[] = "{\"body\":\"#{}\",\"slots\":[]}";

    buf_printf(&crank->vd, "[\"startVat\",%s]", parameters);
    buf_printf(&crank->kd, "[\"startVat\",%s]", parameters);
    buf_printf(&crank->message, "{\"type\":\"startVat\",\"vatID\":\"%s\",\"vatParameters\":%s}",
               crank->vat_id_text, parameters);
}

/* {"methargs":...,"result":"PROMISE"} with a promise of the given kind, or null. */
static void put_message(struct buf *buf, const struct buf *methargs, const char *prefix,
                        int64_t number, bool wants_result)
{
    buf_append_string(buf, "{\"methargs\":");
    buf_append(buf, methargs->data, methargs->length);
    if (wants_result)
        buf_printf(buf, ",\"result\":\"%s%" PRId64 "\"}", prefix, number);
    else
        buf_append_string(buf, ",\"result\":null}");
}

static void put_message_texts(struct crank *crank, const struct delivery_line *line)
{
    const struct buf *methargs = &crank->scratch;
    int64_t kernel_promise = FIRST_PROMISE + crank->crank_num;
    int64_t vat_promise = FIRST_PROMISE + crank->common.delivery_num;

    buf_clear(&crank->scratch);
    put_json(&crank->scratch, line->methargs);
    snprintf(crank->result_promise, sizeof crank->result_promise, "p-%" PRId64, vat_promise);

    buf_append_string(&crank->vd, "[\"message\",");
    put_text(&crank->vd, line->target);
    buf_append_byte(&crank->vd, ',');
    put_message(&crank->vd, methargs, "p-", vat_promise, line->wants_result);
    buf_append_byte(&crank->vd, ']');

    buf_printf(&crank->kd, "[\"message\",\"ko%" PRId64 "\",", FIRST_OBJECT + crank->vat_id);
    put_message(&crank->kd, methargs, "kp", kernel_promise, line->wants_result);
    buf_append_byte(&crank->kd, ']');

    buf_printf(&crank->message, "{\"type\":\"send\",\"target\":\"ko%" PRId64 "\",\"msg\":",
               FIRST_OBJECT + crank->vat_id);
    put_message(&crank->message, methargs, "kp", kernel_promise, line->wants_result);
    buf_append_byte(&crank->message, '}');
}

static void put_description(struct crank *crank)
{
    struct scan_span vd;

    /* The scanner reads whole blocks, beyond the text's end. */
    if (buf_reserve(&crank->vd, SCAN_PADDING) != 0)
        return;
    vd = (struct scan_span){crank->vd.data, crank->vd.length};
    describe_delivery(vd, &crank->description);
    if (strcmp(crank->common.dispatch, "message") == 0) {
        struct scan_cursor cursor;
        struct scan_span element = {0};

        scan_open(vd, '[', &cursor);
        for (int i = 0; i < 3; i++)
            scan_element(&cursor, &element);
        describe_method(element, &crank->method);
    } else {
        buf_append_string(&crank->method, crank->common.dispatch);
    }
}

/* ---- the beginning ---- */

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

static int make_texts(struct crank *crank, const struct delivery_line *line, struct error *error)
{
    crank->wants_result = line != NULL && line->wants_result;
    if (line == NULL)
        put_start_texts(crank);
    else
        put_message_texts(crank, line);
    put_description(crank);
    if (buf_failed(&crank->vd) || buf_failed(&crank->kd) || buf_failed(&crank->message) ||
        buf_failed(&crank->scratch) || buf_string(&crank->description) == NULL ||
        buf_string(&crank->method) == NULL)
        return error_memory(error, "a delivery");
    return 0;
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
    return make_texts(crank, line, error);
}

int crank_begin(struct crank *crank, int64_t crank_num, const struct crank_vat *vat,
                const struct delivery_line *line, struct error *error)
{
    if (prepare(crank, crank_num, vat, line, error) != 0 || store_begin(crank->store, error) != 0)
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
    };
    return 0;
}

static const char *message_type(const struct crank *crank)
{
    return strcmp(crank->common.dispatch, "message") == 0 ? "send" : crank->common.dispatch;
}

int crank_sent(struct crank *crank, struct stamp sent, struct error *error)
{
    struct slog_writer *slog = crank->slog;

    crank->sent = sent;
    if (slog == NULL)
        return 0;
    slog_line_begin(slog, "crank-start");
    slog_field_text(slog, "crankType", "delivery");
    slog_field_integer(slog, "crankNum", crank->crank_num);
    slog_field_text(slog, "messageType", message_type(crank));
    slog_field_raw(slog, "message", crank->message.data, crank->message.length);
    if (slog_line_end(slog, crank->started, error) != 0)
        return -1;
    slog_line_delivery(slog, "deliver", &crank->common);
    slog_field_raw(slog, "kd", crank->kd.data, crank->kd.length);
    slog_field_raw(slog, "vd", crank->vd.data, crank->vd.length);
    return slog_line_end(slog, sent, error);
}

/* ---- requests ---- */

static struct iovec text_bytes(struct vat_text text)
{
    return (struct iovec){.iov_base = (char *)text.bytes, .iov_len = text.length};
}

/* ["ok", value] or, for what is not there, ["ok", null]. */
static enum crank_result answer_value(struct crank *crank, int result, bool found,
                                      struct error *error)
{
    if (result != 0)
        return CRANK_BROKEN;
    buf_append_string(&crank->answer, "[\"ok\",");
    if (found)
        json_text_string(&crank->answer, crank->scratch.data, crank->scratch.length);
    else
        buf_append_string(&crank->answer, "null");
    buf_append_byte(&crank->answer, ']');
    if (!buf_failed(&crank->answer))
        return CRANK_OK;
    error_memory(error, "an answer");
    return CRANK_BROKEN;
}

/* A plain contract resolves one promise: the result of the message in hand. */
static enum crank_result resolve(struct crank *crank, const json_t *resolutions,
                                 struct error *error)
{
    const json_t *resolution = json_array_get(resolutions, 0);
    const char *promise = json_string_value(json_array_get(resolution, 0));
    const json_t *rejected = json_array_get(resolution, 1);
    const json_t *capdata = json_array_get(resolution, 2);

    if (json_array_size(resolutions) != 1 || !crank->wants_result || crank->result.length > 0 ||
        strcmp(promise, crank->result_promise) != 0 || json_is_true(rejected)) {
        error_set(error, ERROR_DELIVERY, "it resolved what is not its to resolve");
        return CRANK_SENSELESS;
    }
    if (put_json(&crank->result, json_object_get(capdata, "body")) != 0) {
        error_memory(error, "a result");
        return CRANK_BROKEN;
    }
    return answer_value(crank, 0, false, error);
}

static enum crank_result do_syscall(struct crank *crank, const struct vat_syscall *syscall,
                                    struct error *error)
{
    struct iovec key = text_bytes(syscall->key);
    bool found = false;
    int result = 0;

    buf_clear(&crank->scratch);
    switch (syscall->kind) {
    case VAT_SYSCALL_STORE_GET:
        result = store_get(crank->store, crank->vat_id, key, &crank->scratch, &found, error);
        break;
    case VAT_SYSCALL_STORE_SET:
        result = store_set(crank->store, crank->vat_id, key, text_bytes(syscall->value), error);
        break;
    case VAT_SYSCALL_STORE_DELETE:
        result = store_delete(crank->store, crank->vat_id, key, error);
        break;
    case VAT_SYSCALL_STORE_NEXT_KEY:
        result = store_next_key(crank->store, crank->vat_id, key, &crank->scratch, &found, error);
        break;
    case VAT_SYSCALL_RESOLVE:
        return resolve(crank, syscall->resolutions, error);
    }
    return answer_value(crank, result, found, error);
}

enum crank_result crank_request(struct crank *crank, const struct vat_request *request,
                                struct error *error)
{
    buf_clear(&crank->answer);
    if (request->kind == VAT_REQUEST_SYSCALL)
        return do_syscall(crank, &request->syscall, error);
    return answer_value(crank, 0, false, error);
}

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
        .answered = console ? come.mono : answered.mono,
    };
    return 0;
}

/* The syscall as the kernel sees it: with the vat in second place. */
static void put_kernel_syscall(struct crank *crank, const struct vat_syscall *syscall)
{
    const json_t *element;
    size_t i;

    buf_clear(&crank->scratch);
    buf_printf(&crank->scratch, "[\"%s\",\"%s\"", syscall->name, crank->vat_id_text);
    if (syscall->kind == VAT_SYSCALL_RESOLVE) {
        buf_printf(&crank->scratch, ",[[\"kp%" PRId64 "\",false,",
                   FIRST_PROMISE + crank->crank_num);
        put_json(&crank->scratch, json_array_get(json_array_get(syscall->resolutions, 0), 2));
        buf_append_string(&crank->scratch, "]]");
    } else {
        json_array_foreach(syscall->object, i, element)
        {
            if (i == 0)
                continue;
            buf_append_byte(&crank->scratch, ',');
            put_json(&crank->scratch, element);
        }
    }
    buf_append_byte(&crank->scratch, ']');
}

static int log_syscall(struct crank *crank, const struct vat_syscall *syscall, struct stamp come,
                       struct stamp answered, struct error *error)
{
    struct slog_writer *slog = crank->slog;

    put_kernel_syscall(crank, syscall);
    slog_line_syscall(slog, "syscall", &crank->common, crank->syscall_num, syscall->name);
    slog_field_raw(slog, "ksc", crank->scratch.data, crank->scratch.length);
    buf_clear(&crank->scratch);
    put_json(&crank->scratch, syscall->object);
    slog_field_raw(slog, "vsc", crank->scratch.data, crank->scratch.length);
    if (slog_line_end(slog, come, error) != 0)
        return -1;
    slog_line_syscall(slog, "syscall-result", &crank->common, crank->syscall_num, syscall->name);
    slog_field_raw(slog, "ksr", crank->answer.data, crank->answer.length);
    slog_field_raw(slog, "vsr", crank->answer.data, crank->answer.length);
    return slog_line_finish(slog, come, answered, error);
}

static int log_console(struct crank *crank, const struct vat_console *console, struct stamp come,
                       struct error *error)
{
    struct slog_writer *slog = crank->slog;

    buf_clear(&crank->scratch);
    put_json(&crank->scratch, console->arguments);
    slog_line_console(slog, &crank->common, console->source.bytes, console->level.bytes);
    slog_field_raw(slog, "args", crank->scratch.data, crank->scratch.length);
    return slog_line_end(slog, come, error);
}

int crank_answered(struct crank *crank, const struct vat_request *request, struct stamp come,
                   struct stamp answered, struct error *error)
{
    bool console = request->kind == VAT_REQUEST_CONSOLE;
    int result = note_event(crank, console, come, answered, error);

    if (result == 0 && crank->slog != NULL)
        result = console ? log_console(crank, &request->console, come, error)
                         : log_syscall(crank, &request->syscall, come, answered, error);
    if (!console)
        crank->syscall_num++;
    return result;
}

/* ---- the end ---- */

/* ["ok",null,METER], ["error",WORDS,METER], ["error",WORDS,null] */
static void put_delivery_result(struct crank *crank, const struct crank_end *end)
{
    struct buf *dr = &crank->scratch;

    buf_clear(dr);
    if (end->problem == NULL) {
        buf_append_string(dr, "[\"ok\",null,");
    } else {
        buf_append_string(dr, "[\"error\",");
        put_text(dr, end->problem);
        buf_append_byte(dr, ',');
    }
    if (end->meter == NULL) {
        buf_append_string(dr, "null]");
        return;
    }
    buf_append_string(dr, "{\"meterType\":\"" METER_TYPE "\",");
    buf_clear(&crank->answer);
    meter_encode(&crank->answer, end->meter);
    /* The record without its opening brace. */
    if (!buf_failed(&crank->answer))
        buf_append(dr, crank->answer.data + 1, crank->answer.length - 1);
    buf_append_byte(dr, ']');
}

static int log_terminate(struct crank *crank, const struct crank_end *end, struct error *error)
{
    struct slog_writer *slog = crank->slog;

    buf_clear(&crank->scratch);
    buf_append_string(&crank->scratch, "{\"body\":");
    put_text(&crank->scratch, end->problem);
    buf_append_string(&crank->scratch, ",\"slots\":[]}");
    slog_line_begin(slog, "terminate");
    slog_field_text(slog, "vatID", crank->vat_id_text);
    slog_field_bool(slog, "shouldReject", true);
    slog_field_raw(slog, "info", crank->scratch.data, crank->scratch.length);
    return slog_line_end(slog, end->returned, error);
}

static int log_end(struct crank *crank, const struct crank_end *end, struct error *error)
{
    struct slog_writer *slog = crank->slog;

    if (slog == NULL)
        return 0;
    put_delivery_result(crank, end);
    slog_line_delivery(slog, "deliver-result", &crank->common);
    slog_field_raw(slog, "dr", crank->scratch.data, crank->scratch.length);
    if (slog_line_finish(slog, crank->sent, end->returned, error) != 0)
        return -1;
    if (end->problem != NULL && end->vat_ended && log_terminate(crank, end, error) != 0)
        return -1;
    slog_line_begin(slog, "crank-finish");
    slog_field_text(slog, "crankType", "delivery");
    slog_field_text(slog, "messageType", message_type(crank));
    slog_field_integer(slog, "crankNum", crank->crank_num);
    if (slog_line_finish(slog, crank->started, stamp_now(), error) != 0)
        return -1;
    return slog_writer_flush(slog, error);
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
        if (put_json(&crank->result, decoded) != 0)
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
    if (end->problem != NULL && store_undo(crank->store, error) != 0)
        return -1;
    if (store_count_delivery(crank->store, crank->vat_id, error) != 0 ||
        store_commit(crank->store, error) != 0)
        return -1;
    if (fill_report(crank, end, report, error) != 0)
        return -1;
    return log_end(crank, end, error);
}

void crank_abandon(struct crank *crank)
{
    store_rollback(crank->store);
}
