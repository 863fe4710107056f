/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/kernel.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_value.h"
#include "kernel/deliver.h"
#include "kernel/devices/device.h"
#include "kernel/devices/device_call.h"
#include "kernel/graph/clist.h"
#include "kernel/graph/gc.h"
#include "kernel/graph/promise.h"
#include "kernel/graph/queue.h"
#include "kernel/lifecycle/vat_lifecycle.h"
#include "kernel/records/capdata.h"
#include "kernel/records/crank_hash.h"
#include "kernel/records/keys.h"
#include "kernel/records/limits.h"
#include "kernel/records/reference.h"
#include "kernel/records/vat_record.h"
#include "kernel/state.h"
#include "store/store.h"

/* Raised when a record's meaning changes. */
static const char version[] = "gaspipe-1";

static int init_records(struct kernel *kernel, const struct kernel_options *options,
                        struct error *error)
{
    static const struct {
        const char *key, *value;
    } records[] = {
        {"vat.names", "[]"},        {"vat.dynamicIDs", "[]"},  {"vat.nextID", "1"},
        {"vat.nextUpgradeID", "1"}, {"vats.terminated", "[]"}, {"device.names", "[]"},
        {"device.nextID", "7"},     {"ko.nextID", "20"},       {"kd.nextID", "30"},
        {"kp.nextID", "40"},        {"meter.nextID", "1"},     {"gcActions", "[]"},
        {"crankNumber", "0"},       {"version", version},
    };

    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        if (keys_set(kernel, records[i].key, records[i].value, error) != 0)
            return -1;
    }
    if (queue_init(kernel, error) != 0)
        return -1;
    return reap_init(kernel, options, error);
}

static int open_records(struct kernel *kernel, const struct kernel_options *options,
                        struct error *error)
{
    struct buf found_version = {0};
    bool found;
    int result = keys_get(kernel, "version", &found_version, &found, error);

    if (result == 0 && !found)
        result = init_records(kernel, options, error);
    else if (result == 0 && strcmp(buf_string(&found_version), version) != 0)
        result = error_set(error, ERROR_INPUT,
                           "the store's kernel is of version \"%.32s\"; this program reads \"%s\"",
                           buf_string(&found_version), version);
    buf_free(&found_version);
    return result;
}

struct kernel *kernel_open(struct store *store, const struct kernel_options *options,
                           struct error *error)
{
    struct kernel *kernel = calloc(1, sizeof *kernel);

    if (kernel == NULL) {
        error_memory(error, "a kernel");
        return NULL;
    }
    kernel->store = store;
    kernel->listener = options->listener;
    kernel->limits = options->limits;
    crank_hash_watch(kernel);
    if (crank_hash_open(kernel, error) != 0 ||
        crank_hash_outside(kernel, open_records(kernel, options, error), error) != 0) {
        kernel_close(kernel);
        return NULL;
    }
    return kernel;
}

static void free_delivery(struct delivery_state *delivery)
{
    buf_free(&delivery->kd);
    buf_free(&delivery->vd);
    spool_free(&delivery->item);
    buf_free(&delivery->illegal);
}

static void free_kernel(struct kernel *kernel)
{
    if (kernel == NULL)
        return;
    deliver_forget(kernel);
    json_decref(kernel->crank.message);
    json_decref(kernel->crank.results.info);
    free_delivery(&kernel->crank.delivery);
    buf_free(&kernel->crank.message_text);
    free(kernel->crank.stopped);
    reference_set_free(&kernel->maybe_free);
    spool_free(&kernel->changes);
    buf_free(&kernel->value);
    json_memo_free(&kernel->read);
    json_memo_free(&kernel->queued);
    buf_free(&kernel->vsc);
    buf_free(&kernel->ksc);
    buf_free(&kernel->ksr);
    buf_free(&kernel->vsr);
    free(kernel);
}

void kernel_close(struct kernel *kernel)
{
    if (kernel == NULL)
        return;
    store_watch(kernel->store, NULL, NULL);
    free_kernel(kernel->shadow);
    free_kernel(kernel);
}

