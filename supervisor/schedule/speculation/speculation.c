/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/speculation/speculation.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "supervisor/schedule/speculation/refused_delivery.h"
#include "supervisor/schedule/speculation/speculative_delivery.h"

/* How many queued items, and upcoming messages, are looked at for each job. */
enum { ITEMS_PER_JOB = 16 };

/*
 * A prediction, a record and frames that wake another CPU take longer than a short delivery. So a
 * vat is delivered to ahead only if its last delivery computed that many nanoseconds. A
 * mispredicted vat comes back by replay, so it rests for that many deliveries of its own.
 */
enum { LONG = 2000000, REST = 16 };

struct vat_pace {
    bool is_long; /* its last delivery was */
    unsigned rest;
};

struct speculation {
    struct speculation_options options;
    struct warehouse *warehouse;
    bool always;            /* also short deliveries: GASPIPE_SPECULATE_ALWAYS, for tests */
    struct vat_pace *paces; /* by vat; owned */
    size_t pace_count, pace_capacity;
    size_t long_vats;                   /* whose last delivery was long */
    struct speculative_delivery *list;  /* one a vat at most, the newest first; owned */
    struct speculative_delivery *taken; /* the one that has its turn; owned, or NULL */
    int64_t current;                    /* the vat whose delivery has its turn; 0: none has */
    bool between;                       /* deliveries' turns, but worth being used */

    const struct recorded_request *replayed; /* the request that is being replayed, or NULL */
    bool differs;                            /* the kernel's answer to it, from the recorded one */
    struct refused_delivery refused;         /* the taken one, while it is measured */

    /* While looking for deliveries to predict: */
    bool current_runs; /* a worker is busy with the current delivery */
    size_t upcoming;   /* index of the upcoming message */
    int64_t *met;      /* vats with an item so far; owned */
    size_t met_count, met_capacity;
};

static bool is_stopped(const struct speculation *speculation)
{
    return speculation->options.stopped(speculation->options.events.context);
}

static void fail_speculation(struct speculation *speculation, const struct error *error)
{
    speculation->options.events.failed(speculation->options.events.context, error);
}

/* ---- speculative deliveries under way ---- */

/* NULL: the vat has none. */
static struct speculative_delivery *find_speculative(const struct speculation *speculation,
                                                     int64_t vat)
{
    struct speculative_delivery *speculative = speculation->list;

    while (speculative != NULL && speculative->vat != vat)
        speculative = speculative->next;
    return speculative;
}

static void unlink_speculative(struct speculation *speculation,
                               const struct speculative_delivery *speculative)
{
    struct speculative_delivery **link = &speculation->list;

    while (*link != speculative)
        link = &(*link)->next;
    *link = speculative->next;
}

/* Drops the vat's speculative delivery, with its worker. */
static void withdraw(void *context, int64_t vat)
{
    struct speculation *speculation = context;
    struct speculative_delivery *speculative = find_speculative(speculation, vat);

    if (speculative == NULL)
        return;
    unlink_speculative(speculation, speculative);
    warehouse_discard_speculation(speculation->warehouse, vat);
    speculative_delivery_free(speculative);
}

static bool is_running(const struct speculation *speculation,
                       const struct speculative_delivery *speculative)
{
    return !speculative->ended && !speculative->waits &&
           warehouse_is_speculative(speculation->warehouse, speculative->vat);
}

static bool has_enough(const struct speculation *speculation)
{
    uint64_t running = speculation->current_runs ? 1 : 0;

    for (const struct speculative_delivery *speculative = speculation->list; speculative != NULL;
         speculative = speculative->next)
        running += is_running(speculation, speculative);
    return is_stopped(speculation) || running >= speculation->options.jobs;
}

/* ---- which vats are worth it ---- */

/* NULL when memory ran out: the vat is not delivered to ahead, then. */
static struct vat_pace *pace_of(struct speculation *speculation, int64_t vat)
{
    const size_t needed = (size_t)vat + 1;
    struct vat_pace *paces =
        array_reserve(speculation->paces, &speculation->pace_capacity, needed, sizeof *paces);

