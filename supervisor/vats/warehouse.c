/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/vats/warehouse.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "supervisor/vats/vat.h"
#include "supervisor/vats/vat_state.h"

/* For a worker to end by itself; and after warehouse_shorten_timeout(). */
enum { EXIT_MS = 2000, SHORT_EXIT_MS = 500 };

struct warehouse {
    struct warehouse_options options;
    struct warehouse_listener listener;
    struct vat_owner owner; /* of the vats */
    struct vat **vats;      /* by number; NULL: not known */
    size_t vat_count, vat_capacity;
    uint64_t wants; /* how often a worker was wanted */
    bool failed, closing, closed;
};

/* ---- which vats have a worker, with --max-workers ---- */

static bool is_going(const struct vat *vat)
{
    return vat->state == VAT_LEAVING || vat->state == VAT_ENDING;
}

static bool waits_for_worker(const struct vat *vat)
{
    return vat->state == VAT_NO_WORKER && vat->then == VAT_THEN_START;
}

/* A speculative delivery can run again at its turn. */
static bool can_be_spared(const struct vat *vat)
{
    return vat->then != VAT_THEN_START && (vat->state == VAT_IDLE || vat_is_speculative(vat));
}

/* Returns the matching vat with the oldest request, or NULL. */
static struct vat *oldest(struct vat *const *vats, size_t count,
                          bool (*is_so)(const struct vat *vat))
{
    struct vat *found = NULL;

    for (size_t i = 0; i < count; i++)
        if (vats[i] != NULL && is_so(vats[i]) &&
            (found == NULL || vats[i]->wanted_at < found->wanted_at))
            found = vats[i];
    return found;
}

/* Counts workers that run, start or end, until they have exited. */
static bool has_all_workers(struct vat *const *vats, size_t count, uint64_t limit)
{
    uint64_t workers = 0;

    if (limit == 0)
        return false;
    for (size_t i = 0; i < count; i++)
        if (vats[i] != NULL && vats[i]->state != VAT_NO_WORKER)
            workers++;
    return workers >= limit;
}

/* How many workers still have to be evicted, so that each waiting vat gets one. */
static int64_t lacking(struct vat *const *vats, size_t count)
{
    int64_t workers = 0;

    for (size_t i = 0; i < count; i++) {
        const struct vat *vat = vats[i];

        if (vat != NULL)
            workers += (waits_for_worker(vat) || (is_going(vat) && vat->then == VAT_THEN_START)) -
                       is_going(vat);
    }
    return workers;
}

/* The vat that has waited longest for a worker, if one may be started for it; else NULL. */
static struct vat *next_to_start(struct vat *const *vats, size_t count, uint64_t limit)
{
    return has_all_workers(vats, count, limit) ? NULL : oldest(vats, count, waits_for_worker);
}

/* The vat whose worker is to be evicted for one that waits: the least recently used idle one. NULL
 * if none has to be, or none can be. */
static struct vat *next_to_evict(struct vat *const *vats, size_t count, uint64_t limit)
{
    if (!has_all_workers(vats, count, limit) || oldest(vats, count, waits_for_worker) == NULL ||
        lacking(vats, count) <= 0)
        return NULL;
    return oldest(vats, count, can_be_spared);
}

/* ---- what all vats share ---- */

static void report_event(const struct warehouse *warehouse, const struct warehouse_event *event)
{
    warehouse->listener.event(warehouse->listener.context, event);
}

static void fail_warehouse(void *context, const struct error *error)
{
    struct warehouse *warehouse = context;

    if (warehouse->failed || warehouse->closing)
        return;
    warehouse->failed = warehouse->owner.silent = true;
    report_event(warehouse,
                 &(struct warehouse_event){.kind = WAREHOUSE_EVENT_FAILED, .error = error});
}

/* Starts workers for the vats that wait for one, and evicts idle ones if --max-workers is reached.
 * Called when a vat begins to wait, a worker becomes idle, or one has exited. */
static void balance_workers(struct warehouse *warehouse)
{
    const uint64_t limit = warehouse->options.max_workers;
    struct vat *vat;

    while (!warehouse->owner.silent &&
           (vat = next_to_start(warehouse->vats, warehouse->vat_count, limit)) != NULL)
        vat_handle_event(vat, VAT_EVENT_WANTED);
    while (!warehouse->owner.silent &&
           (vat = next_to_evict(warehouse->vats, warehouse->vat_count, limit)) != NULL)
        vat_evict(vat);
}

