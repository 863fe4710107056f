/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/graph/promise.h"

#include <inttypes.h>
#include <string.h>

#include "base/json/json_value.h"
#include "base/text/format.h"
#include "kernel/graph/object.h"
#include "kernel/graph/queue.h"
#include "kernel/records/capdata.h"
#include "kernel/records/keys.h"
#include "kernel/records/reference.h"
#include "kernel/state.h"

static const char *const state_names[] = {
    [KERNEL_PROMISE_UNRESOLVED] = "unresolved",
    [KERNEL_PROMISE_FULFILLED] = "fulfilled",
    [KERNEL_PROMISE_REJECTED] = "rejected",
};

/* `field` with its dot, as in keys_part(). */
static int set(struct kernel *kernel, const char *kpid, const char *field, const char *value,
               struct error *error)
{
    char key[KEYS_NAME_SIZE];

    return keys_set(kernel, keys_part(key, kpid, field), value, error);
}

static int drop_promise(struct kernel *kernel, const char *kpid, const char *field,
                        struct error *error)
{
    char key[KEYS_NAME_SIZE];

    return keys_delete(kernel, keys_part(key, kpid, field), error);
}

int promise_add(struct kernel *kernel, int64_t decider, const char *policy,
                char kpid[KERNEL_REF_SIZE], struct error *error)
{
    int64_t id;

    if (keys_take_number(kernel, "kp.nextID", &id, error) != 0)
        return -1;
    reference_make_kref(kpid, REFERENCE_PROMISE, id);
    if (keys_note_new(kernel, kpid, error) != 0 ||
        set(kernel, kpid, ".state", state_names[KERNEL_PROMISE_UNRESOLVED], error) != 0 ||
        set(kernel, kpid, ".subscribers", "", error) != 0 ||
        set(kernel, kpid, ".queue.nextID", "0", error) != 0 ||
        set(kernel, kpid, ".refCount", "0", error) != 0 ||
        (policy != NULL && set(kernel, kpid, ".policy", policy, error) != 0))
        return -1;
    return promise_set_decider(kernel, kpid, decider, error);
}

int promise_exists(struct kernel *kernel, const char *kpid, bool *exists, struct error *error)
{
    char key[KEYS_NAME_SIZE];

    return keys_has(kernel, keys_part(key, kpid, ".state"), exists, error);
}

int promise_state(struct kernel *kernel, const char *kpid, enum kernel_promise *state,
                  struct error *error)
{
    char key[KEYS_NAME_SIZE];

    keys_part(key, kpid, ".state");
    if (keys_require(kernel, key, &kernel->value, error) != 0)
        return -1;
    for (size_t i = 0; i < sizeof state_names / sizeof *state_names; i++) {
        if (strcmp(buf_string(&kernel->value), state_names[i]) == 0) {
            *state = (enum kernel_promise)i;
            return 0;
        }
    }
    return error_set(error, ERROR_SYSTEM, "the store is damaged: %s is not a state", key);
}

/* Splits "ko20,kp40" into an array of texts. */
static json_t *split_krefs(char *list)
{
    json_t *krefs = json_array();
    char *rest = NULL;

    for (char *item = strtok_r(list, ",", &rest); item != NULL; item = strtok_r(NULL, ",", &rest))
        json_array_append_new(krefs, json_string(item));
    return krefs;
}

int promise_data(struct kernel *kernel, const char *kpid, json_t **data, struct error *error)
{
    char key[KEYS_NAME_SIZE];
    struct buf body = {0}, slots = {0};
    int result = -1;

    if (keys_require(kernel, keys_part(key, kpid, ".data.body"), &body, error) != 0 ||
        keys_require(kernel, keys_part(key, kpid, ".data.slots"), &slots, error) != 0)
        goto out;
    *data =
        json_pack("{s:s%,s:o}", "body", body.data, body.length, "slots", split_krefs(slots.data));
    result = *data != NULL ? 0 : error_memory(error, "a promise's data");
out:
    buf_free(&slots);
    buf_free(&body);
    return result;
}

int promise_data_text(struct kernel *kernel, const char *kpid, struct buf *data,
                      struct error *error)
{
    char key[KEYS_NAME_SIZE], *rest = NULL;
    const char *comma = "";

