/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/log/delivery_log.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/json/json_value.h"
#include "base/log.h"
#include "base/text/format.h"
#include "proto/vat_message.h"
#include "slog/model/describe.h"
#include "supervisor/schedule/log/smallcaps.h"

enum { VAT_ID_SIZE = 24 };

/* ---- the times ---- */

/*
 * A stamp reads its two clocks one after the other, so they differ by less than a time slice
 * of the system's scheduler; NTP steps a clock by 128 ms or more. Nanoseconds.
 */
enum { CLOCK_STEP = 10 * 1000 * 1000 };

/* Nanoseconds on the clock that the delivery is split by. */
static int64_t moment_by_clock(struct stamp stamp, bool precise)
{
    return precise ? stamp.mono : stamp.real * 1000;
}

/* Returns true if the worker stamped with this host's CLOCK_MONOTONIC; xsnap-worker does not. */
static bool has_monotonic_stamps(const struct delivery_times *times, const struct delivery_end *end)
{
    const struct meter *meter = end->meter;

    return meter == NULL || meter->stamp_count == 0 ||
           (meter->stamps[0].mono >= times->sent.mono &&
            meter->stamps[meter->stamp_count - 1].mono <= end->returned.mono);
}

static bool host_clock_was_set(const struct delivery_times *times, const struct delivery_end *end)
{
    int64_t step =
        (end->returned.real - times->sent.real) * 1000 - (end->returned.mono - times->sent.mono);

    return step > CLOCK_STEP || step < -CLOCK_STEP;
}

static int reserve_scratch(struct delivery_times *times, size_t event_count, size_t stamp_count,
                           struct error *error)
{
    struct model_event *events =
        array_reserve(times->events, &times->event_capacity, event_count + 1, sizeof *events);
    int64_t *stamps;

    if (events == NULL)
        return error_memory(error, "a delivery's times");
    times->events = events;
    stamps = array_reserve(times->stamps, &times->stamp_capacity, stamp_count + 1, sizeof *stamps);
    if (stamps == NULL)
        return error_memory(error, "a delivery's times");
    times->stamps = stamps;
    return 0;
}

/* Splits the delivery by one of its clocks. */
static int split_delivery(struct delivery_times *times, const struct delivery_end *end,
                          bool precise, struct model_delivery *delivery, struct error *error)
{
    size_t stamp_count = end->meter != NULL ? end->meter->stamp_count : 0;
    struct moments moments = {.sent = moment_by_clock(times->sent, precise),
                              .returned = moment_by_clock(end->returned, precise),
                              .stamp_count = stamp_count,
                              .event_count = times->request_count,
                              .steady = true};

    if (reserve_scratch(times, times->request_count, stamp_count, error) != 0)
        return -1;
    for (size_t i = 0; i < stamp_count; i++)
        times->stamps[i] = moment_by_clock(end->meter->stamps[i], precise);
    for (size_t i = 0; i < times->request_count; i++)
        times->events[i] =
            (struct model_event){.arrived = moment_by_clock(times->requests[i].come, precise),
                                 .answered = moment_by_clock(times->requests[i].answered, precise)};
    moments.frame_sent = moments.sent;
    moments.frame_returned = moments.returned;
    moments.stamps = times->stamps;
    moments.events = times->events;
    return spans_build(&times->spans, &moments, delivery, error);
}

/* The supervisor's own times, without the worker's stamps. */
static void fill_without_worker(const struct delivery_times *times, const struct delivery_end *end,
                                struct delivery_report *report)
{
    report->total = end->returned.mono - times->sent.mono;
    report->pipe = report->worker = REPORT_NONE;
    report->kernel = times->more_kernel;
    for (size_t i = 0; i < times->request_count; i++)
        report->kernel += times->requests[i].answered.mono - times->requests[i].come.mono;
}

/* How the waits of both ends for a CPU divide among the parts of a delivery that is split. */
static struct model_waits waits_by_part(const struct delivery_end *end,
                                        struct model_delivery *delivery)
{
    const bool known = end->meter != NULL && end->meter->cpu_known;

