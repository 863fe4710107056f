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
#include "supervisor/conductor_parts.h"

/* Of what is queued, and of what will be, as much is looked at for each job. */
enum { ITEMS_EACH = 16 };

/*
 * A worker that was foreseen wrongly has to come back, which costs as much as so many
 * deliveries beside those that it is sent once more. For that many occasions its vat is
 * passed over, and for twice as many each time that it happens again; as many deliveries that
 * were foreseen rightly make good for one time.
 */
enum { RESTART_COST = 32, DOUBLINGS_MAX = 12 };

/* ---- those that are under way ---- */

struct ahead *conductor_ahead_of(const struct conductor *conductor, int64_t vat)
{
    struct ahead *ahead = conductor->ahead.list;

    while (ahead != NULL && ahead->vat != vat)
        ahead = ahead->next;
    return ahead;
}

static bool is_running(const struct conductor *conductor, const struct ahead *ahead)
{
    return !ahead->ended && !ahead->waits && warehouse_is_ahead(conductor->warehouse, ahead->vat);
}

static void unlink_ahead(struct conductor *conductor, const struct ahead *ahead)
{
    struct ahead **link = &conductor->ahead.list;

    while (*link != ahead)
        link = &(*link)->next;
    *link = ahead->next;
}

void conductor_forget_ahead(struct conductor *conductor, int64_t vat)
{
    struct ahead *ahead = conductor_ahead_of(conductor, vat);

    if (ahead == NULL)
        return;
    unlink_ahead(conductor, ahead);
    warehouse_take_back(conductor->warehouse, vat);
    ahead_free(ahead);
}

void conductor_free_ahead(struct conductor *conductor)
{
    struct ahead *ahead;

    while ((ahead = conductor->ahead.list) != NULL) {
        conductor->ahead.list = ahead->next;
        ahead_free(ahead);
    }
    ahead_free(conductor->ahead.taken);
    free(conductor->ahead.trusts);
    free(conductor->ahead.met);
}

/* ---- whom to foresee ---- */

/* NULL: no memory for it, and so no trust. */
static struct conductor_trust *trust_of(struct conductor *conductor, int64_t vat)
{
    struct conductor_ahead *state = &conductor->ahead;
    const size_t needed = (size_t)vat + 1;
    struct conductor_trust *trusts =
        array_reserve(state->trusts, &state->trust_capacity, needed, sizeof *trusts);

    if (trusts == NULL)
        return NULL;
    state->trusts = trusts;
    while (state->trust_count < needed)
        trusts[state->trust_count++] = (struct conductor_trust){0};
    return &trusts[vat];
}

static bool is_trusted(struct conductor *conductor, int64_t vat)
{
    struct conductor_trust *trust = trust_of(conductor, vat);

    if (trust == NULL || trust->passes == 0)
        return trust != NULL;
    trust->passes--;
    return false;
}

static void judge(struct conductor *conductor, const struct ahead *ahead, bool foreseen)
{
    const int64_t saved_at = warehouse_saved_at(conductor->warehouse, ahead->vat);
    const int64_t replayed = ahead->position - (saved_at > 0 ? saved_at : 0);
    struct conductor_trust *trust = trust_of(conductor, ahead->vat);

    if (trust == NULL)
        return;
    if (foreseen) {
        trust->failures -= trust->failures > 0 && ++trust->successes % RESTART_COST == 0;
        return;
    }
    trust->passes = (uint64_t)(RESTART_COST + replayed) << trust->failures;
    if (trust->failures < DOUBLINGS_MAX)
        trust->failures++;
}

