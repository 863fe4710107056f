/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/json_value.h"
#include "base/log.h"
#include "supervisor/schedule/delivery_log_slog.h"
#include "supervisor/schedule/scheduler_parts.h"

static void fail_when(struct scheduler *scheduler, int result, const struct error *error)
{
    if (result != 0)
        scheduler_fail(scheduler, error);
}

static void on_crank_started(void *context, const struct kernel_crank *crank)
{
    struct scheduler *scheduler = context;
    struct error error;

    scheduler->crank_num = crank->number;
    fail_when(
        scheduler,
        delivery_log_slog_start(scheduler->options.slog, crank, scheduler->crank_started, &error),
        &error);
}

static void on_clist_changed(void *context, const struct kernel_clist_change *change)
{
    struct scheduler *scheduler = context;
    struct error error;

    fail_when(
        scheduler,
        delivery_log_slog_clist(scheduler->options.slog, scheduler->crank_num, change, &error),
        &error);
}

static void on_syscall_translated(void *context, const struct kernel_syscall_texts *texts)
{
    struct scheduler *scheduler = context;
    struct error error;

    fail_when(scheduler,
              delivery_log_understood(&scheduler->log, scheduler->syscall, texts,
                                      scheduler->syscall_come, &error),
              &error);
}

static void on_vat_terminated(void *context, const struct kernel_termination *termination)
{
    struct scheduler *scheduler = context;
    struct error error;

    if (termination->vat == scheduler->log.delivery.vat)
        scheduler->vat_ended = true;
    fail_when(scheduler, delivery_log_slog_terminate(scheduler->options.slog, termination, &error),
              &error);
}

static void on_console(void *context, const char *line)
{
    const struct scheduler *scheduler = context;

    /* What a vat that cannot be started comes to is its owner's to say. */
    if (!scheduler->beginning)
        log_line("%s", line);
}

struct kernel_listener scheduler_kernel_listener(struct scheduler *scheduler)
{
    return (struct kernel_listener){
        .context = scheduler,
        .crank_started = on_crank_started,
        .clist_changed = on_clist_changed,
        .syscall_translated = on_syscall_translated,
        .vat_terminated = on_vat_terminated,
        .console = on_console,
    };
}

void scheduler_print(const char *vat_name, const struct vat_console *console)
{
    struct buf line = {0};
    const json_t *argument;
    size_t i;

    json_array_foreach(console->arguments, i, argument)
    {
        buf_append_byte(&line, ' ');
        if (json_is_string(argument))
            json_value_show_string(&line, json_string_value(argument),
                                   json_string_length(argument));
    }
    if (buf_string(&line) != NULL)
        log_line("%s:%s", vat_name, line.data);
    buf_free(&line);
}
