/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/conductor.h"

#include <inttypes.h>
#include <stdlib.h>

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

int conductor_stop_vat(struct conductor *conductor, int64_t vat, struct error *error)
{
    struct kernel_vat described;
    bool lives;

    conductor_forget_ahead(conductor, vat);
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

int conductor_end_crank(struct conductor *conductor, const struct kernel_crank_end *end,
                        struct error *error)
{
    for (size_t i = 0; i < end->stopped_count; i++)
        if (conductor_stop_vat(conductor, end->stopped[i], error) != 0)
            return -1;
    conductor->block_cranks++;
    conductor->tries = 0;
    return journal_slog_finish(conductor->options.slog, end, conductor->crank_started, error);
}

int conductor_commit_when_full(struct conductor *conductor)
{
    if (conductor->block_cranks < conductor->options.block_cranks || conductor->beginning)
        return 0;
    return conductor_commit(conductor);
}

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
        .limits = vat->limits,
    };

    if (vat->limits.instructions > 0 && !conductor->options.launcher->counted)
        return error_set(error, ERROR_INPUT,
                         "vat %s was made with --max-instructions %" PRId64
                         ", which only --counter qemu can hold it to",
                         vat->name, vat->limits.instructions);
    return warehouse_provide(conductor->warehouse, &described, error);
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
        (next.work == KERNEL_ROUTED && conductor_end_crank(conductor, &next.end, &error) != 0)) {
        conductor_fail(conductor, &error);
        return false;
    }
    if (next.work == KERNEL_ROUTED)
        return conductor_commit_when_full(conductor) == 0;
    if (next.work == KERNEL_DELIVERY)
        conductor_deliver(conductor, &next.delivery);
    else
        be_idle(conductor);
    return false;
}

/* A crank whose delivery was made before ends within its step, and has the next one go: however
 * many there are, the stack stays as it is. */
void conductor_go(struct conductor *conductor)
{
    conductor->more = true;
    if (conductor->going)
        return;
    conductor->going = true;
    while (conductor->more && !conductor->failed && !conductor->closing) {
        conductor->more = false;
        if (step(conductor))
            conductor->more = true;
    }
    conductor->going = false;
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
        .max_workers = options->max_workers,
    };
    const struct warehouse_listener listener = {
        .context = conductor,
        .ready = conductor_on_ready,
        .sent = conductor_on_sent,
        .said = conductor_on_said,
        .asked = conductor_on_asked,
        .answered = conductor_on_answered,
        .lost = conductor_on_lost,
        .saved = conductor_on_saved,
        .failed = on_failed,
        .closed = on_closed,
    };
    const struct kernel_options kernel = {
        .reap_interval = (int64_t)options->reap_interval,
        .reap_gc_references = KERNEL_REAP_GC_REFERENCES,
        .limits = options->limits,
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
    if (open_parts(conductor, error) == 0) {
        conductor_init_trouble(conductor);
        return conductor;
    }
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
    conductor_close_trouble(conductor);
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
    conductor_free_ahead(conductor);
    free(conductor->comers);
    warehouse_free(conductor->warehouse);
    kernel_close(conductor->kernel);
    journal_free(&conductor->journal);
    free(conductor);
}