/* ---- vats by number ---- */

static struct vat *warehouse_find_vat(const struct warehouse *warehouse, int64_t id)
{
    return (uint64_t)id < warehouse->vat_count ? warehouse->vats[id] : NULL;
}

static int reserve_number(struct warehouse *warehouse, int64_t id, struct error *error)
{
    const size_t needed = (size_t)id + 1;
    struct vat **vats;

    if (needed <= warehouse->vat_count)
        return 0;
    vats = array_reserve(warehouse->vats, &warehouse->vat_capacity, needed, sizeof(struct vat *));
    if (vats == NULL)
        return error_memory(error, "a vat");
    warehouse->vats = vats;
    while (warehouse->vat_count < needed)
        vats[warehouse->vat_count++] = NULL;
    return 0;
}

/* It has no worker. Does nothing the second time: the owner may remove a vat while its end is
 * reported. */
static void discard_vat(struct warehouse *warehouse, struct vat *vat)
{
    if (warehouse_find_vat(warehouse, vat->identity.id) != vat)
        return;
    warehouse->vats[vat->identity.id] = NULL;
    vat_close(vat);
}

/* Sets saved_at. A snapshot that cannot be read is reported when the vat starts. */
static void set_saved_at(const struct warehouse *warehouse, struct vat *vat)
{
    struct store_snapshot snapshot;
    struct error ignored;
    int64_t position;
    bool found;

    vat->saved_at = -1;
    if (store_snapshot_last(warehouse->options.store, vat->identity.id, vat->identity.incarnation,
                            &position, &snapshot, &found, &ignored) == 0 &&
        found)
        vat->saved_at = position;
}

static int warehouse_add_vat(struct warehouse *warehouse, const struct warehouse_vat *described,
                             struct error *error)
{
    struct vat *vat;

    if (reserve_number(warehouse, described->id, error) != 0)
        return -1;
    vat = vat_new(&warehouse->owner, described);
    if (vat == NULL)
        return error_memory(error, "a vat");
    warehouse->vats[vat->identity.id] = vat;
    if (vat->identity.name == NULL || vat->identity.bundle_id == NULL) {
        discard_vat(warehouse, vat);
        return error_memory(error, "a vat");
    }
    set_saved_at(warehouse, vat);
    return 0;
}

static int renew_vat(struct vat *vat, const struct warehouse_vat *described, struct error *error)
{
    char *bundle_id;

    if (vat->then == VAT_THEN_FREE)
        vat->then = VAT_THEN_NOTHING;
    vat->replay.first_num = described->first_delivery;
    vat->identity.deliveries = described->deliveries;
    vat->identity.limits = described->limits;
    if (vat->identity.incarnation == described->incarnation &&
        strcmp(vat->identity.bundle_id, described->bundle_id) == 0)
        return 0;
    bundle_id = strdup(described->bundle_id);
    if (bundle_id == NULL)
        return error_memory(error, "a vat");
    free(vat->identity.bundle_id);
    vat->identity.bundle_id = bundle_id;
    vat->identity.incarnation = described->incarnation;
    vat->log.created = false;
    vat->then = VAT_THEN_NOTHING;
    vat->unproven = vat->falls_back = false;
    vat_close_origin(vat);
    vat_handle_event(vat, VAT_EVENT_EVICT);
    return 0;
}

int warehouse_set_vat(struct warehouse *warehouse, const struct warehouse_vat *vat,
                      struct error *error)
{
    struct vat *known = warehouse_find_vat(warehouse, vat->id);

    return known != NULL ? renew_vat(known, vat, error) : warehouse_add_vat(warehouse, vat, error);
}

/* ---- work for them ---- */

static void want_worker(struct warehouse *warehouse, struct vat *vat)
{
    vat->then = VAT_THEN_START;
    vat->wanted_at = ++warehouse->wants;
    balance_workers(warehouse);
}

void warehouse_start(struct warehouse *warehouse, int64_t vat)
{
    want_worker(warehouse, warehouse_find_vat(warehouse, vat));
}

