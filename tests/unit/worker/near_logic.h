/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TESTS_UNIT_WORKER_NEAR_LOGIC_H
#define GASPIPE_TESTS_UNIT_WORKER_NEAR_LOGIC_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "worker/near/host/host.h"

/*
 * NEAR's host functions, called without a contract in the world of nearcore's tests of its
 * VMLogic (runtime/near-vm-runner/src/logic/tests/vm_logic_builder.rs).
 */

enum { LOGIC_RECORDS = 4, LOGIC_ARGUMENTS = 9 };

struct logic_record {
    struct buf key, value;
};

struct logic {
    struct near_parameters parameters;
    struct near_context context;
    struct near_storage storage;
    struct near_call call;
    struct wasm_machine machine;
    struct wasm_memory memory; /* a page */
    struct wasm_instance instance;
    struct near_profile seen; /* what logic_costs_are() has looked at */
    struct logic_record records[LOGIC_RECORDS];
    unsigned record_count;
    struct buf logs;      /* each with a line's end */
    uint64_t written;     /* bytes of memory that logic_write() has used */
    uint64_t result;      /* of the last call */
    char error_text[256]; /* of the last call; empty: it went well */
};

/* A piece of the memory, as two arguments: its length and its place. */
struct logic_slice {
    uint64_t length, at;
};

static inline int logic_get(void *context, struct wasm_bytes key, struct buf *value, bool *found)
{
    const struct logic *logic = context;

    buf_clear(value);
    *found = false;
    for (unsigned i = 0; i < logic->record_count && !*found; i++) {
        const struct logic_record *record = &logic->records[i];

        *found = record->key.length == key.length &&
                 (key.length == 0 || memcmp(record->key.data, key.data, key.length) == 0);
        if (*found && record->value.length > 0)
            buf_append(value, record->value.data, record->value.length);
    }
    return 0;
}

static inline int logic_remove(void *context, struct wasm_bytes key)
{
    struct logic *logic = context;

    for (unsigned i = 0; i < logic->record_count; i++) {
        if (logic->records[i].key.length != key.length ||
            memcmp(logic->records[i].key.data, key.data, key.length) != 0)
            continue;
        buf_free(&logic->records[i].key);
        buf_free(&logic->records[i].value);
        logic->records[i] = logic->records[--logic->record_count];
        logic->records[logic->record_count] = (struct logic_record){0};
    }
    return 0;
}

static inline int logic_set(void *context, struct wasm_bytes key, struct wasm_bytes value)
{
    struct logic *logic = context;
    struct logic_record *record;

    logic_remove(logic, key);
    assert_in_range(logic->record_count, 0, LOGIC_RECORDS - 1);
    record = &logic->records[logic->record_count++];
    buf_append(&record->key, key.data, key.length);
    return buf_append(&record->value, value.data, value.length);
}

static inline int logic_log(void *context, const char *text, size_t length)
{
    struct logic *logic = context;

    buf_append(&logic->logs, text, length);
    return buf_append_byte(&logic->logs, '\n');
}

/* Parameters and context may be changed before logic_begin(). */
static inline void logic_open(struct logic *logic)
{
    static const uint8_t bytes[] = {0, 1, 2, 3, 4};
    const uint64_t tera = UINT64_C(1000000000000);
    struct error error;

    *logic = (struct logic){0};
    assert_int_equal(near_parameters_read(&logic->parameters, "newest", &error), 0);
    assert_int_equal(wasm_machine_open(&logic->machine, 1024, &error), 0);
    assert_true(wasm_memory_open(&logic->memory, 1, 1));
    logic->instance.memory = &logic->memory;
    logic->storage = (struct near_storage){logic, logic_get, logic_set, logic_remove, logic_log};
    logic->context = (struct near_context){
        .current_account = "alice.near",
        .signer_account = "bob.near",
        .predecessor_account = "carol.near",
        .chain = "test",
        .refund_account = "david.near",
        .signer_key = {bytes, sizeof bytes},
        .random_seed = {bytes, 3},
        .input = {bytes, sizeof bytes},
        .block_height = 10,
        .block_timestamp = 42,
        .epoch_height = 1,
        .balance = 100,
        .locked_balance = 50,
        .deposit = 10,
        .prepaid_gas = 100 * tera,
    };
}

static inline void logic_begin(struct logic *logic)
{
    logic->call.parameters = &logic->parameters;
    logic->call.machine = &logic->machine;
    logic->call.instance = &logic->instance;
    near_call_begin(&logic->call, &logic->context, &logic->storage);
}

static inline void logic_close(struct logic *logic)
{
    near_call_free(&logic->call);
    wasm_memory_close(&logic->memory);
    wasm_machine_close(&logic->machine);
    for (unsigned i = 0; i < LOGIC_RECORDS; i++) {
        buf_free(&logic->records[i].key);
        buf_free(&logic->records[i].value);
    }
    buf_free(&logic->logs);
}

static inline struct logic_slice logic_write_at(struct logic *logic, uint64_t at, const void *bytes,
                                                size_t length)
{
    memcpy(logic->memory.bytes + at, bytes, length);
    return (struct logic_slice){length, at};
}

