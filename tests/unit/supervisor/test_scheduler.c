/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/supervisor/scheduler_harness.h"

static void a_vat_starts_and_is_committed_before_anything_else(void **state)
{
    struct world world;

    (void)state;
    world_open(&world, (struct scheduler_options){.cranks_per_commit = 1});
    world_add_vat(&world, "v1", KERNEL_VAT_PLAIN);
    scheduler_start(world.scheduler, false);
    fake_expect("start v1\n");
    world_expect(&world, "");
    fake_ready(1);
    fake_expect("deliver v1 startVat\n");
    world_play(1);
    /* New vats are one transaction, however few cranks are committed together. */
    world_expect(&world, "v1 startVat\ncommitted\nidle\n");
    world_close(&world);
}

static void a_message_is_delivered_with_its_syscalls(void **state)
{
    struct world world;

    (void)state;
    world_open_started(&world, (struct scheduler_options){0});
    world_queue(&world, "v1");
    scheduler_run(world.scheduler);
    fake_expect("deliver v1 message\n");
    fake_sent(1);
    fake_asks(1, "[\"vatstoreSet\",\"key\",\"value\"]");
    fake_asks(1, "[\"vatstoreGet\",\"key\"]");
    fake_expect("reply v1 [\"ok\",null]\nreply v1 [\"ok\",\"value\"]\n");
    fake_answers(1);
    world_expect(&world, "v1 (o+0).hello -> null\nidle\n");
    fake_expect("");
    world_close(&world);
}

static void several_vats_start_side_by_side(void **state)
{
    struct world world;

    (void)state;
    world_open(&world, (struct scheduler_options){0});
    world_add_vat(&world, "v1", KERNEL_VAT_PLAIN);
    world_add_vat(&world, "v2", KERNEL_VAT_PLAIN);
    scheduler_start(world.scheduler, false);
    fake_expect("start v1\nlog defer v2\nstart v2\n");
    fake_ready(2);
    fake_expect("");
    fake_ready(1);
    fake_expect("log join v2\ndeliver v1 startVat\n");
    world_play(1);
    fake_expect("deliver v2 startVat\n");
    world_play(2);
    world_expect(&world, "v1 startVat\nv2 startVat\ncommitted\nidle\n");
    world_close(&world);
}

static void with_few_workers_none_is_started_to_wait(void **state)
{
    struct world world;

    (void)state;
    world_open(&world, (struct scheduler_options){.max_workers = 1});
    world_add_vat(&world, "v1", KERNEL_VAT_PLAIN);
    scheduler_start(world.scheduler, false);
    fake_expect("deliver v1 startVat\n");
    world_play(1);
    world_expect(&world, "v1 startVat\ncommitted\nidle\n");
    world_close(&world);
}

static void cranks_are_committed_every_so_many(void **state)
{
    struct world world;

    (void)state;
    world_open_started(&world, (struct scheduler_options){.cranks_per_commit = 2});
    /* A message is two cranks: it is routed, and then delivered. Routing is not committed alone. */
    for (int i = 0; i < 3; i++)
        world_queue(&world, "v1");
    scheduler_run(world.scheduler);
    world_expect(&world, "");
    world_play(1);
    world_expect(&world, "v1 (o+0).hello -> null\ncommitted\n");
    world_play(1);
    world_expect(&world, "v1 (o+0).hello -> null\n");
    world_play(1);
    world_expect(&world, "v1 (o+0).hello -> null\ncommitted\nidle\n");
    world_close(&world);
}

/* The harness checks that one sync is in progress at a time, and at the end that none is missing.
 */
static void remove_store(const char *directory)
{
    static const char *const names[] = {"gaspipe.sqlite", "gaspipe.sqlite-wal",
                                        "gaspipe.sqlite-shm", "gaspipe.mark"};
    char path[64];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        (void)unlink(path); /* the store may not have this one */
    }
    assert_int_equal(rmdir(directory), 0);
}