bool warehouse_fall_back(struct warehouse *warehouse, int64_t id)
{
    struct vat *vat = warehouse_find_vat(warehouse, id);
    struct store_snapshot snapshot;
    struct error ignored;
    int64_t position;
    bool found = false;

    if (vat->falls_back ||
        store_snapshot_before(warehouse->options.store, id, vat->identity.incarnation, &position,
                              &snapshot, &found, &ignored) != 0)
        return false;
    vat->falls_back = found;
    return found;
}

int warehouse_log_defer(struct warehouse *warehouse, int64_t vat, struct error *error)
{
    struct slog_writer *slog = warehouse->options.slog;
    struct vat *known = warehouse_find_vat(warehouse, vat);

    if (slog == NULL)
        return 0;
    known->log.deferred = slog_writer_deferred(slog);
    return known->log.deferred != NULL ? 0 : error_memory(error, "lines of the slogfile");
}

int warehouse_log_join(struct warehouse *warehouse, int64_t vat, struct error *error)
{
    struct vat *known = warehouse_find_vat(warehouse, vat);
    struct slog_writer *deferred = known->log.deferred;

    known->log.deferred = NULL;
    return slog_writer_join(warehouse->options.slog, deferred, error);
}

static void set_delivery(struct vat *vat, const char *vd)
{
    static const char start[] = "[\"startVat\"";

    vat->delivery.text = vd;
    vat->delivery.stopped = false;
    vat->delivery.is_start = strncmp(vd, start, strlen(start)) == 0;
}

void warehouse_deliver(struct warehouse *warehouse, int64_t id, const char *vd)
{
    struct vat *vat = warehouse_find_vat(warehouse, id);

    set_delivery(vat, vd);
    if (vat->state == VAT_IDLE) {
        vat->wanted_at = ++warehouse->wants;
        vat_handle_event(vat, VAT_EVENT_DELIVER);
    } else {
        want_worker(warehouse, vat);
    }
}

void warehouse_deliver_speculatively(struct warehouse *warehouse, int64_t id, const char *vd)
{
    struct vat *vat = warehouse_find_vat(warehouse, id);

    set_delivery(vat, vd);
    vat->delivery.turn = VAT_TURN_EARLY;
    vat_handle_event(vat, VAT_EVENT_DELIVER);
}

bool warehouse_is_speculative(const struct warehouse *warehouse, int64_t id)
{
    const struct vat *vat = warehouse_find_vat(warehouse, id);

    return vat != NULL && vat_is_speculative(vat);
}

void warehouse_confirm(struct warehouse *warehouse, int64_t id)
{
    struct vat *vat = warehouse_find_vat(warehouse, id);

    vat->delivery.turn = VAT_TURN_DUE;
    vat->wanted_at = ++warehouse->wants;
}

void warehouse_discard_speculation(struct warehouse *warehouse, int64_t id)
{
    struct vat *vat = warehouse_find_vat(warehouse, id);
    const bool was_speculative = vat != NULL && vat->delivery.turn == VAT_TURN_EARLY;

    warehouse_evict(warehouse, id);
    if (was_speculative)
        vat->log.quiet = true;
}

void warehouse_redeliver(struct warehouse *warehouse, int64_t id, const char *vd)
{
    warehouse_evict(warehouse, id);
    warehouse_find_vat(warehouse, id)->log.quiet = true;
    warehouse_deliver(warehouse, id, vd);
}

struct stamp warehouse_reply(struct warehouse *warehouse, int64_t vat, struct iovec answer)
{
    return vat_reply(warehouse_find_vat(warehouse, vat), answer);
}

void warehouse_stop_timer(struct warehouse *warehouse, int64_t vat)
{
    vat_timer_stop(&warehouse_find_vat(warehouse, vat)->timer);
}

void warehouse_restart_timer(struct warehouse *warehouse, int64_t vat)
{
    vat_timer_start(&warehouse_find_vat(warehouse, vat)->timer, warehouse->options.timeout_ms);
}

void warehouse_abort_delivery(struct warehouse *warehouse, int64_t vat, enum error_kind blame,
                              const char *reason)
{
    vat_refuse(warehouse_find_vat(warehouse, vat), blame, reason);
}

