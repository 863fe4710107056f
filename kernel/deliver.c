/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/deliver.h"

#include <string.h>

#include "kernel/graph/clist.h"
#include "kernel/graph/object.h"
#include "kernel/graph/promise.h"
#include "kernel/graph/queue.h"
#include "kernel/lifecycle/operator_work.h"
#include "kernel/lifecycle/vat_lifecycle.h"
#include "kernel/records/capdata.h"
#include "kernel/records/crank_hash.h"
#include "kernel/records/keys.h"
#include "kernel/records/limits.h"
#include "kernel/records/reference.h"
#include "kernel/records/vat_record.h"
#include "kernel/state.h"
#include "kernel/translate.h"

void deliver_forget(struct kernel *kernel)
{
    struct delivery_state *delivery = &kernel->crank.delivery;

    delivery->in_progress = false;
    delivery->is_reap = delivery->is_upgrade_end = delivery->is_before_snapshot = false;
    delivery->exit_failure = false;
    json_decref(delivery->exit_info);
    delivery->exit_info = NULL;
    json_decref(delivery->kd_value);
    json_decref(delivery->vd_value);
    delivery->kd_value = delivery->vd_value = NULL;
    buf_clear(&delivery->kd);
    buf_clear(&delivery->vd);
    spool_truncate(&delivery->item, 0);
    delivery->has_syscall = false;
    buf_clear(&delivery->illegal);
    buf_clear(&kernel->vsc);
    buf_clear(&kernel->ksc);
    buf_clear(&kernel->ksr);
    buf_clear(&kernel->vsr);
}

/* Takes over kd and vd. */
static int fill_texts(struct kernel *kernel, json_t *kd, json_t *vd, struct error *error)
{
    struct delivery_state *delivery = &kernel->crank.delivery;

    delivery->view.kd_value = delivery->kd_value = kd;
    delivery->view.vd_value = delivery->vd_value = vd;
    if (keys_json_text(&delivery->kd, kd, error) != 0 ||
        keys_json_text(&delivery->vd, vd, error) != 0)
        return -1;
    delivery->view.kd = buf_string(&delivery->kd);
    delivery->view.vd = buf_string(&delivery->vd);
    if (delivery->view.kd == NULL || delivery->view.vd == NULL)
        return error_memory(error, "a delivery");
    crank_hash_note(kernel, 'd', delivery->vd.data, delivery->vd.length);
    transcript_item_begin(kernel);
    return 0;
}

static int fill_vat(struct kernel *kernel, int64_t vat, struct error *error)
{
    struct delivery_state *delivery = &kernel->crank.delivery;
    struct vat_position position;
    struct vat_reading reading;

    if (vat_record_position(kernel, vat, &position, error) != 0 ||
        limits_read(kernel, vat, &delivery->limits, error) != 0 ||
        vat_record_read(kernel, vat, &reading, error) != 0)
        return -1;
    delivery->syscall_count = 0;
    delivery->transferred = 0;
    delivery->runtime = reading.record.runtime;
    delivery->view.metered = reading.record.meter_id != NULL;
    vat_record_free(&reading);
    delivery->view.vat = vat;
    delivery->view.crank_num = kernel->crank.view.number;
    delivery->view.delivery_num = position.delivery_num;
    delivery->view.incarnation = position.incarnation;
    delivery->view.position = position.position;
    delivery->view.starts_incarnation = position.position == 0;
    delivery->view.creates_vat = position.position == 0 && position.incarnation == 0;
    return 0;
}

/* `dispatch` is the first word of kd, a static text. Takes over kd and vd. */
static int begin_delivery(struct kernel *kernel, int64_t vat, const char *dispatch, json_t *kd,
                          json_t *vd, struct error *error)
{
    struct delivery_state *delivery = &kernel->crank.delivery;
    int result;

    deliver_forget(kernel);
    kernel->crank.vat = vat;
    delivery->view.dispatch = dispatch;
    result = fill_texts(kernel, kd, vd, error);
    if (result == 0)
        result = fill_vat(kernel, vat, error);
    delivery->in_progress = result == 0;
    return result;
}

static const char *deliver_text_of(const json_t *message, const char *name)
{
    return json_string_value(json_object_get(message, name));
}

/* Finds the work's vat; 0 if it has ended. */
static int living_vat(struct kernel *kernel, int64_t *vat, struct error *error)
{
    bool lives;

    (void)reference_read_number(deliver_text_of(kernel->crank.message, "vatID"), 'v', vat);
    if (vat_record_lives(kernel, *vat, &lives, error) != 0)
        return -1;
    if (!lives)
        *vat = 0;
    return 0;
}