    if (paces == NULL)
        return NULL;
    speculation->paces = paces;
    while (speculation->pace_count < needed)
        paces[speculation->pace_count++] = (struct vat_pace){0};
    return &paces[vat];
}

/* Nanoseconds of CPU time; where the worker does not report them, of time from its first frame to
 * its last one. */
static int64_t computed(const struct meter *meter)
{
    const size_t last = meter->stamp_count - 1;

    if (meter->cpu_known)
        return (meter->cpu.user + meter->cpu.system) * 1000;
    return meter->stamp_count < 2 ? 0 : (meter->stamps[last].real - meter->stamps[0].real) * 1000;
}

/* After a delivery of the vat. */
static void note_pace(struct speculation *speculation, int64_t vat, const struct meter *meter)
{
    struct vat_pace *pace = pace_of(speculation, vat);

    if (pace == NULL)
        return;
    speculation->long_vats -= pace->is_long;
    pace->is_long = computed(meter) >= LONG;
    speculation->long_vats += pace->is_long;
    if (pace->rest > 0)
        pace->rest--;
}

static void note_misprediction(struct speculation *speculation, int64_t vat)
{
    struct vat_pace *pace = pace_of(speculation, vat);

    if (pace != NULL)
        pace->rest = REST;
}

/* While a snapshot is written there is nothing to lose. */
static bool short_ones_are_worth_it(const struct speculation *speculation)
{
    return speculation->between || speculation->always;
}

static bool is_worth_it(struct speculation *speculation, int64_t vat)
{
    const struct vat_pace *pace = pace_of(speculation, vat);

    return pace != NULL && pace->rest == 0 &&
           (pace->is_long || short_ones_are_worth_it(speculation));
}

/* ---- predictions ---- */

/* Whether the vat had an item before. True also if memory ran out: the vat is skipped. */
static bool has_met(struct speculation *speculation, int64_t vat)
{
    int64_t *met;

    for (size_t i = 0; i < speculation->met_count; i++)
        if (speculation->met[i] == vat)
            return true;
    met = array_reserve(speculation->met, &speculation->met_capacity, speculation->met_count + 1,
                        sizeof *met);
    if (met == NULL)
        return true;
    speculation->met = met;
    met[speculation->met_count++] = vat;
    return false;
}

/* Only a vat's first item can be predicted: the others depend on its outcome. */
static enum kernel_interest interest_in(void *context, int64_t vat)
{
    struct speculation *speculation = context;

    if (has_enough(speculation))
        return KERNEL_ENOUGH;
    if (has_met(speculation, vat) || vat == speculation->current ||
        find_speculative(speculation, vat) != NULL ||
        !warehouse_waits(speculation->warehouse, vat) || !is_worth_it(speculation, vat))
        return KERNEL_PASS;
    return KERNEL_PREDICT;
}

static void begin_speculative(void *context, const struct kernel_delivery *delivery)
{
    struct speculation *speculation = context;
    struct speculative_delivery *speculative =
        speculative_delivery_new(speculation->options.store, delivery);

    if (speculative == NULL)
        return; /* no memory: the delivery waits for its turn */
    speculative->next = speculation->list;
    speculation->list = speculative;
    warehouse_deliver_speculatively(speculation->warehouse, speculative->vat, speculative->vd);
}

static int queue_upcoming(void *context, struct kernel *kernel, struct error *error)
{
    const struct speculation *speculation = context;
    const struct speculation_source *source = speculation->options.source;

    return source->queue_upcoming(source->context, speculation->upcoming, kernel, error);
}

static int predict_upcoming(struct speculation *speculation,
                            const struct kernel_prediction *prediction, size_t items,
                            struct error *error)
{
    const struct speculation_source *source = speculation->options.source;
    size_t *index = &speculation->upcoming;
    int64_t vat;

