/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A vat that makes any syscalls, one a line: each is done or refused, the kernel is
 * never at a loss, and when the vat ends for them the other vat is as it was.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "kernel/kernel.h"
#include "store/store.h"
#include "tests/fuzz/fuzz.h"

static struct store *store;
static struct kernel *kernel;

static void must(int result, const struct error *error)
{
    if (result != 0)
        fprintf(stderr, "%s\n", error->text);
    check(result == 0);
}

static void end_delivery(struct kernel_delivery_end *end)
{
    struct kernel_outcome outcome = {.compute = 1000, .instructions = -1};
    struct error error;

    must(kernel_end_delivery(kernel, &outcome, end, &error), &error);
}

/* All that is to do, by vats that do nothing; their deliveries are few. */
static void run_idle(void)
{
    struct kernel_step step;
    struct kernel_delivery_end end;
    struct error error;

    do {
        must(kernel_next(kernel, &step, &error), &error);
        for (end.again = step.work == KERNEL_DELIVERY; end.again;)
            end_delivery(&end);
    } while (step.work != KERNEL_IDLE);
}

static void queue(const char *target, const char *body, const char *slots)
{
    json_t *methargs = json_pack("{s:s,s:o}", "body", body, "slots", json_loads(slots, 0, NULL));
    char result[KERNEL_REF_SIZE];
    struct error error;

    must(kernel_queue_message(kernel, target, methargs, result, &error), &error);
    json_decref(methargs);
}

/* v1 (ko21) receives references to the vatAdmin vat v2 (ko20), to kd30 to kd32, and
 * to a promise of v2's. */
static void set_up(void)
{
    static const char *const devices[] = {"echo", "clock", "vatAdmin"};
    static const char *const vats[] = {"alice", "vatAdmin"};
    struct kernel_options options = {.reap_interval = 2, .reap_gc_references = 2};
    char kref[KERNEL_REF_SIZE];
    struct error error;
    int64_t vat;
    bool found;

    store = store_open(NULL, &error);
    check(store != NULL);
    must(store_transaction_begin(store, &error), &error);
    kernel = kernel_open(store, &options, &error);
    check(kernel != NULL);
    for (size_t i = 0; i < 2; i++) {
        struct kernel_vat_setup setup = {
            .name = vats[i], .bundle_id = "b1-x", .runtime = KERNEL_VAT_LIVESLOTS};

        must(kernel_provide_vat(kernel, &setup, &vat, &error), &error);
    }
    for (size_t i = 0; i < 2; i++)
        must(kernel_root(kernel, vats[i], kref, &found, &error), &error);
    for (size_t i = 0; i < 3; i++)
        must(kernel_device(kernel, devices[i], kref, &found, &error), &error);
    must(store_bundle_put(store, "b1-x", (struct iovec){"{}", 2}, &error), &error);
    run_idle();
    queue("ko20", "#[\"m\",[]]", "[]");
    run_idle();
    queue("ko21", "#[\"m\",[]]", "[\"ko21\",\"ko20\",\"kd30\",\"kd31\",\"kd32\",\"kp40\"]");
}

/* Returns true if the vat can continue. */
static bool make_syscall(const char *line, size_t length)
{
    struct kernel_syscall_texts texts;
    struct vat_request request;
    enum kernel_verdict verdict;
    struct buf message = {0};
    struct error error;

    buf_append_string(&message, "[\"syscall\",");
    buf_append(&message, line, length);
    buf_append_byte(&message, ']');
    if (vat_request_parse(&request, message.data, message.length, &error) != 0) {
        must(kernel_illegal(kernel, error.text, &error), &error);
        buf_free(&message);
        return false;
    }
    verdict = kernel_syscall(kernel, &request.syscall, &texts, &error);
    if (verdict == KERNEL_BROKEN)
        fprintf(stderr, "%s\n", error.text);
    check(verdict != KERNEL_BROKEN && texts.vsr != NULL && texts.ksr != NULL);
    vat_request_free(&request);
    buf_free(&message);
    return verdict == KERNEL_OK;
}

static void make_syscalls(const char *data, size_t size)
{
    for (const char *at = data, *end = data + size; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((newline != NULL ? newline : end) - at);

        if (!make_syscall(at, length))
            break;
        at += length + 1;
    }
}

static size_t count_records(const char *prefix)
{
    struct buf key = {0};
    struct error error;
    size_t count = 0;
    bool found = true;

    while (found) {
        must(store_key_next(store, prefix, key.length == 0 ? "" : buf_string(&key), &key, &found,
                            &error),
             &error);
        count += found;
    }
    buf_free(&key);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kernel_delivery_end end;
    struct kernel_step step;
    struct error error;
    size_t others;

    if (kernel == NULL)
        set_up();
    must(store_savepoint_set(store, &error), &error);
    do {
        must(kernel_next(kernel, &step, &error), &error);
    } while (step.work == KERNEL_ROUTED);
    check(step.work == KERNEL_DELIVERY && step.delivery.vat == 1);
    others = count_records("v2.c.");
    make_syscalls((const char *)data, size);
    end_delivery(&end);
    if (!end.again && end.end.undone)
        check(count_records("v2.c.") == others);
    while (end.again)
        end_delivery(&end);
    run_idle();
    must(store_savepoint_undo(store, &error), &error);
    return 0;
}