int64_t warehouse_saved_at(const struct warehouse *warehouse, int64_t vat)
{
    return warehouse_find_vat(warehouse, vat)->saved_at;
}

bool warehouse_waits(const struct warehouse *warehouse, int64_t id)
{
    const struct vat *vat = warehouse_find_vat(warehouse, id);

    return vat != NULL && vat->state == VAT_IDLE;
}

bool warehouse_knows(const struct warehouse *warehouse, int64_t vat)
{
    return warehouse_find_vat(warehouse, vat) != NULL;
}

const char *warehouse_name(const struct warehouse *warehouse, int64_t vat)
{
    return vat_name(warehouse_find_vat(warehouse, vat));
}

const struct kernel_limits *warehouse_limits(const struct warehouse *warehouse, int64_t id)
{
    const struct vat *vat = warehouse_find_vat(warehouse, id);

    return vat != NULL ? &vat->identity.limits : NULL;
}

void warehouse_save(struct warehouse *warehouse, int64_t vat)
{
    vat_handle_event(warehouse_find_vat(warehouse, vat), VAT_EVENT_SNAPSHOT);
}

void warehouse_evict(struct warehouse *warehouse, int64_t id)
{
    struct vat *vat = warehouse_find_vat(warehouse, id);

    if (vat == NULL)
        return;
    vat_clear_start(vat);
    vat->log.quiet = false;
    vat_evict(vat);
}

void warehouse_remove(struct warehouse *warehouse, int64_t id)
{
    struct vat *vat = warehouse_find_vat(warehouse, id);

    if (vat == NULL)
        return;
    vat->then = VAT_THEN_FREE;
    warehouse_evict(warehouse, id);
    if (vat->state == VAT_NO_WORKER)
        discard_vat(warehouse, vat);
}

/* ---- losses and the end ---- */

/* No worker has started from the vat's last snapshot: the one before is used, and another is due.
 */
static int drop_unproven(struct warehouse *warehouse, struct vat *vat, struct error *error)
{
    vat->unproven = false;
    vat_close_origin(vat);
    if (store_snapshot_delete(warehouse->options.store, vat->identity.id, vat->identity.incarnation,
                              vat->saved_at, error) != 0)
        return -1;
    set_saved_at(warehouse, vat);
    return 0;
}

static enum warehouse_work work_in(const struct vat *vat, enum vat_state state)
{
    switch (state) {
    case VAT_DELIVERING:
    case VAT_STOPPING:
        return WAREHOUSE_DELIVERY;
    case VAT_SNAPSHOTTING:
        return WAREHOUSE_SNAPSHOT;
    default:
        return vat->unproven ? WAREHOUSE_RESTART : WAREHOUSE_START;
    }
}

static void report_loss(struct warehouse *warehouse, struct vat *vat, enum vat_state before,
                        enum vat_loss kind)
{
    const struct warehouse_loss loss = {
        .come = vat->delivery.stopped ? vat->delivery.stopped_at : stamp_now(),
        .reason = vat->reason.text,
        .kind = kind,
        .work = work_in(vat, before),
        .used = vat->delivery.stopped ? &vat->delivery.used : NULL,
    };
    struct error error;

    vat->delivery.text = NULL;
    vat_clear_start(vat);
    if (loss.work == WAREHOUSE_RESTART && drop_unproven(warehouse, vat, &error) != 0)
        fail_warehouse(warehouse, &error);
    else
        report_event(warehouse, &(struct warehouse_event){.kind = WAREHOUSE_EVENT_LOST,
                                                          .vat = vat->identity.id,
                                                          .loss = &loss});
}

static bool was_withdrawn(const struct vat *vat, enum vat_state before)
{
    return (before == VAT_DELIVERING || before == VAT_STOPPING) && vat->delivery.text == NULL;
}

static void on_vat_lost(void *context, struct vat *vat, enum vat_state before)
{
    struct warehouse *warehouse = context;
    enum vat_loss kind;

    /* A delivery that was withdrawn is no loss. */
    if (warehouse->owner.silent || vat->then == VAT_THEN_FREE || was_withdrawn(vat, before))
        return;
    kind = vat_loss(before, &vat->reason, vat->replay.end > 0);
    if (kind == VAT_LOSS_IDLE)
        log_line("%s: %s; the vat restarts at its next delivery", vat_name(vat), vat->reason.text);
    else if (kind != VAT_LOSS_NONE)
        report_loss(warehouse, vat, before, kind);
}

