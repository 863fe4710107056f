/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/lifecycle/operator_work.h"

#include <inttypes.h>
#include <string.h>

#include "kernel/graph/promise.h"
#include "kernel/graph/queue.h"
#include "kernel/lifecycle/vat_lifecycle.h"
#include "kernel/records/capdata.h"
#include "kernel/records/keys.h"
#include "kernel/records/limits.h"
#include "kernel/records/reference.h"
#include "kernel/records/vat_record.h"
#include "kernel/state.h"
#include "store/store.h"

static const char queue_key[] = "operatorQueue";

/* ---- queuing ---- */

/* Takes over the item. */
static int operator_work_add(struct kernel *kernel, json_t *item, struct error *error)
{
    json_t *queue = NULL;
    bool exists = false;
    int result = item != NULL ? keys_has(kernel, queue_key, &exists, error)
                              : error_memory(error, "work for the kernel");

    kernel->no_operator_work = false;
    if (result == 0 && exists)
        result = keys_get_json(kernel, queue_key, &queue, error);
    else if (result == 0 && (queue = json_array()) == NULL)
        result = error_memory(error, "work for the kernel");
    if (result == 0)
        result = json_array_append(queue, item) == 0
                     ? keys_set_json(kernel, queue_key, queue, error)
                     : error_memory(error, "work for the kernel");
    json_decref(queue);
    json_decref(item);
    return result;
}

static json_t *item_for(const char *type, int64_t vat)
{
    return json_pack("{s:s,s:o}", "type", type, "vatID", json_sprintf("v%" PRId64, vat));
}

int kernel_quarantine(struct kernel *kernel, int64_t vat, const char *reason, struct error *error)
{
    json_t *item = item_for("quarantine-vat", vat);

    if (item != NULL && json_object_set_new(item, "reason", capdata_words(reason)) != 0) {
        json_decref(item);
        item = NULL;
    }
    return operator_work_add(kernel, item, error);
}

int kernel_quarantine_reason(struct kernel *kernel, int64_t vat, bool *quarantined,
                             struct buf *reason, struct error *error)
{
    return quarantine_reason(kernel, vat, quarantined, reason, error);
}

int kernel_vat_is_operated(struct kernel *kernel, int64_t vat, bool *is, struct error *error)
{
    json_t *queue;
    const json_t *item;
    int64_t number;
    bool exists;
    size_t i;

    if (quarantine_is(kernel, vat, is, error) != 0 ||
        keys_has(kernel, queue_key, &exists, error) != 0)
        return -1;
    if (*is || !exists)
        return 0;
    if (keys_get_json(kernel, queue_key, &queue, error) != 0)
        return -1;
    json_array_foreach(queue, i, item)
    {
        *is |= reference_read_number(json_string_value(json_object_get(item, "vatID")), 'v',
                                     &number) &&
               number == vat;
    }
    json_decref(queue);
    return 0;
}

static int require_quarantine(struct kernel *kernel, int64_t vat, struct error *error)
{
    bool is;

    if (quarantine_is(kernel, vat, &is, error) != 0)
        return -1;
    return is ? 0 : error_set(error, ERROR_INPUT, "not in quarantine");
}

int kernel_release(struct kernel *kernel, int64_t vat, bool from_start, struct error *error)
{
    json_t *item;

    if (require_quarantine(kernel, vat, error) != 0)
        return -1;
    item = item_for("release-vat", vat);
    if (item != NULL && from_start && json_object_set_new(item, "fromStart", json_true()) != 0) {
        json_decref(item);
        item = NULL;
    }
    return operator_work_add(kernel, item, error);
}

int kernel_terminate(struct kernel *kernel, int64_t vat, struct error *error)
{
    return operator_work_add(kernel, item_for("terminate-vat", vat), error);
}

/* A message, a notification or bringOutYourDead can be skipped; without any other delivery the
 * vat would not be the same. */