    for (*index = 0; *index < items; (*index)++) {
        if (has_enough(speculation) || !source->upcoming(source->context, *index, &vat))
            return 0;
        if (interest_in(speculation, vat) == KERNEL_PREDICT &&
            kernel_predict_unqueued(speculation->options.kernel, prediction, queue_upcoming,
                                    error) != 0)
            return -1;
    }
    return 0;
}

/* Begins as many speculative deliveries as there may be. */
static void speculate(struct speculation *speculation, bool current_runs)
{
    const struct kernel_prediction prediction = {
        .context = speculation,
        .interest = interest_in,
        .predicted = begin_speculative,
    };
    size_t items = speculation->options.jobs * ITEMS_PER_JOB;
    struct error error;

    speculation->current_runs = current_runs;
    speculation->met_count = 0;
    if ((speculation->long_vats == 0 && !short_ones_are_worth_it(speculation)) ||
        has_enough(speculation))
        return;
    if (kernel_predict(speculation->options.kernel, &prediction, &items, &error) != 0 ||
        predict_upcoming(speculation, &prediction, items, &error) != 0)
        fail_speculation(speculation, &error);
}

/* A speculative delivery ended or waits, so its processor is free for another. */
static void speculate_further(struct speculation *speculation)
{
    if ((speculation->current != 0 || speculation->between) && !is_stopped(speculation))
        speculate(speculation, true);
}

/* ---- the end of the current delivery ---- */

static void end_current(struct speculation *speculation)
{
    struct speculative_delivery *taken = speculation->taken;

    speculation->current = 0;
    speculation->taken = NULL;
    refused_delivery_free(&speculation->refused);
    if (taken == NULL)
        return;
    taken->over = true;
    if (!taken->replaying)
        speculative_delivery_free(taken);
}

static void report_answered(struct speculation *speculation, int64_t vat,
                            const struct warehouse_answer *answer)
{
    note_pace(speculation, vat, answer->meter);
    end_current(speculation);
    speculation->options.events.answered(speculation->options.events.context, vat, answer);
}

static void report_lost(struct speculation *speculation, int64_t vat,
                        const struct warehouse_loss *loss)
{
    if (vat == speculation->current)
        end_current(speculation);
    speculation->options.events.lost(speculation->options.events.context, vat, loss);
}

/* ---- measuring a delivery whose worker has gone on past a syscall that the kernel refuses ---- */

static bool is_measured(const struct speculation *speculation, int64_t vat)
{
    return speculation->refused.record != NULL && speculation->refused.record->vat == vat;
}

/* The delivery is lost to the host, and tried again. */
static void report_deviation(struct speculation *speculation, int64_t vat)
{
    const struct warehouse_loss loss = {
        .come = stamp_now(),
        .reason = "it came out differently when it was measured",
        .blame = ERROR_SYSTEM,
    };

    warehouse_put_away(speculation->warehouse, vat);
    report_lost(speculation, vat, &loss);
}

static void answer_measured(struct speculation *speculation, int64_t vat,
                            const struct vat_request *request)
{
    const char *answer = NULL;

    switch (refused_delivery_asked(&speculation->refused, request, &answer)) {
    case REFUSED_ANSWER:
        (void)warehouse_reply(speculation->warehouse, vat,
                              (struct iovec){(char *)answer, strlen(answer)});
        break;
    case REFUSED_HERE:
        warehouse_condemn(speculation->warehouse, vat, speculation->refused.reason);
        break;
    case REFUSED_DEVIATES:
        report_deviation(speculation, vat);
        break;
    }
}

static void lose_measured(struct speculation *speculation, int64_t vat,
                          const struct warehouse_loss *loss)
{
    struct warehouse_loss told = *loss;
    struct meter used;

    if (loss->blame == ERROR_DELIVERY && !speculation->refused.reached) {
        report_deviation(speculation, vat);
        return;
    }
    if (loss->used != NULL) {
        used = refused_delivery_used(loss->used);
        told.used = &used;
    }
    report_lost(speculation, vat, &told);
}

/* ---- the warehouse's events: recorded, or passed on to the scheduler ---- */

