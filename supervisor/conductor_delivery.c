/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "supervisor/conductor_parts.h"

/* ---- a delivery ---- */

static int know_vat(struct conductor *conductor, const struct kernel_delivery *delivery,
                    struct error *error)
{
    struct kernel_vat vat;
    bool lives;
    int result;

    if (!delivery->starts_incarnation && warehouse_knows(conductor->warehouse, delivery->vat))
        return 0;
    if (kernel_vat_get(conductor->kernel, delivery->vat, &vat, &lives, error) != 0)
        return -1;
    if (!lives)
        return error_set(error, ERROR_SYSTEM,
                         "the kernel delivers to v%" PRId64 ", which it "
                         "does not know",
                         delivery->vat);
    result = conductor_provide(conductor, &vat, error);
    kernel_vat_free(&vat);
    return result;
}

void conductor_deliver(struct conductor *conductor, const struct kernel_delivery *delivery)
{
    struct ahead *ahead = conductor_take_ahead(conductor, delivery);
    struct error error;

    if (know_vat(conductor, delivery, &error) != 0 ||
        journal_begin(&conductor->journal, delivery,
                      warehouse_name(conductor->warehouse, delivery->vat), &error) != 0) {
        ahead_free(ahead);
        conductor_fail(conductor, &error);
        return;
    }
    conductor->delivering = true;
    conductor->vat_ended = false;
    if (ahead == NULL)
        warehouse_deliver(conductor->warehouse, delivery->vat, delivery->vd);
    conductor_look_ahead(conductor, ahead == NULL || !ahead->ended);
    if (ahead != NULL)
        conductor_adopt_ahead(conductor, ahead);
}

/* The crank is over but for a snapshot. */
static void go_on_behind(struct conductor *conductor, bool worker_lives)
{
    const struct kernel_delivery *delivery = &conductor->journal.delivery;
    const int64_t vat = delivery->vat;

    if (worker_lives && warehouse_waits(conductor->warehouse, vat) &&
        conductor_snapshot_is_due(conductor, vat, delivery->position + 1)) {
        conductor->saving = true;
        warehouse_save(conductor->warehouse, vat);
    } else if (conductor_commit_when_full(conductor) == 0) {
        conductor_go(conductor);
    }
}

static void tell(struct conductor *conductor, const struct journal_end *end,
                 struct delivery_report *report, const struct kernel_outcome *outcome)
{
    struct kernel_delivery_end ended;
    struct error error;

    if (journal_finish(&conductor->journal, end, report, &error) != 0 ||
        kernel_end_delivery(conductor->kernel, outcome, &ended, &error) != 0 ||
        (!ended.again && conductor_end_crank(conductor, &ended.end, &error) != 0)) {
        conductor_fail(conductor, &error);
        return;
    }
    report->vat_ended = conductor->vat_ended;
    report->crank_ended = !ended.again;
    conductor->listener.delivered(conductor->listener.context, report);
    if (conductor->failed || conductor->closing)
        return;
    conductor->collecting = ended.again && outcome->snapshot_follows;
    if (ended.again)
        conductor_deliver(conductor, &ended.delivery);
    else
        go_on_behind(conductor, end->meter != NULL);
}

void conductor_finish(struct conductor *conductor, const struct journal_end *end)
{
    const struct meter *meter = end->meter;
    const struct kernel_outcome outcome = {
        .came = meter == NULL          ? KERNEL_CAME_DEAD
                : end->problem != NULL ? KERNEL_CAME_ERROR
                                       : KERNEL_CAME_OK,
        .problem = end->problem,
        .compute = meter != NULL ? (int64_t)meter->compute : -1,
        .instructions = meter != NULL && meter->counted ? (int64_t)meter->instructions : -1,
        .fingerprint = conductor->options.fingerprint,
        .snapshot_follows = meter != NULL && !conductor->collecting &&
                            conductor_snapshot_is_due(conductor, conductor->journal.delivery.vat,
                                                      conductor->journal.delivery.position + 1),
    };
    struct delivery_report report;

    conductor->delivering = false;
    conductor_let_taken_go(conductor);
    tell(conductor, end, &report, &outcome);
}

