/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/syscall.h"

#include <inttypes.h>
#include <string.h>

#include "base/json/json_value.h"
#include "kernel/devices/device_call.h"
#include "kernel/graph/gc.h"
#include "kernel/graph/promise.h"
#include "kernel/graph/queue.h"
#include "kernel/records/crank_hash.h"
#include "kernel/records/keys.h"
#include "kernel/records/limits.h"
#include "kernel/state.h"
#include "kernel/translate.h"
#include "store/store.h"

static const char refusal[] = "[\"error\",\"syscall translation error: prepare to die\"]";

int kernel_illegal(struct kernel *kernel, const char *problem, struct error *error)
{
    struct delivery_state *delivery = &kernel->crank.delivery;

    if (!delivery->in_progress)
        return error_set(error, ERROR_SYSTEM, "no delivery is in progress");
    if (delivery->illegal.length == 0)
        buf_append_string(&delivery->illegal, problem);
    return buf_string(&delivery->illegal) != NULL ? 0 : error_memory(error, "an outcome");
}

/* ERROR_INPUT: the vat broke a rule. Other errors are not its fault. */
static enum kernel_verdict refuse_syscall(struct kernel *kernel, struct kernel_syscall_texts *texts,
                                          struct error *error)
{
    struct error ignored;

    if (error->kind != ERROR_INPUT || kernel_illegal(kernel, error->text, &ignored) != 0)
        return KERNEL_BROKEN;
    texts->ksr = texts->vsr = refusal;
    return KERNEL_ILLEGAL;
}

static int write_syscall_text(struct buf *buf, const json_t *value, const char **text,
                              struct error *error)
{
    buf_clear(buf);
    if (keys_json_text(buf, value, error) != 0)
        return -1;
    *text = buf_string(buf);
    return *text != NULL ? 0 : error_memory(error, "a syscall");
}

/* Writes the vat's syscall as JSON. */
static int write_asked(struct kernel *kernel, const struct vat_syscall *syscall, const char **text,
                       struct error *error)
{
    if (syscall->text.bytes == NULL)
        return write_syscall_text(&kernel->vsc, syscall->object, text, error);
    buf_clear(&kernel->vsc);
    buf_append(&kernel->vsc, syscall->text.bytes, syscall->text.length);
    *text = buf_string(&kernel->vsc);
    return *text != NULL ? 0 : error_memory(error, "a syscall");
}

static void report_translated(const struct kernel *kernel, const struct kernel_syscall_texts *texts)
{
    if (kernel->listener.syscall_translated != NULL)
        kernel->listener.syscall_translated(kernel->listener.context, texts);
}

/* Only a device's answer has references. */
static int answer_to_vat(struct kernel *kernel, const struct vat_syscall *syscall,
                         const json_t *ksr, struct kernel_syscall_texts *texts, struct error *error)
{
    const json_t *value = json_array_get(ksr, 1);
    json_t *translated, *vsr;
    int result;

    if (syscall->kind != VAT_SYSCALL_CALL_NOW || !json_is_object(value)) {
        texts->vsr = texts->ksr;
        return 0;
    }
    if (translate_capdata(kernel, kernel->crank.vat, value, &translated, error) != 0)
        return -1;
    vsr = json_pack("[s,o]", "ok", translated);
    result = vsr != NULL ? write_syscall_text(&kernel->vsr, vsr, &texts->vsr, error)
                         : error_memory(error, "an answer");
    json_decref(vsr);
    return result;
}

static int syscall_perform(struct kernel *kernel, int64_t vat, const struct vat_syscall *syscall,
                           const json_t *ksc, json_t **answer, struct error *error);

static int do_translated(struct kernel *kernel, const struct vat_syscall *syscall,
                         const json_t *ksc, struct kernel_syscall_texts *texts, struct error *error)
{
    json_t *ksr;
    int result;

    if (write_syscall_text(&kernel->ksc, ksc, &texts->ksc, error) != 0)
        return -1;
    report_translated(kernel, texts);
    if (syscall_perform(kernel, kernel->crank.vat, syscall, ksc, &ksr, error) != 0)
        return -1;
    texts->ksr = texts->vsr = syscall_answer_null;
    if (ksr == NULL)
        return 0;
    result = write_syscall_text(&kernel->ksr, ksr, &texts->ksr, error);
    if (result == 0)
        result = answer_to_vat(kernel, syscall, ksr, texts, error);
    json_decref(ksr);
    return result;
}

static int syscall_perform_store(struct kernel *kernel, int64_t vat,
                                 const struct vat_syscall *syscall, struct buf *answer,
                                 struct error *error);

