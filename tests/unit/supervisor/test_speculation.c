/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/supervisor/scheduler_harness.h"

/* Nothing but what is queued. */
static bool no_upcoming(void *context, size_t index, int64_t *vat)
{
    (void)context;
    (void)index;
    (void)vat;
    return false;
}

/* Two vats have started; each is sent a message, the second before its turn. */
static void open_speculating_on(struct world *world, const struct speculation_source *source)
{
    world_open(world, (struct scheduler_options){.jobs = 2, .upcoming = source, .retries = 1});
    world_add_vat(world, "v1", KERNEL_VAT_PLAIN);
    world_add_vat(world, "v2", KERNEL_VAT_PLAIN);
    scheduler_start(world->scheduler, false);
    fake_ready(1);
    fake_ready(2);
    fake->computes_us = 2000;
    fake_expect("start v1\nlog defer v2\nstart v2\nlog join v2\ndeliver v1 startVat\n");
    world_play(1);
    fake_expect("deliver v2 startVat\n");
    world_play(2);
    world_expect(world, "v1 startVat\nv2 startVat\ncommitted\nidle\n");
    world_queue(world, "v1");
    world_queue(world, "v2");
    scheduler_run(world->scheduler);
    fake_expect("deliver v1 message\ndeliver early v2 message\n");
    fake_sent(2);
}

static void open_speculating(struct world *world)
{
    static const struct speculation_source source = {.upcoming = no_upcoming};

    open_speculating_on(world, &source);
}

/* Both vats are sent a message. */
static void queue_both(struct world *world)
{
    world_queue(world, "v1");
    world_queue(world, "v2");
    scheduler_run(world->scheduler);
}

static void short_deliveries_are_made_at_their_turn(void **state)
{
    struct world world;

    (void)state;
    open_speculating(&world);
    fake->computes_us = 1999;
    fake_answers(2);
    world_play(1);
    fake_expect("catch up v2\n");
    queue_both(&world);
    fake_expect("deliver v1 message\n");
    fake->computes_us = 2000;
    world_play(1);
    fake_expect("deliver v2 message\n");
    world_play(2);
    queue_both(&world);
    fake_expect("deliver v1 message\ndeliver early v2 message\n");
    world_close(&world);
}

static void a_record_is_replayed_at_its_turn(void **state)
{
    struct world world;

    (void)state;
    open_speculating(&world);
    fake_asks(2, "[\"vatstoreSet\",\"key\",\"value\"]");
    fake_asks(2, "[\"vatstoreGet\",\"key\"]");
    fake_expect("reply v2 [\"ok\",null]\nreply v2 [\"ok\",\"value\"]\n");
    fake_answers(2);
    world_expect(&world, "");
    world_play(1);
    fake_expect("catch up v2\n");
    world_expect(&world, "v1 (o+0).hello -> null\nv2 (o+0).hello -> null\nidle\n");
    /* The kernel has received the syscalls. */
    world_queue(&world, "v2");
    scheduler_run(world.scheduler);
    fake_sent(2);
    fake_asks(2, "[\"vatstoreGet\",\"key\"]");
    fake_expect("deliver v2 message\nreply v2 [\"ok\",\"value\"]\n");
    fake_answers(2);
    world_close(&world);
}

static void delivery_in_progress_continues_at_its_turn(void **state)
{
    struct world world;

    (void)state;
    open_speculating(&world);
    fake_asks(2, "[\"vatstoreSet\",\"key\",\"value\"]");
    world_play(1);
    fake_expect("reply v2 [\"ok\",null]\ncatch up v2\n");
    fake_asks(2, "[\"vatstoreGet\",\"key\"]");
    fake_expect("reply v2 [\"ok\",\"value\"]\n");
    fake_answers(2);
    world_expect(&world, "v1 (o+0).hello -> null\nv2 (o+0).hello -> null\nidle\n");
    world_close(&world);
}

static const char illegal[] = "[\"dropImports\",[\"o-99\"]]";