static void speculation_on_ready(void *context, int64_t vat)
{
    struct speculation *speculation = context;

    speculation->options.events.ready(speculation->options.events.context, vat);
}

static void speculation_on_saved(void *context, int64_t vat)
{
    struct speculation *speculation = context;

    speculation->options.events.saved(speculation->options.events.context, vat);
}

static void speculation_on_failed(void *context, const struct error *error)
{
    fail_speculation(context, error);
}

static void speculation_on_closed(void *context)
{
    struct speculation *speculation = context;

    speculation->options.events.closed(speculation->options.events.context);
}

static void speculation_on_sent(void *context, int64_t vat, struct stamp sent)
{
    struct speculation *speculation = context;
    const struct warehouse_listener *events = &speculation->options.events;
    struct speculative_delivery *speculative = find_speculative(speculation, vat);

    if (speculative != NULL)
        speculative->sent = sent;
    else if (!is_measured(speculation, vat))
        events->sent(events->context, vat, sent);
}

static void speculation_on_said(void *context, int64_t vat, const struct vat_request *request,
                                struct stamp come)
{
    struct speculation *speculation = context;
    const struct warehouse_listener *events = &speculation->options.events;
    struct speculative_delivery *speculative = find_speculative(speculation, vat);
    struct error error;

    if (is_measured(speculation, vat)) {
        if (!refused_delivery_said(&speculation->refused, request))
            report_deviation(speculation, vat);
    } else if (speculative == NULL)
        events->said(events->context, vat, request, come);
    else if (speculative_delivery_said(speculative, request, come, &error) != 0)
        fail_speculation(speculation, &error);
    else if (speculative_delivery_is_full(speculative))
        withdraw(speculation, vat);
}

static void answer_speculative(struct speculation *speculation,
                               struct speculative_delivery *speculative,
                               const struct vat_request *request, struct stamp come)
{
    const char *answer;
    struct error error;

    if (speculative_delivery_asked(speculative, request, come, &answer, &error) != 0) {
        fail_speculation(speculation, &error);
    } else if (answer != NULL) {
        speculative_delivery_answered(
            speculative, warehouse_reply(speculation->warehouse, speculative->vat,
                                         (struct iovec){(char *)answer, strlen(answer)}));
    } else {
        warehouse_hold(speculation->warehouse, speculative->vat);
        speculate_further(speculation);
    }
}

static void speculation_on_asked(void *context, int64_t vat, const struct vat_request *request,
                                 struct stamp come)
{
    struct speculation *speculation = context;
    const struct warehouse_listener *events = &speculation->options.events;
    struct speculative_delivery *speculative = find_speculative(speculation, vat);

    if (speculative != NULL)
        answer_speculative(speculation, speculative, request, come);
    else if (is_measured(speculation, vat))
        answer_measured(speculation, vat, request);
    else
        events->asked(events->context, vat, request, come);
}

static void speculation_on_answered(void *context, int64_t vat,
                                    const struct warehouse_answer *answer)
{
    struct speculation *speculation = context;
    struct speculative_delivery *speculative = find_speculative(speculation, vat);
    struct error error;

    if (is_measured(speculation, vat)) {
        report_deviation(speculation, vat);
        return;
    }
    if (speculative == NULL) {
        report_answered(speculation, vat, answer);
        return;
    }
    if (speculative_delivery_ended(speculative, answer, &error) != 0)
        fail_speculation(speculation, &error);
    speculate_further(speculation);
}

/* Host failures are ignored until the delivery's turn: they may not happen again. */
static void lose_speculative(struct speculation *speculation,
                             struct speculative_delivery *speculative,
                             const struct warehouse_loss *loss)
{
    struct error error;

    if (loss->blame == ERROR_DELIVERY && !speculative->waits) {
        if (speculative_delivery_lost(speculative, loss, &error) != 0)
            fail_speculation(speculation, &error);
    } else {
        log_line("vat %s: %s; it is delivered to again at its turn",
                 warehouse_name(speculation->warehouse, speculative->vat), loss->reason);
        unlink_speculative(speculation, speculative);
        speculative_delivery_free(speculative);
    }
    speculate_further(speculation);
}

