/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of a call that is repeated: the kernel sees it once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "worker/near/call/call.h"

/* Notes what the kernel is asked for. */
static int note(struct buf *asked, const char *what, struct wasm_bytes key)
{
    return buf_printf(asked, "%s %.*s;", what, (int)key.length, (const char *)key.data);
}

static int get_value(void *context, struct wasm_bytes key, struct buf *value, bool *found)
{
    *found = key.length == 1;
    buf_clear(value);
    if (*found)
        (void)buf_append_string(value, "kept");
    return note(context, "get", key);
}

static int set_value(void *context, struct wasm_bytes key, struct wasm_bytes value)
{
    (void)value;
    return note(context, "set", key);
}

static int remove_value(void *context, struct wasm_bytes key)
{
    return note(context, "remove", key);
}

static int log_text(void *context, const char *text, size_t length)
{
    return note(context, "log", (struct wasm_bytes){(const uint8_t *)text, (uint32_t)length});
}

struct world {
    struct buf asked, value;
    struct near_storage kernel;
    struct near_journal journal;
};

static void world_open(struct world *world)
{
    *world = (struct world){0};
    world->kernel = (struct near_storage){
        &world->asked, get_value, set_value, remove_value, log_text,
    };
    near_journal_begin(&world->journal, &world->kernel);
}

static void world_close(struct world *world)
{
    near_journal_free(&world->journal);
    buf_free(&world->asked);
    buf_free(&world->value);
}

static struct wasm_bytes bytes(const char *text)
{
    return (struct wasm_bytes){(const uint8_t *)text, (uint32_t)strlen(text)};
}

/* A call's beginning; every answer is checked. */
static void act(struct world *world)
{
    const struct near_storage *storage = &world->journal.storage;
    bool found;

    assert_int_equal(storage->get(storage->context, bytes("k"), &world->value, &found), 0);
    assert_true(found);
    assert_string_equal(buf_string(&world->value), "kept");
    assert_int_equal(storage->set(storage->context, bytes("k"), bytes("new")), 0);
    assert_int_equal(storage->get(storage->context, bytes("none"), &world->value, &found), 0);
    assert_false(found);
    assert_int_equal(storage->remove(storage->context, bytes("k")), 0);
    assert_int_equal(storage->log(storage->context, "text", 4), 0);
}

static void asks_once_and_then_goes_on(void **state)
{
    struct world world;
    const struct near_storage *storage;

    (void)state;
    world_open(&world);
    act(&world);
    near_journal_rewind(&world.journal);
    act(&world);
    storage = &world.journal.storage;
    assert_int_equal(storage->set(storage->context, bytes("more"), bytes("")), 0);
    assert_string_equal(buf_string(&world.asked),
                        "get k;set k;get none;remove k;log text;set more;");
    world_close(&world);
}

static void another_request_is_lost(void **state)
{
    struct world world;
    const struct near_storage *storage;
    bool found;

    (void)state;
    world_open(&world);
    act(&world);
    storage = &world.journal.storage;
    near_journal_rewind(&world.journal);
    assert_int_equal(storage->set(storage->context, bytes("k"), bytes("new")), -1);
    assert_int_equal(storage->set(storage->context, bytes("k"), bytes("old")), -1);
    near_journal_rewind(&world.journal);
    assert_int_equal(storage->get(storage->context, bytes("l"), &world.value, &found), -1);
    assert_string_equal(buf_string(&world.asked), "get k;set k;get none;remove k;log text;");
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_once_and_then_goes_on),
        cmocka_unit_test(another_request_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