    delivery->cpu_wait = end->cpu_waits.gaspipe;
    delivery->worker_cpu_wait = end->cpu_waits.worker;
    delivery->cpu_user = known ? (double)end->meter->cpu.user : NAN;
    delivery->cpu_sys = known ? (double)end->meter->cpu.system : NAN;
    return model_waits_of(delivery);
}

int delivery_times_fill(struct delivery_times *times, const struct delivery_end *end,
                        struct delivery_report *report, struct error *error)
{
    bool precise = has_monotonic_stamps(times, end);
    struct model_delivery delivery = {0};

    if (times->more > 0 && end->meter != NULL && end->meter->stamp_count > 0) {
        fill_without_worker(times, end, report);
        return 0;
    }
    if (split_delivery(times, end, precise, &delivery, error) != 0)
        return -1;
    report->total = delivery.total;
    report->pipe = delivery.pipe;
    report->worker = delivery.worker;
    report->kernel = delivery.kernel;
    if (delivery.coverage == MODEL_BARE)
        return 0;
    if (delivery.coverage != MODEL_FULL || delivery.clock_changed ||
        (!precise && host_clock_was_set(times, end)))
        fill_without_worker(times, end, report);
    else
        report->waits = waits_by_part(end, &delivery);
    return 0;
}

static void delivery_times_clear(struct delivery_times *times)
{
    times->sent = (struct stamp){0};
    times->request_count = times->more = 0;
    times->more_kernel = 0;
}

int delivery_times_add(struct delivery_times *times, struct stamp come, struct stamp answered,
                       struct error *error)
{
    struct request_times *requests;

    if (times->request_count == DELIVERY_TIMES_MAX) {
        times->more++;
        times->more_kernel += answered.mono - come.mono;
        return 0;
    }
    requests = array_reserve(times->requests, &times->request_capacity, times->request_count + 1,
                             sizeof *requests);
    if (requests == NULL)
        return error_memory(error, "a request");
    times->requests = requests;
    requests[times->request_count++] = (struct request_times){come, answered};
    return 0;
}

void delivery_times_free(struct delivery_times *times)
{
    free(times->requests);
    free(times->events);
    free(times->stamps);
    spans_free(&times->spans);
}

static void clear_builder(struct report_builder *builder)
{
    builder->syscalls = 0;
    buf_clear(&builder->description);
    buf_clear(&builder->method);
    builder->vat_promise = NULL;
    builder->kernel_promise[0] = '\0';
    json_decref(builder->result);
    builder->result = NULL;
    builder->rejected = false;
    delivery_times_clear(&builder->times);
}

static void free_report(struct report_builder *builder)
{
    clear_builder(builder);
    buf_free(&builder->description);
    buf_free(&builder->method);
    buf_free(&builder->shown);
    buf_free(&builder->words);
    delivery_times_free(&builder->times);
}

/* ---- the report: what the delivery is ---- */

/* The last of ["message",TARGET,{"methargs":CAPDATA,"result":PROMISE or null}]. */
static const json_t *delivered_message(const json_t *delivery)
{
    return json_array_get(delivery, 2);
}

static const char *promise_of(const json_t *delivery)
{
    return json_string_value(json_object_get(delivered_message(delivery), "result"));
}

static void describe_message(struct report_builder *builder)
{
    const struct kernel_delivery *delivery = &builder->delivery;
    const json_t *methargs = json_object_get(delivered_message(delivery->vd_value), "methargs");
    const json_t *body = json_object_get(methargs, "body");
    const char *method, *promise = promise_of(delivery->kd_value);

    builder->vat_promise = promise_of(delivery->vd_value);
    format_text(builder->kernel_promise, KERNEL_REF_SIZE, "%s", promise != NULL ? promise : "");
    describe_method_in_body(json_string_value(body), json_string_length(body), &builder->method);
    method = buf_string(&builder->method);
    if (method == NULL)
        return;
    buf_printf(&builder->description, "(%s)%s%s -> %s",
               json_string_value(json_array_get(delivery->vd_value, 1)),
               method[0] != '\0' ? "." : "()", method,
               builder->vat_promise != NULL ? builder->vat_promise : "null");
}

