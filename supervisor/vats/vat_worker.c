/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "proto/command.h"
#include "supervisor/vats/vat.h"

void vat_report(const struct vat *vat, const struct warehouse_event *event)
{
    const struct warehouse_listener *listener = vat->owner->listener;
    struct warehouse_event named = *event;

    named.vat = vat->identity.id;
    if (!vat->owner->silent)
        listener->event(listener->context, &named);
}

enum vat_event vat_fail(struct vat *vat, const struct error *error)
{
    vat_reason_set(&vat->reason, ERROR_SYSTEM, "%s", error->text);
    vat->owner->failed(vat->owner->context, error);
    return VAT_EVENT_BAD;
}

enum vat_event vat_lose_past(struct vat *vat, const struct error *error)
{
    vat_reason_set(&vat->reason, ERROR_INPUT, "%s", error->text);
    return VAT_EVENT_BAD;
}

static struct worker_limits limits_of(const struct vat *vat)
{
    const struct launch_config *config = vat->owner->options->launcher;
    const struct kernel_limits *limits = &vat->identity.limits;
    /* A contract in native code may have been compiled without the meter. */
    const bool cost_by_default =
        config->metered && limits->cost == 0 && vat->runtime.kind != VAT_RUNTIME_NATIVE;
    const bool count_by_default = config->counted && limits->instructions == 0;

    return (struct worker_limits){
        .compute = (uint32_t)limits->compute,
        .instructions =
            (uint64_t)(count_by_default ? limits->counted_instructions : limits->instructions),
        .cost = (uint64_t)(cost_by_default ? limits->metered_cost : limits->cost),
        .heap = (uint64_t)limits->heap_bytes,
    };
}

struct worker_process *vat_launch(const struct vat *vat, int snapshot_fd,
                                  struct zygote_policy *policy,
                                  const struct worker_listener *listener, struct error *error)
{
    const struct warehouse_options *options = vat->owner->options;
    const struct worker_limits limits = limits_of(vat);
    char title[64];

    snprintf(title, sizeof title, "gaspipe-worker:%.16s:%.24s", vat->log.vat_id,
             vat->identity.name);
    return launcher_start(options->launcher,
                          &(struct worker_start){
                              .loop = options->loop,
                              .name = title,
                              .program = vat_runtime_program(&vat->runtime),
                              .bundle_id = vat->identity.bundle_id,
                              .limits = &limits,
                              .snapshot_fd = snapshot_fd,
                              .policy = policy,
                              .listener = listener,
                          },
                          error);
}

static struct stamp send_frame_parts(struct vat *vat, const struct iovec *parts, int count)
{
    struct stamp sent = {0};
    struct error error;

    if (worker_process_send(vat->process, parts, count, &sent, &error) != 0)
        (void)vat_fail(vat, &error);
    return sent;
}

struct stamp vat_send_frame(struct vat *vat, char command, struct iovec payload)
{
    const struct iovec parts[] = {{&command, 1}, payload};

    return send_frame_parts(vat, parts, 2);
}

struct stamp vat_send_delivery(struct vat *vat, struct iovec vd)
{
    static char head[] = {COMMAND_DELIVER, '[', '"', 'd', 'e', 'l', 'i', 'v', 'e', 'r', '"', ','},
                tail[] = {']'};
    const struct iovec parts[] = {{head, sizeof head}, vd, {tail, sizeof tail}};

    return send_frame_parts(vat, parts, 3);
}

void vat_answer_console(struct vat *vat)
{
    const char *answer = vat->runtime.console_answer;

    vat_send_frame(vat, COMMAND_ANSWER, (struct iovec){(char *)answer, strlen(answer)});
}

/* Stops its worker's timer and shows what the worker printed. */
static void vat_show_last_words(struct vat *vat)
{
    vat_timer_stop(&vat->timer);
    worker_process_read_stderr(vat->process);
    vat_show_stderr(vat);
}

void vat_leave(struct vat *vat)
{
    vat_show_last_words(vat);
    vat_timer_start(&vat->timer, vat->owner->exit_timeout_ms);
    worker_process_hang_up(vat->process);
}

void vat_release(struct vat *vat)
{
    vat_timer_stop(&vat->timer);
    if (vat->process != NULL)
        worker_process_free(vat->process);
    vat->process = NULL;
    buf_free(&vat->bundle);
}

void vat_show_stderr(struct vat *vat)
{
    const bool starting =
        vat->state == VAT_STARTING || vat->state == VAT_LOADING || vat->delivery.is_start;

    if (vat->stderr_line[0] != '\0' && !starting && vat->state != VAT_CATCHING_UP)
        log_line("%s: %s", vat_name(vat), vat->stderr_line);
    vat->stderr_line[0] = '\0';
}

/* ---- its clock ---- */

static void ring_in(struct vat_timer *timer, uint64_t milliseconds);

/* After a pause of the loop (a slow disk, a full pipe) timers run before frames are read. So the
 * first ring only extends the timer by as much as the loop was late. */
static void on_vat_timer(uv_timer_t *handle)
{
    struct vat_timer *timer = handle->data;

    if (timer->overdue) {
        timer->rang(timer->context);
        return;
    }
    timer->overdue = true;
    ring_in(timer, uv_now(handle->loop) - timer->due + 1);
}

static void ring_in(struct vat_timer *timer, uint64_t milliseconds)
{
    timer->due = uv_now(timer->handle.loop) + milliseconds;
    /* Cannot fail: the callback is there. */
    (void)uv_timer_start(&timer->handle, on_vat_timer, milliseconds, 0);
}

void vat_timer_init(struct vat_timer *timer, uv_loop_t *loop, void (*rang)(void *context),
                    void *context)
{
    (void)uv_timer_init(loop, &timer->handle); /* cannot fail in any libuv 1 */
    timer->handle.data = timer;
    timer->rang = rang;
    timer->context = context;
}

void vat_timer_start(struct vat_timer *timer, uint64_t milliseconds)
{
    timer->limit_ms = milliseconds;
    timer->overdue = false;
    if (milliseconds == 0)
        return;
    /* Time since the loop read the clock, such as a commit's, is not the worker's. */
    uv_update_time(timer->handle.loop);
    ring_in(timer, milliseconds);
}

void vat_timer_stop(struct vat_timer *timer)
{
    uv_timer_stop(&timer->handle);
}
