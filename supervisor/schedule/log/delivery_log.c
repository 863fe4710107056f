/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/log/delivery_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json/json_value.h"
#include "base/log.h"
#include "proto/delivery_result.h"

enum { VAT_ID_SIZE = 24 };

void delivery_log_init(struct delivery_log *log, struct slog_writer *slog)
{
    memset(log, 0, sizeof *log);
    log->slog = slog;
}

void delivery_log_free(struct delivery_log *log)
{
    report_builder_free(&log->report);
    buf_free(&log->dr);
    buf_free(&log->refused);
}

int delivery_log_check(const struct delivery_log *log, struct error *error)
{
    if (log->error.kind == ERROR_NONE)
        return 0;
    *error = log->error;
    return -1;
}

void delivery_log_fail(struct delivery_log *log, const struct error *error)
{
    if (log->error.kind == ERROR_NONE)
        log->error = *error;
}

static bool has_failed(const struct delivery_log *log)
{
    return log->error.kind != ERROR_NONE;
}

static bool writes_slog(const struct delivery_log *log)
{
    return log->slog != NULL && !has_failed(log);
}

/* ---- lines and fields ---- */

/* On failure the error is in the log. */
static void end_log_line(struct delivery_log *log, struct stamp stamp)
{
    (void)slog_line_end(log->slog, stamp, &log->error);
}

static void finish_log_line(struct delivery_log *log, struct stamp started, struct stamp stamp)
{
    (void)slog_line_finish(log->slog, started, stamp, &log->error);
}

static void put_vat_field(struct slog_writer *slog, int64_t vat)
{
    char text[VAT_ID_SIZE];

    snprintf(text, sizeof text, "v%" PRId64, vat);
    slog_field_text(slog, "vatID", text);
}

static void put_json_field(struct slog_writer *slog, const char *name, const char *json)
{
    slog_field_raw(slog, name, json, strlen(json));
}

/* ---- a crank ---- */

void delivery_log_start_crank(struct delivery_log *log, struct stamp started)
{
    log->crank_started = started;
}

void delivery_log_crank_started(struct delivery_log *log, const struct kernel_crank *crank)
{
    struct slog_writer *slog = log->slog;

    log->crank_num = crank->number;
    if (!writes_slog(log))
        return;
    slog_line_begin(slog, "crank-start");
    slog_field_text(slog, "crankType", crank->type);
    slog_field_integer(slog, "crankNum", crank->number);
    slog_field_text(slog, "messageType", crank->message_type);
    put_json_field(slog, "message", crank->message);
    end_log_line(log, log->crank_started);
}

void delivery_log_crank_ended(struct delivery_log *log, const struct kernel_crank_end *end)
{
    struct slog_writer *slog = log->slog;

    if (!writes_slog(log))
        return;
    if (end->cleaned_up != 0) {
        slog_line_begin(slog, "vat-cleanup-complete");
        put_vat_field(slog, end->cleaned_up);
        end_log_line(log, stamp_now());
    }
    slog_line_begin(slog, "crank-finish");
    slog_field_text(slog, "crankType", end->crank.type);
    slog_field_text(slog, "messageType", end->crank.message_type);
    slog_field_integer(slog, "crankNum", end->crank.number);
    slog_field_text(slog, "crankhash", end->crankhash);
    slog_field_text(slog, "activityhash", end->activityhash);
    finish_log_line(log, log->crank_started, stamp_now());
}

void delivery_log_clist_changed(struct delivery_log *log, const struct kernel_clist_change *change)
{
    struct slog_writer *slog = log->slog;

    if (!writes_slog(log))
        return;
    slog_line_begin(slog, "clist");
    slog_field_integer(slog, "crankNum", log->crank_num);
    slog_field_text(slog, "mode", change->mode);
    put_vat_field(slog, change->vat);
    slog_field_text(slog, "kobj", change->kobj);
    slog_field_text(slog, "vobj", change->vobj);
    end_log_line(log, stamp_now());
}

