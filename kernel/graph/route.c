/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/graph/route.h"

#include <string.h>

#include "base/text/format.h"
#include "kernel/graph/object.h"
#include "kernel/graph/promise.h"
#include "kernel/records/capdata.h"
#include "kernel/records/reference.h"

static void copy_reference(char copy[KERNEL_REF_SIZE], const char *kref)
{
    format_text(copy, KERNEL_REF_SIZE, "%s", kref);
}

/* Nobody will answer it: the one who waits for the result hears why. */
static int go_nowhere(struct kernel *kernel, const json_t *message, struct routed *routed,
                      const char *words, struct error *error)
{
    const char *result = json_string_value(json_object_get(message, "result"));

    routed->route = ROUTE_NOWHERE;
    return result == NULL ? 0 : promise_reject(kernel, result, words, error);
}

static int to_object(struct kernel *kernel, const json_t *message, const char *koid,
                     struct routed *routed, struct error *error)
{
    if (object_living_owner(kernel, koid, &routed->vat, error) != 0)
        return -1;
    if (routed->vat == 0)
        return go_nowhere(kernel, message, routed, "vat terminated", error);
    routed->route = ROUTE_VAT;
    copy_reference(routed->target, koid);
    return 0;
}

static int to_data(struct kernel *kernel, const json_t *message, const json_t *data,
                   struct routed *routed, struct error *error)
{
    const char *slot = capdata_single_slot(data);
    struct buf words = {0};
    int result;

    if (slot != NULL && reference_kref_kind(slot) == REFERENCE_OBJECT)
        return to_object(kernel, message, slot, routed, error);
    buf_append_string(&words, "data is not callable, has no method ");
    capdata_method(json_object_get(message, "methargs"), &words);
    result = buf_string(&words) == NULL ? error_memory(error, "a rejection")
                                        : go_nowhere(kernel, message, routed, words.data, error);
    buf_free(&words);
    return result;
}

/* The message's result is rejected as the promise was. */
static int to_rejected(struct kernel *kernel, const json_t *message, const json_t *data,
                       struct routed *routed, struct error *error)
{
    const char *result = json_string_value(json_object_get(message, "result"));

    routed->route = ROUTE_NOWHERE;
    return result == NULL ? 0 : promise_resolve(kernel, result, true, data, error);
}

static int to_promise(struct kernel *kernel, const json_t *message, const char *kpid,
                      struct routed *routed, struct error *error)
{
    enum kernel_promise state;
    json_t *data;
    int result;

    if (promise_state(kernel, kpid, &state, error) != 0)
        return -1;
    if (state == KERNEL_PROMISE_UNRESOLVED) {
        routed->route = ROUTE_PROMISE;
        copy_reference(routed->target, kpid);
        return 0;
    }
    if (promise_data(kernel, kpid, &data, error) != 0)
        return -1;
    if (state == KERNEL_PROMISE_FULFILLED)
        result = to_data(kernel, message, data, routed, error);
    else
        result = to_rejected(kernel, message, data, routed, error);
    json_decref(data);
    return result;
}

int route_send(struct kernel *kernel, const json_t *send, struct routed *routed,
               struct error *error)
{
    const json_t *message = json_object_get(send, "msg");
    const char *target = json_string_value(json_object_get(send, "target"));

    memset(routed, 0, sizeof *routed);
    if (reference_kref_kind(target) == REFERENCE_OBJECT)
        return to_object(kernel, message, target, routed, error);
    return to_promise(kernel, message, target, routed, error);
}
