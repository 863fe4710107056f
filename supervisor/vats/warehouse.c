/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/vats/warehouse.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "proto/command.h"
#include "supervisor/vats/vat.h"
#include "supervisor/vats/vat_loss.h"

void warehouse_fail(struct warehouse *warehouse, const struct error *error)
{
    if (warehouse->failed || warehouse->closing)
        return;
    warehouse->failed = true;
    warehouse->listener.failed(warehouse->listener.context, error);
}

static const char *name_of(const struct vat *vat)
{
    return vat->name[0] != '\0' ? vat->name : vat->id_text;
}

/* ---- vats by number ---- */

static struct vat *find(const struct warehouse *warehouse, int64_t id)
{
    return (uint64_t)id < warehouse->vat_count ? warehouse->vats[id] : NULL;
}

static int make_room(struct warehouse *warehouse, int64_t id, struct error *error)
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

static void timer_closed(uv_handle_t *handle)
{
    vat_free(handle->data);
}

/* It has no worker. Once: its owner may have had it removed while it was told of its end. */
static void discard(struct warehouse *warehouse, struct vat *vat)
{
    if (find(warehouse, vat->id) != vat)
        return;
    warehouse->vats[vat->id] = NULL;
    uv_close((uv_handle_t *)&vat->timer, timer_closed);
}

/* Where its last snapshot stands. */
static int find_saved(struct vat *vat, struct error *error)
{
    struct store_snapshot snapshot;
    int64_t position;
    bool found;

    if (store_snapshot_last(vat->warehouse->options.store, vat->id, vat->incarnation, &position,
                            &snapshot, &found, error) != 0)
        return -1;
    vat->saved_at = found ? position : -1;
    return 0;
}

static int add(struct warehouse *warehouse, const struct warehouse_vat *described,
               struct error *error)
{
    struct vat *vat;

    if (make_room(warehouse, described->id, error) != 0)
        return -1;
    vat = vat_new(warehouse, described);
    if (vat == NULL)
        return error_memory(error, "a vat");
    warehouse->vats[vat->id] = vat;
    if (vat->name == NULL || vat->bundle_id == NULL)
        error_memory(error, "a vat");
    else if (find_saved(vat, error) == 0)
        return 0;
    discard(warehouse, vat);
    return -1;
}

static int renew(struct vat *vat, const struct warehouse_vat *described, struct error *error)
{
    char *bundle_id;

    vat->removed = false;
    vat->replay.first_num = described->first_delivery;
    if (vat->incarnation == described->incarnation &&
        strcmp(vat->bundle_id, described->bundle_id) == 0)
        return 0;
    bundle_id = strdup(described->bundle_id);
    if (bundle_id == NULL)
        return error_memory(error, "a vat");
    free(vat->bundle_id);
    vat->bundle_id = bundle_id;
    vat->incarnation = described->incarnation;
    vat->announced = false;
    vat->wanted = false;
    vat_event(vat, VAT_EVENT_PUT_AWAY);
    return 0;
}

int warehouse_provide(struct warehouse *warehouse, const struct warehouse_vat *vat,
                      struct error *error)
{
    struct vat *known = find(warehouse, vat->id);

    return known != NULL ? renew(known, vat, error) : add(warehouse, vat, error);
}

/* ---- work for them ---- */

static void want(struct vat *vat)
{
    vat->wanted = true;
    vat->wanted_at = ++vat->warehouse->wants;
    warehouse_share_out(vat->warehouse);
}

void warehouse_bring(struct warehouse *warehouse, int64_t vat)
{
    want(find(warehouse, vat));
}

int warehouse_log_aside(struct warehouse *warehouse, int64_t vat, struct error *error)
{
    struct slog_writer *slog = warehouse->options.slog;
    struct vat *known = find(warehouse, vat);

    if (slog == NULL)
        return 0;
    known->aside = slog_writer_aside(slog);
    return known->aside != NULL ? 0 : error_memory(error, "lines of the slogfile");
}

int warehouse_log_join(struct warehouse *warehouse, int64_t vat, struct error *error)
{
    struct vat *known = find(warehouse, vat);
    struct slog_writer *aside = known->aside;

    known->aside = NULL;
    return slog_writer_join(warehouse->options.slog, aside, error);
}

static void prepare(struct vat *vat, const char *vd)
{
    static const char start[] = "[\"startVat\"";

    vat->vd = vd;
    vat->starts = strncmp(vd, start, strlen(start)) == 0;
}

void warehouse_deliver(struct warehouse *warehouse, int64_t id, const char *vd)
{
    struct vat *vat = find(warehouse, id);

    prepare(vat, vd);
    if (vat->state == VAT_IDLE) {
        vat->wanted_at = ++warehouse->wants;
        vat_event(vat, VAT_EVENT_DELIVER);
    } else {
        want(vat);
    }
}

void warehouse_deliver_ahead(struct warehouse *warehouse, int64_t id, const char *vd)
{
    struct vat *vat = find(warehouse, id);

    prepare(vat, vd);
    vat->ahead = true;
    vat_event(vat, VAT_EVENT_DELIVER);
}

bool warehouse_is_ahead(const struct warehouse *warehouse, int64_t id)
{
    const struct vat *vat = find(warehouse, id);

    return vat != NULL && vat_is_ahead(vat);
}

void warehouse_catch_up(struct warehouse *warehouse, int64_t id)
{
    struct vat *vat = find(warehouse, id);

    vat->ahead = false;
    vat->wanted_at = ++warehouse->wants;
}