/* The worker of the second vat has made a legal syscall and an illegal one, and continued; at its
 * turn the delivery runs again, to be measured. */
static void open_refused(struct world *world, bool ended)
{
    open_speculating(world);
    fake_asks(2, "[\"vatstoreSet\",\"key\",\"value\"]");
    fake_asks(2, illegal);
    fake_expect("reply v2 [\"ok\",null]\nreply v2 [\"ok\",null]\n");
    if (ended)
        fake_answers(2);
    world_play(1);
    fake_expect("catch up v2\ndiscard v2\ndeliver again v2 message\n");
    world_expect(world, "v1 (o+0).hello -> null\n");
    fake_sent(2);
}

static void an_illegal_syscall_ends_the_vat_at_its_turn(void **state)
{
    struct world world;

    (void)state;
    for (int ended = 0; ended < 2; ended++) {
        open_refused(&world, ended);
        fake_asks(2, "[\"vatstoreSet\",\"key\",\"value\"]");
        fake_expect("reply v2 [\"ok\",null]\n");
        fake_asks(2, illegal);
        fake_expect("abort v2\nremove v2\n");
        world_expect(&world, "v2 (o+0).hello -> null: o-99 is not in its c-list; vat ended, "
                             "after 50 computrons\n"
                             "idle\n");
        world_close(&world);
    }
}

/* Its worker stands at the syscall: nothing is to be measured. */
static void an_illegal_syscall_that_waits_ends_the_vat_at_its_turn(void **state)
{
    struct world world;

    (void)state;
    open_speculating(&world);
    fake_asks(2, "[\"callNow\",\"d-99\",\"read\",{\"body\":\"[]\",\"slots\":[]}]");
    fake_expect("stop timer v2\n");
    world_play(1);
    fake_expect("catch up v2\nabort v2\nremove v2\n");
    world_expect(&world, "v1 (o+0).hello -> null\n"
                         "v2 (o+0).hello -> null: d-99 was never given to it; vat ended, "
                         "after 50 computrons\nidle\n");
    world_close(&world);
}

/* A different outcome is a host failure: the crank is tried again. */
static void a_measured_delivery_that_deviates_is_tried_again(void **state)
{
    struct world world;

    (void)state;
    for (int deviation = 0; deviation < 3; deviation++) {
        open_refused(&world, true);
        if (deviation == 0)
            fake_asks(2, illegal);
        else if (deviation == 1)
            fake_answers(2);
        else
            fake_dies(2, VAT_LOSS_ENDS_VAT);
        fake_expect("evict v2\nevict v2\n");
        world_expect(&world, "undone\n");
        world_wait(&world);
        fake_expect("deliver v2 message\n");
        fake_sent(2);
        fake_asks(2, illegal);
        fake_expect("abort v2\nremove v2\n");
        world_expect(&world, "v2 (o+0).hello -> null: o-99 is not in its c-list; vat ended, "
                             "after 50 computrons\n"
                             "idle\n");
        world_close(&world);
    }
}

/* So is one whose worker the host takes away. */
static void a_measured_delivery_that_is_lost_is_tried_again(void **state)
{
    struct world world;

    (void)state;
    open_refused(&world, true);
    fake_dies(2, VAT_LOSS_HOST);
    fake_expect("evict v2\n");
    world_wait(&world);
    fake_expect("deliver v2 message\n");
    world_play(2);
    world_expect(&world, "undone\nv2 (o+0).hello -> null\nidle\n");
    world_close(&world);
}

static void host_failure_before_its_turn_is_ignored(void **state)
{
    struct world world;

    (void)state;
    open_speculating(&world);
    fake_dies(2, VAT_LOSS_HOST);
    world_expect(&world, "");
    world_play(1);
    fake_expect("deliver v2 message\n");
    world_play(2);
    world_expect(&world, "v1 (o+0).hello -> null\nv2 (o+0).hello -> null\nidle\n");
    world_close(&world);
}