static bool can_be_skipped(const json_t *item)
{
    const char *type = json_string_value(json_object_get(item, "type"));

    return type != NULL && (strcmp(type, "send") == 0 || strcmp(type, "notify") == 0 ||
                            strcmp(type, "bringOutYourDead") == 0);
}

int kernel_skip_delivery(struct kernel *kernel, int64_t vat, struct error *error)
{
    json_t *first;
    bool can;

    if (require_quarantine(kernel, vat, error) != 0 ||
        quarantine_look(kernel, vat, &first, error) != 0)
        return -1;
    can = can_be_skipped(first);
    json_decref(first);
    if (first == NULL)
        return error_set(error, ERROR_INPUT,
                         "no delivery is held for it: --release ends its quarantine");
    if (!can)
        return error_set(error, ERROR_INPUT,
                         "only a message, a notification or bringOutYourDead can be skipped: raise "
                         "the vat's limits, or terminate it");
    return operator_work_add(kernel, item_for("skip-delivery", vat), error);
}

/* ---- limits ---- */

/* Returns the most that a delivery in the vat's transcript used; -1 if some delivery has no
 * record of it. */
static int most_used(struct kernel *kernel, const struct vat_position *position, int64_t vat,
                     bool computrons, int64_t *most, struct error *error)
{
    struct buf text = {0};
    bool found = true;
    int result = 0;

    *most = 0;
    for (int64_t at = 0; at < position->position && result == 0 && *most >= 0; at++) {
        json_t *item;
        const json_t *used;

        buf_clear(&text);
        result = store_transcript_get(kernel->store, vat, position->incarnation, at, &text, &found,
                                      error);
        item =
            result == 0 && found ? json_loadb(text.data, text.length, JSON_ALLOW_NUL, NULL) : NULL;
        used = json_object_get(item, "r");
        used = computrons ? json_object_get(json_object_get(used, "metering"), "computrons")
                          : json_object_get(used, "instructions");
        if (!json_is_integer(used))
            *most = -1;
        else if (json_integer_value(used) > *most)
            *most = json_integer_value(used);
        json_decref(item);
    }
    buf_free(&text);
    return result;
}

/* Refuses a limit that a replay of the vat's transcript would exceed. */
static int check_limit(struct kernel *kernel, int64_t vat, const struct limit_change *change,
                       struct error *error)
{
    const bool computrons = strcmp(change->name, "compute") == 0;
    struct vat_position position;
    int64_t most;

    if (change->of_kernel || change->value == 0 ||
        (change->before > 0 && change->value >= change->before))
        return 0;
    if (!computrons && strcmp(change->name, "instructions") != 0)
        return error_set(error, ERROR_INPUT, "%s can only be raised: it is %" PRId64, change->name,
                         change->before);
    if (vat_record_position(kernel, vat, &position, error) != 0 ||
        most_used(kernel, &position, vat, computrons, &most, error) != 0)
        return -1;
    if (most < 0)
        return error_set(error, ERROR_INPUT,
                         "%s cannot be lowered: what earlier deliveries used is not known",
                         change->name);
    if (change->value < most)
        return error_set(error, ERROR_INPUT,
                         "%s cannot be less than %" PRId64 ", which an earlier delivery used",
                         change->name, most);
    return 0;
}

int kernel_set_limit(struct kernel *kernel, int64_t vat, const char *name, int64_t value,
                     struct error *error)
{
    struct limit_change change = {.value = value};
    json_t *item;

    if (limits_look(kernel, vat, name, &change, error) != 0 ||
        check_limit(kernel, vat, &change, error) != 0)
        return -1;
    item = item_for("set-limit", vat);
    if (item != NULL && (json_object_set_new(item, "limit", json_string(change.name)) != 0 ||
                         json_object_set_new(item, "value", json_integer(value)) != 0)) {
        json_decref(item);
        item = NULL;
    }
    return operator_work_add(kernel, item, error);
}

/* ---- performing ---- */