static int deliver_message(struct kernel *kernel, const struct routed *routed, struct error *error)
{
    const json_t *message = json_object_get(kernel->crank.message, "msg");
    json_t *vd;

    if (queue_release_send(kernel, kernel->crank.message, error) != 0 ||
        translate_message(kernel, routed->vat, routed->target, message, &vd, error) != 0)
        return -1;
    return begin_delivery(kernel, routed->vat, "message",
                          json_pack("[s,s,O]", "message", routed->target, message), vd, error);
}

static int work_send(struct kernel *kernel, struct error *error)
{
    struct routed routed;

    if (route_send(kernel, kernel->crank.message, &routed, error) != 0)
        return -1;
    switch (routed.route) {
    case ROUTE_VAT:
        return deliver_message(kernel, &routed, error);
    case ROUTE_PROMISE:
        return promise_add_message(kernel, routed.target,
                                   json_object_get(kernel->crank.message, "msg"), error);
    case ROUTE_NOWHERE:
        break;
    }
    return queue_release_send(kernel, kernel->crank.message, error);
}

static int deliver_notify(struct kernel *kernel, int64_t vat, const char *kpid, struct error *error)
{
    struct reference_set kpids = {0};
    json_t *kd = NULL, *vd = NULL;
    int result = promise_settled_together(kernel, kpid, &kpids, error);

    if (result == 0)
        result = translate_notify(kernel, vat, &kpids, &kd, &vd, error);
    reference_set_free(&kpids);
    if (result == 0)
        return begin_delivery(kernel, vat, "notify", kd, vd, error);
    json_decref(kd);
    json_decref(vd);
    return -1;
}

/* Delivers nothing if the vat ended, or was notified about this promise along with another. */
static int work_notify(struct kernel *kernel, struct error *error)
{
    const char *kpid = deliver_text_of(kernel->crank.message, "kpid");
    int64_t vat;
    bool knows;

    if (refcount_decrement(kernel, kpid, REFCOUNT_KERNEL, error) != 0 ||
        living_vat(kernel, &vat, error) != 0)
        return -1;
    if (vat == 0)
        return 0;
    if (clist_has(kernel, vat, kpid, &knows, error) != 0)
        return -1;
    return knows ? deliver_notify(kernel, vat, kpid, error) : 0;
}

/* Moves the parameters' references from the queue to the vat's record. */
static int deliver_start(struct kernel *kernel, int64_t vat, struct error *error)
{
    const json_t *parameters = json_object_get(kernel->crank.message, "vatParameters");
    json_t *vd;

    if (vat_record_set_parameters(kernel, vat, parameters, error) != 0 ||
        translate_start(kernel, vat, parameters, &vd, error) != 0)
        return -1;
    if (refcount_decrement_all(kernel, json_object_get(parameters, "slots"), error) != 0) {
        json_decref(vd);
        return -1;
    }
    return begin_delivery(kernel, vat, "startVat", json_pack("[s,O]", "startVat", parameters), vd,
                          error);
}

static int work_start_vat(struct kernel *kernel, struct error *error)
{
    int64_t vat;

    if (living_vat(kernel, &vat, error) != 0)
        return -1;
    return vat == 0 ? 0 : deliver_start(kernel, vat, error);
}

/* The vat exists already if its first delivery was held in quarantine. */
static int work_create_vat(struct kernel *kernel, struct error *error)
{
    int64_t vat = 0;

    if (living_vat(kernel, &vat, error) != 0 ||
        (vat == 0 && dynamic_vat_create(kernel, kernel->crank.message, &vat, error) != 0))
        return -1;
    return deliver_start(kernel, vat, error);
}

static int deliver_reap(struct kernel *kernel, int64_t vat, struct error *error)
{
    if (begin_delivery(kernel, vat, "bringOutYourDead", json_pack("[s]", "bringOutYourDead"),
                       json_pack("[s]", "bringOutYourDead"), error) != 0)
        return -1;
    kernel->crank.delivery.is_reap = true;
    return 0;
}

/* Does nothing if the vat has ended. */
static int work_reap(struct kernel *kernel, struct error *error)
{
    int64_t vat;

    if (living_vat(kernel, &vat, error) != 0)
        return -1;
    return vat == 0 ? 0 : deliver_reap(kernel, vat, error);
}

int deliver_before_snapshot(struct kernel *kernel, struct error *error)
{
    if (deliver_reap(kernel, kernel->crank.vat, error) != 0)
        return -1;
    kernel->crank.delivery.is_before_snapshot = true;
    return 0;
}

int deliver_upgraded(struct kernel *kernel, struct error *error)
{
    int64_t vat = kernel->crank.vat;

    if (dynamic_vat_begin_incarnation(kernel, vat, kernel->crank.message, error) != 0 ||
        deliver_start(kernel, vat, error) != 0)
        return -1;
    kernel->crank.delivery.is_upgrade_end = true;
    return 0;
}

