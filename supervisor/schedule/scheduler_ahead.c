/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deliveries to several vats at the same time. Cranks are done one after the other, in the
 * kernel's order, and that is all that anybody sees. But a delivery that will probably come is
 * given to its vat's worker before its turn, when that has nothing else to do. What it says and
 * asks is kept, and answered without the kernel; at its turn the kernel is told all of it, as if
 * it happened then. Where another delivery had the turn, or something was answered otherwise, the
 * worker is thrown away: it comes back from the transcript, as any worker that was lost does.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "supervisor/schedule/scheduler_parts.h"

/* Of what is queued, and of what will be, as much is looked at for each job. */
enum { ITEMS_EACH = 16 };

/*
 * A worker that was predicted wrongly has to come back, which costs as much as so many
 * deliveries beside those that it is sent once more. For that many occasions its vat is
 * passed over, and for twice as many each time that it happens again; as many deliveries that
 * were predicted rightly make good for one time.
 */
enum { RESTART_COST = 32, DOUBLINGS_MAX = 12 };

/* ---- those that are under way ---- */

struct ahead *scheduler_ahead_of(const struct scheduler *scheduler, int64_t vat)
{
    struct ahead *ahead = scheduler->ahead.list;

    while (ahead != NULL && ahead->vat != vat)
        ahead = ahead->next;
    return ahead;
}

static bool is_running(const struct scheduler *scheduler, const struct ahead *ahead)
{
    return !ahead->ended && !ahead->waits && warehouse_is_ahead(scheduler->warehouse, ahead->vat);
}

static void unlink_ahead(struct scheduler *scheduler, const struct ahead *ahead)
{
    struct ahead **link = &scheduler->ahead.list;

    while (*link != ahead)
        link = &(*link)->next;
    *link = ahead->next;
}

void scheduler_forget_ahead(struct scheduler *scheduler, int64_t vat)
{
    struct ahead *ahead = scheduler_ahead_of(scheduler, vat);

    if (ahead == NULL)
        return;
    unlink_ahead(scheduler, ahead);
    warehouse_take_back(scheduler->warehouse, vat);
    ahead_free(ahead);
}

void scheduler_free_ahead(struct scheduler *scheduler)
{
    struct ahead *ahead;

    while ((ahead = scheduler->ahead.list) != NULL) {
        scheduler->ahead.list = ahead->next;
        ahead_free(ahead);
    }
    ahead_free(scheduler->ahead.taken);
    free(scheduler->ahead.trusts);
    free(scheduler->ahead.met);
}

/* ---- whom to predict ---- */

/* NULL: no memory for it, and so no trust. */
static struct scheduler_trust *trust_of(struct scheduler *scheduler, int64_t vat)
{
    struct scheduler_ahead *state = &scheduler->ahead;
    const size_t needed = (size_t)vat + 1;
    struct scheduler_trust *trusts =
        array_reserve(state->trusts, &state->trust_capacity, needed, sizeof *trusts);

    if (trusts == NULL)
        return NULL;
    state->trusts = trusts;
    while (state->trust_count < needed)
        trusts[state->trust_count++] = (struct scheduler_trust){0};
    return &trusts[vat];
}

static bool is_trusted(struct scheduler *scheduler, int64_t vat)
{
    struct scheduler_trust *trust = trust_of(scheduler, vat);

    if (trust == NULL || trust->passes == 0)
        return trust != NULL;
    trust->passes--;
    return false;
}

static void judge(struct scheduler *scheduler, const struct ahead *ahead, bool predicted)
{
    const int64_t saved_at = warehouse_saved_at(scheduler->warehouse, ahead->vat);
    const int64_t replayed = ahead->position - (saved_at > 0 ? saved_at : 0);
    struct scheduler_trust *trust = trust_of(scheduler, ahead->vat);

    if (trust == NULL)
        return;
    if (predicted) {
        trust->failures -= trust->failures > 0 && ++trust->successes % RESTART_COST == 0;
        return;
    }
    trust->passes = (uint64_t)(RESTART_COST + replayed) << trust->failures;
    if (trust->failures < DOUBLINGS_MAX)
        trust->failures++;
}

static bool has_met(struct scheduler *scheduler, int64_t vat)
{
    struct scheduler_ahead *state = &scheduler->ahead;
    int64_t *met;

    for (size_t i = 0; i < state->met_count; i++)
        if (state->met[i] == vat)
            return true;
    met = array_reserve(state->met, &state->met_capacity, state->met_count + 1, sizeof *met);
    if (met == NULL)
        return true;
    state->met = met;
    met[state->met_count++] = vat;
    return false;
}

static bool is_in_hand(const struct scheduler *scheduler, int64_t vat)
{
    return scheduler->log.delivery.vat == vat && (scheduler->delivering || scheduler->saving);
}

static bool is_enough(const struct scheduler *scheduler)
{
    uint64_t running = scheduler->ahead.busy ? 1 : 0;

    for (const struct ahead *ahead = scheduler->ahead.list; ahead != NULL; ahead = ahead->next)
        running += is_running(scheduler, ahead);
    return scheduler->failed || scheduler->closing || running >= scheduler->options.jobs;
}