int kernel_position(struct kernel *kernel, int64_t *crank_num, char activityhash[KERNEL_HASH_SIZE],
                    struct error *error)
{
    if (keys_get_number(kernel, "crankNumber", crank_num, error) != 0)
        return -1;
    return crank_hash_activity(kernel, activityhash, error);
}

/* Setup by the caller: vats, devices, bundles. */

int kernel_root(struct kernel *kernel, const char *vat_name, char kref[KERNEL_REF_SIZE],
                bool *found, struct error *error)
{
    int64_t vat;

    if (vat_record_named(kernel, vat_name, &vat, found, error) != 0)
        return -1;
    return *found ? crank_hash_outside(kernel, clist_export_root(kernel, vat, kref, error), error)
                  : 0;
}

int kernel_device(struct kernel *kernel, const char *device_name, char kref[KERNEL_REF_SIZE],
                  bool *found, struct error *error)
{
    int64_t device;

    *found = device_is_known(device_name);
    if (!*found)
        return 0;
    return crank_hash_outside(kernel, device_root(kernel, device_name, &device, kref, error),
                              error);
}

int kernel_name_bundle(struct kernel *kernel, const char *name, const char *bundle_id,
                       struct error *error)
{
    char key[KEYS_NAME_SIZE];
    bool same;

    if (strlen(name) > KERNEL_NAME_LIMIT)
        return error_set(error, ERROR_INPUT, "a bundle's name has more than %d bytes",
                         KERNEL_NAME_LIMIT);
    keys_name(key, "namedBundleID.%s", name);
    if (keys_is(kernel, key, bundle_id, &same, error) != 0)
        return -1;
    return same ? 0 : crank_hash_outside(kernel, keys_set(kernel, key, bundle_id, error), error);
}

/* ---- static vats ---- */

static int check_setup(const struct kernel_vat_setup *setup, struct error *error)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t length = strlen(setup->name);

    if (length == 0 || length > KERNEL_NAME_LIMIT || strspn(setup->name, allowed) != length)
        return error_set(error, ERROR_INPUT,
                         "\"%.200s\" is not a name for a vat: letters, digits, '.', '_', '-'",
                         setup->name);
    return 0;
}

/* Takes over the item; NULL: out of memory. */
static int queue_item(struct kernel *kernel, json_t *item, struct error *error)
{
    int result = item != NULL ? queue_add(kernel, QUEUE_ACCEPTANCE, item, error)
                              : error_memory(error, "a vat");

    json_decref(item);
    return result;
}

static int compare_setup(const struct kernel_vat_setup *setup, const char *bundle_id,
                         enum kernel_vat_runtime runtime, struct error *error)
{
    const bool is_known = bundle_id[0] != '\0'; /* else its record was damaged */

    if (!is_known || (strcmp(setup->bundle_id, bundle_id) == 0 && setup->runtime == runtime))
        return 0;
    return error_set(error, ERROR_INPUT,
                     "vat %s has another source in the store (%.80s) than now (%.80s); to replace "
                     "it, give --upgrade %s=FILE",
                     setup->name, bundle_id, setup->bundle_id, setup->name);
}

static int compare_ended(struct kernel *kernel, const struct kernel_vat_setup *setup, int64_t *vat,
                         bool *found, struct error *error)
{
    struct buf bundle_id = {0};
    enum kernel_vat_runtime runtime;
    int result = vat_record_ended(kernel, setup->name, vat, &bundle_id, &runtime, found, error);

    if (result == 0 && *found)
        result = compare_setup(setup, buf_string(&bundle_id), runtime, error);
    buf_free(&bundle_id);
    return result;
}

/* After an upgrade a vat has another source than at its creation. */
static int compare_living(struct kernel *kernel, const struct kernel_vat_setup *setup, int64_t vat,
                          struct error *error)
{
    struct vat_position position;
    struct vat_reading reading;
    int result;