    if (keys_require(kernel, keys_part(key, kpid, ".data.body"), &kernel->value, error) != 0)
        return -1;
    buf_append_string(data, "{\"body\":");
    json_value_write_string(data, kernel->value.data, kernel->value.length);
    if (keys_require(kernel, keys_part(key, kpid, ".data.slots"), &kernel->value, error) != 0)
        return -1;
    buf_append_string(data, ",\"slots\":[");
    for (char *item = strtok_r(kernel->value.data, ",", &rest); item != NULL;
         item = strtok_r(NULL, ",", &rest)) {
        buf_append_string(data, comma);
        json_value_write_string(data, item, strlen(item));
        comma = ",";
    }
    buf_append_string(data, "]}");
    return buf_failed(data) ? error_memory(error, "a promise's data") : 0;
}

int promise_slots(struct kernel *kernel, const char *kpid, json_t **slots, struct error *error)
{
    char key[KEYS_NAME_SIZE];

    *slots = NULL;
    if (keys_require(kernel, keys_part(key, kpid, ".data.slots"), &kernel->value, error) != 0)
        return -1;
    if (kernel->value.length == 0)
        return 0;
    *slots = split_krefs(kernel->value.data);
    return *slots != NULL ? 0 : error_memory(error, "a promise's data");
}

/* Returns an unresolved promise's decider; 0: the kernel. */
static int promise_decider(struct kernel *kernel, const char *kpid, int64_t *vat,
                           struct error *error)
{
    char key[KEYS_NAME_SIZE];

    *vat = 0;
    keys_part(key, kpid, ".decider");
    if (keys_require(kernel, key, &kernel->value, error) != 0)
        return -1;
    if (kernel->value.length > 0 && !reference_read_number(buf_string(&kernel->value), 'v', vat))
        return error_set(error, ERROR_SYSTEM, "the store is damaged: %s is not a vat", key);
    return 0;
}

int promise_set_decider(struct kernel *kernel, const char *kpid, int64_t vat, struct error *error)
{
    char decider[32] = "";

    if (vat != 0)
        format_text(decider, sizeof decider, "v%" PRId64, vat);
    return set(kernel, kpid, ".decider", decider, error);
}

int promise_is_decided_by(struct kernel *kernel, const char *kpid, int64_t vat, bool *is,
                          struct error *error)
{
    enum kernel_promise state;
    int64_t decider;

    *is = false;
    if (promise_state(kernel, kpid, &state, error) != 0)
        return -1;
    if (state != KERNEL_PROMISE_UNRESOLVED)
        return 0;
    if (promise_decider(kernel, kpid, &decider, error) != 0)
        return -1;
    *is = decider == vat;
    return 0;
}

int promise_add_message(struct kernel *kernel, const char *kpid, const json_t *message,
                        struct error *error)
{
    char key[KEYS_NAME_SIZE];
    int64_t number;

    keys_part(key, kpid, ".queue.nextID");
    if (keys_take_number(kernel, key, &number, error) != 0)
        return -1;
    keys_name(key, "%s.queue.%" PRId64, kpid, number);
    return keys_set_json(kernel, key, message, error);
}

int promise_subscribed(struct kernel *kernel, const char *kpid, int64_t vat, bool *subscribed,
                       struct error *error)
{
    char key[KEYS_NAME_SIZE], id[32], *rest = NULL;

    *subscribed = false;
    format_text(id, sizeof id, "v%" PRId64, vat);
    if (keys_require(kernel, keys_part(key, kpid, ".subscribers"), &kernel->value, error) != 0)
        return -1;
    for (char *item = strtok_r(kernel->value.data, ",", &rest); item != NULL;
         item = strtok_r(NULL, ",", &rest))
        *subscribed = *subscribed || strcmp(item, id) == 0;
    return 0;
}

int promise_subscribe(struct kernel *kernel, const char *kpid, int64_t vat, struct error *error)
{
    char key[KEYS_NAME_SIZE], id[32];
    enum kernel_promise state;
    bool added;

    if (promise_state(kernel, kpid, &state, error) != 0)
        return -1;
    if (state != KERNEL_PROMISE_UNRESOLVED)
        return queue_notify(kernel, vat, kpid, error);
    format_text(id, sizeof id, "v%" PRId64, vat);
    return keys_add_to_list(kernel, keys_part(key, kpid, ".subscribers"), id, &added, error);
}

static int notify_subscribers(struct kernel *kernel, const char *kpid, struct error *error)
{
    char key[KEYS_NAME_SIZE], *rest = NULL;
    struct buf subscribers = {0};
    int64_t vat;
    int result = -1;

    if (keys_require(kernel, keys_part(key, kpid, ".subscribers"), &subscribers, error) != 0)
        goto out;
    for (char *item = strtok_r(subscribers.data, ",", &rest); item != NULL;
         item = strtok_r(NULL, ",", &rest)) {
        if (!reference_read_number(item, 'v', &vat)) {
            error_set(error, ERROR_SYSTEM, "the store is damaged: %s is not a list of vats", key);
            goto out;
        }
        if (queue_notify(kernel, vat, kpid, error) != 0)
            goto out;
    }
    result = 0;
out:
    buf_free(&subscribers);
    return result;
}

