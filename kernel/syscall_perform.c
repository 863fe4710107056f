/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/json_value.h"
#include "kernel/devices/device_call.h"
#include "kernel/graph/gc.h"
#include "kernel/graph/promise.h"
#include "kernel/graph/queue.h"
#include "kernel/state.h"
#include "kernel/syscall.h"
#include "store/store.h"

static struct iovec bytes_of(struct vat_text text)
{
    return (struct iovec){.iov_base = (void *)(uintptr_t)text.bytes, .iov_len = text.length};
}

static const char *text_at(const json_t *ksc, size_t index)
{
    return json_string_value(json_array_get(ksc, index));
}

const char syscall_answer_null[] = "[\"ok\",null]";

void syscall_answer_text(struct buf *answer, const struct buf *text, bool found)
{
    if (!found || text->length == 0) {
        buf_append_string(answer, syscall_answer_null);
        return;
    }
    buf_append_string(answer, "[\"ok\",");
    json_value_write_string(answer, text->data, text->length);
    buf_append_byte(answer, ']');
}

static int perform_read(struct kernel *kernel, int64_t vat, const struct vat_syscall *syscall,
                        struct buf *answer, struct error *error)
{
    const struct iovec key = bytes_of(syscall->key);
    struct buf *text = &kernel->value;
    bool found = false;
    int result;

    buf_clear(text);
    if (syscall->kind == VAT_SYSCALL_STORE_GET)
        result = store_vat_get(kernel->store, vat, key, text, &found, error);
    else
        result = store_vat_next_key(kernel->store, vat, key, text, &found, error);
    syscall_answer_text(answer, text, result == 0 && found);
    return result;
}

int syscall_perform_store(struct kernel *kernel, int64_t vat, const struct vat_syscall *syscall,
                          struct buf *answer, struct error *error)
{
    const struct iovec key = bytes_of(syscall->key);

    switch (syscall->kind) {
    case VAT_SYSCALL_STORE_SET:
        buf_append_string(answer, syscall_answer_null);
        return store_vat_set(kernel->store, vat, key, bytes_of(syscall->value), error);
    case VAT_SYSCALL_STORE_DELETE:
        buf_append_string(answer, syscall_answer_null);
        return store_vat_delete(kernel->store, vat, key, error);
    default:
        return perform_read(kernel, vat, syscall, answer, error);
    }
}

static int perform_resolve(struct kernel *kernel, int64_t vat, const struct vat_syscall *syscall,
                           const json_t *ksc, json_t **answer, struct error *error)
{
    const json_t *resolution;
    size_t i;

    (void)vat;
    (void)syscall;
    (void)answer;
    json_array_foreach(json_array_get(ksc, 2), i, resolution)
    {
        if (promise_resolve(kernel, text_at(resolution, 0),
                            json_is_true(json_array_get(resolution, 1)),
                            json_array_get(resolution, 2), error) != 0)
            return -1;
    }
    return 0;
}

static int perform_send(struct kernel *kernel, int64_t vat, const struct vat_syscall *syscall,
                        const json_t *ksc, json_t **answer, struct error *error)
{
    (void)vat;
    (void)syscall;
    (void)answer;
    return queue_new_send(kernel, text_at(ksc, 1), json_array_get(ksc, 2), error);
}

static int perform_subscribe(struct kernel *kernel, int64_t vat, const struct vat_syscall *syscall,
                             const json_t *ksc, json_t **answer, struct error *error)
{
    (void)syscall;
    (void)answer;
    return promise_subscribe(kernel, text_at(ksc, 2), vat, error);
}

static int perform_call(struct kernel *kernel, int64_t vat, const struct vat_syscall *syscall,
                        const json_t *ksc, json_t **answer, struct error *error)
{
    (void)vat;
    (void)syscall;
    return device_invoke(kernel, text_at(ksc, 1), text_at(ksc, 2), json_array_get(ksc, 3), answer,
                         error);
}

/* Done when the delivery has ended. The last one counts. */
static int perform_exit(struct kernel *kernel, int64_t vat, const struct vat_syscall *syscall,
                        const json_t *ksc, json_t **answer, struct error *error)
{
    struct delivery_state *delivery = &kernel->crank.delivery;

    (void)vat;
    (void)answer;
    (void)error;
    json_decref(delivery->exit_info);
    delivery->exit_info = json_incref(json_array_get(ksc, 3));
    delivery->exit_failure = syscall->is_failure;
    return 0;
}

/* The c-list has said it all. */
static int perform_nothing(struct kernel *kernel, int64_t vat, const struct vat_syscall *syscall,
                           const json_t *ksc, json_t **answer, struct error *error)
{
    (void)kernel;
    (void)vat;
    (void)syscall;
    (void)ksc;
    (void)answer;
    (void)error;
    return 0;
}

static int perform_retire(struct kernel *kernel, int64_t vat, const struct vat_syscall *syscall,
                          const json_t *ksc, json_t **answer, struct error *error)
{
    (void)vat;
    (void)syscall;
    (void)answer;
    return retire_objects(kernel, json_array_get(ksc, 1), error);
}

static int perform_abandon(struct kernel *kernel, int64_t vat, const struct vat_syscall *syscall,
                           const json_t *ksc, json_t **answer, struct error *error)
{
    const json_t *koid;
    size_t i;

    (void)syscall;
    (void)answer;
    json_array_foreach(json_array_get(ksc, 2), i, koid)
    {
        if (retire_abandon(kernel, json_string_value(koid), vat, error) != 0)
            return -1;
    }
    return 0;
}

int syscall_perform(struct kernel *kernel, int64_t vat, const struct vat_syscall *syscall,
                    const json_t *ksc, json_t **answer, struct error *error)
{
    static int (*const perform[])(struct kernel *, int64_t, const struct vat_syscall *,
                                  const json_t *, json_t **, struct error *) = {
        [VAT_SYSCALL_RESOLVE] = perform_resolve,
        [VAT_SYSCALL_SEND] = perform_send,
        [VAT_SYSCALL_SUBSCRIBE] = perform_subscribe,
        [VAT_SYSCALL_CALL_NOW] = perform_call,
        [VAT_SYSCALL_EXIT] = perform_exit,
        [VAT_SYSCALL_DROP_IMPORTS] = perform_nothing,
        [VAT_SYSCALL_RETIRE_IMPORTS] = perform_nothing,
        [VAT_SYSCALL_RETIRE_EXPORTS] = perform_retire,
        [VAT_SYSCALL_ABANDON_EXPORTS] = perform_abandon,
    };

    *answer = NULL;
    return perform[syscall->kind](kernel, vat, syscall, ksc, answer, error);
}
