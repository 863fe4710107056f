/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/delivery_log_slog.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json/json_value.h"
#include "proto/delivery_result.h"

enum { VAT_ID_SIZE = 24 };

static void put_vat(struct slog_writer *slog, int64_t vat)
{
    char text[VAT_ID_SIZE];

    snprintf(text, sizeof text, "v%" PRId64, vat);
    slog_field_text(slog, "vatID", text);
}

static void put_json(struct slog_writer *slog, const char *name, const char *json)
{
    slog_field_raw(slog, name, json, strlen(json));
}

/* ---- a delivery ---- */

int delivery_log_slog_deliver(struct delivery_log *log, struct error *error)
{
    struct slog_writer *slog = log->slog;

    if (slog == NULL)
        return 0;
    slog_line_delivery(slog, "deliver", &log->common);
    put_json(slog, "kd", log->delivery.kd);
    put_json(slog, "vd", log->delivery.vd);
    return slog_line_end(slog, log->sent, error);
}

int delivery_log_slog_trouble(struct delivery_log *log, const char *problem, unsigned tries,
                              struct error *error)
{
    struct slog_writer *slog = log->slog;

    if (slog == NULL)
        return 0;
    slog_line_begin(slog, "gaspipe-trouble");
    slog_field_integer(slog, "crankNum", log->delivery.crank_num);
    put_vat(slog, log->delivery.vat);
    slog_field_integer(slog, "deliveryNum", log->delivery.delivery_num);
    slog_field_text(slog, "problem", problem);
    slog_field_integer(slog, "tries", tries);
    return slog_line_end(slog, stamp_now(), error);
}

static int put_value(struct slog_writer *slog, const char *name, const json_t *value,
                     struct error *error)
{
    struct buf text = {0};
    int result = json_value_write(&text, value);

    if (result == 0)
        slog_field_raw(slog, name, text.data, text.length);
    buf_free(&text);
    return result == 0 ? 0 : error_memory(error, "a line of the slog");
}

int delivery_log_slog_syscall(struct delivery_log *log, const struct vat_syscall *syscall,
                              const struct kernel_syscall_texts *texts, struct stamp come,
                              struct error *error)
{
    struct slog_writer *slog = log->slog;

    if (slog == NULL)
        return 0;
    slog_line_syscall(slog, "syscall", &log->common, log->syscall_num, syscall->name);
    put_json(slog, "ksc", texts->ksc);
    put_json(slog, "vsc", texts->vsc);
    return slog_line_end(slog, come, error);
}

int delivery_log_slog_syscall_result(struct delivery_log *log, const struct vat_syscall *syscall,
                                     const struct kernel_syscall_texts *texts, struct stamp come,
                                     struct stamp answered, struct error *error)
{
    struct slog_writer *slog = log->slog;

    if (slog == NULL)
        return 0;
    slog_line_syscall(slog, "syscall-result", &log->common, log->syscall_num, syscall->name);
    put_json(slog, "ksr", texts->ksr);
    put_json(slog, "vsr", texts->vsr);
    return slog_line_finish(slog, come, answered, error);
}

int delivery_log_slog_console(struct delivery_log *log, const struct vat_console *console,
                              struct stamp come, struct error *error)
{
    struct slog_writer *slog = log->slog;
    const char *source = console->source.bytes;

    if (slog == NULL)
        return 0;
    /* As SwingSet's slog calls what liveslots itself says. */
    if (strcmp(source, "ls") == 0)
        source = "liveslots";
    slog_line_console(slog, &log->common, source, console->level.bytes);
    if (put_value(slog, "args", console->arguments, error) != 0)
        return -1;
    return slog_line_end(slog, come, error);
}

int delivery_log_slog_result(struct delivery_log *log, const struct delivery_log_end *end,
                             struct error *error)
{
    struct slog_writer *slog = log->slog;
    struct buf *dr = &log->vd; /* the delivery's text has done its service */

    if (slog == NULL)
        return 0;
    buf_clear(dr);
    delivery_result_put(dr, end->problem, end->value, end->meter);
    if (buf_failed(dr))
        return error_memory(error, "a line of the slog");
    slog_line_delivery(slog, "deliver-result", &log->common);
    slog_field_raw(slog, "dr", dr->data, dr->length);
    return slog_line_finish(slog, log->sent, end->returned, error);
}

/* ---- what the kernel tells ---- */

int delivery_log_slog_start(struct slog_writer *slog, const struct kernel_crank *crank,
                            struct stamp started, struct error *error)
{
    if (slog == NULL)
        return 0;
    slog_line_begin(slog, "crank-start");
    slog_field_text(slog, "crankType", crank->type);
    slog_field_integer(slog, "crankNum", crank->number);
    slog_field_text(slog, "messageType", crank->message_type);
    put_json(slog, "message", crank->message);
    return slog_line_end(slog, started, error);
}

static int slog_cleanup(struct slog_writer *slog, int64_t vat, struct error *error)
{
    if (vat == 0)
        return 0;
    slog_line_begin(slog, "vat-cleanup-complete");
    put_vat(slog, vat);
    return slog_line_end(slog, stamp_now(), error);
}

int delivery_log_slog_finish(struct slog_writer *slog, const struct kernel_crank_end *end,
                             struct stamp started, struct error *error)
{
    if (slog == NULL)
        return 0;
    if (slog_cleanup(slog, end->cleaned_up, error) != 0)
        return -1;
    slog_line_begin(slog, "crank-finish");
    slog_field_text(slog, "crankType", end->crank.type);
    slog_field_text(slog, "messageType", end->crank.message_type);
    slog_field_integer(slog, "crankNum", end->crank.number);
    slog_field_text(slog, "crankhash", end->crankhash);
    slog_field_text(slog, "activityhash", end->activityhash);
    return slog_line_finish(slog, started, stamp_now(), error);
}

int delivery_log_slog_clist(struct slog_writer *slog, int64_t crank_num,
                            const struct kernel_clist_change *change, struct error *error)
{
    if (slog == NULL)
        return 0;
    slog_line_begin(slog, "clist");
    slog_field_integer(slog, "crankNum", crank_num);
    slog_field_text(slog, "mode", change->mode);
    put_vat(slog, change->vat);
    slog_field_text(slog, "kobj", change->kobj);
    slog_field_text(slog, "vobj", change->vobj);
    return slog_line_end(slog, stamp_now(), error);
}

int delivery_log_slog_terminate(struct slog_writer *slog,
                                const struct kernel_termination *termination, struct error *error)
{
    if (slog == NULL)
        return 0;
    slog_line_begin(slog, "terminate");
    put_vat(slog, termination->vat);
    slog_field_bool(slog, "shouldReject", termination->reject);
    put_json(slog, "info", termination->info);
    return slog_line_end(slog, stamp_now(), error);
}
