/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/vats/vat.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "proto/command.h"

enum { CLOSING_MS = 2000 }; /* for a worker to end by itself */

static struct stamp send_parts(struct vat *vat, const struct iovec *parts, int count)
{
    struct stamp sent = {0};
    struct error error;

    if (worker_process_send(vat->process, parts, count, &sent, &error) != 0)
        warehouse_fail(vat->warehouse, &error);
    return sent;
}

struct stamp vat_send_frame(struct vat *vat, char prefix, struct iovec payload)
{
    const struct iovec parts[] = {{&prefix, 1}, payload};

    return send_parts(vat, parts, 2);
}

struct stamp vat_send_delivery(struct vat *vat, struct iovec vd)
{
    static char head[] = {COMMAND_DELIVER, '[', '"', 'd', 'e', 'l', 'i', 'v', 'e', 'r', '"', ','},
                tail[] = {']'};
    const struct iovec parts[] = {{head, sizeof head}, vd, {tail, sizeof tail}};

    return send_parts(vat, parts, 3);
}

static void ring_in(struct vat *vat, uint64_t milliseconds);

/*
 * A loop that was held up, by a slow disk or by who reads what it says, rings before it reads:
 * what has come meanwhile is read first, and the worker has once more as long as nobody heard it.
 */
static void timer_rang(uv_timer_t *timer)
{
    struct vat *vat = timer->data;

    if (!vat->overdue) {
        vat->overdue = true;
        ring_in(vat, uv_now(vat->warehouse->options.loop) - vat->due + 1);
        return;
    }
    vat_set_reason(vat, ERROR_SYSTEM, "it took longer than %g s", (double)vat->limit_ms / 1000);
    vat_event(vat, VAT_EVENT_TIMEOUT);
}

static void ring_in(struct vat *vat, uint64_t milliseconds)
{
    vat->due = uv_now(vat->warehouse->options.loop) + milliseconds;
    /* Cannot fail: the callback is there. */
    (void)uv_timer_start(&vat->timer, timer_rang, milliseconds, 0);
}

void vat_start_timer(struct vat *vat, uint64_t milliseconds)
{
    vat->limit_ms = milliseconds;
    vat->overdue = false;
    if (milliseconds == 0)
        return;
    /* What was done since the loop looked at the clock, a commit for one, is not the
     * worker's time. */
    uv_update_time(vat->warehouse->options.loop);
    ring_in(vat, milliseconds);
}

void vat_stop_timer(struct vat *vat)
{
    uv_timer_stop(&vat->timer);
}

static void kill_worker(struct vat *vat, const struct vat_happening *happening)
{
    if (happening->event == VAT_EVENT_FAILED)
        vat_set_reason(vat, ERROR_SYSTEM, "its worker threw out of a command: %.*s",
                       (int)happening->payload.iov_len, (const char *)happening->payload.iov_base);
    else
        vat_set_reason(vat, ERROR_SYSTEM, "its worker spoke out of turn");
    vat_stop_timer(vat);
    worker_process_kill(vat->process);
}

void vat_leave(struct vat *vat)
{
    vat_stop_timer(vat);
    worker_process_read_words(vat->process);
    vat_show_words(vat);
    vat_start_timer(vat, CLOSING_MS);
    worker_process_hang_up(vat->process);
}

static void hang_up(struct vat *vat, const struct vat_happening *happening)
{
    (void)happening;
    vat_leave(vat);
}

static void release(struct vat *vat)
{
    vat_stop_timer(vat);
    worker_process_free(vat->process);
    vat->process = NULL;
}

static void forget(struct vat *vat, const struct vat_happening *happening)
{
    (void)happening;
    release(vat);
    warehouse_forget(vat);
}

static void bury(struct vat *vat, const struct vat_happening *happening)
{
    vat_set_reason_of_exit(vat, happening->exit_status, happening->signal_number);
    release(vat);
}

