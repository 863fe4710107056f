/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TESTS_UNIT_SUPERVISOR_SCHEDULER_HARNESS_H
#define GASPIPE_TESTS_UNIT_SUPERVISOR_SCHEDULER_HARNESS_H

#include <string.h>

#include "base/log.h"
#include "kernel/kernel.h"
#include "store/store.h"
#include "supervisor/schedule/scheduler.h"
#include "supervisor/schedule/speculation.h"
#include "tests/unit/supervisor/fake_warehouse.h"

/*
 * A scheduler with the real kernel over a store in memory, and the fake warehouse. What it
 * reports is noted, a line each.
 */
struct world {
    uv_loop_t loop;
    struct launch_config launcher;
    struct store *store;
    struct scheduler *scheduler;
    struct buf reports;              /* since the test looked last */
    int committed, syncing, durable; /* commits that came to each stage */
};

static inline void note_delivered(void *context, const struct delivery_report *report)
{
    struct world *world = context;

    buf_printf(&world->reports, "%s %s%s%s%s", report->vat_id, report->description,
               report->ok ? "" : ": ", report->ok ? "" : report->error,
               report->vat_ended ? "; vat ended" : "");
    if (report->vat_ended && report->compute != REPORT_NONE)
        buf_printf(&world->reports, ", after %" PRId64 " computrons", report->compute);
    buf_append_byte(&world->reports, '\n');
}

static inline void note_undone(void *context)
{
    struct world *world = context;

    buf_append_string(&world->reports, "undone\n");
}

static inline void note_idle(void *context)
{
    struct world *world = context;

    buf_append_string(&world->reports, "idle\n");
}

static inline void note_committed(void *context)
{
    struct world *world = context;

    buf_append_string(&world->reports, "committed\n");
    world->committed++;
}

static inline void note_syncing(void *context)
{
    struct world *world = context;

    assert_int_equal(world->syncing, world->durable); /* one at a time */
    world->syncing = world->committed;
}

static inline void note_durable(void *context)
{
    struct world *world = context;

    assert_true(world->durable < world->syncing);
    world->durable = world->syncing;
}

static inline void note_failed(void *context, const struct error *error)
{
    struct world *world = context;

    buf_printf(&world->reports, "failed: %s\n", error->text);
}

static inline void note_closed(void *context)
{
    struct world *world = context;

    buf_append_string(&world->reports, "closed\n");
}

static inline void world_expect(struct world *world, const char *reports)
{
    assert_string_equal(buf_string(&world->reports), reports);
    buf_clear(&world->reports);
}

/* The options' loop and store are the world's, and a copy of the launcher. A directory of NULL: a
 * store in memory. */
static inline void world_open_in(struct world *world, const char *directory,
                                 struct scheduler_options options)
{
    const struct scheduler_listener listener = {
        .context = world,
        .delivered = note_delivered,
        .undone = note_undone,
        .idle = note_idle,
        .committed = note_committed,
        .syncing = note_syncing,
        .durable = note_durable,
        .failed = note_failed,
        .closed = note_closed,
    };
    struct error error;

    memset(world, 0, sizeof *world);
    buf_append_string(&world->reports, "");
    assert_int_equal(uv_loop_init(&world->loop), 0);
    world->store = store_open(directory, &error);
    assert_non_null(world->store);
    options.loop = &world->loop;
    if (options.launcher != NULL)
        world->launcher = *options.launcher;
    options.launcher = &world->launcher;
    options.store = world->store;
    if (options.jobs == 0)
        options.jobs = 1;
    if (options.cranks_per_commit == 0)
        options.cranks_per_commit = 100;
    world->scheduler = scheduler_new(&options, &listener, &error);
    assert_non_null(world->scheduler);
}

static inline void world_open(struct world *world, struct scheduler_options options)
{
    world_open_in(world, NULL, options);
}

static inline void world_close(struct world *world)
{
    scheduler_close(world->scheduler, false);
    assert_int_equal(world->durable, world->committed);
    assert_int_equal(uv_run(&world->loop, UV_RUN_DEFAULT), 0);
    scheduler_free(world->scheduler);
    assert_int_equal(uv_loop_close(&world->loop), 0);
    store_close(world->store);
    buf_free(&world->reports);
}

static inline int64_t world_add_vat(struct world *world, const char *name,
                                    enum kernel_vat_runtime runtime)
{
    struct kernel_vat_setup setup = {.name = name, .bundle_id = "b1-x", .runtime = runtime};
    struct error error;
    int64_t vat;

    if (kernel_provide_vat(scheduler_kernel(world->scheduler), &setup, &vat, &error) != 0)
        fail_msg("%s", error.text);
    return vat;
}

/* Queues hello() to the vat's root, without a result. */
static inline void world_queue(struct world *world, const char *name)
{
    struct kernel *kernel = scheduler_kernel(world->scheduler);
    char root[KERNEL_REF_SIZE];
    json_t *methargs = json_pack("{s:s,s:[]}", "body", "#[\"hello\",[]]", "slots");
    struct error error;
    bool found = false;

    assert_int_equal(scheduler_open_transaction(world->scheduler, &error), 0);
    if (kernel_root(kernel, name, root, &found, &error) != 0 || !found ||
        kernel_queue_message(kernel, root, methargs, NULL, &error) != 0)
        fail_msg("cannot queue a message to %s", name);
    json_decref(methargs);
}

static inline void note_timer(uv_handle_t *handle, void *active)
{
    if (handle->type == UV_TIMER && uv_is_active(handle))
        *(bool *)active = true;
}

/* Waits for the pause after a host failure to end. A round of the loop may end before: at another
 * event, or because of a clock of milliseconds. */
static inline void world_wait(struct world *world)
{
    bool paused;

    while (world->durable < world->committed)
        (void)uv_run(&world->loop, UV_RUN_ONCE);
    do {
        (void)uv_run(&world->loop, UV_RUN_ONCE);
        paused = false;
        uv_walk(&world->loop, note_timer, &paused);
    } while (paused);
}

/* The delivery that the vat was given is sent and answered. */
static inline void world_play(int64_t vat)
{
    fake_sent(vat);
    fake_answers(vat);
}

/* Adds a plain vat, "v1", and starts it; no delivery is in progress. */
static inline void world_start(struct world *world)
{
    world_add_vat(world, "v1", KERNEL_VAT_PLAIN);
    scheduler_start(world->scheduler, false);
    fake_ready(1);
    world_play(1);
    fake_expect("start v1\ndeliver v1 startVat\n");
    world_expect(world, "v1 startVat\ncommitted\nidle\n");
}

/* A world with that vat. */
static inline void world_open_started(struct world *world, struct scheduler_options options)
{
    world_open(world, options);
    world_start(world);
}

#endif
