/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/lifecycle/vat_lifecycle.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/json/json_value.h"
#include "kernel/devices/device.h"
#include "kernel/graph/clist.h"
#include "kernel/graph/gc.h"
#include "kernel/graph/object.h"
#include "kernel/graph/promise.h"
#include "kernel/graph/queue.h"
#include "kernel/records/capdata.h"
#include "kernel/records/keys.h"
#include "kernel/records/reference.h"
#include "kernel/records/vat_record.h"
#include "kernel/state.h"
#include "store/store.h"

/* ---- static vats ---- */

/* Takes over the item; NULL: out of memory. */
static int queue_start_item(struct kernel *kernel, json_t *item, struct error *error)
{
    int result = item != NULL ? queue_add(kernel, QUEUE_ACCEPTANCE, item, error)
                              : error_memory(error, "a vat");

    json_decref(item);
    return result;
}

/* Counts the references that a vat's parameters hold, and returns them; the caller frees. */
static int parameter_slots(struct kernel *kernel, const struct kernel_vat_setup *setup,
                           json_t **slots, struct error *error)
{
    char kref[KERNEL_REF_SIZE];
    int64_t device;

    *slots = json_array();
    if (setup->device == NULL)
        return 0;
    if (device_root(kernel, setup->device, &device, kref, error) != 0 ||
        refcount_increment(kernel, kref, REFCOUNT_KERNEL, error) != 0)
        return -1;
    return json_array_append_new(*slots, json_string(kref)) == 0 ? 0 : error_memory(error, "a vat");
}

static int queue_start(struct kernel *kernel, int64_t vat, const struct kernel_vat_setup *setup,
                       struct error *error)
{
    const char *text = setup->parameters != NULL ? setup->parameters : "{}";
    json_t *tree = json_value_read(text, strlen(text), JSON_DECODE_ANY, NULL), *slots;

    if (tree == NULL)
        return error_set(error, ERROR_INPUT, "the parameters of a vat are no JSON");
    if (parameter_slots(kernel, setup, &slots, error) != 0) {
        json_decref(tree);
        json_decref(slots);
        return -1;
    }
    return queue_start_item(kernel,
                            json_pack("{s:s,s:o,s:o}", "type", "startVat", "vatID",
                                      json_sprintf("v%" PRId64, vat), "vatParameters",
                                      capdata_make(tree, slots)),
                            error);
}

static int create_named(struct kernel *kernel, const char *name, const struct vat_record *record,
                        int64_t *vat, struct error *error)
{
    if (vat_record_take_number(kernel, vat, error) != 0 ||
        vat_record_name(kernel, name, *vat, error) != 0)
        return -1;
    return vat_record_create(kernel, *vat, record, error);
}

int static_vat_create(struct kernel *kernel, const struct kernel_vat_setup *setup, int64_t *vat,
                      struct error *error)
{
    struct vat_record record = {.name = setup->name,
                                .bundle_id = setup->bundle_id,
                                .runtime = setup->runtime,
                                .brings_limit = setup->brings_limit};
    char kref[KERNEL_REF_SIZE];
    json_t *threshold = reap_threshold(setup->creation_options);
    int result;

    if (threshold == NULL)
        return error_memory(error, "a vat's options");
    record.reap_threshold = threshold;
    result = create_named(kernel, setup->name, &record, vat, error);
    json_decref(threshold);
    if (result != 0)
        return -1;
    if (queue_start(kernel, *vat, setup, error) != 0)
        return -1;
    if (strcmp(setup->name, "vatAdmin") != 0)
        return 0;
    if (clist_export_root(kernel, *vat, kref, error) != 0)
        return -1;
    return keys_set(kernel, "vatAdminRootKref", kref, error);
}

/* ---- dynamic vats ---- */

static const char *dynamic_vat_text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