/* Moves waiting messages to the acceptance queue; their references stay counted. */
static int requeue_messages(struct kernel *kernel, const char *kpid, struct error *error)
{
    char key[KEYS_NAME_SIZE];
    int64_t count;
    json_t *message;
    int result = 0;

    if (keys_get_number(kernel, keys_part(key, kpid, ".queue.nextID"), &count, error) != 0)
        return -1;
    for (int64_t i = 0; i < count && result == 0; i++) {
        keys_name(key, "%s.queue.%" PRId64, kpid, i);
        if (keys_get_json(kernel, key, &message, error) != 0)
            return -1;
        result = queue_send(kernel, kpid, message, error);
        json_decref(message);
        if (result == 0)
            result = keys_delete(kernel, key, error);
    }
    return result;
}

static int forget_unresolved(struct kernel *kernel, const char *kpid, struct error *error)
{
    if (drop_promise(kernel, kpid, ".decider", error) != 0 ||
        drop_promise(kernel, kpid, ".subscribers", error) != 0 ||
        drop_promise(kernel, kpid, ".policy", error) != 0)
        return -1;
    return drop_promise(kernel, kpid, ".queue.nextID", error);
}

/* Logs a rejection if the promise was made for that: the kernel's messages to vatAdmin are. */
static int log_failure(struct kernel *kernel, const char *kpid, bool rejected, const json_t *data,
                       struct error *error)
{
    char key[KEYS_NAME_SIZE];
    struct buf line = {0};
    bool wanted;

    if (!rejected || kernel->listener.console == NULL)
        return 0;
    if (keys_is(kernel, keys_part(key, kpid, ".policy"), "logFailure", &wanted, error) != 0)
        return -1;
    if (!wanted)
        return 0;
    buf_printf(&line, "%s.policy logFailure: rejected ", kpid);
    if (keys_json_text(&line, data, error) == 0 && buf_string(&line) != NULL)
        kernel->listener.console(kernel->listener.context, line.data);
    buf_free(&line);
    return 0;
}

static int set_data(struct kernel *kernel, const char *kpid, const json_t *data,
                    struct error *error)
{
    char key[KEYS_NAME_SIZE];
    const json_t *body = json_object_get(data, "body"), *slots = json_object_get(data, "slots");
    const json_t *slot;
    size_t i;

    buf_clear(&kernel->value);
    buf_append(&kernel->value, json_string_value(body), json_string_length(body));
    if (keys_set_buf(kernel, keys_part(key, kpid, ".data.body"), &kernel->value, error) != 0)
        return -1;
    buf_clear(&kernel->value);
    json_array_foreach(slots, i, slot)
    {
        buf_printf(&kernel->value, "%s%s", i == 0 ? "" : ",", json_string_value(slot));
    }
    return keys_set_buf(kernel, keys_part(key, kpid, ".data.slots"), &kernel->value, error);
}

int promise_resolve(struct kernel *kernel, const char *kpid, bool rejected, const json_t *data,
                    struct error *error)
{
    enum kernel_promise state = rejected ? KERNEL_PROMISE_REJECTED : KERNEL_PROMISE_FULFILLED;

    if (notify_subscribers(kernel, kpid, error) != 0 ||
        refcount_increment_all(kernel, json_object_get(data, "slots"), error) != 0 ||
        requeue_messages(kernel, kpid, error) != 0 ||
        log_failure(kernel, kpid, rejected, data, error) != 0 ||
        forget_unresolved(kernel, kpid, error) != 0 ||
        set(kernel, kpid, ".state", state_names[state], error) != 0)
        return -1;
    return set_data(kernel, kpid, data, error);
}

int promise_reject(struct kernel *kernel, const char *kpid, const char *words, struct error *error)
{
    json_t *data = capdata_error(words);
    int result;

    if (data == NULL)
        return error_memory(error, "a rejection");
    result = promise_resolve(kernel, kpid, true, data, error);
    json_decref(data);
    return result;
}

