/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TESTS_UNIT_SUPERVISOR_FAKE_WAREHOUSE_H
#define GASPIPE_TESTS_UNIT_SUPERVISOR_FAKE_WAREHOUSE_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "supervisor/vats/warehouse.h"

/*
 * A warehouse without workers, linked in the place of the real one. It notes each call as a
 * line; the test plays the workers with the listener that it was given. One file of a test
 * may include this.
 */
enum { FAKE_VATS = 20 };

struct fake_vat {
    bool known, waits, speculative;
    bool has_older; /* snapshot, to fall back on; the test's */
    int64_t saved_at;
    const char *vd; /* of the delivery in progress */
};

struct warehouse {
    struct warehouse_listener listener;
    struct fake_vat vats[FAKE_VATS];
    struct buf calls;    /* since the test looked last, a line each */
    int64_t computes_us; /* a worker, for a delivery */
};

static struct warehouse *fake; /* the one that the scheduler under test has made */

static inline struct stamp fake_now(void)
{
    static int64_t moment;

    moment += 1000;
    return (struct stamp){.real = moment, .mono = moment * 1000};
}

static inline void fake_note(const char *call, int64_t vat)
{
    buf_printf(&fake->calls, "%s v%" PRId64 "\n", call, vat);
}

/* Checks the calls since the last check. */
static inline void fake_expect(const char *calls)
{
    assert_string_equal(buf_string(&fake->calls), calls);
    buf_clear(&fake->calls);
}

/* ---- the test plays a worker ---- */

static inline void fake_event(const struct warehouse_event *event)
{
    fake->listener.event(fake->listener.context, event);
}

static inline void fake_ready(int64_t vat)
{
    fake->vats[vat].waits = true;
    fake_event(&(struct warehouse_event){.kind = WAREHOUSE_EVENT_READY, .vat = vat});
}

static inline void fake_sent(int64_t vat)
{
    fake_event(
        &(struct warehouse_event){.kind = WAREHOUSE_EVENT_SENT, .vat = vat, .at = fake_now()});
}

static inline void fake_asks(int64_t vat, const char *vsc)
{
    struct buf message = {0};
    struct vat_request request;
    struct error error;

    buf_printf(&message, "[\"syscall\",%s]", vsc);
    if (vat_request_parse(&request, message.data, message.length, &error) != 0)
        fail_msg("%s", error.text);
    fake_event(&(struct warehouse_event){
        .kind = WAREHOUSE_EVENT_SYSCALL, .vat = vat, .at = fake_now(), .request = &request});
    vat_request_free(&request);
    buf_free(&message);
}

static inline void fake_answers(int64_t vat)
{
    const struct meter meter = {
        .compute = 100,
        .cpu_known = true,
        .cpu.user = fake->computes_us,
    };
    const struct warehouse_answer answer = {.come = fake_now(), .meter = &meter};

    fake->vats[vat].waits = true;
    fake->vats[vat].vd = NULL;
    fake_event(
        &(struct warehouse_event){.kind = WAREHOUSE_EVENT_ANSWERED, .vat = vat, .answer = &answer});
}

static inline void fake_lose(int64_t vat, const struct warehouse_loss *loss)
{
    fake->vats[vat].waits = false;
    fake->vats[vat].vd = NULL;
    fake_event(&(struct warehouse_event){.kind = WAREHOUSE_EVENT_LOST, .vat = vat, .loss = loss});
}

static inline void fake_dies(int64_t vat, enum vat_loss kind)
{
    fake_lose(vat, &(struct warehouse_loss){
                       .come = fake_now(), .reason = "its worker was killed", .kind = kind});
}

static inline void fake_saved(int64_t vat, int64_t position)
{
    fake->vats[vat].saved_at = position;
    fake_event(&(struct warehouse_event){.kind = WAREHOUSE_EVENT_SAVED, .vat = vat});
}

/* ---- the warehouse's functions ---- */

struct warehouse *warehouse_new(const struct warehouse_options *options,
                                const struct warehouse_listener *listener, struct error *error)
{
    (void)options;
    (void)error;
    fake = calloc(1, sizeof *fake);
    assert_non_null(fake);
    fake->listener = *listener;
    buf_append_string(&fake->calls, "");
    return fake;
}

int warehouse_set_vat(struct warehouse *warehouse, const struct warehouse_vat *vat,
                      struct error *error)
{
    (void)error;
    if (!warehouse->vats[vat->id].known)
        warehouse->vats[vat->id] = (struct fake_vat){.known = true, .saved_at = -1};
    return 0;
}

void warehouse_start(struct warehouse *warehouse, int64_t vat)
{
    (void)warehouse;
    fake_note("start", vat);
}

bool warehouse_fall_back(struct warehouse *warehouse, int64_t vat)
{
    const bool has = warehouse->vats[vat].has_older;

    warehouse->vats[vat].has_older = false;
    if (has)
        fake_note("fall back", vat);
    return has;
}

int warehouse_log_defer(struct warehouse *warehouse, int64_t vat, struct error *error)
{
    (void)warehouse;
    (void)error;
    fake_note("log defer", vat);
    return 0;
}

