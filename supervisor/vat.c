/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/vat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "proto/command.h"
#include "supervisor/runtime.h"

enum { CLOSING_MS = 2000 }; /* for a worker to end by itself */

struct stamp vat_send_frame(struct vat *vat, char prefix, struct iovec payload)
{
    struct iovec parts[] = {{&prefix, 1}, payload};
    struct stamp sent;
    struct error error;

    if (worker_process_send(vat->process, parts, 2, &sent, &error) != 0)
        kernel_fail(vat->kernel, &error);
    return sent;
}

static void timer_rang(uv_timer_t *timer)
{
    struct vat *vat = timer->data;

    vat_set_reason(vat, ERROR_SYSTEM, "it took longer than %g s", (double)vat->limit_ms / 1000);
    vat_event(vat, VAT_EVENT_TIMEOUT);
}

void vat_start_timer(struct vat *vat, uint64_t milliseconds)
{
    vat->limit_ms = milliseconds;
    /* Cannot fail: the callback is there. */
    if (milliseconds > 0)
        (void)uv_timer_start(&vat->timer, timer_rang, milliseconds, 0);
}

void vat_close_timer(struct vat *vat)
{
    if (!uv_is_closing((uv_handle_t *)&vat->timer))
        uv_close((uv_handle_t *)&vat->timer, NULL);
}

struct stamp vat_send_message(struct vat *vat, struct buf *message)
{
    struct stamp sent = {0};
    struct error error;

    if (buf_failed(message)) {
        error_memory(&error, "a message to a vat");
        kernel_fail(vat->kernel, &error);
    } else {
        sent = vat_send_frame(vat, COMMAND_DELIVER, (struct iovec){message->data, message->length});
    }
    buf_free(message);
    return sent;
}

static void load(struct vat *vat, const struct vat_happening *happening)
{
    struct buf message = {0};

    (void)happening;
    /* Terminated since it was read: this cannot fail. */
    vat_message_set_bundle(&message, vat->id_text, buf_string(&vat->contract.bundle), "{}");
    buf_free(&vat->contract.bundle);
    vat_send_message(vat, &message);
}

static void kill_worker(struct vat *vat, const struct vat_happening *happening)
{
    if (happening->event == VAT_EVENT_FAILED)
        vat_set_reason(vat, ERROR_SYSTEM, "its worker threw out of a command: %.*s",
                       (int)happening->payload.iov_len, (const char *)happening->payload.iov_base);
    else
        vat_set_reason(vat, ERROR_SYSTEM, "its worker spoke out of turn");
    uv_timer_stop(&vat->timer);
    worker_process_kill(vat->process);
    kernel_end_delivery_of(vat);
}

static void hang_up(struct vat *vat, const struct vat_happening *happening)
{
    (void)happening;
    uv_timer_stop(&vat->timer);
    vat_start_timer(vat, CLOSING_MS);
    worker_process_hang_up(vat->process);
}

static void forget(struct vat *vat, const struct vat_happening *happening)
{
    (void)happening;
    uv_timer_stop(&vat->timer);
    worker_process_free(vat->process);
    vat->process = NULL;
    kernel_tell_when_closed(vat->kernel);
}

static void bury(struct vat *vat, const struct vat_happening *happening)
{
    vat_set_reason_of_exit(vat, happening->exit_status, happening->signal_number);
    forget(vat, happening);
    kernel_end_delivery_of(vat);
}

static void do_nothing(struct vat *vat, const struct vat_happening *happening)
{
    (void)vat;
    (void)happening;
}

static void forbidden(struct vat *vat, const struct vat_happening *happening)
{
    log_line("%s: event %d in state %d cannot be", vat->name, happening->event, vat->state);
    abort();
}

void vat_happen(struct vat *vat, const struct vat_happening *happening)
{
    static void (*const actions[])(struct vat *, const struct vat_happening *) = {
        [VAT_ACT_NOTHING] = do_nothing,
        [VAT_ACT_LOAD] = load,
        [VAT_ACT_READY] = vat_get_ready,
        [VAT_ACT_DELIVER] = vat_begin_delivery,
        [VAT_ACT_ANSWER] = vat_answer_request,
        [VAT_ACT_FINISH] = vat_finish_delivery,
        [VAT_ACT_KILL] = kill_worker,
        [VAT_ACT_HANG_UP] = hang_up,
        [VAT_ACT_BURY] = bury,
        [VAT_ACT_FORGET] = forget,
        [VAT_ACT_FORBIDDEN] = forbidden,
    };
    struct vat_step step = vat_step(vat->state, happening->event);

    vat->state = step.next;
    actions[step.action](vat, happening);
}

