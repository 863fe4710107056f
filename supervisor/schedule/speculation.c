/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/speculation.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "supervisor/schedule/speculative_delivery.h"

/* How many queued items, and upcoming messages, are looked at for each job. */
enum { ITEMS_PER_JOB = 16 };

/*
 * A prediction, a record and frames that wake another CPU take longer than a short delivery: only
 * vats whose last delivery was long are speculated on. A mispredicted vat restarts by replay, so
 * its next REST_DELIVERIES are not predicted.
 */
enum { REST_DELIVERIES = 16 };

struct vat_pace {
    bool is_long; /* its last delivery was */
    unsigned rest;
};

struct speculation {
    struct speculation_options options;
    bool always;            /* also short deliveries: GASPIPE_SPECULATE_ALWAYS, for tests */
    struct vat_pace *paces; /* by vat; owned */
    size_t pace_count, pace_capacity;
    size_t long_vats;                   /* whose last delivery was long */
    struct speculative_delivery *list;  /* one a vat at most, the newest first; owned */
    struct speculative_delivery *taken; /* the one that has its turn; owned, or NULL */
    int64_t current;                    /* the vat whose delivery has its turn; 0: none has */
    bool in_snapshot;                   /* no delivery has its turn: a snapshot is being written */

    const struct recorded_request *replayed; /* the request that is being replayed, or NULL */
    bool differs;                            /* the kernel's answer to it, from the recorded one */
    struct refused_delivery refused;         /* the taken one, while it is run again */

    /* While looking for deliveries to predict: */
    bool current_runs; /* a worker is busy with the current delivery */
    size_t upcoming;   /* index of the upcoming message */
    int64_t *met;      /* vats with an item so far; owned */
    size_t met_count, met_capacity;
};

static bool is_stopped(const struct speculation *speculation)
{
    return speculation->options.stopped(speculation->options.context);
}

static void pass_event(const struct speculation *speculation, const struct warehouse_event *event)
{
    speculation->options.event(speculation->options.context, event);
}

static void fail_speculation(const struct speculation *speculation, const struct error *error)
{
    pass_event(speculation,
               &(struct warehouse_event){.kind = WAREHOUSE_EVENT_FAILED, .error = error});
}

/* ---- speculative deliveries in progress ---- */

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

void speculation_withdraw(struct speculation *speculation, int64_t vat)
{
    struct speculative_delivery *speculative = find_speculative(speculation, vat);

    if (speculative == NULL)
        return;
    unlink_speculative(speculation, speculative);
    warehouse_discard_speculation(speculation->options.warehouse, vat);
    speculative_delivery_free(speculative);
}

static bool is_running(const struct speculation *speculation,
                       const struct speculative_delivery *speculative)
{
    return !speculative->ended && !speculative->waits &&
           warehouse_is_speculative(speculation->options.warehouse, speculative->vat);
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

/* NULL if out of memory: the vat is not speculated on, then. */
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

/* After a delivery of the vat. */
static void note_pace(struct speculation *speculation, int64_t vat, const struct meter *meter)
{
    struct vat_pace *pace = pace_of(speculation, vat);

    if (pace == NULL)
        return;
    speculation->long_vats -= pace->is_long;
    pace->is_long = meter_is_long(meter);
    speculation->long_vats += pace->is_long;
    if (pace->rest > 0)
        pace->rest--;
}

static void note_misprediction(struct speculation *speculation, int64_t vat)
{
    struct vat_pace *pace = pace_of(speculation, vat);

    if (pace != NULL)
        pace->rest = REST_DELIVERIES;
}

/* While a snapshot is written there is nothing to lose. */
static bool short_ones_are_worth_it(const struct speculation *speculation)
{
    return speculation->in_snapshot || speculation->always;
}

static bool is_worth_it(struct speculation *speculation, int64_t vat)
{
    const struct vat_pace *pace = pace_of(speculation, vat);

    return pace != NULL && pace->rest == 0 &&
           (pace->is_long || short_ones_are_worth_it(speculation));
}

/* ---- predictions ---- */

/* Returns true if the vat had an item before, or if out of memory: the vat is skipped. */
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
        !warehouse_waits(speculation->options.warehouse, vat) || !is_worth_it(speculation, vat))
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
    warehouse_deliver_speculatively(speculation->options.warehouse, speculative->vat,
                                    speculative->vd);
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

