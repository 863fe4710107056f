/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predicts deliveries: a second kernel over the same store does the queued work up to its
 * delivery, then all of it is undone.
 */
#include <stdlib.h>
#include <string.h>

#include "kernel/deliver.h"
#include "kernel/graph/gc.h"
#include "kernel/graph/object.h"
#include "kernel/graph/queue.h"
#include "kernel/kernel.h"
#include "kernel/records/crank_hash.h"
#include "kernel/records/keys.h"
#include "kernel/records/reference.h"
#include "kernel/state.h"
#include "kernel/syscall.h"
#include "store/overlay.h"
#include "store/store.h"

/* ---- the second kernel, whose changes are undone ---- */

static struct kernel *shadow_of(struct kernel *kernel, struct error *error)
{
    if (kernel->shadow == NULL) {
        kernel->shadow = calloc(1, sizeof *kernel->shadow);
        if (kernel->shadow == NULL) {
            error_memory(error, "a kernel");
            return NULL;
        }
        kernel->shadow->store = kernel->store;
    }
    return kernel->shadow;
}

/* Stops watching the store, because all further changes are undone. */
static int begin_prediction(struct kernel *shadow, struct error *error)
{
    store_watch(shadow->store, NULL, NULL);
    shadow->crank.in_progress = true;
    return store_savepoint_set(shadow->store, error);
}

static int undo_prediction(struct kernel *kernel, struct error *error)
{
    struct kernel *shadow = kernel->shadow;

    crank_hash_watch(kernel);
    shadow->crank.in_progress = false;
    shadow->crank.message = NULL;
    spool_truncate(&shadow->changes, 0);
    reference_set_clear(&shadow->maybe_free);
    return store_savepoint_undo(shadow->store, error);
}

/* Undoes the work that led to the delivery, then reports the delivery. */
static int end_prediction(struct kernel *kernel, const struct kernel_prediction *prediction,
                          bool predicted, struct error *error)
{
    struct kernel *shadow = kernel->shadow;

    if (undo_prediction(kernel, error) != 0)
        return -1;
    if (predicted)
        prediction->predicted(prediction->context, &shadow->crank.delivery.view);
    deliver_forget(shadow);
    return 0;
}

/* ---- one item ---- */

/* Finds the vat of an item; 0: unknown. */
static int vat_of(struct kernel *shadow, const json_t *item, int64_t *vat, struct error *error)
{
    const char *target = json_string_value(json_object_get(item, "target"));
    const char *vat_id = json_string_value(json_object_get(item, "vatID"));

    *vat = 0;
    if (vat_id != NULL && !reference_read_number(vat_id, 'v', vat))
        *vat = 0;
    if (target == NULL || reference_kref_kind(target) != REFERENCE_OBJECT)
        return 0;
    return object_living_owner(shadow, target, vat, error);
}

/* Returns true for changes of a vat, such as upgrades, which are never predicted. */
static bool is_predictable(enum crank_kind kind)
{
    return kind == CRANK_SEND || kind == CRANK_NOTIFY || kind == CRANK_START_VAT ||
           kind == CRANK_REAP;
}

/* Predicts nothing for an item that fails; its turn will report the error. */
static bool do_work(struct kernel *shadow, json_t *item)
{
    struct error ignored;

    shadow->crank.message = item;
    return work_item_read(item, &shadow->crank.kind, &ignored) == 0 &&
           is_predictable(shadow->crank.kind) && deliver_work(shadow, &ignored) == 0 &&
           shadow->crank.delivery.in_progress;
}

static int predict_item(struct kernel *kernel, const struct kernel_prediction *prediction,
                        json_t *item, struct error *error)
{
    struct kernel *shadow = kernel->shadow;
    bool predicted;

    if (begin_prediction(shadow, error) != 0)
        return -1;
    predicted = do_work(shadow, item);
    return end_prediction(kernel, prediction, predicted, error);
}

/* Releases the item. *enough: inspect no further items. */
static int look_at(struct kernel *kernel, const struct kernel_prediction *prediction, json_t *item,
                   bool *enough, struct error *error)
{
    enum kernel_interest interest = KERNEL_PASS;
    int64_t vat;
    int64_t quarantined = 0;
    int result = vat_of(kernel->shadow, item, &vat, error);

    if (result == 0)
        result = quarantine_vat_of(kernel, item, &quarantined, error);
    if (result == 0 && vat != 0 && quarantined == 0)
        interest = prediction->interest(prediction->context, vat);
    *enough = interest == KERNEL_ENOUGH;
    if (interest == KERNEL_PREDICT)
        result = predict_item(kernel, prediction, item, error);
    json_decref(item);
    return result;
}

/* ---- all queued work, in order ---- */

/*
 * Asks about vats with pending garbage deliveries, which precede other work and are not
 * predicted.
 */