/* On the disk, since a store in memory has nothing to sync. */
static void cranks_continue_while_a_commit_is_synced(void **state)
{
    char directory[] = "/tmp/test_scheduler.XXXXXX";
    struct world world;

    (void)state;
    assert_non_null(mkdtemp(directory));
    world_open_in(&world, directory, (struct scheduler_options){.cranks_per_commit = 1});
    world_start(&world);
    assert_int_equal(world.durable, 0); /* nothing is before the loop runs */
    assert_int_equal(world.syncing, 1);
    for (int i = 0; i < 2; i++) {
        world_queue(&world, "v1");
        scheduler_run(world.scheduler);
        world_play(1);
    }
    assert_int_equal(world.committed, 3);
    /* The disk may have been fast; that the last is durable is not noticed before the loop runs. */
    assert_in_range(world.durable, 0, 2);
    while (world.durable < 3)
        (void)uv_run(&world.loop, UV_RUN_ONCE);
    assert_int_equal(world.syncing, 3);
    world_close(&world);
    remove_store(directory);
}

static void closing_commits_whole_cranks_alone(void **state)
{
    struct world world;

    (void)state;
    world_open_started(&world, (struct scheduler_options){0});
    world_queue(&world, "v1");
    scheduler_run(world.scheduler);
    fake_sent(1);
    fake_asks(1, "[\"vatstoreSet\",\"key\",\"value\"]");
    scheduler_close(world.scheduler, false);
    world_expect(&world, "committed\nclosed\n");
    world_close(&world);
}

/* ---- host failures ---- */

static void host_failure_is_retried_up_to_the_limit(void **state)
{
    struct world world;

    (void)state;
    world_open_started(&world, (struct scheduler_options){.retries = 2});
    world_queue(&world, "v1");
    scheduler_run(world.scheduler);
    for (int i = 0; i < 2; i++) {
        fake_expect("deliver v1 message\n");
        fake_sent(1);
        fake_dies(1, VAT_LOSS_HOST);
        fake_expect("evict v1\n");
        world_expect(&world, "undone\n");
        world_wait(&world);
    }
    fake_expect("deliver v1 message\n");
    fake_sent(1);
    fake_dies(1, VAT_LOSS_HOST);
    world_expect(&world,
                 "undone\ncommitted\nfailed: vat v1, crank 3: its worker was killed; failed "
                 "after 3 tries\n");
    world_close(&world);
}

static void finished_crank_clears_earlier_host_failures(void **state)
{
    struct world world;

    (void)state;
    world_open_started(&world, (struct scheduler_options){.retries = 1});
    for (int i = 0; i < 3; i++) {
        world_queue(&world, "v1");
        scheduler_run(world.scheduler);
        fake_sent(1);
        fake_dies(1, VAT_LOSS_HOST);
        world_wait(&world);
        world_play(1);
        world_expect(&world, "undone\nv1 (o+0).hello -> null\nidle\n");
    }
    world_close(&world);
}

static void dropped_crank_leaves_no_trace(void **state)
{
    struct world world;

    (void)state;
    world_open_started(&world, (struct scheduler_options){.retries = 1});
    world_queue(&world, "v1");
    scheduler_run(world.scheduler);
    fake_sent(1);
    fake_asks(1, "[\"vatstoreSet\",\"key\",\"value\"]");
    fake_dies(1, VAT_LOSS_HOST);
    world_wait(&world);
    fake_expect("deliver v1 message\nreply v1 [\"ok\",null]\nevict v1\ndeliver v1 message\n");
    fake_sent(1);
    fake_asks(1, "[\"vatstoreGet\",\"key\"]");
    fake_expect("reply v1 [\"ok\",null]\n");
    fake_answers(1);
    world_close(&world);
}

static void start_is_retried_after_a_host_failure(void **state)
{
    struct world world;

    (void)state;
    world_open(&world, (struct scheduler_options){.retries = 1});
    world_add_vat(&world, "v1", KERNEL_VAT_PLAIN);
    scheduler_start(world.scheduler, false);
    fake_expect("start v1\n");
    fake_dies(1, VAT_LOSS_HOST);
    fake_expect("start v1\n");
    fake_dies(1, VAT_LOSS_HOST);
    /* The new vats have not all started: nothing is committed. */
    world_expect(&world,
                 "failed: vat v1, its start: its worker was killed; failed after 2 tries\n");
    world_close(&world);
}

/* ---- vats that end ---- */

