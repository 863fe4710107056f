/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/conductor.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "supervisor/conductor_parts.h"
#include "supervisor/journal_slog.h"

void conductor_fail(struct conductor *conductor, const struct error *error)
{
    if (conductor->failed || conductor->closing)
        return;
    conductor->failed = true;
    conductor->listener.failed(conductor->listener.context, error);
}

/* ---- blocks ---- */

int conductor_open_block(struct conductor *conductor, struct error *error)
{
    return store_block_begin(conductor->options.store, error);
}

static int commit(struct conductor *conductor, struct error *error)
{
    conductor->block_cranks = 0;
    if (store_block_commit(conductor->options.store, error) != 0)
        return -1;
    return conductor->options.slog != NULL ? slog_writer_flush(conductor->options.slog, error) : 0;
}

int conductor_commit(struct conductor *conductor)
{
    struct error error;

    if (commit(conductor, &error) != 0) {
        conductor_fail(conductor, &error);
        return -1;
    }
    conductor->listener.committed(conductor->listener.context);
    return conductor->failed ? -1 : 0;
}

/* ---- the end of a crank ---- */

/* A worker whose vat ended, or has to come back from before the crank. */
static int stop_vat(struct conductor *conductor, int64_t vat, struct error *error)
{
    struct kernel_vat described;
    bool lives;

    if (kernel_vat_get(conductor->kernel, vat, &described, &lives, error) != 0)
        return -1;
    if (!lives) {
        warehouse_remove(conductor->warehouse, vat);
        return 0;
    }
    warehouse_put_away(conductor->warehouse, vat);
    if (conductor_provide(conductor, &described, error) != 0)
        lives = false;
    kernel_vat_free(&described);
    return lives ? 0 : -1;
}

static int end_crank(struct conductor *conductor, const struct kernel_crank_end *end,
                     struct error *error)
{
    for (size_t i = 0; i < end->stopped_count; i++)
        if (stop_vat(conductor, end->stopped[i], error) != 0)
            return -1;
    conductor->block_cranks++;
    return journal_slog_finish(conductor->options.slog, end, conductor->crank_started, error);
}

static int commit_when_full(struct conductor *conductor)
{
    if (conductor->block_cranks < conductor->options.block_cranks || conductor->beginning)
        return 0;
    return conductor_commit(conductor);
}

/* ---- a delivery ---- */

int conductor_provide(struct conductor *conductor, const struct kernel_vat *vat,
                      struct error *error)
{
    const struct warehouse_vat described = {
        .id = vat->id,
        .name = vat->name,
        .bundle_id = vat->bundle_id,
        .dynamic = vat->dynamic,
        .incarnation = vat->incarnation,
        .first_delivery = vat->first_delivery,
    };

    return warehouse_provide(conductor->warehouse, &described, error);
}

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

static void deliver(struct conductor *conductor, const struct kernel_delivery *delivery)
{
    struct error error;

    if (know_vat(conductor, delivery, &error) != 0 ||
        journal_begin(&conductor->journal, delivery,
                      warehouse_name(conductor->warehouse, delivery->vat), &error) != 0) {
        conductor_fail(conductor, &error);
        return;
    }
    conductor->delivering = true;
    conductor->vat_ended = false;
    warehouse_deliver(conductor->warehouse, delivery->vat, delivery->vd);
}

/*
 * Whether a vat whose transcript ends there wants its next snapshot. As SwingSet counts:
 * the worker's start is one of the deliveries.
 */
static bool is_due(const struct conductor *conductor, int64_t vat, int64_t end)
{
    const struct conductor_options *options = &conductor->options;
    const int64_t saved_at = warehouse_saved_at(conductor->warehouse, vat);
    const int64_t deliveries = end - (saved_at > 0 ? saved_at : 0);

    if (options->snapshot_interval == 0 || deliveries == 0)
        return false;
    return deliveries + 1 >= (int64_t)options->snapshot_interval ||
           (saved_at < 0 && deliveries + 1 >= (int64_t)options->snapshot_initial);
}

/* The crank is over but for a snapshot. */
static void go_on_behind(struct conductor *conductor, bool worker_lives)
{
    const struct kernel_delivery *delivery = &conductor->journal.delivery;
    const int64_t vat = delivery->vat;

    if (worker_lives && warehouse_waits(conductor->warehouse, vat) &&
        is_due(conductor, vat, delivery->position + 1)) {
        conductor->saving = true;
        warehouse_save(conductor->warehouse, vat);
    } else if (commit_when_full(conductor) == 0) {
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
        (!ended.again && end_crank(conductor, &ended.end, &error) != 0)) {
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
        deliver(conductor, &ended.delivery);
    else
        go_on_behind(conductor, end->meter != NULL);
}

static void finish(struct conductor *conductor, const struct journal_end *end)
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
                            is_due(conductor, conductor->journal.delivery.vat,
                                   conductor->journal.delivery.position + 1),
    };
    struct delivery_report report;

    conductor->delivering = false;
    tell(conductor, end, &report, &outcome);
}