static int pass_garbage(struct kernel *kernel, const struct kernel_prediction *prediction,
                        bool *enough, struct error *error)
{
    json_t *vats;
    const json_t *vat_id;
    int64_t vat;
    size_t i;

    if (gc_action_vats(kernel->shadow, &vats, error) != 0)
        return -1;
    json_array_foreach(vats, i, vat_id)
    {
        if (!*enough && reference_read_number(json_string_value(vat_id), 'v', &vat))
            *enough = prediction->interest(prediction->context, vat) == KERNEL_ENOUGH;
    }
    json_decref(vats);
    return 0;
}

static int look_at_run(struct kernel *kernel, int64_t index, json_t **item, struct error *error)
{
    return queue_look(kernel, QUEUE_RUN, index, item, error);
}

static int look_at_accepted(struct kernel *kernel, int64_t index, json_t **item,
                            struct error *error)
{
    return queue_look(kernel, QUEUE_ACCEPTANCE, index, item, error);
}

int kernel_predict(struct kernel *kernel, const struct kernel_prediction *prediction, size_t *items,
                   struct error *error)
{
    static int (*const sources[])(struct kernel *, int64_t, json_t **,
                                  struct error *) = {reap_look, look_at_run, look_at_accepted};
    bool enough = false;
    json_t *item;

    if (shadow_of(kernel, error) == NULL || pass_garbage(kernel, prediction, &enough, error) != 0)
        return -1;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        for (int64_t index = 0; !enough && *items > 0; index++, (*items)--) {
            if (sources[i](kernel->shadow, index, &item, error) != 0)
                return -1;
            if (item == NULL)
                break;
            if (look_at(kernel, prediction, item, &enough, error) != 0)
                return -1;
        }
    }
    return 0;
}

/* ---- messages that are not queued yet ---- */

/* Returns the item queued last, owned by the caller; NULL: no prediction. */
static json_t *queue_and_look(struct kernel *shadow,
                              int (*queue)(void *context, struct kernel *kernel,
                                           struct error *error),
                              void *context)
{
    struct error ignored;
    json_t *item = NULL;
    int64_t length;

    if (queue(context, shadow, &ignored) != 0 ||
        queue_length(shadow, QUEUE_ACCEPTANCE, &length, &ignored) != 0 ||
        queue_look(shadow, QUEUE_ACCEPTANCE, length - 1, &item, &ignored) != 0)
        return NULL;
    return item;
}

int kernel_predict_unqueued(struct kernel *kernel, const struct kernel_prediction *prediction,
                            int (*queue)(void *context, struct kernel *kernel, struct error *error),
                            struct error *error)
{
    struct kernel *shadow = shadow_of(kernel, error);
    json_t *item;
    bool predicted;

    if (shadow == NULL || begin_prediction(shadow, error) != 0)
        return -1;
    item = queue_and_look(shadow, queue, prediction->context);
    predicted =
        item != NULL && do_work(shadow, item) && shadow->crank.delivery.runtime == KERNEL_VAT_PLAIN;
    json_decref(item);
    return end_prediction(kernel, prediction, predicted, error);
}

/* ---- syscalls of a predicted delivery ---- */

static struct iovec key_and_value(struct vat_text text)
{
    return (struct iovec){.iov_base = (void *)(uintptr_t)text.bytes, .iov_len = text.length};
}

static int read_overlay(const struct overlay *overlay, const struct vat_syscall *syscall,
                        struct buf *answer, struct error *error)
{
    const struct iovec key = key_and_value(syscall->key);
    struct buf text = {0};
    bool found = false;
    int result;

    if (syscall->kind == VAT_SYSCALL_STORE_GET)
        result = overlay_get(overlay, key, &text, &found, error);
    else
        result = overlay_next_key(overlay, key, &text, &found, error);
    syscall_answer_text(answer, &text, result == 0 && found);
    buf_free(&text);
    return result;
}

static int perform_on_overlay(struct overlay *overlay, const struct vat_syscall *syscall,
                              struct buf *answer, struct error *error)
{
    switch (syscall->kind) {
    case VAT_SYSCALL_STORE_GET:
    case VAT_SYSCALL_STORE_NEXT_KEY:
        return read_overlay(overlay, syscall, answer, error);
    case VAT_SYSCALL_STORE_SET:
        buf_append_string(answer, syscall_answer_null);
        return overlay_set(overlay, key_and_value(syscall->key), key_and_value(syscall->value),
                           error);
    case VAT_SYSCALL_STORE_DELETE:
        buf_append_string(answer, syscall_answer_null);
        return overlay_delete(overlay, key_and_value(syscall->key), error);
    default:
        buf_append_string(answer, syscall_answer_null);
        return 0;
    }
}

int kernel_predict_syscall(struct overlay *overlay, const struct vat_syscall *syscall,
                           struct buf *answer, bool *found, struct error *error)
{
    buf_clear(answer);
    *found = syscall->kind != VAT_SYSCALL_CALL_NOW;
    if (!*found)
        return 0;
    /* The syscall fails again when it is the delivery's turn. */
    *found = perform_on_overlay(overlay, syscall, answer, error) == 0;
    return buf_failed(answer) ? error_memory(error, "an answer") : 0;
}