static void describe_notify(struct report_builder *builder)
{
    const json_t *resolution;
    size_t i;

    buf_append_string(&builder->description, "notify ");
    json_array_foreach(json_array_get(builder->delivery.vd_value, 1), i, resolution)
    {
        buf_printf(&builder->description, "%s%s%s", i > 0 ? "," : "",
                   json_is_true(json_array_get(resolution, 1)) ? "!" : "",
                   json_string_value(json_array_get(resolution, 0)));
    }
}

static int begin_report(struct report_builder *builder, const struct kernel_delivery *delivery,
                        const char *vat_name, struct error *error)
{
    clear_builder(builder);
    builder->delivery = *delivery;
    builder->vat_name = vat_name;
    format_text(builder->vat_id, sizeof builder->vat_id, "v%" PRId64, delivery->vat);
    if (strcmp(delivery->dispatch, "message") == 0) {
        describe_message(builder);
    } else {
        buf_append_string(&builder->method, delivery->dispatch);
        if (strcmp(delivery->dispatch, "notify") == 0)
            describe_notify(builder);
        else
            buf_append_string(&builder->description, delivery->dispatch);
    }
    if (buf_string(&builder->description) == NULL || buf_string(&builder->method) == NULL)
        return error_memory(error, "a delivery");
    return 0;
}

/* ---- the report: its result ---- */

static void note_resolution(struct report_builder *builder, const struct vat_syscall *syscall)
{
    const json_t *resolution;
    size_t i;

    builder->syscalls++;
    if (syscall->resolutions == NULL || builder->vat_promise == NULL)
        return;
    json_array_foreach(syscall->resolutions, i, resolution)
    {
        if (strcmp(json_string_value(json_array_get(resolution, 0)), builder->vat_promise) != 0)
            continue;
        json_decref(builder->result);
        builder->result = json_incref(json_array_get(resolution, 2));
        builder->rejected = json_is_true(json_array_get(resolution, 1));
        return;
    }
}

static int show_result(struct report_builder *builder, struct delivery_report *report,
                       struct error *error)
{
    if (!report->ok || builder->rejected || builder->result == NULL)
        return 0;
    if (smallcaps_write_value(&builder->shown, builder->result, error) != 0)
        return -1;
    report->result = buf_string(&builder->shown);
    return report->result != NULL ? 0 : error_memory(error, "a result");
}

static void fill_meter(struct delivery_report *report, const struct meter *meter)
{
    if (meter == NULL)
        return;
    report->compute = (int64_t)meter->compute;
    if (meter->counted) {
        report->instructions = (int64_t)meter->instructions;
        report->bytes_read = (int64_t)meter->bytes_read;
        report->bytes_written = (int64_t)meter->bytes_written;
    }
    if (meter->cost_known)
        report->block_cost = (int64_t)meter->block_cost;
    if (meter->gas_known)
        report->gas_burnt = (int64_t)meter->gas_burnt;
    if (meter->refund_known)
        report->gas_refunded = (int64_t)meter->gas_refunded;
    report->gas_profile = meter->gas_profile;
    report->profile = meter->profile;
    if (meter->stamp_count > 0) {
        report->worker_began = meter->stamps[0].mono;
        report->worker_ended = meter->stamps[meter->stamp_count - 1].mono;
    }
}

static int64_t *used_of(struct delivery_report *report, enum worker_limit_kind kind)
{
    switch (kind) {
    case WORKER_LIMIT_COMPUTRONS:
        return &report->compute;
    case WORKER_LIMIT_INSTRUCTIONS:
        return &report->instructions;
    case WORKER_LIMIT_COST:
        return &report->block_cost;
    default:
        return NULL;
    }
}

/* The worker did not report what it used: at least as much as its limit. */
static void fill_least(const struct delivery_limit *limit, struct delivery_report *report)
{
    int64_t *used = used_of(report, limit->of.kind);

    if (used == NULL || limit->value <= 0)
        return;
    *used = limit->value;
    report->at_least = true;
}

static int fill_limit(struct report_builder *builder, const struct delivery_end *end,
                      struct delivery_report *report, struct error *error)
{
    const struct delivery_limit *limit = &end->limit;