/* Sends bringOutYourDead to the old incarnation first. Plain vats do not know it, and a vat from
 * quarantine may be unable to run it. */
static int work_upgrade(struct kernel *kernel, struct error *error)
{
    struct vat_reading reading;
    int64_t vat;
    bool abrupt;

    if (living_vat(kernel, &vat, error) != 0)
        return -1;
    if (vat == 0)
        return 0;
    if (vat_record_read(kernel, vat, &reading, error) != 0)
        return -1;
    abrupt = reading.record.runtime == KERNEL_VAT_PLAIN ||
             json_is_true(json_object_get(kernel->crank.message, "abrupt"));
    vat_record_free(&reading);
    if (!abrupt)
        return deliver_reap(kernel, vat, error);
    kernel->crank.vat = vat;
    return deliver_upgraded(kernel, error);
}

static int work_change_options(struct kernel *kernel, struct error *error)
{
    json_t *others = NULL;
    int64_t vat;

    if (living_vat(kernel, &vat, error) != 0)
        return -1;
    if (vat == 0)
        return 0;
    if (dynamic_vat_change_options(kernel, vat, json_object_get(kernel->crank.message, "options"),
                                   &others, error) != 0)
        return -1;
    if (json_object_size(others) == 0) {
        json_decref(others);
        return 0;
    }
    return begin_delivery(kernel, vat, "changeVatOptions",
                          json_pack("[s,O]", "changeVatOptions", others),
                          json_pack("[s,o]", "changeVatOptions", others), error);
}

static int delete_objects(struct kernel *kernel, const json_t *koids, struct error *error)
{
    const json_t *koid;
    size_t i;

    json_array_foreach(koids, i, koid)
    {
        if (object_delete(kernel, json_string_value(koid), error) != 0)
            return -1;
    }
    return 0;
}

/* Plain vats do no garbage collection: only the records change. */
static int deliver_garbage(struct kernel *kernel, int64_t vat, const char *type,
                           const json_t *krefs, json_t *vd, struct error *error)
{
    if (begin_delivery(kernel, vat, type, json_pack("[s,O]", type, krefs), vd, error) != 0)
        return -1;
    if (kernel->crank.delivery.runtime == KERNEL_VAT_PLAIN)
        deliver_forget(kernel);
    return 0;
}

static int work_garbage(struct kernel *kernel, const char *type, struct error *error)
{
    const json_t *krefs = json_object_get(kernel->crank.message, "krefs");
    json_t *vd;
    int64_t vat;

    if (living_vat(kernel, &vat, error) != 0)
        return -1;
    if (vat == 0)
        return 0;
    if (kernel->crank.kind == CRANK_RETIRE_EXPORTS && delete_objects(kernel, krefs, error) != 0)
        return -1;
    if (translate_garbage(kernel, vat, type, krefs, &vd, error) != 0)
        return -1;
    return deliver_garbage(kernel, vat, type, krefs, vd, error);
}

static int work_clean_up(struct kernel *kernel, struct error *error)
{
    int64_t vat;

    (void)reference_read_number(deliver_text_of(kernel->crank.message, "vatID"), 'v', &vat);
    return terminate_clean_up(kernel, vat, error);
}

int deliver_work(struct kernel *kernel, struct error *error)
{
    switch (kernel->crank.kind) {
    case CRANK_SEND:
        return work_send(kernel, error);
    case CRANK_NOTIFY:
        return work_notify(kernel, error);
    case CRANK_START_VAT:
        return work_start_vat(kernel, error);
    case CRANK_CREATE_VAT:
        return work_create_vat(kernel, error);
    case CRANK_UPGRADE_VAT:
        return work_upgrade(kernel, error);
    case CRANK_REAP:
        return work_reap(kernel, error);
    case CRANK_CHANGE_OPTIONS:
        return work_change_options(kernel, error);
    case CRANK_DROP_EXPORTS:
        return work_garbage(kernel, "dropExports", error);
    case CRANK_RETIRE_EXPORTS:
        return work_garbage(kernel, "retireExports", error);
    case CRANK_RETIRE_IMPORTS:
        return work_garbage(kernel, "retireImports", error);
    case CRANK_CLEAN_UP:
        return work_clean_up(kernel, error);
    case CRANK_NEGATED:
        break;
    case CRANK_QUARANTINE:
    case CRANK_RELEASE:
    case CRANK_TERMINATE:
    case CRANK_SKIP:
    case CRANK_SET_LIMIT:
        return operator_work_do(kernel, error);
    }
    return 0;
}