static enum kernel_interest interest(void *context, int64_t vat)
{
    struct scheduler *scheduler = context;

    if (is_enough(scheduler))
        return KERNEL_ENOUGH;
    if (has_met(scheduler, vat) || is_in_hand(scheduler, vat) ||
        scheduler_ahead_of(scheduler, vat) != NULL || !warehouse_waits(scheduler->warehouse, vat) ||
        !is_trusted(scheduler, vat))
        return KERNEL_PASS;
    return KERNEL_PREDICT;
}

static void begin(void *context, const struct kernel_delivery *delivery)
{
    struct scheduler *scheduler = context;
    struct ahead *ahead = ahead_new(scheduler->options.store, delivery);

    if (ahead == NULL)
        return; /* it can wait for its turn */
    ahead->next = scheduler->ahead.list;
    scheduler->ahead.list = ahead;
    warehouse_deliver_ahead(scheduler->warehouse, ahead->vat, ahead->vd);
}

/* ---- looking ahead ---- */

static int queue_coming(void *context, struct kernel *kernel, struct error *error)
{
    const struct scheduler *scheduler = context;

    return scheduler->listener.queue_coming(scheduler->listener.context, scheduler->ahead.coming,
                                            kernel, error);
}

/* What the owner will queue when all is done that is queued by now. */
static int look_outside(struct scheduler *scheduler, const struct kernel_prediction *prediction,
                        size_t items, struct error *error)
{
    size_t *index = &scheduler->ahead.coming;
    int64_t vat;

    for (*index = 0; *index < items; (*index)++) {
        enum kernel_interest decided;

        if (is_enough(scheduler) ||
            !scheduler->listener.coming(scheduler->listener.context, *index, &vat))
            return 0;
        decided = interest(scheduler, vat);
        if (decided == KERNEL_PREDICT &&
            kernel_predict_unqueued(scheduler->kernel, prediction, queue_coming, error) != 0)
            return -1;
    }
    return 0;
}

void scheduler_look_ahead(struct scheduler *scheduler, bool busy)
{
    const struct kernel_prediction prediction = {
        .context = scheduler,
        .interest = interest,
        .predicted = begin,
    };
    size_t items = scheduler->options.jobs * ITEMS_EACH;
    struct error error;

    if (scheduler->options.jobs < 2)
        return;
    scheduler->ahead.busy = busy;
    scheduler->ahead.met_count = 0;
    if (is_enough(scheduler))
        return;
    if (kernel_predict(scheduler->kernel, &prediction, &items, &error) != 0 ||
        look_outside(scheduler, &prediction, items, &error) != 0)
        scheduler_fail(scheduler, &error);
}

/* ---- what comes of them before their turn ---- */

static void look_further(struct scheduler *scheduler)
{
    if (scheduler->delivering)
        scheduler_look_ahead(scheduler, true);
}

static void fail_when(struct scheduler *scheduler, int result, const struct error *error)
{
    if (result != 0)
        scheduler_fail(scheduler, error);
}

void scheduler_ahead_said(struct scheduler *scheduler, struct ahead *ahead,
                          const struct vat_request *request, struct stamp come)
{
    struct error error;

    fail_when(scheduler, ahead_said(ahead, request, come, &error), &error);
    if (ahead_is_full(ahead))
        scheduler_forget_ahead(scheduler, ahead->vat);
}

void scheduler_ahead_asked(struct scheduler *scheduler, struct ahead *ahead,
                           const struct vat_request *request, struct stamp come)
{
    const char *answer;
    struct error error;

    if (ahead_asked(ahead, request, come, &answer, &error) != 0) {
        scheduler_fail(scheduler, &error);
    } else if (answer != NULL) {
        ahead_answered(ahead, warehouse_reply(scheduler->warehouse, ahead->vat,
                                              (struct iovec){(char *)answer, strlen(answer)}));
    } else {
        warehouse_hold(scheduler->warehouse, ahead->vat);
        look_further(scheduler);
    }
}

void scheduler_ahead_answered(struct scheduler *scheduler, struct ahead *ahead,
                              const struct warehouse_answer *answer)
{
    struct error error;

    fail_when(scheduler, ahead_ended(ahead, answer, &error), &error);
    look_further(scheduler);
}

/* What was the host's doing may not happen again, and is nobody's concern before its turn. */
void scheduler_ahead_lost(struct scheduler *scheduler, struct ahead *ahead,
                          const struct warehouse_loss *loss)
{
    struct error error;

    if (loss->blame == ERROR_DELIVERY && !ahead->waits) {
        fail_when(scheduler, ahead_lost(ahead, loss, &error), &error);
    } else {
        log_line("vat %s: %s; it is delivered to again at its turn",
                 warehouse_name(scheduler->warehouse, ahead->vat), loss->reason);
        unlink_ahead(scheduler, ahead);
        ahead_free(ahead);
    }
    look_further(scheduler);
}

/* ---- their turn ---- */