int operator_work_next(struct kernel *kernel, json_t **item, struct error *error)
{
    json_t *queue;
    bool exists;
    int result;

    *item = NULL;
    if (kernel->no_operator_work)
        return 0;
    if (keys_has(kernel, queue_key, &exists, error) != 0)
        return -1;
    kernel->no_operator_work = !exists;
    if (!exists)
        return 0;
    if (keys_get_json(kernel, queue_key, &queue, error) != 0)
        return -1;
    *item = json_incref(json_array_get(queue, 0));
    json_array_remove(queue, 0);
    result = json_array_size(queue) == 0 ? keys_delete(kernel, queue_key, error)
                                         : keys_set_json(kernel, queue_key, queue, error);
    json_decref(queue);
    return result;
}

/* The first delivery of a vat. */
static bool starts(const json_t *item)
{
    const char *type = json_string_value(json_object_get(item, "type"));

    return type != NULL && (strcmp(type, "create-vat") == 0 || strcmp(type, "startVat") == 0);
}

static bool makes(const json_t *item, int64_t vat)
{
    const char *type = json_string_value(json_object_get(item, "type"));
    const char *vat_id = json_string_value(json_object_get(item, "vatID"));
    int64_t made;

    return type != NULL && strcmp(type, "create-vat") == 0 && vat_id != NULL &&
           reference_read_number(vat_id, 'v', &made) && made == vat;
}

/* Quarantines a vat that the next work would create: creates it without its first delivery,
 * which is held. */
static int hold_creation(struct kernel *kernel, int64_t vat, const char *reason,
                         struct error *error)
{
    json_t *next;
    int64_t made;
    int result;

    if (queue_look(kernel, QUEUE_RUN, 0, &next, error) != 0)
        return -1;
    if (!makes(next, vat)) {
        json_decref(next);
        return 0;
    }
    result = dynamic_vat_create(kernel, next, &made, error);
    json_decref(next);
    return result == 0 ? quarantine_begin(kernel, vat, reason, error) : -1;
}

static int drop_first(struct kernel *kernel, int64_t vat, struct error *error)
{
    json_t *first;
    int result;

    if (quarantine_take(kernel, vat, &first, error) != 0)
        return -1;
    result = refcount_decrement_all(
        kernel, json_object_get(json_object_get(first, "vatParameters"), "slots"), error);
    json_decref(first);
    return result;
}

/* Drops a held creation. Otherwise the kernel recreates the terminated vat. */
static int drop_creation(struct kernel *kernel, int64_t vat, struct error *error)
{
    json_t *first = NULL;
    bool is, made;

    if (quarantine_is(kernel, vat, &is, error) != 0 ||
        (is && quarantine_look(kernel, vat, &first, error) != 0))
        return -1;
    made = makes(first, vat);
    json_decref(first);
    return made ? drop_first(kernel, vat, error) : 0;
}

bool operator_work_is_upgrade(const json_t *item)
{
    const char *upgrade_id = json_string_value(json_object_get(item, "upgradeID"));

    return upgrade_id != NULL && upgrade_id[0] == '\0' &&
           !json_is_true(json_object_get(item, "abrupt"));
}

int operator_work_upgrade(struct kernel *kernel, int64_t vat, struct error *error)
{
    json_t *item = kernel->crank.message, *first;
    bool started;

    if (json_object_set_new(item, "abrupt", json_true()) != 0)
        return error_memory(error, "an upgrade");
    if (quarantine_look(kernel, vat, &first, error) != 0)
        return -1;
    started = !starts(first);
    json_decref(first);
    /* The upgrade starts the vat instead. */
    if ((!started && drop_first(kernel, vat, error) != 0) ||
        quarantine_release(kernel, vat, error) != 0)
        return -1;
    return queue_put_first(kernel, QUEUE_RUN, item, error);
}