int warehouse_log_join(struct warehouse *warehouse, int64_t vat, struct error *error)
{
    (void)warehouse;
    (void)error;
    fake_note("log join", vat);
    return 0;
}

static inline void fake_deliver(const char *call, int64_t vat, const char *vd)
{
    assert_null(fake->vats[vat].vd);
    fake->vats[vat].vd = vd;
    fake->vats[vat].waits = false;
    buf_printf(&fake->calls, "%s v%" PRId64 " %.*s\n", call, vat, (int)strcspn(vd + 2, "\""),
               vd + 2);
}

void warehouse_deliver(struct warehouse *warehouse, int64_t id, const char *vd)
{
    (void)warehouse;
    fake_deliver("deliver", id, vd);
}

void warehouse_deliver_speculatively(struct warehouse *warehouse, int64_t id, const char *vd)
{
    warehouse->vats[id].speculative = true;
    fake_deliver("deliver early", id, vd);
}

bool warehouse_is_speculative(const struct warehouse *warehouse, int64_t id)
{
    return warehouse->vats[id].speculative;
}

void warehouse_confirm(struct warehouse *warehouse, int64_t id)
{
    warehouse->vats[id].speculative = false;
    fake_note("catch up", id);
}

static inline void fake_end_worker(const char *call, int64_t vat)
{
    fake->vats[vat].waits = fake->vats[vat].speculative = false;
    fake->vats[vat].vd = NULL;
    fake_note(call, vat);
}

void warehouse_discard_speculation(struct warehouse *warehouse, int64_t id)
{
    (void)warehouse;
    fake_end_worker("take back", id);
}

void warehouse_redeliver(struct warehouse *warehouse, int64_t id, const char *vd)
{
    (void)warehouse;
    fake_end_worker("discard", id);
    fake_deliver("deliver again", id, vd);
}

void warehouse_evict(struct warehouse *warehouse, int64_t id)
{
    (void)warehouse;
    fake_end_worker("evict", id);
}

void warehouse_remove(struct warehouse *warehouse, int64_t id)
{
    fake_end_worker("remove", id);
    warehouse->vats[id].known = false;
}

struct stamp warehouse_reply(struct warehouse *warehouse, int64_t vat, struct iovec answer)
{
    buf_printf(&warehouse->calls, "reply v%" PRId64 " %.*s\n", vat, (int)answer.iov_len,
               (const char *)answer.iov_base);
    return fake_now();
}

void warehouse_stop_timer(struct warehouse *warehouse, int64_t vat)
{
    (void)warehouse;
    fake_note("stop timer", vat);
}

void warehouse_restart_timer(struct warehouse *warehouse, int64_t vat)
{
    (void)warehouse;
    fake_note("restart timer", vat);
}

/* It reports the loss at once, which the real one does when the worker has ended. */
void warehouse_abort_delivery(struct warehouse *warehouse, int64_t vat, enum error_kind blame,
                              const char *reason)
{
    struct stamp stamps[2] = {fake_now(), fake_now()};
    const struct meter used = {.compute = 50, .stamps = stamps, .stamp_count = 2};
    char kept[256];

    (void)warehouse;
    snprintf(kept, sizeof kept, "%s", reason);
    fake_note("abort", vat);
    fake_lose(vat, &(struct warehouse_loss){.come = fake_now(),
                                            .reason = kept,
                                            .kind = blame == ERROR_DELIVERY ? VAT_LOSS_ENDS_VAT
                                                                            : VAT_LOSS_HOPELESS,
                                            .used = &used});
}

int64_t warehouse_saved_at(const struct warehouse *warehouse, int64_t vat)
{
    return warehouse->vats[vat].saved_at;
}

bool warehouse_waits(const struct warehouse *warehouse, int64_t id)
{
    return warehouse->vats[id].waits;
}

bool warehouse_knows(const struct warehouse *warehouse, int64_t vat)
{
    return warehouse->vats[vat].known;
}

const struct kernel_limits *warehouse_limits(const struct warehouse *warehouse, int64_t id)
{
    (void)warehouse;
    (void)id;
    return NULL;
}

const char *warehouse_name(const struct warehouse *warehouse, int64_t vat)
{
    static const char *const names[FAKE_VATS] = {"",    "v1",  "v2",  "v3",  "v4",  "v5",  "v6",
                                                 "v7",  "v8",  "v9",  "v10", "v11", "v12", "v13",
                                                 "v14", "v15", "v16", "v17", "v18", "v19"};

    (void)warehouse;
    return names[vat];
}

void warehouse_save(struct warehouse *warehouse, int64_t vat)
{
    warehouse->vats[vat].waits = false;
    fake_note("save", vat);
}

void warehouse_close(struct warehouse *warehouse)
{
    (void)warehouse;
    fake_event(&(struct warehouse_event){.kind = WAREHOUSE_EVENT_CLOSED});
}

void warehouse_shorten_timeout(struct warehouse *warehouse)
{
    (void)warehouse;
}

void warehouse_free(struct warehouse *warehouse)
{
    if (warehouse == NULL)
        return;
    buf_free(&warehouse->calls);
    free(warehouse);
}

#endif