/* A speculative delivery ended or waits, so its CPU is free for another. */
static void speculate_further(struct speculation *speculation)
{
    if ((speculation->current != 0 || speculation->in_snapshot) && !is_stopped(speculation))
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

/* Ends the delivery, which the scheduler is notified of next. */
static void end_answered(struct speculation *speculation, int64_t vat,
                         const struct warehouse_answer *answer)
{
    note_pace(speculation, vat, answer->meter);
    end_current(speculation);
}

static void report_lost(struct speculation *speculation, int64_t vat,
                        const struct warehouse_loss *loss)
{
    if (vat == speculation->current)
        end_current(speculation);
    pass_event(speculation,
               &(struct warehouse_event){.kind = WAREHOUSE_EVENT_LOST, .vat = vat, .loss = loss});
}

/* ---- a delivery that runs again up to the syscall that the kernel refuses ---- */

static bool is_measured(const struct speculation *speculation, int64_t vat)
{
    return speculation->refused.record != NULL && speculation->refused.record->vat == vat;
}

/* The delivery is lost to the host, and tried again. */
static void report_deviation(struct speculation *speculation, int64_t vat)
{
    const struct warehouse_loss loss = {
        .come = stamp_now(),
        .reason = "the delivery differed when it was run again",
        .kind = VAT_LOSS_HOST,
    };

    warehouse_evict(speculation->options.warehouse, vat);
    report_lost(speculation, vat, &loss);
}

static void answer_measured(struct speculation *speculation, int64_t vat,
                            const struct vat_request *request)
{
    const struct recorded_request *recorded = refused_delivery_next(&speculation->refused, request);

    if (recorded == NULL)
        report_deviation(speculation, vat);
    else if (speculation->refused.reached)
        warehouse_abort_delivery(speculation->options.warehouse, vat, speculation->refused.blame,
                                 speculation->refused.reason);
    else if (request->kind == VAT_REQUEST_SYSCALL)
        (void)warehouse_reply(speculation->options.warehouse, vat,
                              (struct iovec){recorded->answer, strlen(recorded->answer)});
}

/* The meter loses its stamps: they belong to another time than the recorded requests'. */
static void lose_measured(struct speculation *speculation, int64_t vat,
                          const struct warehouse_loss *loss)
{
    struct warehouse_loss reported = *loss;
    struct meter used;

    if (loss->kind == VAT_LOSS_ENDS_VAT && !speculation->refused.reached) {
        report_deviation(speculation, vat);
        return;
    }
    if (loss->used != NULL) {
        used = *loss->used;
        used.stamps = NULL;
        used.stamp_count = 0;
        used.text = (struct iovec){0}; /* has the stamps, too */
        reported.used = &used;
    }
    report_lost(speculation, vat, &reported);
}

static void take_measured(struct speculation *speculation, const struct warehouse_event *event)
{
    switch (event->kind) {
    case WAREHOUSE_EVENT_CONSOLE:
    case WAREHOUSE_EVENT_SYSCALL:
        answer_measured(speculation, event->vat, event->request);
        break;
    case WAREHOUSE_EVENT_ANSWERED:
        report_deviation(speculation, event->vat);
        break;
    case WAREHOUSE_EVENT_LOST:
        lose_measured(speculation, event->vat, event->loss);
        break;
    default: /* sent again */
        break;
    }
}

/* ---- the warehouse's events ---- */

static void record_console(struct speculation *speculation,
                           struct speculative_delivery *speculative,
                           const struct warehouse_event *event)
{
    struct error error;

    if (speculative_delivery_console(speculative, event->request, event->at, &error) != 0)
        fail_speculation(speculation, &error);
    else if (speculative_delivery_is_full(speculative))
        speculation_withdraw(speculation, event->vat);
}

static void answer_speculative(struct speculation *speculation,
                               struct speculative_delivery *speculative,
                               const struct warehouse_event *event)
{
    const char *answer;
    struct error error;

    if (speculative_delivery_syscall(speculative, event->request, event->at, &answer, &error) !=
        0) {
        fail_speculation(speculation, &error);
    } else if (answer != NULL) {
        speculative_delivery_answered(
            speculative, warehouse_reply(speculation->options.warehouse, speculative->vat,
                                         (struct iovec){(char *)answer, strlen(answer)}));
    } else {
        warehouse_stop_timer(speculation->options.warehouse, speculative->vat);
        speculate_further(speculation);
    }
}

static void end_speculative(struct speculation *speculation,
                            struct speculative_delivery *speculative,
                            const struct warehouse_answer *answer)
{
    struct error error;

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

    if (loss->kind == VAT_LOSS_ENDS_VAT && !speculative->waits) {
        if (speculative_delivery_lost(speculative, loss, &error) != 0)
            fail_speculation(speculation, &error);
    } else {
        log_line("vat %s: %s; it is delivered to again at its turn",
                 warehouse_name(speculation->options.warehouse, speculative->vat), loss->reason);
        unlink_speculative(speculation, speculative);
        speculative_delivery_free(speculative);
    }
    speculate_further(speculation);
}

static void take_speculative_event(struct speculation *speculation,
                                   struct speculative_delivery *speculative,
                                   const struct warehouse_event *event)
{
    switch (event->kind) {
    case WAREHOUSE_EVENT_SENT:
        speculative->sent = event->at;
        break;
    case WAREHOUSE_EVENT_CONSOLE:
        record_console(speculation, speculative, event);
        break;
    case WAREHOUSE_EVENT_SYSCALL:
        answer_speculative(speculation, speculative, event);
        break;
    case WAREHOUSE_EVENT_ANSWERED:
        end_speculative(speculation, speculative, event->answer);
        break;
    case WAREHOUSE_EVENT_LOST:
        lose_speculative(speculation, speculative, event->loss);
        break;
    default: /* not in a delivery */
        break;
    }
}

bool speculation_takes(struct speculation *speculation, const struct warehouse_event *event)
{
    struct speculative_delivery *speculative;

    if (event->kind < WAREHOUSE_EVENT_SENT || event->kind > WAREHOUSE_EVENT_LOST)
        return false;
    speculative = find_speculative(speculation, event->vat);
    if (speculative != NULL) {
        take_speculative_event(speculation, speculative, event);
        return true;
    }
    if (is_measured(speculation, event->vat)) {
        take_measured(speculation, event);
        return true;
    }
    if (event->kind == WAREHOUSE_EVENT_ANSWERED)
        end_answered(speculation, event->vat, event->answer);
    else if (event->kind == WAREHOUSE_EVENT_LOST && event->vat == speculation->current)
        end_current(speculation);
    return false;
}

/* ---- a speculative delivery's turn: its record is replayed to the scheduler ---- */

static bool replay_continues(const struct speculation *speculation,
                             const struct speculative_delivery *taken)
{
    return !taken->over && !is_measured(speculation, taken->vat) && !is_stopped(speculation);
}

/* The kernel answered differently, so what the worker did after that is void. */
static void report_difference(struct speculation *speculation, int64_t vat)
{
    const struct warehouse_loss loss = {
        .come = stamp_now(),
        .reason = "a syscall was answered differently before its turn",
        .kind = VAT_LOSS_HOST,
    };

    report_lost(speculation, vat, &loss);
}

static void replay_request(struct speculation *speculation, struct speculative_delivery *taken,
                           const struct recorded_request *recorded)
{
    const bool is_syscall = recorded->request.kind == VAT_REQUEST_SYSCALL;

    speculation->replayed = is_syscall ? recorded : NULL;
    speculation->differs = false;
    pass_event(speculation,
               &(struct warehouse_event){
                   .kind = is_syscall ? WAREHOUSE_EVENT_SYSCALL : WAREHOUSE_EVENT_CONSOLE,
                   .vat = taken->vat,
                   .at = recorded->come,
                   .request = &recorded->request,
               });
    speculation->replayed = NULL;
    if (replay_continues(speculation, taken) && speculation->differs)
        report_difference(speculation, taken->vat);
}

static void replay_end(struct speculation *speculation, const struct speculative_delivery *taken)
{
    const struct warehouse_loss loss = {
        .come = taken->come,
        .reason = taken->problem,
        .kind = VAT_LOSS_ENDS_VAT,
        .used = taken->used_known ? &taken->meter : NULL,
    };
    const struct warehouse_answer answer = {
        .come = taken->come,
        .problem = taken->problem,
        .stack = taken->stack,
        .source = taken->source,
        .value = taken->value,
        .meter = &taken->meter,
        .cpu_waits = taken->cpu_waits,
    };

    if (taken->lost) {
        report_lost(speculation, taken->vat, &loss);
        return;
    }
    end_answered(speculation, taken->vat, &answer);
    pass_event(speculation, &(struct warehouse_event){.kind = WAREHOUSE_EVENT_ANSWERED,
                                                      .vat = taken->vat,
                                                      .answer = &answer});
}

/* If the delivery has not ended, its worker continues it after the replay. */
static void replay_taken(struct speculation *speculation, struct speculative_delivery *taken)
{
    const size_t count = taken->count;

    taken->replaying = true;
    if (!is_stopped(speculation))
        pass_event(speculation, &(struct warehouse_event){.kind = WAREHOUSE_EVENT_SENT,
                                                          .vat = taken->vat,
                                                          .at = taken->sent});
    for (size_t i = 0; i < count && replay_continues(speculation, taken); i++)
        replay_request(speculation, taken, &taken->requests[i]);
    if (taken->ended && replay_continues(speculation, taken))
        replay_end(speculation, taken);
    taken->replaying = false;
    if (taken->over)
        speculative_delivery_free(taken);
}

/* Returns true if the worker is in the state after the delivery, or was lost by it. */
static bool is_speculation_whole(const struct speculation *speculation,
                                 const struct speculative_delivery *speculative)
{
    return speculative->lost ||
           warehouse_is_speculative(speculation->options.warehouse, speculative->vat);
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
    if (!right || !is_speculation_whole(speculation, speculative)) {
        speculation_withdraw(speculation, delivery->vat);
        return NULL;
    }
    unlink_speculative(speculation, speculative);
    warehouse_confirm(speculation->options.warehouse, delivery->vat);
    return speculative;
}

/* ---- what the scheduler's crank does ---- */

void speculation_begin(struct speculation *speculation, const struct kernel_delivery *delivery)
{
    struct speculative_delivery *taken = take_speculative(speculation, delivery);

    speculation->in_snapshot = false;
    speculation->current = delivery->vat;
    speculation->taken = taken;
    if (taken == NULL)
        warehouse_deliver(speculation->options.warehouse, delivery->vat, delivery->vd);
    speculate(speculation, taken == NULL || !taken->ended);
    if (taken != NULL)
        replay_taken(speculation, taken);
}

struct stamp speculation_reply(struct speculation *speculation, int64_t vat, struct iovec answer)
{
    const struct recorded_request *replayed = speculation->replayed;

    if (replayed != NULL && replayed->answer != NULL) {
        speculation->differs = strlen(replayed->answer) != answer.iov_len ||
                               memcmp(replayed->answer, answer.iov_base, answer.iov_len) != 0;
        return replayed->answered;
    }
    if (replayed != NULL)
        warehouse_restart_timer(speculation->options.warehouse, vat);
    return warehouse_reply(speculation->options.warehouse, vat, answer);
}

void speculation_abort_delivery(struct speculation *speculation, int64_t vat, enum error_kind blame,
                                const char *reason)
{
    const struct speculative_delivery *taken = speculation->taken;
    const struct recorded_request *replayed = speculation->replayed;
    struct error error;

    if (replayed == NULL || replayed->answer == NULL)
        warehouse_abort_delivery(speculation->options.warehouse, vat, blame, reason);
    else if (refused_delivery_init(&speculation->refused, taken,
                                   (size_t)(replayed - taken->requests), blame, reason,
                                   &error) != 0)
        fail_speculation(speculation, &error);
    else
        warehouse_redeliver(speculation->options.warehouse, vat, taken->vd);
}

void speculation_continue(struct speculation *speculation)
{
    speculation->in_snapshot = true;
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