/* ["vatstoreSet","vN",key,value]: the vat's syscall with its vatID inserted. */
static int do_of_store(struct kernel *kernel, const struct vat_syscall *syscall,
                       struct kernel_syscall_texts *texts, struct error *error)
{
    const size_t before = strlen(syscall->name) + strlen("[\"\",");
    struct buf *ksc = &kernel->ksc, *ksr = &kernel->ksr;

    buf_clear(ksc);
    buf_append(ksc, texts->vsc, before);
    buf_printf(ksc, "\"v%" PRId64 "\",", kernel->crank.vat);
    buf_append_string(ksc, texts->vsc + before);
    texts->ksc = buf_string(ksc);
    if (texts->ksc == NULL)
        return error_memory(error, "a syscall");
    buf_clear(ksr);
    if (syscall_perform_store(kernel, kernel->crank.vat, syscall, ksr, error) != 0 ||
        limits_take_transfer(kernel, ksr->length, error) != 0)
        return -1;
    texts->ksr = texts->vsr = buf_string(ksr);
    if (texts->ksr == NULL)
        return error_memory(error, "an answer");
    report_translated(kernel, texts);
    return 0;
}

static int do_syscall(struct kernel *kernel, const struct vat_syscall *syscall,
                      struct kernel_syscall_texts *texts, struct error *error)
{
    json_t *ksc = NULL;
    int result;

    if (syscall_is_of_store(syscall))
        return do_of_store(kernel, syscall, texts, error);
    result = syscall_translate(kernel, kernel->crank.vat, syscall, &ksc, error);
    if (result == 0)
        result = do_translated(kernel, syscall, ksc, texts, error);
    /* The syscall is already reported, so an answer over the limit fails the next syscall. */
    if (result == 0 && syscall->kind == VAT_SYSCALL_CALL_NOW)
        kernel->crank.delivery.transferred += (int64_t)strlen(texts->vsr);
    json_decref(ksc);
    return result;
}

/* Refuses syscalls after an illegal one, and after exit. */
static int check_alive(const struct kernel *kernel, struct error *error)
{
    const struct crank_state *crank = &kernel->crank;

    if (crank->delivery.illegal.length > 0)
        return error_set(error, ERROR_INPUT, "a syscall after one that could not be");
    for (size_t i = 0; i < crank->stopped_count; i++) {
        if (crank->stopped[i] == crank->vat)
            return error_set(error, ERROR_INPUT, "a syscall of a vat that has ended");
    }
    return 0;
}

/* Counts the syscall, and its answer if that is already known. */
static int take_asked(struct kernel *kernel, const struct vat_syscall *syscall, struct error *error)
{
    const bool answered = syscall_is_of_store(syscall) || syscall->kind == VAT_SYSCALL_CALL_NOW;

    return limits_take_transfer(
        kernel, kernel->vsc.length + (answered ? 0 : strlen(syscall_answer_null)), error);
}

enum kernel_verdict kernel_syscall(struct kernel *kernel, const struct vat_syscall *syscall,
                                   struct kernel_syscall_texts *texts, struct error *error)
{
    int result;

    *texts = (struct kernel_syscall_texts){.ksc = "null"};
    if (!kernel->crank.delivery.in_progress) {
        error_set(error, ERROR_SYSTEM, "a syscall without a delivery");
        return KERNEL_BROKEN;
    }
    if (write_asked(kernel, syscall, &texts->vsc, error) != 0)
        return KERNEL_BROKEN;
    crank_hash_note(kernel, 'c', texts->vsc, kernel->vsc.length);
    result = check_alive(kernel, error);
    if (result == 0)
        result = take_asked(kernel, syscall, error);
    if (result == 0)
        result = limits_take(kernel, syscall, error);
    if (result == 0)
        result = do_syscall(kernel, syscall, texts, error);
    if (result != 0)
        return refuse_syscall(kernel, texts, error);
    transcript_item_add_syscall(kernel, texts->vsc, texts->vsr);
    return KERNEL_OK;
}

static struct iovec bytes_of_text(struct vat_text text)
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
    const struct iovec key = bytes_of_text(syscall->key);
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

/* Performs a vatstore syscall, and appends the answer. */
static int syscall_perform_store(struct kernel *kernel, int64_t vat,
                                 const struct vat_syscall *syscall, struct buf *answer,
                                 struct error *error)
{
    const struct iovec key = bytes_of_text(syscall->key);

    switch (syscall->kind) {
    case VAT_SYSCALL_STORE_SET:
        buf_append_string(answer, syscall_answer_null);
        return store_vat_set(kernel->store, vat, key, bytes_of_text(syscall->value), error);
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

/* Takes effect after the delivery; the last exit counts. */
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

/* Translation already changed the c-list. */
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

/* *answer is ["ok",RESULT] or ["error",MESSAGE] with krefs, the caller's; NULL: ["ok",null]. */
static int syscall_perform(struct kernel *kernel, int64_t vat, const struct vat_syscall *syscall,
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