/* The worker is where the delivery has left it, also when that has cost it. */
static bool is_whole(const struct scheduler *scheduler, const struct ahead *ahead)
{
    return ahead->lost || warehouse_is_ahead(scheduler->warehouse, ahead->vat);
}

struct ahead *scheduler_take_ahead(struct scheduler *scheduler,
                                   const struct kernel_delivery *delivery)
{
    struct ahead *ahead = scheduler_ahead_of(scheduler, delivery->vat);
    bool predicted;

    if (ahead == NULL)
        return NULL;
    predicted = ahead_is(ahead, delivery);
    judge(scheduler, ahead, predicted);
    if (predicted && is_whole(scheduler, ahead)) {
        unlink_ahead(scheduler, ahead);
        warehouse_catch_up(scheduler->warehouse, delivery->vat);
        return ahead;
    }
    scheduler_forget_ahead(scheduler, delivery->vat);
    return NULL;
}

static bool tell_said(struct scheduler *scheduler, int64_t vat, const struct ahead_request *kept)
{
    scheduler_on_said(scheduler, vat, &kept->request, kept->come);
    return !scheduler->failed;
}

/* Its worker may have gone on from there: that counts for nothing. */
static void end_illegal(struct scheduler *scheduler, const struct ahead *ahead, const char *reason)
{
    const struct delivery_log_end end = {
        .returned = stamp_now(),
        .problem = reason,
        .blame = ERROR_DELIVERY,
    };

    if (ahead->ended)
        scheduler_finish(scheduler, &end);
    else
        warehouse_condemn(scheduler->warehouse, ahead->vat, reason);
}

/* Goes on with the worker, which has waited for the answer. */
static bool answer_now(struct scheduler *scheduler, int64_t vat, const struct ahead_request *kept,
                       const struct kernel_syscall_texts *texts)
{
    warehouse_let_go(scheduler->warehouse, vat);
    scheduler_answer(scheduler, vat, &kept->request.syscall, texts);
    return !scheduler->failed;
}

static bool compare_answer(struct scheduler *scheduler, int64_t vat,
                           const struct ahead_request *kept,
                           const struct kernel_syscall_texts *texts)
{
    struct error error;

    if (strcmp(kept->answer, texts->vsr) != 0) {
        scheduler_meet_trouble(scheduler, vat, "a syscall was answered otherwise before its turn");
        return false;
    }
    if (delivery_log_answered(&scheduler->log, &kept->request.syscall, texts, kept->come,
                              kept->answered, &error) == 0)
        return true;
    scheduler_fail(scheduler, &error);
    return false;
}

/* Whether the delivery goes on; where it does not, `ahead` may be gone. */
static bool tell_asked(struct scheduler *scheduler, const struct ahead *ahead,
                       const struct ahead_request *kept)
{
    struct kernel_syscall_texts texts;
    struct error error;

    scheduler->syscall = &kept->request.syscall;
    scheduler->syscall_come = kept->come;
    switch (kernel_syscall(scheduler->kernel, &kept->request.syscall, &texts, &error)) {
    case KERNEL_OK:
        return kept->answer == NULL ? answer_now(scheduler, ahead->vat, kept, &texts)
                                    : compare_answer(scheduler, ahead->vat, kept, &texts);
    case KERNEL_ILLEGAL:
        end_illegal(scheduler, ahead, error.text);
        return false;
    case KERNEL_BROKEN:
        scheduler_fail(scheduler, &error);
        return false;
    }
    return false;
}

static bool tell_requests(struct scheduler *scheduler, const struct ahead *ahead)
{
    const size_t count = ahead->count;

    for (size_t i = 0; i < count; i++) {
        const struct ahead_request *kept = &ahead->requests[i];

        if (kept->request.kind == VAT_REQUEST_CONSOLE ? !tell_said(scheduler, ahead->vat, kept)
                                                      : !tell_asked(scheduler, ahead, kept))
            return false;
    }
    return true;
}

static void tell_ended(struct scheduler *scheduler, const struct ahead *ahead)
{
    const struct delivery_log_end end = {
        .returned = ahead->come,
        .problem = ahead->problem,
        .value = ahead->value,
        .blame = ERROR_DELIVERY,
        .meter = ahead->lost ? NULL : &ahead->meter,
    };

    scheduler_on_sent(scheduler, ahead->vat, ahead->sent);
    if (!scheduler->failed && tell_requests(scheduler, ahead))
        scheduler_finish(scheduler, &end);
}

void scheduler_adopt_ahead(struct scheduler *scheduler, struct ahead *ahead)
{
    if (ahead->ended) {
        tell_ended(scheduler, ahead);
        ahead_free(ahead);
        return;
    }
    /* Its worker goes on with it, and the warehouse has its text. */
    scheduler->ahead.taken = ahead;
    scheduler_on_sent(scheduler, ahead->vat, ahead->sent);
    if (!scheduler->failed)
        (void)tell_requests(scheduler, ahead);
}

void scheduler_let_taken_go(struct scheduler *scheduler)
{
    ahead_free(scheduler->ahead.taken);
    scheduler->ahead.taken = NULL;
}