static void a_worker_that_dies_by_its_vats_doing_ends_the_vat(void **state)
{
    struct world world;

    (void)state;
    world_open_started(&world, (struct scheduler_options){.retries = 5});
    world_queue(&world, "v1");
    scheduler_run(world.scheduler);
    fake_sent(1);
    fake_dies(1, VAT_LOSS_ENDS_VAT);
    fake_expect("deliver v1 message\nremove v1\n");
    world_expect(&world, "v1 (o+0).hello -> null: its worker was killed; vat ended\nidle\n");
    world_close(&world);
}

static void an_illegal_syscall_ends_the_vat(void **state)
{
    struct world world;

    (void)state;
    world_open_started(&world, (struct scheduler_options){0});
    world_queue(&world, "v1");
    scheduler_run(world.scheduler);
    fake_sent(1);
    fake_asks(1, "[\"dropImports\",[\"o-99\"]]");
    fake_expect("deliver v1 message\nabort v1\nremove v1\n");
    world_expect(&world, "v1 (o+0).hello -> null: o-99 is not in its c-list; vat ended, "
                         "after 50 computrons\nidle\n");
    world_close(&world);
}

/* ---- snapshots ---- */

static const struct scheduler_options snapshot_at_second = {
    .snapshots = {.interval = 100, .initial = 3},
    .retries = 1,
};

static void a_snapshot_is_written_when_it_is_due(void **state)
{
    struct world world;

    (void)state;
    world_open_started(&world, snapshot_at_second);
    world_queue(&world, "v1");
    world_queue(&world, "v1");
    scheduler_run(world.scheduler);
    world_play(1);
    fake_expect("deliver v1 message\nsave v1\n");
    /* No delivery runs before the worker has restarted from its snapshot. */
    fake_saved(1, 2);
    fake_expect("");
    fake_ready(1);
    fake_expect("deliver v1 message\n");
    world_play(1);
    fake_expect("");
    world_expect(&world, "v1 (o+0).hello -> null\nv1 (o+0).hello -> null\nidle\n");
    world_close(&world);
}

static void lose(enum warehouse_work work, enum vat_loss kind, int64_t vat)
{
    fake_lose(vat, &(struct warehouse_loss){
                       .come = fake_now(), .reason = "it is broken", .kind = kind, .work = work});
}

static void a_snapshot_that_is_lost_is_written_again(void **state)
{
    struct world world;

    (void)state;
    world_open_started(&world, snapshot_at_second);
    world_queue(&world, "v1");
    scheduler_run(world.scheduler);
    world_play(1);
    fake_expect("deliver v1 message\nsave v1\n");
    lose(WAREHOUSE_SNAPSHOT, VAT_LOSS_SUSPECT, 1);
    fake_expect("start v1\n");
    fake_ready(1);
    fake_expect("save v1\n");
    fake_saved(1, 2);
    fake_ready(1);
    world_expect(&world, "v1 (o+0).hello -> null\nidle\n");
    world_close(&world);
}

/* The warehouse has dropped it: the restarted worker is due for a snapshot. */
static void a_snapshot_that_no_worker_starts_from_is_written_again(void **state)
{
    struct world world;

    (void)state;
    world_open_started(&world, snapshot_at_second);
    world_queue(&world, "v1");
    scheduler_run(world.scheduler);
    world_play(1);
    fake_saved(1, 2);
    fake->vats[1].saved_at = -1;
    lose(WAREHOUSE_RESTART, VAT_LOSS_SUSPECT, 1);
    fake_ready(1);
    fake_expect("deliver v1 message\nsave v1\nstart v1\nsave v1\n");
    fake_saved(1, 2);
    fake_ready(1);
    world_expect(&world, "v1 (o+0).hello -> null\nidle\n");
    world_close(&world);
}

/* ---- vats that cannot continue ---- */

static void expect_quarantine(struct world *world, int64_t vat, const char *reason)
{
    struct buf found = {0};
    struct error error;
    bool is;

    assert_int_equal(
        kernel_quarantine_reason(scheduler_kernel(world->scheduler), vat, &is, &found, &error), 0);
    assert_int_equal(is, reason != NULL);
    if (is)
        assert_string_equal(buf_string(&found), reason);
    buf_free(&found);
}

/* Two vats, "v1" and "v2", that have started. */
static void open_two(struct world *world, struct scheduler_options options)
{
    world_open_started(world, options);
    world_add_vat(world, "v2", KERNEL_VAT_PLAIN);
    scheduler_run(world->scheduler);
    world_play(2);
    fake_expect("deliver v2 startVat\n");
    world_expect(world, "v2 startVat\nidle\n");
}