static void speculation_on_lost(void *context, int64_t vat, const struct warehouse_loss *loss)
{
    struct speculation *speculation = context;
    struct speculative_delivery *speculative = find_speculative(speculation, vat);

    if (speculative != NULL)
        lose_speculative(speculation, speculative, loss);
    else if (is_measured(speculation, vat))
        lose_measured(speculation, vat, loss);
    else
        report_lost(speculation, vat, loss);
}

struct warehouse_listener speculation_listener(struct speculation *speculation)
{
    return (struct warehouse_listener){
        .context = speculation,
        .ready = speculation_on_ready,
        .sent = speculation_on_sent,
        .said = speculation_on_said,
        .asked = speculation_on_asked,
        .answered = speculation_on_answered,
        .lost = speculation_on_lost,
        .saved = speculation_on_saved,
        .failed = speculation_on_failed,
        .closed = speculation_on_closed,
    };
}

/* ---- a speculative delivery's turn: its record is replayed to the scheduler ---- */

static bool goes_on(const struct speculation *speculation, const struct speculative_delivery *taken)
{
    return !taken->over && !is_measured(speculation, taken->vat) && !is_stopped(speculation);
}

/* The kernel answered differently, so what the worker did after that is void. */
static void report_difference(struct speculation *speculation, int64_t vat)
{
    const struct warehouse_loss loss = {
        .come = stamp_now(),
        .reason = "a syscall was answered differently before its turn",
        .blame = ERROR_SYSTEM,
    };

    report_lost(speculation, vat, &loss);
}

static void replay_request(struct speculation *speculation, struct speculative_delivery *taken,
                           const struct recorded_request *recorded)
{
    const struct warehouse_listener *events = &speculation->options.events;

    if (recorded->request.kind == VAT_REQUEST_CONSOLE) {
        events->said(events->context, taken->vat, &recorded->request, recorded->come);
        return;
    }
    speculation->replayed = recorded;
    speculation->differs = false;
    events->asked(events->context, taken->vat, &recorded->request, recorded->come);
    speculation->replayed = NULL;
    if (goes_on(speculation, taken) && speculation->differs)
        report_difference(speculation, taken->vat);
}

static void replay_end(struct speculation *speculation, const struct speculative_delivery *taken)
{
    const struct warehouse_loss loss = {
        .come = taken->come,
        .reason = taken->problem,
        .blame = ERROR_DELIVERY,
        .used = taken->used_known ? &taken->meter : NULL,
    };
    const struct warehouse_answer answer = {
        .come = taken->come,
        .problem = taken->problem,
        .stack = taken->stack,
        .source = taken->source,
        .value = taken->value,
        .meter = &taken->meter,
    };

    if (taken->lost)
        report_lost(speculation, taken->vat, &loss);
    else
        report_answered(speculation, taken->vat, &answer);
}

/* If the delivery has not ended, its worker continues it after the replay. */
static void replay_taken(struct speculation *speculation, struct speculative_delivery *taken)
{
    const struct warehouse_listener *events = &speculation->options.events;
    const size_t count = taken->count;

    taken->replaying = true;
    if (!is_stopped(speculation))
        events->sent(events->context, taken->vat, taken->sent);
    for (size_t i = 0; i < count && goes_on(speculation, taken); i++)
        replay_request(speculation, taken, &taken->requests[i]);
    if (taken->ended && goes_on(speculation, taken))
        replay_end(speculation, taken);
    taken->replaying = false;
    if (taken->over)
        speculative_delivery_free(taken);
}

/* Whether the worker is in the state after the delivery, or was lost by it. */
static bool is_whole(const struct speculation *speculation,
                     const struct speculative_delivery *speculative)
{
    return speculative->lost || warehouse_is_speculative(speculation->warehouse, speculative->vat);
}

