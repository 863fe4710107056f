/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TESTS_UNIT_KERNEL_KERNEL_HARNESS_H
#define GASPIPE_TESTS_UNIT_KERNEL_KERNEL_HARNESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "kernel/kernel.h"
#include "store/store.h"

/*
 * A kernel over a store in memory whose vats are played by hand. What is not
 * expected fails the test.
 */
struct harness {
    struct store *store;
    struct kernel *kernel;
    struct kernel_step step;
    struct kernel_delivery_end end;
    struct kernel_syscall_texts texts; /* of the last syscall */
    struct error error;                /* of the last that failed */
    struct buf console;                /* what the kernel said, a line each */
};

static inline void harness_ok(int result, const struct error *error)
{
    if (result != 0)
        fail_msg("%s", error->text);
}

static inline void harness_console(void *context, const char *line)
{
    struct harness *harness = context;

    buf_printf(&harness->console, "%s\n", line);
}

static inline void harness_open(struct harness *harness, int64_t reap_interval)
{
    struct kernel_options options = {.reap_interval = reap_interval,
                                     .listener = {.context = harness, .console = harness_console}};

    memset(harness, 0, sizeof *harness);
    harness->store = store_open(NULL, &harness->error);
    assert_non_null(harness->store);
    harness_ok(store_transaction_begin(harness->store, &harness->error), &harness->error);
    harness->kernel = kernel_open(harness->store, &options, &harness->error);
    assert_non_null(harness->kernel);
}

static inline void harness_close(struct harness *harness)
{
    kernel_close(harness->kernel);
    store_close(harness->store);
    buf_free(&harness->console);
}

/* On to the next delivery; false: there is nothing to do. */
static inline bool harness_next(struct harness *harness)
{
    do {
        harness_ok(kernel_next(harness->kernel, &harness->step, &harness->error), &harness->error);
    } while (harness->step.work == KERNEL_ROUTED);
    return harness->step.work == KERNEL_DELIVERY;
}

static inline void harness_expect(struct harness *harness, int64_t vat, const char *vd)
{
    assert_true(harness_next(harness));
    assert_int_equal(harness->step.delivery.vat, vat);
    assert_string_equal(harness->step.delivery.vd, vd);
}

static inline enum kernel_verdict harness_syscall(struct harness *harness, const char *vsc)
{
    struct buf message = {0};
    struct vat_request request;
    enum kernel_verdict verdict;

    buf_printf(&message, "[\"syscall\",%s]", vsc);
    harness_ok(vat_request_parse(&request, message.data, message.length, &harness->error),
               &harness->error);
    verdict = kernel_syscall(harness->kernel, &request.syscall, &harness->texts, &harness->error);
    vat_request_free(&request);
    buf_free(&message);
    return verdict;
}

static inline void harness_does(struct harness *harness, const char *vsc, const char *vsr)
{
    if (harness_syscall(harness, vsc) != KERNEL_OK)
        fail_msg("%s: %s", vsc, harness->error.text);
    assert_string_equal(harness->texts.vsr, vsr);
}

static inline void harness_end_as(struct harness *harness, enum kernel_came came,
                                  const char *problem, int64_t compute)
{
    struct kernel_outcome outcome = {
        .came = came, .problem = problem, .compute = compute, .instructions = -1};

    harness_ok(kernel_end_delivery(harness->kernel, &outcome, &harness->end, &harness->error),
               &harness->error);
}

static inline void harness_end(struct harness *harness)
{
    harness_end_as(harness, KERNEL_CAME_OK, NULL, 100);
}

static inline int64_t harness_vat(struct harness *harness, const char *name,
                                  enum kernel_vat_runtime runtime)
{
    struct kernel_vat_setup setup = {.name = name, .bundle_id = "b1-x", .runtime = runtime};
    int64_t vat;

    harness_ok(kernel_provide_vat(harness->kernel, &setup, &vat, &harness->error), &harness->error);
    return vat;
}

/* All that is there to do, by vats that do nothing. */
static inline void harness_idle(struct harness *harness)
{
    while (harness_next(harness))
        harness_end(harness);
}

static inline void harness_queue(struct harness *harness, const char *target, const char *methargs,
                                 char result[KERNEL_REF_SIZE])
{
    json_t *capdata = json_loads(methargs, 0, NULL);

    assert_non_null(capdata);
    harness_ok(kernel_queue_message(harness->kernel, target, capdata, result, &harness->error),
               &harness->error);
    json_decref(capdata);
}

static inline void harness_root(struct harness *harness, const char *name,
                                char kref[KERNEL_REF_SIZE])
{
    bool found;

    harness_ok(kernel_root(harness->kernel, name, kref, &found, &harness->error), &harness->error);
    assert_true(found);
}

static inline void harness_expect_promise(struct harness *harness, const char *promise,
                                          enum kernel_promise expected, const char *data)
{
    enum kernel_promise state;
    struct buf found = {0};

    harness_ok(kernel_promise_state(harness->kernel, promise, &state, &found, &harness->error),
               &harness->error);
    assert_int_equal(state, expected);
    assert_string_equal(buf_string(&found), data);
    buf_free(&found);
}

static inline bool harness_lives(struct harness *harness, int64_t vat)
{
    struct kernel_vat description;
    bool found;

    harness_ok(kernel_vat_get(harness->kernel, vat, &description, &found, &harness->error),
               &harness->error);
    kernel_vat_free(&description);
    return found;
}

/* All records of which the keys begin so, as text. */
static inline struct buf harness_records(struct harness *harness, const char *prefix)
{
    struct buf records = {0}, key = {0};
    bool found;

    for (;;) {
        harness_ok(store_key_next(harness->store, prefix, key.length == 0 ? "" : buf_string(&key),
                                  &key, &found, &harness->error),
                   &harness->error);
        if (!found)
            break;
        buf_printf(&records, "%s=", buf_string(&key));
        harness_ok(
            store_key_get(harness->store, buf_string(&key), &records, &found, &harness->error),
            &harness->error);
        buf_append_byte(&records, '\n');
    }
    buf_free(&key);
    return records;
}

#endif