static void a_vat_whose_snapshot_cannot_be_written_stops_no_other(void **state)
{
    struct world world;

    (void)state;
    open_two(&world, snapshot_at_second);
    world_queue(&world, "v1");
    world_queue(&world, "v1");
    world_queue(&world, "v2");
    scheduler_run(world.scheduler);
    world_play(1);
    lose(WAREHOUSE_SNAPSHOT, VAT_LOSS_SUSPECT, 1);
    fake_ready(1);
    lose(WAREHOUSE_SNAPSHOT, VAT_LOSS_SUSPECT, 1);
    fake_expect("deliver v1 message\nsave v1\nstart v1\nsave v1\n"
                "deliver v2 message\n");
    world_play(2);
    fake_expect("save v2\n");
    fake_saved(2, 2);
    fake_ready(2);
    world_expect(&world, "v1 (o+0).hello -> null\nv2 (o+0).hello -> null\nidle\n");
    expect_quarantine(&world, 1, "its snapshot cannot be written: it is broken");
    world_close(&world);
}

static void a_worker_that_cannot_be_restored_drops_its_crank(void **state)
{
    struct world world;

    (void)state;
    open_two(&world, (struct scheduler_options){.retries = 3});
    world_queue(&world, "v1");
    world_queue(&world, "v2");
    scheduler_run(world.scheduler);
    lose(WAREHOUSE_START, VAT_LOSS_HOPELESS, 1);
    fake_expect("deliver v1 message\nevict v1\ndeliver v2 message\n");
    world_play(2);
    world_expect(&world, "undone\nv2 (o+0).hello -> null\nidle\n");
    expect_quarantine(&world, 1, "it cannot be restored: it is broken");
    world_close(&world);
}

static void a_worker_that_cannot_be_restored_is_tried_from_an_older_snapshot(void **state)
{
    struct world world;

    (void)state;
    world_open_started(&world, (struct scheduler_options){.retries = 3});
    fake->vats[1].has_older = true;
    world_queue(&world, "v1");
    scheduler_run(world.scheduler);
    lose(WAREHOUSE_START, VAT_LOSS_HOPELESS, 1);
    world_wait(&world);
    fake_expect("deliver v1 message\nevict v1\nfall back v1\ndeliver v1 message\n");
    world_play(1);
    world_expect(&world, "undone\nv1 (o+0).hello -> null\nidle\n");
    world_close(&world);
}

static void a_crash_is_tried_again_once(void **state)
{
    struct world world;

    (void)state;
    open_two(&world, (struct scheduler_options){.retries = 3});
    world_queue(&world, "v1");
    scheduler_run(world.scheduler);
    fake_sent(1);
    lose(WAREHOUSE_DELIVERY, VAT_LOSS_ONCE, 1);
    world_wait(&world);
    fake_sent(1);
    lose(WAREHOUSE_DELIVERY, VAT_LOSS_ONCE, 1);
    world_expect(&world, "undone\nundone\nidle\n");
    expect_quarantine(&world, 1, "it is broken");
    world_close(&world);
}

/* Runs in the directory until both vats are there. */
static void leave_two(const char *directory)
{
    struct world world;

    world_open_in(&world, directory, (struct scheduler_options){0});
    world_add_vat(&world, "v1", KERNEL_VAT_PLAIN);
    world_add_vat(&world, "v2", KERNEL_VAT_PLAIN);
    scheduler_start(world.scheduler, false);
    fake_ready(1);
    fake_ready(2);
    world_play(1);
    world_play(2);
    world_close(&world);
}

