/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "supervisor/schedule/scheduler_parts.h"

/* ---- a delivery ---- */

static int know_vat(struct scheduler *scheduler, const struct kernel_delivery *delivery,
                    struct error *error)
{
    struct kernel_vat vat;
    bool lives;
    int result;

    if (!delivery->starts_incarnation && warehouse_knows(scheduler->warehouse, delivery->vat))
        return 0;
    if (kernel_vat_get(scheduler->kernel, delivery->vat, &vat, &lives, error) != 0)
        return -1;
    if (!lives)
        return error_set(error, ERROR_SYSTEM,
                         "the kernel delivers to v%" PRId64 ", which it "
                         "does not know",
                         delivery->vat);
    result = scheduler_provide(scheduler, &vat, error);
    kernel_vat_free(&vat);
    return result;
}

void scheduler_deliver(struct scheduler *scheduler, const struct kernel_delivery *delivery)
{
    struct ahead *ahead = scheduler_take_ahead(scheduler, delivery);
    struct error error;

    if (know_vat(scheduler, delivery, &error) != 0 ||
        delivery_log_begin(&scheduler->log, delivery,
                           warehouse_name(scheduler->warehouse, delivery->vat), &error) != 0) {
        ahead_free(ahead);
        scheduler_fail(scheduler, &error);
        return;
    }
    scheduler->delivering = true;
    scheduler->vat_ended = false;
    if (ahead == NULL)
        warehouse_deliver(scheduler->warehouse, delivery->vat, delivery->vd);
    scheduler_look_ahead(scheduler, ahead == NULL || !ahead->ended);
    if (ahead != NULL)
        scheduler_adopt_ahead(scheduler, ahead);
}

/* The crank is over but for a snapshot. */
static void go_on_behind(struct scheduler *scheduler, bool worker_lives)
{
    const struct kernel_delivery *delivery = &scheduler->log.delivery;
    const int64_t vat = delivery->vat;

    if (worker_lives && warehouse_waits(scheduler->warehouse, vat) &&
        scheduler_snapshot_is_due(scheduler, vat, delivery->position + 1)) {
        scheduler->saving = true;
        warehouse_save(scheduler->warehouse, vat);
    } else if (scheduler_commit_when_full(scheduler) == 0) {
        scheduler_go(scheduler);
    }
}

static void tell(struct scheduler *scheduler, const struct delivery_log_end *end,
                 struct delivery_report *report, const struct kernel_outcome *outcome)
{
    struct kernel_delivery_end ended;
    struct error error;

    if (delivery_log_finish(&scheduler->log, end, report, &error) != 0 ||
        kernel_end_delivery(scheduler->kernel, outcome, &ended, &error) != 0 ||
        (!ended.again && scheduler_end_crank(scheduler, &ended.end, &error) != 0)) {
        scheduler_fail(scheduler, &error);
        return;
    }
    report->vat_ended = scheduler->vat_ended;
    report->crank_ended = !ended.again;
    scheduler->listener.delivered(scheduler->listener.context, report);
    if (scheduler->failed || scheduler->closing)
        return;
    scheduler->collecting = ended.again && outcome->snapshot_follows;
    if (ended.again)
        scheduler_deliver(scheduler, &ended.delivery);
    else
        go_on_behind(scheduler, end->meter != NULL);
}

void scheduler_finish(struct scheduler *scheduler, const struct delivery_log_end *end)
{
    const struct meter *meter = end->meter;
    const struct kernel_outcome outcome = {
        .came = meter == NULL          ? KERNEL_CAME_DEAD
                : end->problem != NULL ? KERNEL_CAME_ERROR
                                       : KERNEL_CAME_OK,
        .problem = end->problem,
        .compute = meter != NULL ? (int64_t)meter->compute : -1,
        .instructions = meter != NULL && meter->counted ? (int64_t)meter->instructions : -1,
        .fingerprint = scheduler->options.fingerprint,
        .snapshot_follows = meter != NULL && !scheduler->collecting &&
                            scheduler_snapshot_is_due(scheduler, scheduler->log.delivery.vat,
                                                      scheduler->log.delivery.position + 1),
    };
    struct delivery_report report;

    scheduler->delivering = false;
    scheduler_let_taken_go(scheduler);
    tell(scheduler, end, &report, &outcome);
}

