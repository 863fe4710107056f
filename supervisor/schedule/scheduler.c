/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/scheduler.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "supervisor/schedule/delivery_log_slog.h"
#include "supervisor/schedule/scheduler_parts.h"

void scheduler_fail(struct scheduler *scheduler, const struct error *error)
{
    if (scheduler->failed || scheduler->closing)
        return;
    scheduler->failed = true;
    scheduler->listener.failed(scheduler->listener.context, error);
}

/* ---- transactions ---- */

int scheduler_open_transaction(struct scheduler *scheduler, struct error *error)
{
    return store_transaction_begin(scheduler->options.store, error);
}

static int commit(struct scheduler *scheduler, struct error *error)
{
    scheduler->uncommitted_cranks = 0;
    if (store_transaction_commit(scheduler->options.store, error) != 0)
        return -1;
    return scheduler->options.slog != NULL ? slog_writer_flush(scheduler->options.slog, error) : 0;
}

int scheduler_commit(struct scheduler *scheduler)
{
    struct error error;

    if (commit(scheduler, &error) != 0) {
        scheduler_fail(scheduler, &error);
        return -1;
    }
    scheduler->listener.committed(scheduler->listener.context);
    return scheduler->failed ? -1 : 0;
}

/* ---- the end of a crank ---- */

int scheduler_stop_vat(struct scheduler *scheduler, int64_t vat, struct error *error)
{
    struct kernel_vat described;
    bool lives;

    scheduler_forget_ahead(scheduler, vat);
    if (kernel_vat_get(scheduler->kernel, vat, &described, &lives, error) != 0)
        return -1;
    if (!lives) {
        warehouse_remove(scheduler->warehouse, vat);
        return 0;
    }
    warehouse_put_away(scheduler->warehouse, vat);
    if (scheduler_provide(scheduler, &described, error) != 0)
        lives = false;
    kernel_vat_free(&described);
    return lives ? 0 : -1;
}

int scheduler_end_crank(struct scheduler *scheduler, const struct kernel_crank_end *end,
                        struct error *error)
{
    for (size_t i = 0; i < end->stopped_count; i++)
        if (scheduler_stop_vat(scheduler, end->stopped[i], error) != 0)
            return -1;
    scheduler->uncommitted_cranks++;
    scheduler->tries = 0;
    return delivery_log_slog_finish(scheduler->options.slog, end, scheduler->crank_started, error);
}

int scheduler_commit_when_full(struct scheduler *scheduler)
{
    if (scheduler->uncommitted_cranks < scheduler->options.cranks_per_commit ||
        scheduler->beginning)
        return 0;
    return scheduler_commit(scheduler);
}

int scheduler_provide(struct scheduler *scheduler, const struct kernel_vat *vat,
                      struct error *error)
{
    const struct warehouse_vat described = {
        .id = vat->id,
        .name = vat->name,
        .bundle_id = vat->bundle_id,
        .dynamic = vat->dynamic,
        .incarnation = vat->incarnation,
        .first_delivery = vat->first_delivery,
        .limits = vat->limits,
    };

    if (vat->limits.instructions > 0 && !scheduler->options.launcher->counted)
        return error_set(error, ERROR_INPUT,
                         "vat %s was made with --max-instructions %" PRId64
                         ", which only --counter qemu can hold it to",
                         vat->name, vat->limits.instructions);
    return warehouse_provide(scheduler->warehouse, &described, error);
}

static void on_failed(void *context, const struct error *error)
{
    scheduler_fail(context, error);
}

static void on_closed(void *context)
{
    struct scheduler *scheduler = context;

    scheduler->listener.closed(scheduler->listener.context);
}

/* ---- what runs next ---- */

static void be_idle(struct scheduler *scheduler)
{
    const bool beginning = scheduler->beginning;

    /* Vats that cannot be started are told by now: from here on they are in the store. */
    scheduler->beginning = false;
    if (!beginning || scheduler_commit(scheduler) == 0)
        scheduler->listener.idle(scheduler->listener.context);
}