/* The vat's speculative delivery if it is this delivery; if not, it is dropped. */
static struct speculative_delivery *take_speculative(struct speculation *speculation,
                                                     const struct kernel_delivery *delivery)
{
    struct speculative_delivery *speculative = find_speculative(speculation, delivery->vat);
    bool right;

    if (speculative == NULL)
        return NULL;
    right = speculative_delivery_is(speculative, delivery);
    if (!right)
        note_misprediction(speculation, delivery->vat);
    if (!right || !is_whole(speculation, speculative)) {
        withdraw(speculation, delivery->vat);
        return NULL;
    }
    unlink_speculative(speculation, speculative);
    warehouse_confirm(speculation->warehouse, delivery->vat);
    return speculative;
}

/* ---- the scheduler's route ---- */

static void deliver_or_replay(void *context, const struct kernel_delivery *delivery)
{
    struct speculation *speculation = context;
    struct speculative_delivery *taken = take_speculative(speculation, delivery);

    speculation->between = false;
    speculation->current = delivery->vat;
    speculation->taken = taken;
    if (taken == NULL)
        warehouse_deliver(speculation->warehouse, delivery->vat, delivery->vd);
    speculate(speculation, taken == NULL || !taken->ended);
    if (taken != NULL)
        replay_taken(speculation, taken);
}

static struct stamp reply_or_compare(void *context, int64_t vat, struct iovec answer)
{
    struct speculation *speculation = context;
    const struct recorded_request *replayed = speculation->replayed;

    if (replayed != NULL && replayed->answer != NULL) {
        speculation->differs = strlen(replayed->answer) != answer.iov_len ||
                               memcmp(replayed->answer, answer.iov_base, answer.iov_len) != 0;
        return replayed->answered;
    }
    if (replayed != NULL)
        warehouse_let_go(speculation->warehouse, vat);
    return warehouse_reply(speculation->warehouse, vat, answer);
}

/* What the delivery used up to the syscall is not known of a worker that has gone on past it. */
static void condemn_or_measure(void *context, int64_t vat, const char *reason)
{
    struct speculation *speculation = context;
    const struct speculative_delivery *taken = speculation->taken;
    const struct recorded_request *replayed = speculation->replayed;
    struct error error;

    if (replayed == NULL || replayed->answer == NULL)
        warehouse_condemn(speculation->warehouse, vat, reason);
    else if (refused_delivery_init(&speculation->refused, taken,
                                   (size_t)(replayed - taken->requests), reason, &error) != 0)
        fail_speculation(speculation, &error);
    else
        warehouse_redeliver(speculation->warehouse, vat, taken->vd);
}

struct delivery_route speculation_route(struct speculation *speculation,
                                        struct warehouse *warehouse)
{
    speculation->warehouse = warehouse;
    return (struct delivery_route){
        .context = speculation,
        .deliver = deliver_or_replay,
        .reply = reply_or_compare,
        .condemn = condemn_or_measure,
        .withdraw = withdraw,
    };
}

/* A worker is busy with the snapshot. */
void speculation_go_on(struct speculation *speculation)
{
    speculation->between = true;
    speculate_further(speculation);
}

/* ---- beginning and end ---- */

struct speculation *speculation_new(const struct speculation_options *options, struct error *error)
{
    struct speculation *speculation = calloc(1, sizeof *speculation);

    if (speculation == NULL)
        error_memory(error, "speculative deliveries");
    else
        *speculation = (struct speculation){
            .options = *options,
            .always = getenv("GASPIPE_SPECULATE_ALWAYS") != NULL,
        };
    return speculation;
}

void speculation_free(struct speculation *speculation)
{
    struct speculative_delivery *speculative;

    if (speculation == NULL)
        return;
    while ((speculative = speculation->list) != NULL) {
        speculation->list = speculative->next;
        speculative_delivery_free(speculative);
    }
    speculative_delivery_free(speculation->taken);
    refused_delivery_free(&speculation->refused);
    free(speculation->paces);
    free(speculation->met);
    free(speculation);
}