void delivery_log_vat_terminated(struct delivery_log *log,
                                 const struct kernel_termination *termination)
{
    struct slog_writer *slog = log->slog;

    if (!writes_slog(log))
        return;
    slog_line_begin(slog, "terminate");
    put_vat_field(slog, termination->vat);
    slog_field_bool(slog, "shouldReject", termination->reject);
    put_json_field(slog, "info", termination->info);
    end_log_line(log, stamp_now());
}

/* ---- a delivery ---- */

void delivery_log_begin(struct delivery_log *log, const struct kernel_delivery *delivery,
                        const char *vat_name)
{
    if (has_failed(log) || report_builder_begin(&log->report, delivery, vat_name, &log->error) != 0)
        return;
    log->syscall_num = 0;
    log->console = (struct console_bound){0};
    buf_clear(&log->refused);
    log->common = (struct slog_delivery){
        .crank_num = delivery->crank_num,
        .vat_id = log->report.vat_id,
        .delivery_num = delivery->delivery_num,
        .dispatch = delivery->dispatch,
    };
}

void delivery_log_sent(struct delivery_log *log, struct stamp sent)
{
    struct slog_writer *slog = log->slog;

    log->report.times.sent = sent;
    if (!writes_slog(log))
        return;
    slog_line_delivery(slog, "deliver", &log->common);
    put_json_field(slog, "kd", log->report.delivery.kd);
    put_json_field(slog, "vd", log->report.delivery.vd);
    end_log_line(log, sent);
}

void delivery_log_syscall(struct delivery_log *log, const struct vat_syscall *syscall,
                          const struct kernel_syscall_texts *texts, struct stamp come)
{
    struct slog_writer *slog = log->slog;

    if (!writes_slog(log))
        return;
    slog_line_syscall(slog, "syscall", &log->common, log->syscall_num, syscall->name);
    put_json_field(slog, "ksc", texts->ksc);
    put_json_field(slog, "vsc", texts->vsc);
    end_log_line(log, come);
}

void delivery_log_answered(struct delivery_log *log, const struct vat_syscall *syscall,
                           const struct kernel_syscall_texts *texts, struct stamp come,
                           struct stamp answered)
{
    struct slog_writer *slog = log->slog;

    if (has_failed(log) || delivery_times_add(&log->report.times, come, answered, &log->error) != 0)
        return;
    report_builder_take_syscall(&log->report, syscall);
    if (slog != NULL) {
        slog_line_syscall(slog, "syscall-result", &log->common, log->syscall_num, syscall->name);
        put_json_field(slog, "ksr", texts->ksr);
        put_json_field(slog, "vsr", texts->vsr);
        finish_log_line(log, come, answered);
    }
    log->syscall_num++;
}

void delivery_log_refused(struct delivery_log *log, const char *vsc)
{
    buf_clear(&log->refused);
    if (!has_failed(log) && buf_append_string(&log->refused, vsc) != 0)
        error_memory(&log->error, "a line of the slog");
}

/* SwingSet's slog has another name for liveslots' own console. */
static const char *source_of(const struct vat_console *console)
{
    const char *source = console->source.bytes;

    return strcmp(source, "ls") == 0 ? "liveslots" : source;
}

static bool fits_console(struct console_bound *bound, size_t bytes)
{
    if (bytes <= DELIVERY_LOG_CONSOLE_MAX - bound->shown) {
        bound->shown += bytes;
        return true;
    }
    bound->calls++;
    bound->bytes += (int64_t)bytes;
    return false;
}

/* The line stays where its arguments do not: the worker has stamped the call. */
static void write_console(struct delivery_log *log, const struct vat_console *console,
                          const char *arguments, struct stamp come)
{
    struct slog_writer *slog = log->slog;

    if (slog == NULL)
        return;
    slog_line_console(slog, &log->common, source_of(console), console->level.bytes);
    put_json_field(slog, "args", arguments);
    end_log_line(log, come);
}