static void do_nothing(struct vat *vat, const struct vat_happening *happening)
{
    (void)vat;
    (void)happening;
}

static void forbidden(struct vat *vat, const struct vat_happening *happening)
{
    log_line("%s: event %d in state %d cannot be", vat->id_text, happening->event, vat->state);
    abort();
}

static void act(struct vat *vat, enum vat_action action, const struct vat_happening *happening)
{
    static void (*const actions[VAT_ACTIONS])(struct vat *, const struct vat_happening *) = {
        [VAT_ACT_NOTHING] = do_nothing,
        [VAT_ACT_START] = vat_start,
        [VAT_ACT_EVALUATE] = vat_evaluate,
        [VAT_ACT_LOAD] = vat_load,
        [VAT_ACT_ANSWER_LOADING] = vat_answer_loading,
        [VAT_ACT_LOADED] = vat_loaded,
        [VAT_ACT_REPLAY] = vat_replay,
        [VAT_ACT_ANSWER_RECORDED] = vat_answer_recorded,
        [VAT_ACT_COMPARE] = vat_compare,
        [VAT_ACT_READY] = vat_ready,
        [VAT_ACT_DELIVER] = vat_deliver,
        [VAT_ACT_ANSWER] = vat_ask,
        [VAT_ACT_FINISH] = vat_finish,
        [VAT_ACT_SAVE] = vat_save,
        [VAT_ACT_SAVED] = vat_saved,
        [VAT_ACT_KILL] = kill_worker,
        [VAT_ACT_HANG_UP] = hang_up,
        [VAT_ACT_BURY] = bury,
        [VAT_ACT_FORGET] = forget,
        [VAT_ACT_FORBIDDEN] = forbidden,
    };

    actions[action](vat, happening);
}

void vat_happen(struct vat *vat, const struct vat_happening *happening)
{
    const enum vat_state before = vat->state;
    const struct vat_step step = vat_step(before, happening->event);

    vat->state = step.next;
    act(vat, step.action, happening);
    if (step.action == VAT_ACT_KILL || step.action == VAT_ACT_BURY)
        warehouse_tell_lost(vat, before);
    /* Whom that was told to may have wanted another worker already. */
    if (step.action == VAT_ACT_BURY && vat->state == VAT_AWAY)
        warehouse_forget(vat);
    else if (vat->state == VAT_IDLE)
        warehouse_share_out(vat->warehouse);
}

void vat_put_away(struct vat *vat)
{
    vat->vd = NULL;
    vat->ahead = false;
    vat_event(vat, VAT_EVENT_PUT_AWAY);
}

bool vat_is_ahead(const struct vat *vat)
{
    return vat->ahead && (vat->state == VAT_DELIVERING || vat->state == VAT_IDLE);
}

struct vat *vat_new(struct warehouse *warehouse, const struct warehouse_vat *described)
{
    struct vat *vat = calloc(1, sizeof *vat);

    if (vat == NULL)
        return NULL;
    vat->warehouse = warehouse;
    vat->id = described->id;
    vat->dynamic = described->dynamic;
    vat->incarnation = described->incarnation;
    vat->replay.first_num = described->first_delivery;
    vat->limits = described->limits;
    snprintf(vat->id_text, sizeof vat->id_text, "v%" PRId64, vat->id);
    /* Cannot fail in any libuv 1. */
    (void)uv_timer_init(warehouse->options.loop, &vat->timer);
    vat->timer.data = vat;
    vat->name = strdup(described->name);
    vat->bundle_id = strdup(described->bundle_id);
    return vat;
}

void vat_free(struct vat *vat)
{
    struct error ignored;

    (void)slog_writer_join(NULL, vat->aside, &ignored); /* of a vat that is no more */
    buf_free(&vat->bundle);
    recorded_delivery_free(&vat->replay.recorded);
    difference_free(&vat->replay.compare.difference);
    buf_free(&vat->replay.request);
    free(vat->name);
    free(vat->bundle_id);
    free(vat);
}