/* ---- what the warehouse tells of it ---- */

void conductor_on_sent(void *context, int64_t vat, struct stamp sent)
{
    struct conductor *conductor = context;
    struct ahead *ahead = conductor_ahead_of(conductor, vat);
    struct error error;

    if (ahead != NULL)
        ahead->sent = sent;
    else if (journal_sent(&conductor->journal, sent, &error) != 0)
        conductor_fail(conductor, &error);
}

void conductor_on_said(void *context, int64_t vat, const struct vat_request *request,
                       struct stamp come)
{
    struct conductor *conductor = context;
    struct ahead *ahead = conductor_ahead_of(conductor, vat);
    struct error error;

    if (ahead != NULL) {
        conductor_ahead_said(conductor, ahead, request, come);
        return;
    }
    if (journal_said(&conductor->journal, &request->console, come, &error) != 0)
        conductor_fail(conductor, &error);
    conductor_print(warehouse_name(conductor->warehouse, vat), &request->console);
}

void conductor_answer(struct conductor *conductor, int64_t vat, const struct vat_syscall *syscall,
                      const struct kernel_syscall_texts *texts)
{
    struct stamp answered;
    struct error error;

    /* The worker waits: the answer goes before the slog's line is made. */
    answered = warehouse_reply(conductor->warehouse, vat,
                               (struct iovec){(char *)texts->vsr, strlen(texts->vsr)});
    if (!conductor->failed && journal_answered(&conductor->journal, syscall, texts,
                                               conductor->syscall_come, answered, &error) != 0)
        conductor_fail(conductor, &error);
}

void conductor_on_asked(void *context, int64_t vat, const struct vat_request *request,
                        struct stamp come)
{
    struct conductor *conductor = context;
    struct ahead *ahead = conductor_ahead_of(conductor, vat);
    struct kernel_syscall_texts texts;
    struct error error;

    if (ahead != NULL) {
        conductor_ahead_asked(conductor, ahead, request, come);
        return;
    }
    conductor->syscall = &request->syscall;
    conductor->syscall_come = come;
    switch (kernel_syscall(conductor->kernel, &request->syscall, &texts, &error)) {
    case KERNEL_OK:
        conductor_answer(conductor, vat, &request->syscall, &texts);
        break;
    case KERNEL_ILLEGAL:
        warehouse_condemn(conductor->warehouse, vat, error.text);
        break;
    case KERNEL_BROKEN:
        conductor_fail(conductor, &error);
        break;
    }
}

void conductor_on_answered(void *context, int64_t vat, const struct warehouse_answer *told)
{
    struct conductor *conductor = context;
    struct ahead *ahead = conductor_ahead_of(conductor, vat);
    const struct journal_end end = {
        .returned = told->come,
        .problem = told->problem,
        .value = told->value,
        .blame = ERROR_DELIVERY,
        .meter = told->meter,
    };

    if (ahead != NULL)
        conductor_ahead_answered(conductor, ahead, told);
    else
        conductor_finish(conductor, &end);
}

void conductor_on_lost(void *context, int64_t vat, const struct warehouse_loss *loss)
{
    struct conductor *conductor = context;
    struct ahead *ahead = conductor_ahead_of(conductor, vat);
    const struct journal_end end = {
        .returned = loss->come,
        .problem = loss->reason,
        .blame = loss->blame,
    };

    if (ahead != NULL)
        conductor_ahead_lost(conductor, ahead, loss);
    else if (loss->blame == ERROR_SYSTEM)
        conductor_meet_trouble(conductor, vat, loss->reason);
    else if (conductor->delivering)
        conductor_finish(conductor, &end);
    else
        conductor_brought(conductor, vat); /* its first delivery meets the same, and can say so */
}