static int delete_messages(struct kernel *kernel, const char *kpid, struct error *error)
{
    char key[KEYS_NAME_SIZE];
    int64_t count;

    if (keys_get_number(kernel, keys_part(key, kpid, ".queue.nextID"), &count, error) != 0)
        return -1;
    for (int64_t i = 0; i < count; i++) {
        if (keys_delete(kernel, keys_name(key, "%s.queue.%" PRId64, kpid, i), error) != 0)
            return -1;
    }
    return 0;
}

int promise_delete(struct kernel *kernel, const char *kpid, struct error *error)
{
    enum kernel_promise state;

    if (promise_state(kernel, kpid, &state, error) != 0)
        return -1;
    if (state == KERNEL_PROMISE_UNRESOLVED) {
        if (delete_messages(kernel, kpid, error) != 0 ||
            forget_unresolved(kernel, kpid, error) != 0)
            return -1;
    } else if (drop_promise(kernel, kpid, ".data.body", error) != 0 ||
               drop_promise(kernel, kpid, ".data.slots", error) != 0) {
        return -1;
    }
    if (drop_promise(kernel, kpid, ".state", error) != 0)
        return -1;
    return drop_promise(kernel, kpid, ".refCount", error);
}

/* Pushes in reverse, so that the first is on top. */
static int push_slots(json_t *stack, const json_t *slots, struct error *error)
{
    for (size_t i = json_array_size(slots); i > 0; i--) {
        if (json_array_append(stack, json_array_get(slots, i - 1)) != 0)
            return error_memory(error, "promises");
    }
    return 0;
}

/* Uses a stack instead of recursion, since vats decide the length of promise chains. */
static int visit_promises(struct kernel *kernel, json_t *stack, struct reference_set *kpids,
                          struct error *error)
{
    while (json_array_size(stack) > 0) {
        json_t *top = json_incref(json_array_get(stack, json_array_size(stack) - 1));
        const char *kref = json_string_value(top);
        enum kernel_promise state = KERNEL_PROMISE_UNRESOLVED;
        json_t *data = NULL;
        int result = 0;

        json_array_remove(stack, json_array_size(stack) - 1);
        if (reference_kref_kind(kref) == REFERENCE_PROMISE && !reference_set_has(kpids, kref))
            result = promise_state(kernel, kref, &state, error);
        if (state != KERNEL_PROMISE_UNRESOLVED) {
            result = reference_set_add(kpids, kref, error);
            if (result == 0)
                result = promise_data(kernel, kref, &data, error);
            if (result == 0)
                result = push_slots(stack, json_object_get(data, "slots"), error);
        }
        json_decref(data);
        json_decref(top);
        if (result != 0)
            return -1;
    }
    return 0;
}

int promise_settled_together(struct kernel *kernel, const char *kpid, struct reference_set *kpids,
                             struct error *error)
{
    json_t *stack = json_pack("[s]", kpid);
    int result;

    if (stack == NULL)
        return error_memory(error, "promises");
    result = visit_promises(kernel, stack, kpids, error);
    json_decref(stack);
    return result;
}

int promise_all_decided_by(struct kernel *kernel, int64_t vat, struct reference_set *kpids,
                           struct error *error)
{
    char prefix[KEYS_NAME_SIZE];
    struct buf key = {0}, kpid = {0};
    bool found, is;
    int result = -1;

    keys_name(prefix, "v%" PRId64 ".c.p", vat);
    for (;;) {
        if (keys_next(kernel, prefix, key.length == 0 ? "" : key.data, &key, &found, error) != 0)
            goto out;
        if (!found)
            break;
        if (keys_require(kernel, key.data, &kpid, error) != 0 ||
            promise_is_decided_by(kernel, kpid.data, vat, &is, error) != 0 ||
            (is && reference_set_add(kpids, kpid.data, error) != 0))
            goto out;
    }
    result = 0;
out:
    buf_free(&kpid);
    buf_free(&key);
    return result;
}

int promise_count_waiting(struct kernel *kernel, int64_t *count, struct error *error)
{
    struct buf key = {0};
    bool found = true;
    int result = 0;

    *count = 0;
    while (result == 0 && found) {
        result = keys_next(kernel, "kp", key.length == 0 ? "" : key.data, &key, &found, error);
        if (result == 0 && found && strstr(key.data, ".queue.") != NULL &&
            strstr(key.data, ".nextID") == NULL)
            (*count)++;
    }
    buf_free(&key);
    return result;
}

static void copy_reference(char copy[KERNEL_REF_SIZE], const char *kref)
{
    format_text(copy, KERNEL_REF_SIZE, "%s", kref);
}

/* Rejects the message's result, because no vat will answer it. */
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

/* Rejects the message's result with the promise's data. */
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