/* ---- what the warehouse tells of it ---- */

void scheduler_on_sent(void *context, int64_t vat, struct stamp sent)
{
    struct scheduler *scheduler = context;
    struct ahead *ahead = scheduler_ahead_of(scheduler, vat);
    struct error error;

    if (ahead != NULL)
        ahead->sent = sent;
    else if (delivery_log_sent(&scheduler->log, sent, &error) != 0)
        scheduler_fail(scheduler, &error);
}

void scheduler_on_said(void *context, int64_t vat, const struct vat_request *request,
                       struct stamp come)
{
    struct scheduler *scheduler = context;
    struct ahead *ahead = scheduler_ahead_of(scheduler, vat);
    struct error error;

    if (ahead != NULL) {
        scheduler_ahead_said(scheduler, ahead, request, come);
        return;
    }
    if (delivery_log_said(&scheduler->log, &request->console, come, &error) != 0)
        scheduler_fail(scheduler, &error);
    scheduler_print(warehouse_name(scheduler->warehouse, vat), &request->console);
}

void scheduler_answer(struct scheduler *scheduler, int64_t vat, const struct vat_syscall *syscall,
                      const struct kernel_syscall_texts *texts)
{
    struct stamp answered;
    struct error error;

    /* The worker waits: the answer goes before the slog's line is made. */
    answered = warehouse_reply(scheduler->warehouse, vat,
                               (struct iovec){(char *)texts->vsr, strlen(texts->vsr)});
    if (!scheduler->failed && delivery_log_answered(&scheduler->log, syscall, texts,
                                                    scheduler->syscall_come, answered, &error) != 0)
        scheduler_fail(scheduler, &error);
}

void scheduler_on_asked(void *context, int64_t vat, const struct vat_request *request,
                        struct stamp come)
{
    struct scheduler *scheduler = context;
    struct ahead *ahead = scheduler_ahead_of(scheduler, vat);
    struct kernel_syscall_texts texts;
    struct error error;

    if (ahead != NULL) {
        scheduler_ahead_asked(scheduler, ahead, request, come);
        return;
    }
    scheduler->syscall = &request->syscall;
    scheduler->syscall_come = come;
    switch (kernel_syscall(scheduler->kernel, &request->syscall, &texts, &error)) {
    case KERNEL_OK:
        scheduler_answer(scheduler, vat, &request->syscall, &texts);
        break;
    case KERNEL_ILLEGAL:
        warehouse_condemn(scheduler->warehouse, vat, error.text);
        break;
    case KERNEL_BROKEN:
        scheduler_fail(scheduler, &error);
        break;
    }
}

void scheduler_on_answered(void *context, int64_t vat, const struct warehouse_answer *told)
{
    struct scheduler *scheduler = context;
    struct ahead *ahead = scheduler_ahead_of(scheduler, vat);
    const struct delivery_log_end end = {
        .returned = told->come,
        .problem = told->problem,
        .value = told->value,
        .blame = ERROR_DELIVERY,
        .meter = told->meter,
    };

    if (ahead != NULL)
        scheduler_ahead_answered(scheduler, ahead, told);
    else
        scheduler_finish(scheduler, &end);
}

void scheduler_on_lost(void *context, int64_t vat, const struct warehouse_loss *loss)
{
    struct scheduler *scheduler = context;
    struct ahead *ahead = scheduler_ahead_of(scheduler, vat);
    const struct delivery_log_end end = {
        .returned = loss->come,
        .problem = loss->reason,
        .blame = loss->blame,
    };

    if (ahead != NULL)
        scheduler_ahead_lost(scheduler, ahead, loss);
    else if (loss->blame == ERROR_SYSTEM)
        scheduler_meet_trouble(scheduler, vat, loss->reason);
    else if (scheduler->delivering)
        scheduler_finish(scheduler, &end);
    else
        scheduler_brought(scheduler, vat); /* its first delivery meets the same, and can say so */
}