/* One crank. Whether another one can follow at once. */
static bool step(struct scheduler *scheduler)
{
    struct kernel_step next;
    struct error error;

    scheduler->crank_started = stamp_now();
    if (scheduler_open_transaction(scheduler, &error) != 0 ||
        kernel_next(scheduler->kernel, &next, &error) != 0 ||
        (next.work == KERNEL_ROUTED && scheduler_end_crank(scheduler, &next.end, &error) != 0)) {
        scheduler_fail(scheduler, &error);
        return false;
    }
    if (next.work == KERNEL_ROUTED)
        return scheduler_commit_when_full(scheduler) == 0;
    if (next.work == KERNEL_DELIVERY)
        scheduler_deliver(scheduler, &next.delivery);
    else
        be_idle(scheduler);
    return false;
}

/* A crank whose delivery was made before ends within its step, and has the next one go: however
 * many there are, the stack stays as it is. */
void scheduler_go(struct scheduler *scheduler)
{
    scheduler->more = true;
    if (scheduler->going)
        return;
    scheduler->going = true;
    while (scheduler->more && !scheduler->failed && !scheduler->closing) {
        scheduler->more = false;
        if (step(scheduler))
            scheduler->more = true;
    }
    scheduler->going = false;
}

/* ---- beginning and end ---- */

static int open_parts(struct scheduler *scheduler, struct error *error)
{
    const struct scheduler_options *options = &scheduler->options;
    const struct warehouse_options warehouse = {
        .loop = options->loop,
        .launcher = options->launcher,
        .store = options->store,
        .slog = options->slog,
        .fingerprint = options->fingerprint,
        .timeout_ms = options->timeout_ms,
        .max_workers = options->max_workers,
    };
    const struct warehouse_listener listener = {
        .context = scheduler,
        .ready = scheduler_on_ready,
        .sent = scheduler_on_sent,
        .said = scheduler_on_said,
        .asked = scheduler_on_asked,
        .answered = scheduler_on_answered,
        .lost = scheduler_on_lost,
        .saved = scheduler_on_saved,
        .failed = on_failed,
        .closed = on_closed,
    };
    const struct kernel_options kernel = {
        .reap_interval = (int64_t)options->reap_interval,
        .reap_gc_references = KERNEL_REAP_GC_REFERENCES,
        .limits = options->limits,
        .listener = scheduler_kernel_listener(scheduler),
    };

    if (store_transaction_begin(options->store, error) != 0)
        return -1;
    scheduler->kernel = kernel_open(options->store, &kernel, error);
    if (scheduler->kernel == NULL)
        return -1;
    scheduler->warehouse = warehouse_new(&warehouse, &listener, error);
    return scheduler->warehouse == NULL ? -1 : 0;
}

struct scheduler *scheduler_new(const struct scheduler_options *options,
                                const struct scheduler_listener *listener, struct error *error)
{
    struct scheduler *scheduler = calloc(1, sizeof *scheduler);

    if (scheduler == NULL) {
        error_memory(error, "the scheduler");
        return NULL;
    }
    scheduler->options = *options;
    scheduler->listener = *listener;
    scheduler->beginning = true;
    delivery_log_init(&scheduler->log, options->slog);
    if (open_parts(scheduler, error) == 0) {
        scheduler_init_trouble(scheduler);
        return scheduler;
    }
    scheduler_free(scheduler);
    return NULL;
}

struct kernel *scheduler_kernel(const struct scheduler *scheduler)
{
    return scheduler->kernel;
}

void scheduler_close(struct scheduler *scheduler, bool drop)
{
    struct error error;

    if (scheduler->closing)
        return;
    scheduler->closing = true;
    scheduler_close_trouble(scheduler);
    kernel_abandon_crank(scheduler->kernel);
    if (scheduler->failed || scheduler->beginning || drop)
        store_transaction_rollback(scheduler->options.store);
    else if (commit(scheduler, &error) == 0)
        scheduler->listener.committed(scheduler->listener.context);
    else
        log_line("what was done last is lost: %s", error.text);
    warehouse_close(scheduler->warehouse);
}

void scheduler_free(struct scheduler *scheduler)
{
    if (scheduler == NULL)
        return;
    scheduler_free_ahead(scheduler);
    free(scheduler->comers);
    warehouse_free(scheduler->warehouse);
    kernel_close(scheduler->kernel);
    delivery_log_free(&scheduler->log);
    free(scheduler);
}