void warehouse_take_back(struct warehouse *warehouse, int64_t id)
{
    struct vat *vat = find(warehouse, id);
    const bool was_ahead = vat != NULL && vat->ahead;

    warehouse_put_away(warehouse, id);
    if (was_ahead)
        vat->quiet = true;
}

struct stamp warehouse_reply(struct warehouse *warehouse, int64_t vat, struct iovec answer)
{
    return vat_send_frame(find(warehouse, vat), COMMAND_ANSWER, answer);
}

void warehouse_hold(struct warehouse *warehouse, int64_t vat)
{
    vat_stop_timer(find(warehouse, vat));
}

void warehouse_let_go(struct warehouse *warehouse, int64_t vat)
{
    vat_start_timer(find(warehouse, vat), warehouse->options.timeout_ms);
}

void warehouse_condemn(struct warehouse *warehouse, int64_t vat, const char *reason)
{
    vat_kill_for(find(warehouse, vat), ERROR_DELIVERY, "%s", reason);
}

int64_t warehouse_saved_at(const struct warehouse *warehouse, int64_t vat)
{
    return find(warehouse, vat)->saved_at;
}

bool warehouse_waits(const struct warehouse *warehouse, int64_t id)
{
    const struct vat *vat = find(warehouse, id);

    return vat != NULL && vat->state == VAT_IDLE;
}

bool warehouse_knows(const struct warehouse *warehouse, int64_t vat)
{
    return find(warehouse, vat) != NULL;
}

const char *warehouse_name(const struct warehouse *warehouse, int64_t vat)
{
    return name_of(find(warehouse, vat));
}

const struct kernel_limits *warehouse_limits(const struct warehouse *warehouse, int64_t id)
{
    const struct vat *vat = find(warehouse, id);

    return vat != NULL ? &vat->limits : NULL;
}

void warehouse_save(struct warehouse *warehouse, int64_t vat)
{
    vat_event(find(warehouse, vat), VAT_EVENT_SAVE);
}

void warehouse_put_away(struct warehouse *warehouse, int64_t id)
{
    struct vat *vat = find(warehouse, id);

    if (vat == NULL)
        return;
    vat->wanted = false;
    vat->quiet = false;
    vat_put_away(vat);
}

void warehouse_remove(struct warehouse *warehouse, int64_t id)
{
    struct vat *vat = find(warehouse, id);

    if (vat == NULL)
        return;
    vat->removed = true;
    warehouse_put_away(warehouse, id);
    if (vat->state == VAT_AWAY && vat->process == NULL)
        discard(warehouse, vat);
}

/* ---- what becomes of them ---- */

/* A worker that never came to where its vat stands. */
static void fail_to_bring(struct vat *vat)
{
    struct error error;

    error_set(&error, ERROR_SYSTEM, "vat %s cannot be brought back: %s", name_of(vat), vat->reason);
    warehouse_fail(vat->warehouse, &error);
}

static void tell_owner(struct vat *vat)
{
    const struct warehouse_listener *listener = &vat->warehouse->listener;
    const struct warehouse_loss loss = {
        .come = stamp_now(),
        .reason = vat->reason,
        .blame = vat->blame,
    };

    vat->vd = NULL;
    vat->wanted = false;
    listener->lost(listener->context, vat->id, &loss);
}

void warehouse_tell_lost(struct vat *vat, enum vat_state before)
{
    /* A delivery that was taken back is nobody's loss. */
    if (vat->warehouse->failed || vat->warehouse->closing || vat->removed ||
        (before == VAT_DELIVERING && vat->vd == NULL))
        return;
    switch (vat_loss(before, vat->blame, vat->replay.end > 0)) {
    case VAT_LOSS_ENDS_VAT:
    case VAT_LOSS_RETRY:
        tell_owner(vat);
        break;
    case VAT_LOSS_HOPELESS:
        fail_to_bring(vat);
        break;
    case VAT_LOSS_IDLE:
        log_line("%s: %s; the vat comes back when it is delivered to", name_of(vat), vat->reason);
        break;
    case VAT_LOSS_NONE:
    case VAT_LOSSES:
        break;
    }
}

static void tell_when_closed(struct warehouse *warehouse)
{
    if (!warehouse->closing || warehouse->closed)
        return;
    for (size_t i = 0; i < warehouse->vat_count; i++)
        if (warehouse->vats[i] != NULL && warehouse->vats[i]->state != VAT_AWAY)
            return;
    for (size_t i = 0; i < warehouse->vat_count; i++)
        if (warehouse->vats[i] != NULL)
            discard(warehouse, warehouse->vats[i]);
    warehouse->closed = true;
    warehouse->listener.closed(warehouse->listener.context);
}

void warehouse_forget(struct vat *vat)
{
    struct warehouse *warehouse = vat->warehouse;

    if (warehouse->closing) {
        tell_when_closed(warehouse);
    } else {
        if (vat->removed)
            discard(warehouse, vat);
        warehouse_share_out(warehouse);
    }
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
    return warehouse;
}

void warehouse_close(struct warehouse *warehouse)
{
    if (warehouse->closing)
        return;
    warehouse->closing = true;
    for (size_t i = 0; i < warehouse->vat_count; i++)
        warehouse_put_away(warehouse, (int64_t)i);
    tell_when_closed(warehouse);
}

void warehouse_free(struct warehouse *warehouse)
{
    if (warehouse == NULL)
        return;
    vat_runtimes_free(&warehouse->runtimes);
    warm_starts_free(&warehouse->warm);
    free(warehouse->vats);
    free(warehouse);
}
