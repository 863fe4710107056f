/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "supervisor/crank_parts.h"

/* What npm @agoric/xsnap 0.15.0 calls its meter. */
#define METER_TYPE "xs-meter-36"

static const char *message_type(const struct crank *crank)
{
    return strcmp(crank->common.dispatch, "message") == 0 ? "send" : crank->common.dispatch;
}

int crank_log_start(struct crank *crank, struct error *error)
{
    struct slog_writer *slog = crank->slog;

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
    return slog_line_end(slog, crank->sent, error);
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
                   CRANK_FIRST_PROMISE + crank->crank_num);
        crank_put_json(&crank->scratch, json_array_get(json_array_get(syscall->resolutions, 0), 2));
        buf_append_string(&crank->scratch, "]]");
    } else {
        json_array_foreach(syscall->object, i, element)
        {
            if (i == 0)
                continue;
            buf_append_byte(&crank->scratch, ',');
            crank_put_json(&crank->scratch, element);
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
    crank_put_json(&crank->scratch, syscall->object);
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
    crank_put_json(&crank->scratch, console->arguments);
    slog_line_console(slog, &crank->common, console->source.bytes, console->level.bytes);
    slog_field_raw(slog, "args", crank->scratch.data, crank->scratch.length);
    return slog_line_end(slog, come, error);
}

int crank_log_request(struct crank *crank, const struct vat_request *request, struct stamp come,
                      struct stamp answered, struct error *error)
{
    if (crank->slog == NULL)
        return 0;
    if (request->kind == VAT_REQUEST_CONSOLE)
        return log_console(crank, &request->console, come, error);
    return log_syscall(crank, &request->syscall, come, answered, error);
}

/* ["ok",null,METER], ["error",WORDS,METER], ["error",WORDS,null] */
static void put_delivery_result(struct crank *crank, const struct crank_end *end)
{
    struct buf *dr = &crank->scratch;

    buf_clear(dr);
    if (end->problem == NULL) {
        buf_append_string(dr, "[\"ok\",null,");
    } else {
        buf_append_string(dr, "[\"error\",");
        crank_put_text(dr, end->problem);
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

int crank_log_terminate(struct crank *crank, const char *vat_id, const char *reason,
                        struct stamp stamp, struct error *error)
{
    struct slog_writer *slog = crank->slog;

    if (slog == NULL)
        return 0;
    buf_clear(&crank->scratch);
    buf_append_string(&crank->scratch, "{\"body\":");
    crank_put_text(&crank->scratch, reason);
    buf_append_string(&crank->scratch, ",\"slots\":[]}");
    slog_line_begin(slog, "terminate");
    slog_field_text(slog, "vatID", vat_id);
    slog_field_bool(slog, "shouldReject", true);
    slog_field_raw(slog, "info", crank->scratch.data, crank->scratch.length);
    return slog_line_end(slog, stamp, error);
}

int crank_log_end(struct crank *crank, const struct crank_end *end, struct error *error)
{
    struct slog_writer *slog = crank->slog;

    if (slog == NULL)
        return 0;
    put_delivery_result(crank, end);
    slog_line_delivery(slog, "deliver-result", &crank->common);
    slog_field_raw(slog, "dr", crank->scratch.data, crank->scratch.length);
    if (slog_line_finish(slog, crank->sent, end->returned, error) != 0)
        return -1;
    if (end->problem != NULL && end->vat_ended &&
        crank_log_terminate(crank, crank->vat_id_text, end->problem, end->returned, error) != 0)
        return -1;
    slog_line_begin(slog, "crank-finish");
    slog_field_text(slog, "crankType", "delivery");
    slog_field_text(slog, "messageType", message_type(crank));
    slog_field_integer(slog, "crankNum", crank->crank_num);
    if (slog_line_finish(slog, crank->started, stamp_now(), error) != 0)
        return -1;
    return slog_writer_flush(slog, error);
}