bool delivery_log_console(struct delivery_log *log, const struct vat_console *console,
                          struct stamp come)
{
    struct buf arguments = {0};
    const char *text;
    bool fits = false;

    if (has_failed(log) || delivery_times_add(&log->report.times, come, come, &log->error) != 0)
        return false;
    (void)json_value_write(&arguments, console->arguments);
    text = buf_string(&arguments);
    if (text == NULL) {
        error_memory(&log->error, "a line of the slog");
    } else {
        fits = fits_console(&log->console, arguments.length);
        write_console(log, console, fits ? text : "[]", come);
    }
    buf_free(&arguments);
    return fits;
}

/* Once the delivery has ended. */
static void tell_console_cut(struct delivery_log *log)
{
    const struct console_bound *bound = &log->console;
    struct slog_writer *slog = log->slog;

    if (bound->calls == 0)
        return;
    log_line("%s: console calls left out: %" PRId64 " (%" PRId64
             " bytes); a delivery prints %d bytes at most",
             log->report.vat_name, bound->calls, bound->bytes, DELIVERY_LOG_CONSOLE_MAX);
    if (!writes_slog(log))
        return;
    slog_line_begin(slog, "gaspipe-console-cut");
    slog_field_integer(slog, "crankNum", log->common.crank_num);
    slog_field_text(slog, "vatID", log->common.vat_id);
    slog_field_integer(slog, "deliveryNum", log->common.delivery_num);
    slog_field_integer(slog, "calls", bound->calls);
    slog_field_integer(slog, "bytes", bound->bytes);
    end_log_line(log, stamp_now());
}

void delivery_log_host_failure(struct delivery_log *log, const char *problem, unsigned tries)
{
    struct slog_writer *slog = log->slog;

    if (!writes_slog(log))
        return;
    slog_line_begin(slog, "gaspipe-trouble");
    slog_field_integer(slog, "crankNum", log->common.crank_num);
    slog_field_text(slog, "vatID", log->common.vat_id);
    slog_field_integer(slog, "deliveryNum", log->common.delivery_num);
    slog_field_text(slog, "problem", problem);
    slog_field_integer(slog, "tries", tries);
    end_log_line(log, stamp_now());
}

/* Of a worker that met a limit and could not tell what it used: the limit, and that it is one. */
static void put_limited(struct buf *dr, const struct delivery_end *end)
{
    const char *member = "compute";

    if (end->limit.of.kind == WORKER_LIMIT_INSTRUCTIONS)
        member = "instructions";
    else if (end->limit.of.kind == WORKER_LIMIT_COST)
        member = "blockCost";
    buf_append_string(dr, "[\"error\",");
    json_value_write_string(dr, end->problem, strlen(end->problem));
    buf_printf(dr, ",{\"%s\":%" PRId64 ",\"limited\":true}]", member, end->limit.value);
}

static void write_result(struct delivery_log *log, const struct delivery_end *end,
                         const struct delivery_report *report)
{
    struct slog_writer *slog = log->slog;

    if (!writes_slog(log))
        return;
    buf_clear(&log->dr);
    if (report->at_least)
        put_limited(&log->dr, end);
    else
        delivery_result_put(&log->dr, end->problem, end->value, end->meter);
    if (buf_failed(&log->dr)) {
        error_memory(&log->error, "a line of the slog");
        return;
    }
    slog_line_delivery(slog, "deliver-result", &log->common);
    slog_field_raw(slog, "dr", log->dr.data, log->dr.length);
    if (log->refused.length > 0)
        slog_field_raw(slog, "refused", log->refused.data, log->refused.length);
    finish_log_line(log, log->report.times.sent, end->returned);
}

int delivery_log_end(struct delivery_log *log, const struct delivery_end *end,
                     struct delivery_report *report, struct error *error)
{
    if (!has_failed(log) && report_builder_finish(&log->report, end, report, &log->error) == 0) {
        tell_console_cut(log);
        write_result(log, end, report);
    }
    return delivery_log_check(log, error);
}