    if (!end->died || end->problem == NULL || limit->of.name == NULL ||
        (limit->value <= 0 && limit->of.fixed == NULL))
        return 0;
    report->limited = limit->of.name;
    if (end->meter == NULL)
        fill_least(limit, report);
    buf_clear(&builder->words);
    buf_printf(&builder->words, "%s: more than ", end->problem);
    if (limit->value > 0)
        buf_printf(&builder->words, "the %" PRId64 " %s", limit->value, limit->of.what);
    else
        buf_append_string(&builder->words, limit->of.fixed);
    report->error = buf_string(&builder->words);
    return report->error != NULL ? 0 : error_memory(error, "a delivery's error");
}

static int finish_report(struct report_builder *builder, const struct delivery_end *end,
                         struct delivery_report *report, struct error *error)
{
    const struct kernel_delivery *delivery = &builder->delivery;

    *report = (struct delivery_report){
        .vat_id = builder->vat_id,
        .vat = builder->vat_name,
        .crank_num = delivery->crank_num,
        .delivery_num = delivery->delivery_num,
        .dispatch = delivery->dispatch,
        .promise = builder->kernel_promise,
        .description = buf_string(&builder->description),
        .method = buf_string(&builder->method),
        .ok = end->problem == NULL,
        .error = end->problem,
        .stack = end->stack,
        .source = end->source,
        .compute = REPORT_NONE,
        .instructions = REPORT_NONE,
        .block_cost = REPORT_NONE,
        .gas_burnt = REPORT_NONE,
        .gas_refunded = REPORT_NONE,
        .bytes_read = REPORT_NONE,
        .bytes_written = REPORT_NONE,
        .syscalls = builder->syscalls,
        .cpu_waits = end->cpu_waits,
    };
    fill_meter(report, end->meter);
    if (fill_limit(builder, end, report, error) != 0)
        return -1;
    if (delivery_times_fill(&builder->times, end, report, error) != 0)
        return -1;
    return show_result(builder, report, error);
}

/* ---- the log ---- */

void delivery_log_init(struct delivery_log *log, struct slog_writer *slog)
{
    memset(log, 0, sizeof *log);
    log->slog = slog;
}

void delivery_log_free(struct delivery_log *log)
{
    free_report(&log->report);
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

static bool log_has_failed(const struct delivery_log *log)
{
    return log->error.kind != ERROR_NONE;
}

static bool writes_slog(const struct delivery_log *log)
{
    return log->slog != NULL && !log_has_failed(log);
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
    if (log_has_failed(log) || begin_report(&log->report, delivery, vat_name, &log->error) != 0)
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

    if (log_has_failed(log) ||
        delivery_times_add(&log->report.times, come, answered, &log->error) != 0)
        return;
    note_resolution(&log->report, syscall);
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
    if (!log_has_failed(log) && buf_append_string(&log->refused, vsc) != 0)
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

/* Writes the line also without its arguments: the worker has stamped the call. */
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

    if (log_has_failed(log) || delivery_times_add(&log->report.times, come, come, &log->error) != 0)
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
static void report_console_cut(struct delivery_log *log)
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
    slog_line_begin(slog, "gaspipe-host-failure");
    slog_field_integer(slog, "crankNum", log->common.crank_num);
    slog_field_text(slog, "vatID", log->common.vat_id);
    slog_field_integer(slog, "deliveryNum", log->common.delivery_num);
    slog_field_text(slog, "problem", problem);
    slog_field_integer(slog, "tries", tries);
    end_log_line(log, stamp_now());
}

/* For a worker that met a limit and did not report what it used: the limit instead. */
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
    if (end->cpu_waits.gaspipe >= 0)
        slog_field_integer(slog, "cpuWait", end->cpu_waits.gaspipe);
    if (end->cpu_waits.worker >= 0)
        slog_field_integer(slog, "workerCpuWait", end->cpu_waits.worker);
    finish_log_line(log, log->report.times.sent, end->returned);
}

int delivery_log_end(struct delivery_log *log, const struct delivery_end *end,
                     struct delivery_report *report, struct error *error)
{
    if (!log_has_failed(log) && finish_report(&log->report, end, report, &log->error) == 0) {
        report_console_cut(log);
        write_result(log, end, report);
    }
    return delivery_log_check(log, error);
}