int dynamic_vat_create(struct kernel *kernel, const json_t *item, int64_t *vat, struct error *error)
{
    const json_t *options = json_object_get(item, "dynamicOptions");
    json_t *threshold = reap_threshold(options);
    const char *name = dynamic_vat_text_of(options, "name");
    struct vat_record record = {
        .name = name != NULL ? name : "",
        .bundle_id = dynamic_vat_text_of(json_object_get(item, "source"), "bundleID"),
        .runtime = KERNEL_VAT_LIVESLOTS,
        .reap_threshold = threshold,
        .meter_id = dynamic_vat_text_of(options, "meterID"),
        .critical = json_is_true(json_object_get(options, "critical")),
    };
    int result = -1;

    if (threshold == NULL)
        return error_memory(error, "a vat's options");
    if (record.bundle_id == NULL ||
        !reference_read_number(dynamic_vat_text_of(item, "vatID"), 'v', vat))
        error_set(error, ERROR_SYSTEM, "the store is damaged: create-vat without a bundle");
    else if (vat_record_add_dynamic(kernel, *vat, error) == 0)
        result = vat_record_create(kernel, *vat, &record, error);
    json_decref(threshold);
    return result;
}

/* The reason that rejects the old incarnation's promises. */
static json_t *disconnection(const json_t *item, int64_t incarnation)
{
    json_t *tree = json_pack("{s:I,s:s,s:o}", "incarnationNumber", (json_int_t)incarnation, "name",
                             "vatUpgraded", "upgradeMessage",
                             capdata_string(dynamic_vat_text_of(item, "upgradeMessage")));

    return capdata_make(tree, json_array());
}

static int disconnect_promise(struct kernel *kernel, int64_t vat, const char *kpid,
                              const json_t *reason, struct error *error)
{
    bool subscribed;

    if (promise_subscribed(kernel, kpid, vat, &subscribed, error) != 0 ||
        promise_resolve(kernel, kpid, true, reason, error) != 0)
        return -1;
    /* A promise that the vat subscribed to leaves its c-list when the vat is notified. */
    return subscribed ? 0 : clist_delete(kernel, vat, kpid, error);
}

static int disconnect_promises(struct kernel *kernel, int64_t vat, const json_t *reason,
                               struct error *error)
{
    struct reference_set kpids = {0};
    int result = promise_all_decided_by(kernel, vat, &kpids, error);

    for (size_t i = 0; i < kpids.count && result == 0; i++)
        result = disconnect_promise(kernel, vat, kpids.items[i], reason, error);
    reference_set_free(&kpids);
    return result;
}

/* Returns true for exports that survive an upgrade: the root o+0, and durable objects, o+dN/N. */
static bool outlives_incarnation(const char *vref)
{
    return strcmp(vref, "o+0") == 0 || vref[strlen("o+")] == 'd';
}

static int orphan_exports(struct kernel *kernel, int64_t vat, struct error *error)
{
    char prefix[KEYS_NAME_SIZE];
    struct buf key = {0}, kref = {0};
    size_t vref_at = strlen(keys_name(prefix, "v%" PRId64 ".c.", vat));
    bool found = true;
    int result = 0;

    keys_name(prefix, "v%" PRId64 ".c.o+", vat);
    while (result == 0) {
        result = keys_next(kernel, prefix, key.length == 0 ? "" : key.data, &key, &found, error);
        if (result != 0 || !found)
            break;
        if (outlives_incarnation(key.data + vref_at))
            continue;
        result = keys_require(kernel, key.data, &kref, error);
        if (result == 0)
            result = retire_abandon(kernel, kref.data, vat, error);
    }
    buf_free(&kref);
    buf_free(&key);
    return result;
}

static int advance_incarnation(struct kernel *kernel, int64_t vat, struct vat_position *position,
                               struct error *error)
{
    /* SwingSet's transcript has entries for the old worker's end and the new one's start. */
    enum { PSEUDO_DELIVERIES = 2 };

    position->incarnation++;
    position->position = 0;
    position->delivery_num += PSEUDO_DELIVERIES;
    if (store_snapshot_delete_all(kernel->store, vat, error) != 0)
        return -1;
    return vat_record_set_position(kernel, vat, position, error);
}