static void a_vat_that_cannot_be_restored_stops_no_other(void **state)
{
    char directory[] = "/tmp/test_scheduler.XXXXXX", command[64];
    struct world world;

    (void)state;
    assert_non_null(mkdtemp(directory));
    leave_two(directory);
    world_open_in(&world, directory, (struct scheduler_options){.retries = 1});
    scheduler_start(world.scheduler, false);
    /* Each has its own tries. */
    lose(WAREHOUSE_START, VAT_LOSS_SUSPECT, 1);
    lose(WAREHOUSE_START, VAT_LOSS_SUSPECT, 2);
    fake_expect("start v1\nlog defer v2\nstart v2\nstart v1\nstart v2\n");
    fake_ready(2);
    lose(WAREHOUSE_START, VAT_LOSS_SUSPECT, 1);
    fake_expect("log join v2\n");
    world_expect(&world, "committed\nidle\n");
    expect_quarantine(&world, 1, "it cannot be restored: it is broken");
    expect_quarantine(&world, 2, NULL);
    world_close(&world);
    /* It is not tried again until people say so, and then when it is delivered to. */
    for (int round = 0; round < 2; round++) {
        struct error error;

        world_open_in(&world, directory, (struct scheduler_options){.retries = 1});
        if (round == 1)
            assert_int_equal(kernel_release(scheduler_kernel(world.scheduler), 1, false, &error),
                             0);
        world_queue(&world, "v1");
        scheduler_start(world.scheduler, false);
        fake_expect("start v2\n");
        fake_ready(2);
        fake_expect(round == 1 ? "deliver v1 message\n" : "");
        if (round == 1)
            world_play(1);
        world_close(&world);
    }
    snprintf(command, sizeof command, "rm -r %s", directory);
    /* NOLINTNEXTLINE(cert-env33-c): the directory's name is this test's own */
    assert_int_equal(system(command), 0);
}

/* A world whose liveslots vat is due for a snapshot after startVat, and is sent its
 * bringOutYourDead. */
static void open_before_snapshot(struct world *world)
{
    world_open(world, (struct scheduler_options){.snapshots = {.interval = 100, .initial = 2},
                                                 .retries = 1});
    world_add_vat(world, "v1", KERNEL_VAT_LIVESLOTS);
    scheduler_start(world->scheduler, false);
    fake_ready(1);
    world_play(1);
    fake_expect("start v1\ndeliver v1 startVat\n"
                "deliver v1 bringOutYourDead\n");
}

static void garbage_is_collected_before_a_snapshot(void **state)
{
    struct world world;

    (void)state;
    open_before_snapshot(&world);
    world_play(1);
    fake_expect("save v1\n");
    world_close(&world);
}

static void a_crank_tried_again_collects_garbage_again(void **state)
{
    struct world world;

    (void)state;
    open_before_snapshot(&world);
    fake_sent(1);
    fake_dies(1, VAT_LOSS_HOST);
    world_wait(&world);
    world_play(1);
    fake_expect("evict v1\ndeliver v1 startVat\n"
                "deliver v1 bringOutYourDead\n");
    world_play(1);
    fake_expect("save v1\n");
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_vat_starts_and_is_committed_before_anything_else),
        cmocka_unit_test(a_message_is_delivered_with_its_syscalls),
        cmocka_unit_test(several_vats_start_side_by_side),
        cmocka_unit_test(with_few_workers_none_is_started_to_wait),
        cmocka_unit_test(cranks_are_committed_every_so_many),
        cmocka_unit_test(cranks_continue_while_a_commit_is_synced),
        cmocka_unit_test(closing_commits_whole_cranks_alone),
        cmocka_unit_test(host_failure_is_retried_up_to_the_limit),
        cmocka_unit_test(finished_crank_clears_earlier_host_failures),
        cmocka_unit_test(dropped_crank_leaves_no_trace),
        cmocka_unit_test(start_is_retried_after_a_host_failure),
        cmocka_unit_test(a_worker_that_dies_by_its_vats_doing_ends_the_vat),
        cmocka_unit_test(an_illegal_syscall_ends_the_vat),
        cmocka_unit_test(a_snapshot_is_written_when_it_is_due),
        cmocka_unit_test(a_snapshot_that_is_lost_is_written_again),
        cmocka_unit_test(a_snapshot_that_no_worker_starts_from_is_written_again),
        cmocka_unit_test(a_vat_whose_snapshot_cannot_be_written_stops_no_other),
        cmocka_unit_test(a_worker_that_cannot_be_restored_drops_its_crank),
        cmocka_unit_test(a_worker_that_cannot_be_restored_is_tried_from_an_older_snapshot),
        cmocka_unit_test(a_crash_is_tried_again_once),
        cmocka_unit_test(a_vat_that_cannot_be_restored_stops_no_other),
        cmocka_unit_test(garbage_is_collected_before_a_snapshot),
        cmocka_unit_test(a_crank_tried_again_collects_garbage_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