static int terminate(struct kernel *kernel, int64_t vat, struct error *error)
{
    json_t *info = capdata_error("terminated by the operator");
    struct kernel_termination termination = {.vat = vat, .reject = true};
    struct buf text = {0};
    int result =
        info != NULL ? keys_json_text(&text, info, error) : error_memory(error, "a reason");

    termination.info = buf_string(&text);
    if (result == 0)
        result = damaged_vat_mend(kernel, vat, error);
    if (result == 0)
        result = drop_creation(kernel, vat, error);
    if (result == 0 && kernel->listener.vat_terminated != NULL && termination.info != NULL)
        kernel->listener.vat_terminated(kernel->listener.context, &termination);
    if (result == 0)
        result = terminate_vat(kernel, vat, true, info, error);
    buf_free(&text);
    json_decref(info);
    return result;
}

static int drop_quarantined_item(struct kernel *kernel, const json_t *item, struct error *error)
{
    const char *type = json_string_value(json_object_get(item, "type"));
    const char *result = json_string_value(json_object_get(json_object_get(item, "msg"), "result"));

    if (strcmp(type, "notify") == 0)
        return refcount_decrement(kernel, json_string_value(json_object_get(item, "kpid")),
                                  REFCOUNT_KERNEL, error);
    if (strcmp(type, "send") != 0)
        return 0;
    if (result != NULL &&
        promise_reject(kernel, result, "the delivery was skipped by the operator", error) != 0)
        return -1;
    return queue_release_send(kernel, item, error);
}

static int skip_delivery(struct kernel *kernel, int64_t vat, struct error *error)
{
    json_t *item;
    bool is;
    int result;

    if (quarantine_is(kernel, vat, &is, error) != 0 ||
        (is && quarantine_take(kernel, vat, &item, error) != 0))
        return -1;
    if (!is)
        return 0;
    result = item != NULL ? drop_quarantined_item(kernel, item, error) : 0;
    json_decref(item);
    return result == 0 ? quarantine_release(kernel, vat, error) : -1;
}

/* With "fromStart" the vat is restored by a replay of all its deliveries. */
static int release_vat(struct kernel *kernel, int64_t vat, struct error *error)
{
    if (json_is_true(json_object_get(kernel->crank.message, "fromStart")) &&
        (store_snapshot_delete_all(kernel->store, vat, error) != 0 ||
         terminate_stop_worker(kernel, vat, error) != 0))
        return -1;
    return quarantine_release(kernel, vat, error);
}

static int set_limit(struct kernel *kernel, int64_t vat, struct error *error)
{
    const json_t *item = kernel->crank.message;
    const struct limit_change change = {
        .name = json_string_value(json_object_get(item, "limit")),
        .value = json_integer_value(json_object_get(item, "value")),
    };

    if (limits_change(kernel, vat, &change, error) != 0 ||
        terminate_stop_worker(kernel, vat, error) != 0)
        return -1;
    return quarantine_release(kernel, vat, error);
}

int operator_work_do(struct kernel *kernel, struct error *error)
{
    const json_t *item = kernel->crank.message;
    const char *reason = json_string_value(json_object_get(item, "reason"));
    int64_t vat = 0;
    bool lives;

    (void)reference_read_number(json_string_value(json_object_get(item, "vatID")), 'v', &vat);
    if (vat_record_lives(kernel, vat, &lives, error) != 0)
        return -1;
    if (!lives)
        return kernel->crank.kind == CRANK_QUARANTINE ? hold_creation(kernel, vat, reason, error)
                                                      : 0;
    switch (kernel->crank.kind) {
    case CRANK_QUARANTINE:
        return quarantine_begin(kernel, vat, reason, error);
    case CRANK_RELEASE:
        return release_vat(kernel, vat, error);
    case CRANK_TERMINATE:
        return terminate(kernel, vat, error);
    case CRANK_SKIP:
        return skip_delivery(kernel, vat, error);
    default:
        return set_limit(kernel, vat, error);
    }
}