int dynamic_vat_begin_incarnation(struct kernel *kernel, int64_t vat, const json_t *item,
                                  struct error *error)
{
    struct vat_position position;
    json_t *reason;
    int result;

    if (vat_record_position(kernel, vat, &position, error) != 0)
        return -1;
    reason = disconnection(item, position.incarnation);
    if (reason == NULL)
        return error_memory(error, "an upgrade");
    result = disconnect_promises(kernel, vat, reason, error);
    json_decref(reason);
    if (result != 0 || orphan_exports(kernel, vat, error) != 0 ||
        advance_incarnation(kernel, vat, &position, error) != 0)
        return -1;
    return vat_record_set_bundle(kernel, vat, dynamic_vat_text_of(item, "bundleID"), error);
}

int notify_upgraded(struct kernel *kernel, int64_t vat, const json_t *item, bool well,
                    struct error *error)
{
    const char *upgrade = dynamic_vat_text_of(item, "upgradeID");
    struct vat_position position;
    json_t *arguments;

    if (upgrade[0] == '\0') /* the operator asked for it */
        return 0;
    if (well && vat_record_position(kernel, vat, &position, error) != 0)
        return -1;
    if (well)
        arguments =
            json_pack("[s,b,s,I]", upgrade, 1, "#undefined", (json_int_t)position.incarnation);
    else
        arguments = json_pack("[s,b,o]", upgrade, 0, capdata_error_tree("vat-upgrade failure"));
    return notify_vat_admin(kernel, "vatUpgradeCallback", arguments, json_array(), error);
}

int notify_created(struct kernel *kernel, int64_t vat, struct error *error)
{
    struct vref root;
    char kref[KERNEL_REF_SIZE];

    (void)reference_read_vref(&root, "o+0", 3);
    if (clist_to_kernel(kernel, vat, &root, kref, error) != 0)
        return -1;
    return notify_vat_admin(kernel, "newVatCallback",
                            json_pack("[o,{s:s}]", json_sprintf("v%" PRId64, vat), "rootObject",
                                      "$0.Alleged: undefined"),
                            json_pack("[s]", kref), error);
}

static int set_reap_interval(struct kernel *kernel, int64_t vat, const json_t *interval,
                             struct error *error)
{
    struct vat_reading reading;
    json_t *threshold;

    if (vat_record_read(kernel, vat, &reading, error) != 0)
        return -1;
    threshold = json_deep_copy(reading.record.reap_threshold);
    vat_record_free(&reading);
    if (threshold == NULL)
        threshold = json_object();
    json_object_set(threshold, "deliveries", (json_t *)(uintptr_t)interval);
    return vat_record_set_option(kernel, vat, "reapDirtThreshold", threshold, error);
}

static bool is_interval(const json_t *value)
{
    const char *text = json_string_value(value);

    return json_is_integer(value) ? json_integer_value(value) >= 0
                                  : text != NULL && strcmp(text, "never") == 0;
}

int dynamic_vat_change_options(struct kernel *kernel, int64_t vat, const json_t *options,
                               json_t **others, struct error *error)
{
    const json_t *interval = json_object_get(options, "reapInterval");

    if (is_interval(interval) && set_reap_interval(kernel, vat, interval, error) != 0)
        return -1;
    *others = json_copy((json_t *)(uintptr_t)options);
    if (*others == NULL)
        return error_memory(error, "a vat's options");
    json_object_del(*others, "reapInterval");
    return 0;
}

static void log_termination(struct kernel *kernel, int64_t vat, bool reject)
{
    char line[96];

    if (kernel->listener.console == NULL)
        return;
    snprintf(line, sizeof line, "kernel terminating vat v%" PRId64 " (failure=%s)", vat,
             reject ? "true" : "false");
    kernel->listener.console(kernel->listener.context, line);
}