/* ---- what the warehouse tells of it ---- */

static void on_sent(void *context, int64_t vat, struct stamp sent)
{
    struct conductor *conductor = context;
    struct error error;

    (void)vat;
    if (journal_sent(&conductor->journal, sent, &error) != 0)
        conductor_fail(conductor, &error);
}

static void on_said(void *context, int64_t vat, const struct vat_request *request,
                    struct stamp come)
{
    struct conductor *conductor = context;
    struct error error;

    if (journal_said(&conductor->journal, &request->console, come, &error) != 0)
        conductor_fail(conductor, &error);
    conductor_print(warehouse_name(conductor->warehouse, vat), &request->console);
}

static void answer(struct conductor *conductor, int64_t vat, const struct vat_syscall *syscall,
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

static void on_asked(void *context, int64_t vat, const struct vat_request *request,
                     struct stamp come)
{
    struct conductor *conductor = context;
    struct kernel_syscall_texts texts;
    struct error error;

    conductor->syscall = &request->syscall;
    conductor->syscall_come = come;
    switch (kernel_syscall(conductor->kernel, &request->syscall, &texts, &error)) {
    case KERNEL_OK:
        answer(conductor, vat, &request->syscall, &texts);
        break;
    case KERNEL_ILLEGAL:
        warehouse_condemn(conductor->warehouse, vat, error.text);
        break;
    case KERNEL_BROKEN:
        conductor_fail(conductor, &error);
        break;
    }
}

static void on_answered(void *context, int64_t vat, const struct warehouse_answer *told)
{
    const struct journal_end end = {
        .returned = told->come,
        .problem = told->problem,
        .value = told->value,
        .blame = ERROR_DELIVERY,
        .meter = told->meter,
    };

    (void)vat;
    finish(context, &end);
}

static void on_lost(void *context, int64_t vat, const struct warehouse_loss *loss)
{
    struct conductor *conductor = context;
    const struct journal_end end = {
        .returned = loss->come,
        .problem = loss->reason,
        .blame = loss->blame,
    };

    (void)vat;
    if (conductor->delivering)
        finish(conductor, &end);
    else
        conductor_brought(conductor); /* its first delivery meets the same, and can say so */
}

/* Its deliveries are numbered otherwise from here on. */
static int describe_anew(struct conductor *conductor, int64_t vat)
{
    struct kernel_vat described;
    struct error error;
    bool lives;
    int result = kernel_vat_get(conductor->kernel, vat, &described, &lives, &error);

    if (result == 0 && lives) {
        result = conductor_provide(conductor, &described, &error);
        kernel_vat_free(&described);
    }
    if (result != 0)
        conductor_fail(conductor, &error);
    return result;
}

/* The worker is on its way from the snapshot; before it is there nothing goes on. */
static void on_saved(void *context, int64_t vat)
{
    (void)describe_anew(context, vat);
}

/* It was stopped before its snapshot was made. */
static bool save_when_due(struct conductor *conductor, int64_t vat)
{
    struct kernel_vat described;
    struct error error;
    bool lives, due;

    if (kernel_vat_get(conductor->kernel, vat, &described, &lives, &error) != 0) {
        conductor_fail(conductor, &error);
        return true;
    }
    due = lives && is_due(conductor, vat, described.deliveries);
    if (lives)
        kernel_vat_free(&described);
    if (due)
        warehouse_save(conductor->warehouse, vat);
    return due;
}

static void on_ready(void *context, int64_t vat)
{
    struct conductor *conductor = context;

    if (conductor->coming > 0) {
        if (!save_when_due(conductor, vat))
            conductor_brought(conductor);
    } else if (conductor->saving) {
        conductor->saving = false;
        if (commit_when_full(conductor) == 0)
            conductor_go(conductor);
    }
}

static void on_failed(void *context, const struct error *error)
{
    conductor_fail(context, error);
}

static void on_closed(void *context)
{
    struct conductor *conductor = context;

    conductor->listener.closed(conductor->listener.context);
}

/* ---- what runs next ---- */

static void be_idle(struct conductor *conductor)
{
    const bool beginning = conductor->beginning;

    /* Vats that cannot be started are told by now: from here on they are in the store. */
    conductor->beginning = false;
    if (!beginning || conductor_commit(conductor) == 0)
        conductor->listener.idle(conductor->listener.context);
}

/* One crank. Whether another one can follow at once. */
static bool step(struct conductor *conductor)
{
    struct kernel_step next;
    struct error error;

    conductor->crank_started = stamp_now();
    if (conductor_open_block(conductor, &error) != 0 ||
        kernel_next(conductor->kernel, &next, &error) != 0 ||
        (next.work == KERNEL_ROUTED && end_crank(conductor, &next.end, &error) != 0)) {
        conductor_fail(conductor, &error);
        return false;
    }
    if (next.work == KERNEL_ROUTED)
        return commit_when_full(conductor) == 0;
    if (next.work == KERNEL_DELIVERY)
        deliver(conductor, &next.delivery);
    else
        be_idle(conductor);
    return false;
}

void conductor_go(struct conductor *conductor)
{
    while (!conductor->failed && !conductor->closing && step(conductor))
        continue;
}

/* ---- the start ---- */

/* The next vat that lives is on its way; *found is false when there is no more. */
static int bring_next(struct conductor *conductor, bool *found, struct error *error)
{
    struct kernel_vat vat;
    bool lives;
    int result;

    if (kernel_vat_next(conductor->kernel, conductor->last_brought, &conductor->last_brought, found,
                        error) != 0)
        return -1;
    if (!*found)
        return 0;
    if (kernel_vat_get(conductor->kernel, conductor->last_brought, &vat, &lives, error) != 0)
        return -1;
    result = conductor_provide(conductor, &vat, error);
    kernel_vat_free(&vat);
    if (result != 0)
        return -1;
    conductor->coming++;
    warehouse_bring(conductor->warehouse, conductor->last_brought);
    return 0;
}

/*
 * Side by side; one after the other where there is a slog, in which a vat's replay
 * stands in one piece.
 */
static void bring_more(struct conductor *conductor)
{
    struct error error;

    while (!conductor->all_brought && !conductor->failed) {
        bool found = false;

        if (bring_next(conductor, &found, &error) != 0)
            conductor_fail(conductor, &error);
        conductor->all_brought = !found;
        if (conductor->options.slog != NULL && conductor->coming > 0)
            return;
    }
}

void conductor_brought(struct conductor *conductor)
{
    conductor->coming--;
    bring_more(conductor);
    if (conductor->coming == 0 && conductor->all_brought)
        conductor_go(conductor);
}

void conductor_start(struct conductor *conductor)
{
    bring_more(conductor);
    if (conductor->coming == 0 && conductor->all_brought)
        conductor_go(conductor);
}

/* ---- beginning and end ---- */

static int open_parts(struct conductor *conductor, struct error *error)
{
    const struct conductor_options *options = &conductor->options;
    const struct warehouse_options warehouse = {
        .loop = options->loop,
        .launcher = options->launcher,
        .store = options->store,
        .slog = options->slog,
        .fingerprint = options->fingerprint,
        .timeout_ms = options->timeout_ms,
    };
    const struct warehouse_listener listener = {
        .context = conductor,
        .ready = on_ready,
        .sent = on_sent,
        .said = on_said,
        .asked = on_asked,
        .answered = on_answered,
        .lost = on_lost,
        .saved = on_saved,
        .failed = on_failed,
        .closed = on_closed,
    };
    const struct kernel_options kernel = {
        .reap_interval = (int64_t)options->reap_interval,
        .reap_gc_references = KERNEL_REAP_GC_REFERENCES,
        .listener = conductor_kernel_listener(conductor),
    };

    if (store_block_begin(options->store, error) != 0)
        return -1;
    conductor->kernel = kernel_open(options->store, &kernel, error);
    if (conductor->kernel == NULL)
        return -1;
    conductor->warehouse = warehouse_new(&warehouse, &listener, error);
    return conductor->warehouse == NULL ? -1 : 0;
}

struct conductor *conductor_new(const struct conductor_options *options,
                                const struct conductor_listener *listener, struct error *error)
{
    struct conductor *conductor = calloc(1, sizeof *conductor);

    if (conductor == NULL) {
        error_memory(error, "the conductor");
        return NULL;
    }
    conductor->options = *options;
    conductor->listener = *listener;
    conductor->beginning = true;
    journal_init(&conductor->journal, options->slog);
    if (open_parts(conductor, error) == 0)
        return conductor;
    conductor_free(conductor);
    return NULL;
}

struct kernel *conductor_kernel(const struct conductor *conductor)
{
    return conductor->kernel;
}

void conductor_close(struct conductor *conductor, bool drop)
{
    struct error error;

    if (conductor->closing)
        return;
    conductor->closing = true;
    kernel_abandon_crank(conductor->kernel);
    if (conductor->failed || conductor->beginning || drop)
        store_block_rollback(conductor->options.store);
    else if (commit(conductor, &error) == 0)
        conductor->listener.committed(conductor->listener.context);
    else
        log_line("what was done last is lost: %s", error.text);
    warehouse_close(conductor->warehouse);
}

void conductor_free(struct conductor *conductor)
{
    if (conductor == NULL)
        return;
    warehouse_free(conductor->warehouse);
    kernel_close(conductor->kernel);
    journal_free(&conductor->journal);
    free(conductor);
}