/* Appends the bytes in the guest's memory, free of gas. */
static inline struct logic_slice logic_write(struct logic *logic, const void *bytes, size_t length)
{
    logic->written += length;
    assert_in_range(logic->written, 0, WASM_PAGE);
    return logic_write_at(logic, logic->written - length, bytes, length);
}

static inline struct logic_slice logic_text(struct logic *logic, const char *text)
{
    return logic_write(logic, text, strlen(text));
}

/* A number that host functions read from memory: where it is. */
static inline uint64_t logic_amount(struct logic *logic, unsigned __int128 amount)
{
    return logic_write(logic, &amount, sizeof amount).at;
}

/* nearcore's tests continue after a call that failed. */
static inline bool logic_call(struct logic *logic, near_function *function,
                              const uint64_t arguments[LOGIC_ARGUMENTS])
{
    uint64_t a[LOGIC_ARGUMENTS];
    bool went_well;

    memcpy(a, arguments, sizeof a);
    logic->call.error[0] = '\0';
    went_well = function(&logic->call, a);
    logic->result = a[0];
    (void)snprintf(logic->error_text, sizeof logic->error_text, "%.255s", logic->call.error);
    assert_int_equal(went_well, logic->error_text[0] == '\0');
    assert_false(logic->call.is_lost);
    return went_well;
}

#define LOGIC_CALL(logic, name, ...)                                                               \
    logic_call(logic, near_host_##name, (const uint64_t[LOGIC_ARGUMENTS]){__VA_ARGS__})

/* A call that goes well with this result. */
#define LOGIC_GIVES(logic, value, name, ...)                                                       \
    do {                                                                                           \
        if (!LOGIC_CALL(logic, name, __VA_ARGS__))                                                 \
            fail_msg("%s: %s", #name, (logic)->error_text);                                        \
        assert_int_equal((logic)->result, value);                                                  \
    } while (0)

#define LOGIC_WORKS(logic, name, ...)                                                              \
    do {                                                                                           \
        if (!LOGIC_CALL(logic, name, __VA_ARGS__))                                                 \
            fail_msg("%s: %s", #name, (logic)->error_text);                                        \
    } while (0)

/* A call that fails with an error that begins so. */
#define LOGIC_FAILS(logic, begins, name, ...)                                                      \
    do {                                                                                           \
        assert_false(LOGIC_CALL(logic, name, __VA_ARGS__));                                        \
        if (strncmp((logic)->error_text, begins, strlen(begins)) != 0)                             \
            fail_msg("%s: %s", #name, (logic)->error_text);                                        \
    } while (0)

/* The register's bytes, read by the host function, at the end of the memory. */
static inline void logic_register_is(struct logic *logic, uint64_t id, const void *bytes,
                                     uint64_t length)
{
    const uint64_t at = WASM_PAGE - length;

    LOGIC_WORKS(logic, read_register, id, at);
    assert_memory_equal(logic->memory.bytes + at, bytes, length);
}

/* Bytes as hexadecimal digits; how many. */
static inline size_t logic_unhex(const char *digits, uint8_t *bytes)
{
    const size_t count = strlen(digits) / 2;

    for (size_t i = 0; i < count; i++) {
        const char pair[] = {digits[2 * i], digits[2 * i + 1], '\0'};

        bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return count;
}

/* The same, of up to 64 bytes in hexadecimal digits. */
static inline void logic_register_is_hex(struct logic *logic, uint64_t id, const char *digits)
{
    uint8_t bytes[64];

    logic_register_is(logic, id, bytes, logic_unhex(digits, bytes));
}

/* The cost at the beginning of the text, whose length replaces *length. */
static inline enum near_cost logic_cost(const char *text, size_t *length)
{
    *length = strcspn(text, " ");
    for (unsigned i = 0; i < NEAR_COST_COUNT; i++) {
        const char *name = near_cost_name((enum near_cost)i);

        if (strlen(name) == *length && strncmp(name, text, *length) == 0)
            return (enum near_cost)i;
    }
    fail_msg("no cost: %s", text);
    return NEAR_COST_COUNT;
}

/*
 * What has been paid since the last time, as "NAME COUNT NAME COUNT ..", by nearcore's names of
 * ExtCosts; a cost that is not named has not been paid.
 */
static inline void logic_costs_are(struct logic *logic, const char *expected)
{
    uint64_t counts[NEAR_COST_COUNT] = {0};
    size_t length;

    for (const char *at = expected; *at != '\0'; at += *at == ' ') {
        const enum near_cost cost = logic_cost(at, &length);
        char *end;

        counts[cost] = strtoull(at + length, &end, 10);
        at = end;
    }
    for (unsigned i = 0; i < NEAR_COST_COUNT; i++) {
        const uint64_t paid = logic->call.profile.cost[i] - logic->seen.cost[i];

        if (paid != counts[i] * logic->parameters.cost[i])
            fail_msg("%s: %llu gas, not %llu times", near_cost_name((enum near_cost)i),
                     (unsigned long long)paid, (unsigned long long)counts[i]);
    }
    logic->seen = logic->call.profile;
}

#endif