int terminate_stop_worker(struct kernel *kernel, int64_t vat, struct error *error)
{
    struct crank_state *crank = &kernel->crank;
    int64_t *stopped;

    for (size_t i = 0; i < crank->stopped_count; i++) {
        if (crank->stopped[i] == vat)
            return 0;
    }
    stopped = array_reserve(crank->stopped, &crank->stopped_capacity, crank->stopped_count + 1,
                            sizeof *stopped);
    if (stopped == NULL)
        return error_memory(error, "workers to stop");
    crank->stopped = stopped;
    crank->stopped[crank->stopped_count++] = vat;
    return 0;
}

/* Sends the kernel's own message; its result promise logs a failure. Takes over `methargs`. */
static int send_from_kernel(struct kernel *kernel, const char *target, json_t *methargs,
                            struct error *error)
{
    char kpid[KERNEL_REF_SIZE];
    json_t *message = NULL;
    int result = -1;

    if (methargs == NULL) {
        error_memory(error, "a message of the kernel");
        return -1;
    }
    if (promise_add(kernel, 0, "logFailure", kpid, error) != 0)
        goto out;
    message = json_pack("{s:O,s:s}", "methargs", methargs, "result", kpid);
    if (message == NULL)
        error_memory(error, "a message of the kernel");
    else
        result = queue_new_send(kernel, target, message, error);
out:
    json_decref(message);
    json_decref(methargs);
    return result;
}

int notify_vat_admin(struct kernel *kernel, const char *method, json_t *arguments, json_t *slots,
                     struct error *error)
{
    struct buf root = {0};
    json_t *tree;
    bool found;
    int result;

    if (keys_get(kernel, "vatAdminRootKref", &root, &found, error) != 0 || !found) {
        result = found ? -1 : 0;
        json_decref(arguments);
        json_decref(slots);
        buf_free(&root);
        return result;
    }
    tree = json_pack("[s,o]", method, arguments);
    result = send_from_kernel(kernel, buf_string(&root), capdata_make(tree, slots), error);
    buf_free(&root);
    return result;
}

/* Checks that objects exist; a delivery that was undone created none. */
static int all_exist(struct kernel *kernel, const json_t *krefs, bool *exist, struct error *error)
{
    struct object_counts counts;
    const json_t *element;
    size_t i;

    *exist = true;
    json_array_foreach(krefs, i, element)
    {
        const char *kref = json_string_value(element);
        bool one = true;

        if (reference_kref_kind(kref) == REFERENCE_PROMISE) {
            if (promise_exists(kernel, kref, &one, error) != 0)
                return -1;
        } else if (reference_kref_kind(kref) == REFERENCE_OBJECT) {
            if (refcount_of_object(kernel, kref, &counts, &one, error) != 0)
                return -1;
        }
        *exist = *exist && one;
    }
    return 0;
}

static int notify_ended(struct kernel *kernel, int64_t vat, bool reject, const json_t *info,
                        struct error *error)
{
    const json_t *krefs = json_object_get(info, "slots");
    json_t *tree, *moved = NULL, *slots = json_array();
    bool exist;

    if (all_exist(kernel, krefs, &exist, error) != 0) {
        json_decref(slots);
        return -1;
    }
    tree = capdata_tree(info);
    if (exist)
        moved = capdata_move(tree, krefs, slots, error);
    json_decref(tree);
    /* The vat's reason may be an invalid value. */
    if (moved == NULL) {
        json_array_clear(slots);
        moved = capdata_error_tree("vat terminated for a reason that cannot be told");
    }
    return notify_vat_admin(kernel, "vatTerminated",
                            json_pack("[o,b,o]", json_sprintf("v%" PRId64, vat), reject, moved),
                            slots, error);
}

static int reject_promises(struct kernel *kernel, int64_t vat, struct error *error)
{
    struct reference_set kpids = {0};
    int result = promise_all_decided_by(kernel, vat, &kpids, error);

    for (size_t i = 0; i < kpids.count && result == 0; i++)
        result = promise_reject(kernel, kpids.items[i], "vat terminated", error);
    reference_set_free(&kpids);
    return result;
}