static bool is_empty(const struct warehouse *warehouse)
{
    for (size_t i = 0; i < warehouse->vat_count; i++)
        if (warehouse->vats[i] != NULL && warehouse->vats[i]->state != VAT_NO_WORKER)
            return false;
    return !runtime_snapshots_are_making(&warehouse->owner.runtime_snapshots);
}

static void report_closed(struct warehouse *warehouse)
{
    if (!warehouse->closing || warehouse->closed || !is_empty(warehouse))
        return;
    for (size_t i = 0; i < warehouse->vat_count; i++)
        if (warehouse->vats[i] != NULL)
            discard_vat(warehouse, warehouse->vats[i]);
    warehouse->closed = true;
    report_event(warehouse, &(struct warehouse_event){.kind = WAREHOUSE_EVENT_CLOSED});
}

static void on_vat_settled(void *context, struct vat *vat)
{
    struct warehouse *warehouse = context;

    if (vat->state == VAT_NO_WORKER && vat->then == VAT_THEN_FREE && !warehouse->closing)
        discard_vat(warehouse, vat);
    balance_workers(warehouse);
    report_closed(warehouse);
}

/* The vats that wait for it continue, or are lost; others have theirs made. */
static void on_runtime_snapshot_made(void *context, enum vat_runtime_kind kind,
                                     enum runtime_snapshot_result result, const struct error *error)
{
    struct warehouse *warehouse = context;

    for (size_t i = 0; i < warehouse->vat_count; i++) {
        struct vat *vat = warehouse->vats[i];

        if (vat != NULL && vat->state == VAT_PREPARING)
            vat_prepare_again(vat, vat->runtime.kind == kind ? result : RUNTIME_SNAPSHOT_READY,
                              error);
    }
    report_closed(warehouse);
}

/* ---- beginning and end ---- */

struct warehouse *warehouse_new(const struct warehouse_options *options,
                                const struct warehouse_listener *listener, struct error *error)
{
    struct warehouse *warehouse = calloc(1, sizeof *warehouse);

    if (warehouse == NULL) {
        error_memory(error, "the vats");
        return NULL;
    }
    warehouse->options = *options;
    warehouse->listener = *listener;
    warehouse->owner = (struct vat_owner){
        .options = &warehouse->options,
        .listener = &warehouse->listener,
        .runtime_snapshots =
            {
                .loop = options->loop,
                .launcher = options->launcher,
                .store = options->store,
                .timeout_ms = options->timeout_ms,
                .context = warehouse,
                .made = on_runtime_snapshot_made,
            },
        .exit_timeout_ms = EXIT_MS,
        .context = warehouse,
        .lost = on_vat_lost,
        .settled = on_vat_settled,
        .failed = fail_warehouse,
    };
    return warehouse;
}

void warehouse_close(struct warehouse *warehouse)
{
    if (warehouse->closing)
        return;
    warehouse->closing = warehouse->owner.silent = true;
    runtime_snapshots_cancel(&warehouse->owner.runtime_snapshots);
    for (size_t i = 0; i < warehouse->vat_count; i++)
        warehouse_evict(warehouse, (int64_t)i);
    report_closed(warehouse);
}

void warehouse_shorten_timeout(struct warehouse *warehouse)
{
    struct vat *vat;

    warehouse->owner.exit_timeout_ms = SHORT_EXIT_MS;
    for (size_t i = 0; i < warehouse->vat_count; i++) {
        vat = warehouse->vats[i];
        if (vat != NULL && (vat->state == VAT_LEAVING || vat->state == VAT_RESTARTING))
            vat_timer_start(&vat->timer, SHORT_EXIT_MS);
    }
}

void warehouse_free(struct warehouse *warehouse)
{
    if (warehouse == NULL)
        return;
    cpu_wait_close(&warehouse->owner.cpu_wait);
    vat_runtimes_free(&warehouse->owner.runtimes);
    runtime_snapshots_free(&warehouse->owner.runtime_snapshots);
    free(warehouse->vats);
    free(warehouse);
}