    if (vat_record_position(kernel, vat, &position, error) != 0 ||
        vat_record_read(kernel, vat, &reading, error) != 0)
        return error->damaged_vat == vat ? 0 : -1; /* it goes into quarantine */
    result = position.incarnation > 0
                 ? 0
                 : compare_setup(setup, reading.record.bundle_id, reading.record.runtime, error);
    vat_record_free(&reading);
    return result;
}

int kernel_provide_vat(struct kernel *kernel, const struct kernel_vat_setup *setup, int64_t *vat,
                       struct error *error)
{
    bool found;

    if (check_setup(setup, error) != 0 ||
        vat_record_named(kernel, setup->name, vat, &found, error) != 0)
        return -1;
    if (found)
        return compare_living(kernel, setup, *vat, error);
    if (compare_ended(kernel, setup, vat, &found, error) != 0)
        return -1;
    return found ? 0
                 : crank_hash_outside(kernel, static_vat_create(kernel, setup, vat, error), error);
}

/* No upgradeID: the operator asked, so the vatAdmin vat is not notified. */
static int queue_upgrade(struct kernel *kernel, int64_t vat, const char *bundle_id,
                         struct error *error)
{
    return queue_item(kernel,
                      json_pack("{s:s,s:o,s:s,s:s,s:o,s:s}", "type", "upgrade-vat", "vatID",
                                json_sprintf("v%" PRId64, vat), "upgradeID", "", "bundleID",
                                bundle_id, "vatParameters",
                                capdata_make(json_object(), json_array()), "upgradeMessage",
                                "upgraded by the operator"),
                      error);
}

int kernel_upgrade(struct kernel *kernel, int64_t vat, const char *bundle_id,
                   enum kernel_vat_runtime runtime, bool *same, struct error *error)
{
    struct vat_reading reading;
    int result = 0;

    if (vat_record_read(kernel, vat, &reading, error) != 0)
        return -1;
    *same = strcmp(reading.record.bundle_id, bundle_id) == 0;
    if (reading.record.runtime != runtime)
        result = error_set(error, ERROR_INPUT, "the vat is %s, and cannot become %s",
                           runtime == KERNEL_VAT_PLAIN ? "a bundle" : "a plain contract",
                           runtime == KERNEL_VAT_PLAIN ? "a plain contract" : "a bundle");
    vat_record_free(&reading);
    if (result != 0 || *same)
        return result;
    return crank_hash_outside(kernel, queue_upgrade(kernel, vat, bundle_id, error), error);
}

/* ---- describing vats ---- */

static int describe_vat(struct kernel *kernel, struct kernel_vat *description, struct error *error)
{
    struct vat_position position;
    struct vat_reading reading;
    int result = 0;

    if (vat_record_position(kernel, description->id, &position, error) != 0 ||
        vat_record_is_dynamic(kernel, description->id, &description->dynamic, error) != 0 ||
        limits_read(kernel, description->id, &description->limits, error) != 0 ||
        vat_record_read(kernel, description->id, &reading, error) != 0)
        return -1;
    description->runtime = reading.record.runtime;
    description->metered = reading.record.meter_id != NULL;
    description->incarnation = position.incarnation;
    description->deliveries = position.position;
    description->first_delivery = position.delivery_num - position.position;
    description->name = strdup(reading.record.name);
    description->bundle_id = strdup(reading.record.bundle_id);
    if (description->name == NULL || description->bundle_id == NULL)
        result = error_memory(error, "a vat");
    vat_record_free(&reading);
    return result;
}

static int describe_damaged_vat(struct kernel *kernel, struct kernel_vat *description,
                                struct error *error)
{
    const int64_t id = description->id;
    struct buf name = {0};
    int result;