int terminate_vat(struct kernel *kernel, int64_t vat, bool reject, const json_t *info,
                  struct error *error)
{
    bool lives;

    log_termination(kernel, vat, reject);
    if (vat_record_lives(kernel, vat, &lives, error) != 0)
        return -1;
    if (lives && (vat_record_mark_terminated(kernel, vat, error) != 0 ||
                  reject_promises(kernel, vat, error) != 0))
        return -1;
    if (quarantine_release(kernel, vat, error) != 0 ||
        notify_ended(kernel, vat, reject, info, error) != 0)
        return -1;
    return terminate_stop_worker(kernel, vat, error);
}

/* ---- cleaning up ---- */

struct cleanup {
    int64_t vat;
    int64_t exports, imports, promises, keys;
};

typedef int (*clean_entry)(struct kernel *kernel, int64_t vat, const char *key, const char *kref,
                           struct error *error);

static int clean_export(struct kernel *kernel, int64_t vat, const char *key, const char *kref,
                        struct error *error)
{
    (void)key;
    return retire_abandon(kernel, kref, vat, error);
}

static int clean_import(struct kernel *kernel, int64_t vat, const char *key, const char *kref,
                        struct error *error)
{
    (void)key;
    return clist_delete(kernel, vat, kref, error);
}

static int clean_key(struct kernel *kernel, int64_t vat, const char *key, const char *value,
                     struct error *error)
{
    (void)vat;
    (void)value;
    return keys_delete(kernel, key, error);
}

/* Calls `clean` for each key with the prefix; each call deletes its key. */
static int clean_all(struct kernel *kernel, int64_t vat, const char *kind, clean_entry clean,
                     int64_t *count, struct error *error)
{
    char prefix[KEYS_NAME_SIZE];
    struct buf key = {0}, value = {0};
    bool found = true;
    int result = 0;

    keys_name(prefix, "v%" PRId64 ".%s", vat, kind);
    while (result == 0 && found) {
        result = keys_next(kernel, prefix, "", &key, &found, error);
        if (result != 0 || !found)
            break;
        result = keys_require(kernel, key.data, &value, error);
        if (result == 0)
            result = clean(kernel, vat, key.data, value.data, error);
        (*count)++;
    }
    buf_free(&value);
    buf_free(&key);
    return result;
}

static int clean_rows(struct kernel *kernel, int64_t vat, struct error *error)
{
    if (store_vat_delete_all(kernel->store, vat, error) != 0 ||
        store_snapshot_delete_all(kernel->store, vat, error) != 0)
        return -1;
    return store_transcript_delete_all(kernel->store, vat, error);
}

static void report_cleaned_up(struct kernel *kernel, const struct cleanup *work)
{
    char text[160];

    if (kernel->listener.vat_cleaned_up == NULL)
        return;
    snprintf(text, sizeof text,
             "{\"exports\":%" PRId64 ",\"imports\":%" PRId64 ",\"promises\":%" PRId64
             ",\"kv\":%" PRId64 "}",
             work->exports, work->imports, work->promises, work->keys);
    kernel->listener.vat_cleaned_up(kernel->listener.context, work->vat, text);
}

int terminate_clean_up(struct kernel *kernel, int64_t vat, struct error *error)
{
    struct cleanup work = {.vat = vat};

    if (clean_all(kernel, vat, "c.o+", clean_export, &work.exports, error) != 0 ||
        clean_all(kernel, vat, "c.o-", clean_import, &work.imports, error) != 0 ||
        clean_all(kernel, vat, "c.p", clean_import, &work.promises, error) != 0 ||
        clean_all(kernel, vat, "", clean_key, &work.keys, error) != 0 ||
        clean_rows(kernel, vat, error) != 0 ||
        vat_record_forget_terminated(kernel, vat, error) != 0)
        return -1;
    kernel->crank.cleaned_up = vat;
    report_cleaned_up(kernel, &work);
    return 0;
}
