/* SPDX-License-Identifier: Apache-2.0 */
/* Work that comes from outside the kernel, and what it came to. */
#include <inttypes.h>
#include <string.h>

#include "kernel/graph/gc.h"
#include "kernel/graph/promise.h"
#include "kernel/graph/queue.h"
#include "kernel/records/capdata.h"
#include "kernel/records/crank_hash.h"
#include "kernel/records/keys.h"
#include "kernel/records/reference.h"
#include "kernel/records/vat_record.h"
#include "kernel/state.h"

/* Whether a kref is of the kind and there is such a one. */
static int exists(struct kernel *kernel, const char *kref, bool *found, struct error *error)
{
    struct object_counts counts;
    enum reference_kind kind;

    *found = reference_read_kref(&kind, kref);
    if (!*found || kind == REFERENCE_DEVICE)
        return 0;
    if (kind == REFERENCE_PROMISE)
        return promise_exists(kernel, kref, found, error);
    return refcount_of_object(kernel, kref, &counts, found, error);
}

static int check_exist(struct kernel *kernel, const json_t *krefs, struct error *error)
{
    const json_t *kref;
    size_t i;
    bool found;

    json_array_foreach(krefs, i, kref)
    {
        if (exists(kernel, json_string_value(kref), &found, error) != 0)
            return -1;
        if (!found)
            return error_set(error, ERROR_INPUT, "the kernel has no %.32s",
                             json_string_value(kref));
    }
    return 0;
}

static int check_message(struct kernel *kernel, const char *target, const json_t *methargs,
                         struct error *error)
{
    enum reference_kind kind;
    json_t *tree = capdata_tree(methargs);
    bool is_call = json_array_size(tree) == 2 && json_is_string(json_array_get(tree, 0)) &&
                   json_is_array(json_array_get(tree, 1));
    bool found;

    json_decref(tree);
    if (!capdata_has_krefs(methargs) || !is_call)
        return error_set(error, ERROR_INPUT, "a message is not [method,[arguments]] in smallcaps");
    if (!reference_read_kref(&kind, target) || kind == REFERENCE_DEVICE)
        return error_set(error, ERROR_INPUT, "\"%.32s\" takes no messages", target);
    if (exists(kernel, target, &found, error) != 0)
        return -1;
    if (!found)
        return error_set(error, ERROR_INPUT, "the kernel has no %.32s", target);
    return check_exist(kernel, json_object_get(methargs, "slots"), error);
}

static int queue_message(struct kernel *kernel, const char *target, const json_t *methargs,
                         char result[KERNEL_REF_SIZE], struct error *error)
{
    json_t *message;
    int status;

    if (result != NULL && promise_add(kernel, 0, NULL, result, error) != 0)
        return -1;
    message = json_pack("{s:O,s:s?}", "methargs", methargs, "result", result);
    if (message == NULL)
        return error_memory(error, "a message");
    status = queue_new_send(kernel, target, message, error);
    json_decref(message);
    if (status != 0 || result == NULL)
        return status;
    return refcount_increment(kernel, result, REFCOUNT_KERNEL, error);
}

int kernel_queue_message(struct kernel *kernel, const char *target, const json_t *methargs,
                         char result[KERNEL_REF_SIZE], struct error *error)
{
    if (check_message(kernel, target, methargs, error) != 0)
        return -1;
    return crank_hash_outside(kernel, queue_message(kernel, target, methargs, result, error),
                              error);
}

int kernel_promise_state(struct kernel *kernel, const char *promise, enum kernel_promise *state,
                         struct buf *data, struct error *error)
{
    bool found;

    if (exists(kernel, promise, &found, error) != 0)
        return -1;
    if (!found || reference_kref_kind(promise) != REFERENCE_PROMISE)
        return error_set(error, ERROR_INPUT, "the kernel has no promise %.32s", promise);
    if (promise_state(kernel, promise, state, error) != 0)
        return -1;
    if (*state == KERNEL_PROMISE_UNRESOLVED)
        return 0;
    return promise_data_text(kernel, promise, data, error);
}

int kernel_forget_result(struct kernel *kernel, const char *promise, struct error *error)
{
    bool found;

    if (exists(kernel, promise, &found, error) != 0)
        return -1;
    if (!found || reference_kref_kind(promise) != REFERENCE_PROMISE)
        return error_set(error, ERROR_INPUT, "the kernel has no promise %.32s", promise);
    if (refcount_decrement(kernel, promise, REFCOUNT_KERNEL, error) != 0)
        return -1;
    /* Within a crank the end of that looks at it. */
    if (kernel->crank.under_way)
        return 0;
    return crank_hash_outside(kernel, collect_unreferenced(kernel, error), error);
}

static int reap_one(struct kernel *kernel, const char *vat_id, struct error *error)
{
    struct vat_reading reading;
    int64_t vat;
    bool reaps;

    if (!reference_read_number(vat_id, 'v', &vat))
        return error_set(error, ERROR_SYSTEM, "the store is damaged: a list of vats");
    if (vat_record_read(kernel, vat, &reading, error) != 0)
        return -1;
    reaps = reading.record.runtime == KERNEL_VAT_LIVESLOTS;
    vat_record_free(&reading);
    return reaps ? reap_schedule(kernel, vat, error) : 0;
}

static int reap_static(struct kernel *kernel, struct error *error)
{
    struct buf key = {0}, vat_id = {0};
    bool found = true;
    int result = 0;

    while (result == 0) {
        result =
            keys_next(kernel, "vat.name.", key.length == 0 ? "" : key.data, &key, &found, error);
        if (result != 0 || !found)
            break;
        result = keys_require(kernel, key.data, &vat_id, error);
        if (result == 0)
            result = reap_one(kernel, vat_id.data, error);
    }
    buf_free(&vat_id);
    buf_free(&key);
    return result;
}

static int reap_all(struct kernel *kernel, struct error *error)
{
    json_t *ids;
    const json_t *id;
    int result = reap_static(kernel, error);
    size_t i;

    if (result != 0 || keys_get_json(kernel, "vat.dynamicIDs", &ids, error) != 0)
        return -1;
    json_array_foreach(ids, i, id)
    {
        if (result == 0)
            result = reap_one(kernel, json_string_value(id), error);
    }
    json_decref(ids);
    return result;
}

int kernel_reap_all(struct kernel *kernel, struct error *error)
{
    return crank_hash_outside(kernel, reap_all(kernel, error), error);
}

int kernel_queues(struct kernel *kernel, struct kernel_queues *queues, struct error *error)
{
    int64_t routed, accepted;

    if (queue_length(kernel, QUEUE_RUN, &routed, error) != 0 ||
        queue_length(kernel, QUEUE_ACCEPTANCE, &accepted, error) != 0)
        return -1;
    queues->ready = routed + accepted;
    return promise_count_waiting(kernel, &queues->waiting, error);
}
