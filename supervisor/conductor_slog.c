/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_value.h"
#include "base/log.h"
#include "supervisor/conductor_parts.h"
#include "supervisor/journal_slog.h"

static void fail_when(struct conductor *conductor, int result, const struct error *error)
{
    if (result != 0)
        conductor_fail(conductor, error);
}

static void on_crank_started(void *context, const struct kernel_crank *crank)
{
    struct conductor *conductor = context;
    struct error error;

    conductor->crank_num = crank->number;
    fail_when(conductor,
              journal_slog_start(conductor->options.slog, crank, conductor->crank_started, &error),
              &error);
}

static void on_clist_changed(void *context, const struct kernel_clist_change *change)
{
    struct conductor *conductor = context;
    struct error error;

    fail_when(conductor,
              journal_slog_clist(conductor->options.slog, conductor->crank_num, change, &error),
              &error);
}

static void on_syscall_translated(void *context, const char *ksc)
{
    struct conductor *conductor = context;
    struct error error;

    fail_when(conductor,
              journal_understood(&conductor->journal, conductor->syscall, ksc,
                                 conductor->syscall_come, &error),
              &error);
}

static void on_vat_terminated(void *context, const struct kernel_termination *termination)
{
    struct conductor *conductor = context;
    struct error error;

    if (termination->vat == conductor->journal.delivery.vat)
        conductor->vat_ended = true;
    fail_when(conductor, journal_slog_terminate(conductor->options.slog, termination, &error),
              &error);
}

static void on_console(void *context, const char *line)
{
    const struct conductor *conductor = context;

    /* What a vat that cannot be started comes to is its owner's to say. */
    if (!conductor->beginning)
        log_line("%s", line);
}

struct kernel_listener conductor_kernel_listener(struct conductor *conductor)
{
    return (struct kernel_listener){
        .context = conductor,
        .crank_started = on_crank_started,
        .clist_changed = on_clist_changed,
        .syscall_translated = on_syscall_translated,
        .vat_terminated = on_vat_terminated,
        .console = on_console,
    };
}

void conductor_print(const char *vat_name, const struct vat_console *console)
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