    memset(description, 0, sizeof *description);
    description->id = id;
    description->damage = strdup(error->text);
    result = vat_record_name_of(kernel, id, &name, error);
    description->name = strdup(name.length > 0 ? buf_string(&name) : "");
    description->bundle_id = strdup("");
    if (result == 0 && (description->name == NULL || description->bundle_id == NULL ||
                        description->damage == NULL))
        result = error_memory(error, "a vat");
    buf_free(&name);
    return result;
}

int kernel_vat_get(struct kernel *kernel, int64_t vat, struct kernel_vat *description, bool *found,
                   struct error *error)
{
    int result;

    memset(description, 0, sizeof *description);
    description->id = vat;
    if (vat_record_lives(kernel, vat, found, error) != 0)
        return -1;
    if (!*found)
        return 0;
    result = describe_vat(kernel, description, error);
    if (result != 0 && error->damaged_vat == vat) {
        kernel_vat_free(description);
        result = describe_damaged_vat(kernel, description, error);
    }
    if (result != 0)
        kernel_vat_free(description);
    return result;
}

int kernel_vat_damage(struct kernel *kernel, int64_t vat, struct buf *damage, struct error *error)
{
    char prefix[KEYS_NAME_SIZE];
    struct buf names = {0};
    int result =
        store_keys_damaged(kernel->store, keys_name(prefix, "v%" PRId64 ".", vat), &names, error);

    if (result == 0 && names.length > 0)
        buf_printf(damage,
                   "the store is damaged: the kernel's key \"%s\" does not match its "
                   "checksum",
                   names.data);
    buf_free(&names);
    return result == 0 && buf_failed(damage) ? error_memory(error, "a damaged vat") : result;
}

void kernel_vat_free(struct kernel_vat *description)
{
    free(description->name);
    free(description->bundle_id);
    free(description->damage);
    description->name = description->bundle_id = description->damage = NULL;
}

int kernel_vat_next(struct kernel *kernel, int64_t after, int64_t *vat, bool *found,
                    struct error *error)
{
    return vat_record_next(kernel, after, vat, found, error);
}

int kernel_vat_names(struct kernel *kernel, void (*take)(void *context, const char *name),
                     void *context, struct error *error)
{
    json_t *names;
    const json_t *name;
    size_t i;

    if (keys_get_json(kernel, "vat.names", &names, error) != 0)
        return -1;
    json_array_foreach(names, i, name)
    {
        if (json_is_string(name))
            take(context, json_string_value(name));
    }
    json_decref(names);
    return 0;
}

int kernel_vat_named(struct kernel *kernel, const char *name, int64_t *vat, bool *found,
                     struct error *error)
{
    return vat_record_named(kernel, name, vat, found, error);
}

/* Work that the caller queues, and its results. */

/* Returns true if a kref is of the kind and exists. */
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

static int check_queued_message(struct kernel *kernel, const char *target, const json_t *methargs,
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
    if (check_queued_message(kernel, target, methargs, error) != 0)
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

/* Counts the host as a holder of what the promise's data names. */
static int retain_data(struct kernel *kernel, const char *promise, struct error *error)
{
    enum kernel_promise state;
    json_t *slots;
    int result;

    if (promise_state(kernel, promise, &state, error) != 0)
        return -1;
    if (state == KERNEL_PROMISE_UNRESOLVED)
        return 0;
    if (promise_slots(kernel, promise, &slots, error) != 0)
        return -1;
    result = refcount_increment_all(kernel, slots, error);
    json_decref(slots);
    return result;
}

int kernel_forget_result(struct kernel *kernel, const char *promise, bool retains,
                         struct error *error)
{
    bool found;

    if (exists(kernel, promise, &found, error) != 0)
        return -1;
    if (!found || reference_kref_kind(promise) != REFERENCE_PROMISE)
        return error_set(error, ERROR_INPUT, "the kernel has no promise %.32s", promise);
    if ((retains && retain_data(kernel, promise, error) != 0) ||
        refcount_decrement(kernel, promise, REFCOUNT_KERNEL, error) != 0)
        return -1;
    /* The end of a crank collects garbage itself. */
    if (kernel->crank.in_progress)
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