static bool has_met(struct conductor *conductor, int64_t vat)
{
    struct conductor_ahead *state = &conductor->ahead;
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

static bool is_in_hand(const struct conductor *conductor, int64_t vat)
{
    return conductor->journal.delivery.vat == vat && (conductor->delivering || conductor->saving);
}

static bool is_enough(const struct conductor *conductor)
{
    uint64_t running = conductor->ahead.busy ? 1 : 0;

    for (const struct ahead *ahead = conductor->ahead.list; ahead != NULL; ahead = ahead->next)
        running += is_running(conductor, ahead);
    return conductor->failed || conductor->closing || running >= conductor->options.jobs;
}

static enum kernel_interest interest(void *context, int64_t vat)
{
    struct conductor *conductor = context;

    if (is_enough(conductor))
        return KERNEL_ENOUGH;
    if (has_met(conductor, vat) || is_in_hand(conductor, vat) ||
        conductor_ahead_of(conductor, vat) != NULL || !warehouse_waits(conductor->warehouse, vat) ||
        !is_trusted(conductor, vat))
        return KERNEL_PASS;
    return KERNEL_FORESEE;
}

static void begin(void *context, const struct kernel_delivery *delivery)
{
    struct conductor *conductor = context;
    struct ahead *ahead = ahead_new(conductor->options.store, delivery);

    if (ahead == NULL)
        return; /* it can wait for its turn */
    ahead->next = conductor->ahead.list;
    conductor->ahead.list = ahead;
    warehouse_deliver_ahead(conductor->warehouse, ahead->vat, ahead->vd);
}

/* ---- looking ahead ---- */

static int queue_coming(void *context, struct kernel *kernel, struct error *error)
{
    const struct conductor *conductor = context;

    return conductor->listener.queue_coming(conductor->listener.context, conductor->ahead.coming,
                                            kernel, error);
}

/* What the owner will queue when all is done that is queued by now. */
static int look_outside(struct conductor *conductor, const struct kernel_foresight *foresight,
                        size_t items, struct error *error)
{
    size_t *index = &conductor->ahead.coming;
    int64_t vat;

    for (*index = 0; *index < items; (*index)++) {
        enum kernel_interest decided;

        if (is_enough(conductor) ||
            !conductor->listener.coming(conductor->listener.context, *index, &vat))
            return 0;
        decided = interest(conductor, vat);
        if (decided == KERNEL_FORESEE &&
            kernel_foresee_outside(conductor->kernel, foresight, queue_coming, error) != 0)
            return -1;
    }
    return 0;
}

void conductor_look_ahead(struct conductor *conductor, bool busy)
{
    const struct kernel_foresight foresight = {
        .context = conductor,
        .interest = interest,
        .foreseen = begin,
    };
    size_t items = conductor->options.jobs * ITEMS_EACH;
    struct error error;

    if (conductor->options.jobs < 2)
        return;
    conductor->ahead.busy = busy;
    conductor->ahead.met_count = 0;
    if (is_enough(conductor))
        return;
    if (kernel_foresee(conductor->kernel, &foresight, &items, &error) != 0 ||
        look_outside(conductor, &foresight, items, &error) != 0)
        conductor_fail(conductor, &error);
}

/* ---- what comes of them before their turn ---- */

static void look_further(struct conductor *conductor)
{
    if (conductor->delivering)
        conductor_look_ahead(conductor, true);
}

static void fail_when(struct conductor *conductor, int result, const struct error *error)
{
    if (result != 0)
        conductor_fail(conductor, error);
}

void conductor_ahead_said(struct conductor *conductor, struct ahead *ahead,
                          const struct vat_request *request, struct stamp come)
{
    struct error error;

    fail_when(conductor, ahead_said(ahead, request, come, &error), &error);
    if (ahead_is_full(ahead))
        conductor_forget_ahead(conductor, ahead->vat);
}

void conductor_ahead_asked(struct conductor *conductor, struct ahead *ahead,
                           const struct vat_request *request, struct stamp come)
{
    const char *answer;
    struct error error;

    if (ahead_asked(ahead, request, come, &answer, &error) != 0) {
        conductor_fail(conductor, &error);
    } else if (answer != NULL) {
        ahead_answered(ahead, warehouse_reply(conductor->warehouse, ahead->vat,
                                              (struct iovec){(char *)answer, strlen(answer)}));
    } else {
        warehouse_hold(conductor->warehouse, ahead->vat);
        look_further(conductor);
    }
}

void conductor_ahead_answered(struct conductor *conductor, struct ahead *ahead,
                              const struct warehouse_answer *answer)
{
    struct error error;

    fail_when(conductor, ahead_ended(ahead, answer, &error), &error);
    look_further(conductor);
}

/* What was the host's doing may not happen again, and is nobody's concern before its turn. */
void conductor_ahead_lost(struct conductor *conductor, struct ahead *ahead,
                          const struct warehouse_loss *loss)
{
    struct error error;

    if (loss->blame == ERROR_DELIVERY && !ahead->waits) {
        fail_when(conductor, ahead_lost(ahead, loss, &error), &error);
    } else {
        log_line("vat %s: %s; it is delivered to again at its turn",
                 warehouse_name(conductor->warehouse, ahead->vat), loss->reason);
        unlink_ahead(conductor, ahead);
        ahead_free(ahead);
    }
    look_further(conductor);
}

/* ---- their turn ---- */

/* The worker is where the delivery has left it, also when that has cost it. */
static bool is_whole(const struct conductor *conductor, const struct ahead *ahead)
{
    return ahead->lost || warehouse_is_ahead(conductor->warehouse, ahead->vat);
}

struct ahead *conductor_take_ahead(struct conductor *conductor,
                                   const struct kernel_delivery *delivery)
{
    struct ahead *ahead = conductor_ahead_of(conductor, delivery->vat);
    bool foreseen;

    if (ahead == NULL)
        return NULL;
    foreseen = ahead_is(ahead, delivery);
    judge(conductor, ahead, foreseen);
    if (foreseen && is_whole(conductor, ahead)) {
        unlink_ahead(conductor, ahead);
        warehouse_catch_up(conductor->warehouse, delivery->vat);
        return ahead;
    }
    conductor_forget_ahead(conductor, delivery->vat);
    return NULL;
}

static bool tell_said(struct conductor *conductor, int64_t vat, const struct ahead_request *kept)
{
    conductor_on_said(conductor, vat, &kept->request, kept->come);
    return !conductor->failed;
}

/* Its worker may have gone on from there: that counts for nothing. */
static void end_illegal(struct conductor *conductor, const struct ahead *ahead, const char *reason)
{
    const struct journal_end end = {
        .returned = stamp_now(),
        .problem = reason,
        .blame = ERROR_DELIVERY,
    };

    if (ahead->ended)
        conductor_finish(conductor, &end);
    else
        warehouse_condemn(conductor->warehouse, ahead->vat, reason);
}

/* Goes on with the worker, which has waited for the answer. */
static bool answer_now(struct conductor *conductor, int64_t vat, const struct ahead_request *kept,
                       const struct kernel_syscall_texts *texts)
{
    warehouse_let_go(conductor->warehouse, vat);
    conductor_answer(conductor, vat, &kept->request.syscall, texts);
    return !conductor->failed;
}

static bool compare_answer(struct conductor *conductor, int64_t vat,
                           const struct ahead_request *kept,
                           const struct kernel_syscall_texts *texts)
{
    struct error error;

    if (strcmp(kept->answer, texts->vsr) != 0) {
        conductor_meet_trouble(conductor, vat, "a syscall was answered otherwise before its turn");
        return false;
    }
    if (journal_answered(&conductor->journal, &kept->request.syscall, texts, kept->come,
                         kept->answered, &error) == 0)
        return true;
    conductor_fail(conductor, &error);
    return false;
}

/* Whether the delivery goes on; where it does not, `ahead` may be gone. */
static bool tell_asked(struct conductor *conductor, const struct ahead *ahead,
                       const struct ahead_request *kept)
{
    struct kernel_syscall_texts texts;
    struct error error;

    conductor->syscall = &kept->request.syscall;
    conductor->syscall_come = kept->come;
    switch (kernel_syscall(conductor->kernel, &kept->request.syscall, &texts, &error)) {
    case KERNEL_OK:
        return kept->answer == NULL ? answer_now(conductor, ahead->vat, kept, &texts)
                                    : compare_answer(conductor, ahead->vat, kept, &texts);
    case KERNEL_ILLEGAL:
        end_illegal(conductor, ahead, error.text);
        return false;
    case KERNEL_BROKEN:
        conductor_fail(conductor, &error);
        return false;
    }
    return false;
}

static bool tell_requests(struct conductor *conductor, const struct ahead *ahead)
{
    const size_t count = ahead->count;

    for (size_t i = 0; i < count; i++) {
        const struct ahead_request *kept = &ahead->requests[i];

        if (kept->request.kind == VAT_REQUEST_CONSOLE ? !tell_said(conductor, ahead->vat, kept)
                                                      : !tell_asked(conductor, ahead, kept))
            return false;
    }
    return true;
}

static void tell_ended(struct conductor *conductor, const struct ahead *ahead)
{
    const struct journal_end end = {
        .returned = ahead->come,
        .problem = ahead->problem,
        .value = ahead->value,
        .blame = ERROR_DELIVERY,
        .meter = ahead->lost ? NULL : &ahead->meter,
    };

    conductor_on_sent(conductor, ahead->vat, ahead->sent);
    if (!conductor->failed && tell_requests(conductor, ahead))
        conductor_finish(conductor, &end);
}

void conductor_adopt_ahead(struct conductor *conductor, struct ahead *ahead)
{
    if (ahead->ended) {
        tell_ended(conductor, ahead);
        ahead_free(ahead);
        return;
    }
    /* Its worker goes on with it, and the warehouse has its text. */
    conductor->ahead.taken = ahead;
    conductor_on_sent(conductor, ahead->vat, ahead->sent);
    if (!conductor->failed)
        (void)tell_requests(conductor, ahead);
}

void conductor_let_taken_go(struct conductor *conductor)
{
    ahead_free(conductor->ahead.taken);
    conductor->ahead.taken = NULL;
}