static bool is_vat(const json_t *value)
{
    int64_t vat;

    return json_is_string(value) && reference_read_number(json_string_value(value), 'v', &vat);
}

static bool is_kref(const json_t *value, enum reference_kind *kind)
{
    return json_is_string(value) && reference_read_kref(kind, json_string_value(value));
}

static bool is_promise(const json_t *value)
{
    enum reference_kind kind;

    return is_kref(value, &kind) && kind == REFERENCE_PROMISE;
}

static bool is_send(const json_t *item)
{
    const json_t *message = json_object_get(item, "msg");
    const json_t *result = json_object_get(message, "result");
    enum reference_kind kind;

    return is_kref(json_object_get(item, "target"), &kind) && kind != REFERENCE_DEVICE &&
           capdata_has_krefs(json_object_get(message, "methargs")) &&
           (result == NULL || json_is_null(result) || is_promise(result));
}

static bool is_notify(const json_t *item)
{
    return is_vat(json_object_get(item, "vatID")) && is_promise(json_object_get(item, "kpid"));
}

static bool is_for_vat(const json_t *item)
{
    return is_vat(json_object_get(item, "vatID"));
}

static bool is_start(const json_t *item)
{
    return is_for_vat(item) && capdata_has_krefs(json_object_get(item, "vatParameters"));
}

static bool is_create(const json_t *item)
{
    const json_t *source = json_object_get(item, "source");

    return is_start(item) && json_is_string(json_object_get(source, "bundleID")) &&
           json_is_object(json_object_get(item, "dynamicOptions"));
}

static bool is_upgrade(const json_t *item)
{
    return is_start(item) && json_is_string(json_object_get(item, "bundleID")) &&
           json_is_string(json_object_get(item, "upgradeID")) &&
           json_is_string(json_object_get(item, "upgradeMessage"));
}

static bool is_change(const json_t *item)
{
    return is_for_vat(item) && json_is_object(json_object_get(item, "options"));
}

static bool is_garbage(const json_t *item)
{
    const json_t *krefs = json_object_get(item, "krefs"), *kref;
    enum reference_kind kind;
    size_t i;

    json_array_foreach(krefs, i, kref)
    {
        if (!is_kref(kref, &kind) || kind != REFERENCE_OBJECT)
            return false;
    }
    return is_for_vat(item) && json_is_array(krefs);
}

static bool is_anything(const json_t *item)
{
    (void)item;
    return true;
}

static bool is_quarantine(const json_t *item)
{
    return is_for_vat(item) && json_is_string(json_object_get(item, "reason"));
}

static bool is_limit(const json_t *item)
{
    return is_for_vat(item) && json_is_string(json_object_get(item, "limit")) &&
           json_is_integer(json_object_get(item, "value"));
}

static const struct {
    const char *name;
    bool (*is_whole)(const json_t *item);
} kinds[] = {
    [CRANK_SEND] = {"send", is_send},
    [CRANK_NOTIFY] = {"notify", is_notify},
    [CRANK_START_VAT] = {"startVat", is_start},
    [CRANK_CREATE_VAT] = {"create-vat", is_create},
    [CRANK_UPGRADE_VAT] = {"upgrade-vat", is_upgrade},
    [CRANK_CHANGE_OPTIONS] = {"changeVatOptions", is_change},
    [CRANK_DROP_EXPORTS] = {"dropExports", is_garbage},
    [CRANK_RETIRE_EXPORTS] = {"retireExports", is_garbage},
    [CRANK_RETIRE_IMPORTS] = {"retireImports", is_garbage},
    [CRANK_REAP] = {"bringOutYourDead", is_for_vat},
    [CRANK_CLEAN_UP] = {"cleanup-terminated-vat", is_for_vat},
    [CRANK_NEGATED] = {"negated-gc-action", is_anything},
    [CRANK_QUARANTINE] = {"quarantine-vat", is_quarantine},
    [CRANK_RELEASE] = {"release-vat", is_for_vat},
    [CRANK_TERMINATE] = {"terminate-vat", is_for_vat},
    [CRANK_SKIP] = {"skip-delivery", is_for_vat},
    [CRANK_SET_LIMIT] = {"set-limit", is_limit},
};

int work_item_read(const json_t *item, enum crank_kind *kind, struct error *error)
{
    const char *type = json_string_value(json_object_get(item, "type"));

    for (size_t i = 0; type != NULL && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(type, kinds[i].name) != 0)
            continue;
        *kind = (enum crank_kind)i;
        if (kinds[i].is_whole(item))
            return 0;
        break;
    }
    return error_set(error, ERROR_SYSTEM,
                     "the store is damaged: a queue holds something that is not work");
}

const char *work_item_name(enum crank_kind kind)
{
    return kinds[kind].name;
}