static void on_frame(void *context, struct iovec frame, struct stamp come)
{
    struct vat *vat = context;
    struct vat_happening happening = {.event = VAT_EVENT_BAD, .come = come};
    const char *bytes = frame.iov_base;

    if (frame.iov_len > 0) {
        happening.payload = (struct iovec){(char *)bytes + 1, frame.iov_len - 1};
        if (bytes[0] == COMMAND_DONE)
            happening.event = VAT_EVENT_DONE;
        else if (bytes[0] == COMMAND_FAILED)
            happening.event = VAT_EVENT_FAILED;
        else if (bytes[0] == COMMAND_REQUEST)
            happening.event = VAT_EVENT_REQUEST;
    }
    if (happening.event == VAT_EVENT_BAD)
        vat_set_reason(vat, ERROR_SYSTEM, "its worker sent a frame that is no reply");
    vat_happen(vat, &happening);
}

static void on_bad_frame(void *context, const struct error *error)
{
    struct vat *vat = context;

    vat_set_reason(vat, ERROR_SYSTEM, "its worker's frames are broken: %s", error->text);
    vat_event(vat, VAT_EVENT_BAD);
}

/* The last line waits: if the worker ends now, it says why. */
static void on_words(void *context, const char *line)
{
    struct vat *vat = context;

    vat_show_words(vat);
    snprintf(vat->last_words, sizeof vat->last_words, "%s", line);
}

static void on_gone(void *context, int exit_status, int signal_number)
{
    struct vat_happening happening = {
        .event = VAT_EVENT_GONE,
        .exit_status = exit_status,
        .signal_number = signal_number,
    };

    vat_happen(context, &happening);
}

int vat_log_create(struct vat *vat, struct error *error)
{
    struct slog_writer *slog = vat->kernel->options.slog;

    if (slog == NULL)
        return 0;
    slog_line_begin(slog, "create-vat");
    slog_field_text(slog, "vatID", vat->id_text);
    slog_field_bool(slog, "dynamic", false);
    slog_field_text(slog, "description", vat->name);
    slog_field_text(slog, "name", vat->name);
    slog_field_text(slog, "managerType", "xsnap");
    slog_field_raw(slog, "vatSourceBundle", vat->contract.bundle.data, vat->contract.bundle.length);
    if (slog_line_end(slog, stamp_now(), error) != 0)
        return -1;
    return vat_log_startup(vat, "vat-startup-start", false, error);
}

int vat_log_startup(struct vat *vat, const char *type, bool finish, struct error *error)
{
    struct slog_writer *slog = vat->kernel->options.slog;
    struct stamp now = stamp_now();

    if (slog == NULL)
        return 0;
    slog_line_begin(slog, type);
    slog_field_text(slog, "vatID", vat->id_text);
    if (finish)
        return slog_line_finish(slog, vat->starting, now, error);
    vat->starting = now;
    return slog_line_end(slog, now, error);
}

int vat_start(struct vat *vat, struct error *error)
{
    const struct kernel_options *options = &vat->kernel->options;
    struct worker_listener listener = {
        .context = vat,
        .frame = on_frame,
        .bad_frame = on_bad_frame,
        .words = on_words,
        .gone = on_gone,
    };
    char title[64];

    snprintf(title, sizeof title, "gaspipe-worker:%s:%s", vat->id_text, vat->name);
    vat->process = launcher_start(options->launcher, options->loop, title, &listener, error);
    if (vat->process == NULL)
        return -1;
    vat->state = VAT_STARTING;
    vat_start_timer(vat, launcher_start_limit(options->timeout_ms));
    vat_send_frame(vat, COMMAND_EVALUATE, runtime_plain());
    return 0;
}

/* As much as there is of it; its worker is gone or never was. */
void vat_free(struct vat *vat)
{
    buf_free(&vat->contract.bundle);
    free(vat->name);
    free(vat->path);
    free(vat);
}

struct vat *vat_new(struct kernel *kernel, const char *name, const char *path)
{
    struct vat *vat = calloc(1, sizeof *vat);

    if (vat == NULL)
        return NULL;
    vat->kernel = kernel;
    vat->state = VAT_ENDED;
    vat->name = strdup(name);
    vat->path = strdup(path);
    if (vat->name != NULL && vat->path != NULL)
        return vat;
    vat_free(vat);
    return NULL;
}