static void a_limit_passed_before_its_turn_ends_the_vat_then(void **state)
{
    struct world world;

    (void)state;
    open_speculating(&world);
    fake_dies(2, VAT_LOSS_ENDS_VAT);
    world_expect(&world, "");
    world_play(1);
    fake_expect("catch up v2\nremove v2\n");
    world_expect(&world, "v1 (o+0).hello -> null\n"
                         "v2 (o+0).hello -> null: its worker was killed; vat ended\nidle\n");
    world_close(&world);
}

/* Its worker, evicted for another, is not where the delivery left it. */
static void evicted_worker_is_delivered_to_again(void **state)
{
    struct world world;

    (void)state;
    open_speculating(&world);
    fake_answers(2);
    fake->vats[2].speculative = false;
    world_play(1);
    fake_expect("take back v2\ndeliver v2 message\n");
    world_play(2);
    world_expect(&world, "v1 (o+0).hello -> null\nv2 (o+0).hello -> null\nidle\n");
    world_close(&world);
}

/* ---- a misprediction ---- */

/* True while the owner says that the next message is for v2. */
static bool is_upcoming;

static bool one_upcoming(void *context, size_t index, int64_t *vat)
{
    (void)context;
    *vat = 2;
    return is_upcoming && index == 0;
}

/* A message that never comes. */
static int queue_wrong(void *context, size_t index, struct kernel *kernel, struct error *error)
{
    json_t *methargs = json_pack("{s:s,s:[]}", "body", "#[\"wrong\",[]]", "slots");
    char root[KERNEL_REF_SIZE];
    bool found = false;
    int result = -1;

    (void)context;
    (void)index;
    if (kernel_root(kernel, "v2", root, &found, error) == 0 && found)
        result = kernel_queue_message(kernel, root, methargs, NULL, error);
    json_decref(methargs);
    return result;
}

static void a_mispredicted_vat_rests_for_16_deliveries(void **state)
{
    static const struct speculation_source source = {.upcoming = one_upcoming,
                                                     .queue_upcoming = queue_wrong};
    struct world world;

    (void)state;
    is_upcoming = false;
    open_speculating_on(&world, &source);
    fake_answers(2);
    world_play(1);
    fake_expect("catch up v2\n");
    is_upcoming = true;
    world_queue(&world, "v1");
    scheduler_run(world.scheduler);
    fake_expect("deliver v1 message\ndeliver early v2 message\n");
    is_upcoming = false;
    fake_sent(2);
    fake_answers(2);
    world_play(1);
    world_queue(&world, "v2");
    scheduler_run(world.scheduler);
    fake_expect("take back v2\ndeliver v2 message\n");
    world_play(2); /* the first of the 16 */
    for (int i = 1; i < 16; i++) {
        queue_both(&world);
        fake_expect("deliver v1 message\n");
        world_play(1);
        fake_expect("deliver v2 message\n");
        world_play(2);
    }
    queue_both(&world);
    fake_expect("deliver v1 message\ndeliver early v2 message\n");
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_deliveries_are_made_at_their_turn),
        cmocka_unit_test(a_record_is_replayed_at_its_turn),
        cmocka_unit_test(delivery_in_progress_continues_at_its_turn),
        cmocka_unit_test(an_illegal_syscall_ends_the_vat_at_its_turn),
        cmocka_unit_test(an_illegal_syscall_that_waits_ends_the_vat_at_its_turn),
        cmocka_unit_test(a_measured_delivery_that_deviates_is_tried_again),
        cmocka_unit_test(a_measured_delivery_that_is_lost_is_tried_again),
        cmocka_unit_test(host_failure_before_its_turn_is_ignored),
        cmocka_unit_test(a_limit_passed_before_its_turn_ends_the_vat_then),
        cmocka_unit_test(evicted_worker_is_delivered_to_again),
        cmocka_unit_test(a_mispredicted_vat_rests_for_16_deliveries),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
