/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json_value.h"
#include "kernel/devices/device.h"
#include "kernel/graph/queue.h"
#include "kernel/kernel.h"
#include "kernel/lifecycle/vat_lifecycle.h"
#include "kernel/records/capdata.h"
#include "kernel/records/keys.h"
#include "kernel/records/limits.h"
#include "kernel/records/reference.h"
#include "kernel/records/vat_record.h"
#include "kernel/state.h"
#include "store/store.h"

/* Bundles in the store, and the vatAdmin device's nodes for them. */

enum { BUNDLE_ID_LENGTH = 131 }; /* "b1-" and a SHA-512 in hexadecimal digits */

static int get_bundle(struct kernel *kernel, const char *bundle_id, struct buf *json, bool *found,
                      struct error *error)
{
    *found = false;
    if (strlen(bundle_id) > BUNDLE_ID_LENGTH)
        return 0;
    return store_bundle_get(kernel->store, bundle_id, json, found, error);
}

static int bundle_device_has(struct kernel *kernel, const char *bundle_id, bool *found,
                             struct error *error)
{
    struct buf json = {0};
    int result = get_bundle(kernel, bundle_id, &json, found, error);

    buf_free(&json);
    return result;
}

/* ---- bundles as values ---- */

/* Convert plain JSON to smallcaps and back: texts gain or lose their escape. NULL: out of
 * memory, or not a plain value. */
static json_t *convert(const json_t *value, bool to_smallcaps)
{
    json_t *converted, *element;
    const char *name, *text;
    size_t i;

    if (json_is_string(value)) {
        text = to_smallcaps ? json_string_value(value) : capdata_text(value);
        if (text == NULL)
            return NULL;
        return to_smallcaps ? capdata_string(text) : json_string(text);
    }
    if (json_is_array(value)) {
        converted = json_array();
        json_array_foreach(value, i, element)
        {
            if (json_array_append_new(converted, convert(element, to_smallcaps)) != 0)
                goto failed;
        }
        return converted;
    }
    if (!json_is_object(value))
        return json_copy((json_t *)(uintptr_t)value);
    converted = json_object();
    json_object_foreach((json_t *)(uintptr_t)value, name, element)
    {
        if (json_object_set_new(converted, name, convert(element, to_smallcaps)) != 0)
            goto failed;
    }
    return converted;
failed:
    json_decref(converted);
    return NULL;
}

/* Stores a bundle that was given as a value; *kept is false if it is not a bundle. */
static int bundle_device_keep(struct kernel *kernel, const json_t *value,
                              char bundle_id[DEVICE_BUNDLE_ID_SIZE], bool *kept,
                              struct error *error)
{
    json_t *bundle = json_is_object(value) ? convert(value, false) : NULL;
    int result = 0;

    *kept = json_is_string(json_object_get(bundle, "moduleFormat"));
    if (*kept)
        result = device_keep_bundle(kernel, bundle, bundle_id, error);
    json_decref(bundle);
    return result;
}

/* ---- nodes ---- */

/* The device's records: dN.vs.NAME. */
static const char *own_key(char key[KEYS_NAME_SIZE], const struct device_call *call,
                           const char *name, const char *rest)
{
    return keys_name(key, "d%" PRId64 ".vs.%s%s", call->device, name, rest);
}

static int take_node_number(struct kernel *kernel, struct device_call *call, int64_t *number,
                            struct error *error)
{
    char key[KEYS_NAME_SIZE];
    bool found;

    if (keys_has(kernel, own_key(key, call, "nextDev", ""), &found, error) != 0 ||
        (!found && keys_set(kernel, key, "1", error) != 0))
        return -1;
    return keys_take_number(kernel, key, number, error);
}

static int make_node(struct kernel *kernel, struct device_call *call, const char *bundle_id,
                     char node[32], struct error *error)
{
    char key[KEYS_NAME_SIZE];
    int64_t number;

    if (take_node_number(kernel, call, &number, error) != 0)
        return -1;
    snprintf(node, 32, "d+%" PRId64, number);
    if (keys_set(kernel, own_key(key, call, "id.", bundle_id), node, error) != 0)
        return -1;
    return keys_set(kernel, own_key(key, call, "slot.", node), bundle_id, error);
}

static int give_node(struct kernel *kernel, struct device_call *call, const char *node,
                     struct error *error)
{
    char kdid[KERNEL_REF_SIZE];

    if (device_node(kernel, call->device, node, kdid, error) != 0)
        return -1;
    call->result = json_string("$0.Alleged: device node");
    return json_array_append_new(call->result_slots, json_string(kdid)) == 0
               ? 0
               : error_memory(error, "an answer");
}

/* Returns undefined for an unknown bundle. */
static int give_cap(struct kernel *kernel, struct device_call *call, const char *bundle_id,
                    struct error *error)
{
    char key[KEYS_NAME_SIZE], node[32];
    bool made, found;

    if (bundle_device_has(kernel, bundle_id, &found, error) != 0)
        return -1;
    if (!found)
        return 0;
    if (keys_get(kernel, own_key(key, call, "id.", bundle_id), &kernel->value, &made, error) != 0)
        return -1;
    if (made)
        snprintf(node, sizeof node, "%s", buf_string(&kernel->value));
    else if (make_node(kernel, call, bundle_id, node, error) != 0)
        return -1;
    return give_node(kernel, call, node, error);
}

/* getBundleCap(id), getNamedBundleCap(name), getBundleIDByName(name) */
static int bundle_device_cap(struct kernel *kernel, struct device_call *call, struct error *error)
{
    const char *bundle_id = capdata_text(json_array_get(call->arguments, 0));

    if (bundle_id == NULL || strlen(bundle_id) != BUNDLE_ID_LENGTH ||
        strncmp(bundle_id, "b1-", 3) != 0 ||
        strspn(bundle_id + 3, "0123456789abcdef") != BUNDLE_ID_LENGTH - 3)
        return device_refuse(call, error, "getBundleCap: not a bundleID");
    return give_cap(kernel, call, bundle_id, error);
}

/* `bundle_id` is emptied first; *found is false after a refusal. */
static int look_up_name(struct kernel *kernel, struct device_call *call, struct buf *bundle_id,
                        bool *found, struct error *error)
{
    const char *name = capdata_text(json_array_get(call->arguments, 0));
    char key[KEYS_NAME_SIZE];

    *found = false;
    if (name != NULL && strlen(name) <= KERNEL_NAME_LIMIT &&
        keys_get(kernel, keys_name(key, "namedBundleID.%s", name), bundle_id, found, error) != 0)
        return -1;
    return *found ? 0 : device_refuse(call, error, "no bundle of that name");
}

static int bundle_device_named_cap(struct kernel *kernel, struct device_call *call,
                                   struct error *error)
{
    struct buf bundle_id = {0};
    bool found;
    int result = look_up_name(kernel, call, &bundle_id, &found, error);

    if (result == 0 && found)
        result = give_cap(kernel, call, buf_string(&bundle_id), error);
    buf_free(&bundle_id);
    return result;
}

static int bundle_device_id_by_name(struct kernel *kernel, struct device_call *call,
                                    struct error *error)
{
    struct buf bundle_id = {0};
    bool found;
    int result = look_up_name(kernel, call, &bundle_id, &found, error);

    if (result == 0 && found)
        result = device_answer_text(call, buf_string(&bundle_id), error);
    buf_free(&bundle_id);
    return result;
}

static int give_bundle(struct kernel *kernel, struct device_call *call, const char *bundle_id,
                       struct error *error)
{
    struct buf json = {0};
    json_t *bundle = NULL, *escaped = NULL, *no_slots = json_array();
    bool found;
    int result = get_bundle(kernel, bundle_id, &json, &found, error);

    if (result == 0 && found)
        bundle = json_value_read(json.data, json.length, JSON_ALLOW_NUL, NULL);
    if (bundle != NULL)
        escaped = convert(bundle, true);
    if (escaped != NULL)
        call->result = capdata_move(escaped, no_slots, call->result_slots, error);
    if (result == 0 && call->result == NULL)
        result = device_refuse(call, error, "the bundle is gone or no JSON");
    json_decref(no_slots);
    json_decref(escaped);
    json_decref(bundle);
    buf_free(&json);
    return result;
}

/* getBundleID(), getBundle() of such a node */
static int bundle_device_node(struct kernel *kernel, struct device_call *call, struct error *error)
{
    char key[KEYS_NAME_SIZE];
    struct buf bundle_id = {0};
    bool found;
    int result =
        keys_get(kernel, own_key(key, call, "slot.", call->node), &bundle_id, &found, error);

    if (result == 0 && !found)
        result = device_refuse(call, error, "not a bundle's node");
    else if (result == 0 && strcmp(call->method, "getBundleID") == 0)
        result = device_answer_text(call, buf_string(&bundle_id), error);
    else if (result == 0 && strcmp(call->method, "getBundle") == 0)
        result = give_bundle(kernel, call, buf_string(&bundle_id), error);
    else if (result == 0)
        result = device_refuse(call, error, "a bundle's node has no such method");
    buf_free(&bundle_id);
    return result;
}

/*
 * SwingSet's vatAdmin vat calls this device, in the protocol of npm @agoric/swingset-vat
 * (src/devices/vat-admin/device-vat-admin.js and src/kernel/vat-admin-hooks.js). It creates,
 * upgrades, changes and terminates vats, and has nodes for bundles and meters.
 */

static const json_t *argument(const struct device_call *call, size_t index)
{
    return json_array_get(call->arguments, index);
}

static const char *text_argument(const struct device_call *call, size_t index)
{
    return capdata_text(argument(call, index));
}

/* ---- meters ---- */

static int create_meter(struct kernel *kernel, struct device_call *call, struct error *error)
{
    char meter_id[KERNEL_REF_SIZE];
    int64_t remaining, threshold;

    if (!json_is_string(argument(call, 0)) || !json_is_string(argument(call, 1)) ||
        !capdata_natural(argument(call, 0), &remaining) ||
        !capdata_natural(argument(call, 1), &threshold))
        return device_refuse(call, error, "createMeter needs two bigints");
    if (vat_meter_create(kernel, remaining, threshold, meter_id, error) != 0)
        return -1;
    return device_answer_text(call, meter_id, error);
}

static int create_unlimited_meter(struct kernel *kernel, struct device_call *call,
                                  struct error *error)
{
    char meter_id[KERNEL_REF_SIZE];

    if (vat_meter_create(kernel, VAT_METER_UNLIMITED, 0, meter_id, error) != 0)
        return -1;
    return device_answer_text(call, meter_id, error);
}

/* Finds the meter that the first argument names; *found is false after a refusal. */
static int find_meter(struct kernel *kernel, struct device_call *call, struct vat_meter *meter,
                      bool *found, struct error *error)
{
    const char *meter_id = text_argument(call, 0);

    *found = false;
    if (meter_id != NULL && vat_meter_get(kernel, meter_id, meter, found, error) != 0)
        return -1;
    return *found ? 0 : device_refuse(call, error, "no such meter");
}

static int add_meter_remaining(struct kernel *kernel, struct device_call *call, struct error *error)
{
    struct vat_meter meter;
    int64_t more;
    bool found;

    if (find_meter(kernel, call, &meter, &found, error) != 0 || !found)
        return found ? -1 : 0;
    if (!capdata_natural(argument(call, 1), &more))
        return device_refuse(call, error, "addMeterRemaining needs a bigint");
    if (meter.remaining != VAT_METER_UNLIMITED &&
        __builtin_add_overflow(meter.remaining, more, &meter.remaining))
        return device_refuse(call, error, "a meter holds less than 2^63");
    return vat_meter_set(kernel, text_argument(call, 0), &meter, error);
}

static int set_meter_threshold(struct kernel *kernel, struct device_call *call, struct error *error)
{
    struct vat_meter meter;
    bool found;

    if (find_meter(kernel, call, &meter, &found, error) != 0 || !found)
        return found ? -1 : 0;
    if (!capdata_natural(argument(call, 1), &meter.threshold))
        return device_refuse(call, error, "setMeterThreshold needs a bigint");
    return vat_meter_set(kernel, text_argument(call, 0), &meter, error);
}

static int get_meter(struct kernel *kernel, struct device_call *call, struct error *error)
{
    struct vat_meter meter;
    json_t *remaining;
    bool found;

    if (find_meter(kernel, call, &meter, &found, error) != 0 || !found)
        return found ? -1 : 0;
    if (meter.remaining == VAT_METER_UNLIMITED)
        remaining = json_string("unlimited");
    else
        remaining = json_sprintf("+%" PRId64, meter.remaining);
    call->result = json_pack("{s:o,s:o}", "remaining", remaining, "threshold",
                             json_sprintf("+%" PRId64, meter.threshold));
    return call->result != NULL ? 0 : error_memory(error, "an answer");
}

/* ---- vats ---- */

/* Returns an option as plain JSON, the caller's. NULL: undefined, or of a type that no option
 * has. Numbers, booleans and texts have no references. */
static json_t *option_value(const json_t *value)
{
    const char *text = capdata_text(value);

    if (json_is_boolean(value) || json_is_integer(value))
        return json_copy((json_t *)(uintptr_t)value);
    return text != NULL ? json_string(text) : NULL;
}

static json_t *plain_options(const json_t *options)
{
    json_t *plain = json_object();
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)options, name, value)
    {
        json_t *option = option_value(value);

        if (strcmp(name, "vatParameters") != 0 && option != NULL)
            json_object_set(plain, name, option);
        json_decref(option);
    }
    return plain;
}

/* Makes vatParameters capdata of their own, with counted references: they stay in the queue. */
static int take_parameters(struct kernel *kernel, struct device_call *call, const json_t *value,
                           json_t **parameters, struct error *error)
{
    json_t *slots = json_array(), *moved, *undefined = json_string("#undefined");
    struct error problem;

    moved = capdata_move(value != NULL ? value : undefined, call->slots, slots, &problem);
    json_decref(undefined);
    *parameters = NULL;
    if (moved == NULL) {
        json_decref(slots);
        return device_refuse(call, error, "vatParameters: %s", problem.text);
    }
    *parameters = capdata_make(moved, slots);
    if (*parameters == NULL)
        return error_memory(error, "a vat's parameters");
    if (refcount_increment_all(kernel, json_object_get(*parameters, "slots"), error) == 0)
        return 0;
    json_decref(*parameters);
    *parameters = NULL;
    return -1;
}

/* Takes over the item. */
static int queue_admin_item(struct kernel *kernel, json_t *item, struct error *error)
{
    int result = item != NULL ? queue_add(kernel, QUEUE_ACCEPTANCE, item, error)
                              : error_memory(error, "work");

    json_decref(item);
    return result;
}

/* Takes over the parameters. */
static int queue_create(struct kernel *kernel, struct device_call *call, const char *bundle_id,
                        json_t *parameters, struct error *error)
{
    char vat_id[32];
    int64_t vat;

    if (vat_record_take_number(kernel, &vat, error) != 0) {
        json_decref(parameters);
        return -1;
    }
    snprintf(vat_id, sizeof vat_id, "v%" PRId64, vat);
    if (queue_admin_item(kernel,
                         json_pack("{s:s,s:s,s:{s:s},s:o,s:o}", "type", "create-vat", "vatID",
                                   vat_id, "source", "bundleID", bundle_id, "vatParameters",
                                   parameters, "dynamicOptions", plain_options(argument(call, 1))),
                         error) != 0)
        return -1;
    return device_answer_text(call, vat_id, error);
}

/* Refuses options that the kernel does not have. */
static int check_options(struct kernel *kernel, struct device_call *call, const json_t *options,
                         struct error *error)
{
    const char *name = capdata_text(json_object_get(options, "name"));
    const char *meter_id = capdata_text(json_object_get(options, "meterID"));
    struct vat_meter meter;
    bool found = false;

    if (!json_is_object(options))
        return device_refuse(call, error, "needs a bundle and options");
    if (name != NULL && strlen(name) > KERNEL_NAME_LIMIT)
        return device_refuse(call, error, "a vat's name has more than %d bytes", KERNEL_NAME_LIMIT);
    if (meter_id == NULL)
        return 0;
    if (vat_meter_get(kernel, meter_id, &meter, &found, error) != 0)
        return -1;
    return found ? 0 : device_refuse(call, error, "no such meter");
}

static int create_from(struct kernel *kernel, struct device_call *call, const char *bundle_id,
                       struct error *error)
{
    const json_t *options = argument(call, 1);
    json_t *parameters;

    if (check_options(kernel, call, options, error) != 0)
        return -1;
    if (call->problem.length > 0)
        return 0;
    if (take_parameters(kernel, call, json_object_get(options, "vatParameters"), &parameters,
                        error) != 0)
        return -1;
    return parameters == NULL ? 0 : queue_create(kernel, call, bundle_id, parameters, error);
}

static int create_by_bundle_id(struct kernel *kernel, struct device_call *call, struct error *error)
{
    const char *bundle_id = text_argument(call, 0);
    bool found = false;

    if (bundle_id != NULL && bundle_device_has(kernel, bundle_id, &found, error) != 0)
        return -1;
    if (!found)
        return device_refuse(call, error, "createByBundleID: there is no such bundle");
    return create_from(kernel, call, bundle_id, error);
}

static int create_by_bundle(struct kernel *kernel, struct device_call *call, struct error *error)
{
    char bundle_id[DEVICE_BUNDLE_ID_SIZE];
    bool kept;

    if (bundle_device_keep(kernel, argument(call, 0), bundle_id, &kept, error) != 0)
        return -1;
    if (!kept)
        return device_refuse(call, error, "createByBundle: that is not a bundle");
    return create_from(kernel, call, bundle_id, error);
}

/* Returns true in *upgradable for a living vat with liveslots. */
static int check_upgradable(struct kernel *kernel, const char *vat_id, bool *upgradable,
                            struct error *error)
{
    struct vat_reading reading;
    int64_t vat;

    *upgradable = false;
    if (vat_id == NULL || !reference_read_number(vat_id, 'v', &vat) ||
        vat_record_lives(kernel, vat, upgradable, error) != 0 || !*upgradable)
        return *upgradable ? -1 : 0;
    if (vat_record_read(kernel, vat, &reading, error) != 0)
        return -1;
    *upgradable = reading.record.runtime == KERNEL_VAT_LIVESLOTS;
    vat_record_free(&reading);
    return 0;
}

static int queue_admin_upgrade(struct kernel *kernel, struct device_call *call, json_t *parameters,
                               struct error *error)
{
    char upgrade_id[32];
    int64_t number;

    if (keys_take_number(kernel, "vat.nextUpgradeID", &number, error) != 0) {
        json_decref(parameters);
        return -1;
    }
    snprintf(upgrade_id, sizeof upgrade_id, "up%" PRId64, number);
    if (queue_admin_item(kernel,
                         json_pack("{s:s,s:s,s:s,s:s,s:o,s:s}", "type", "upgrade-vat", "vatID",
                                   text_argument(call, 0), "upgradeID", upgrade_id, "bundleID",
                                   text_argument(call, 1), "vatParameters", parameters,
                                   "upgradeMessage", text_argument(call, 3)),
                         error) != 0)
        return -1;
    return device_answer_text(call, upgrade_id, error);
}

static int upgrade_vat(struct kernel *kernel, struct device_call *call, struct error *error)
{
    const char *bundle_id = text_argument(call, 1);
    json_t *parameters;
    bool upgradable, found = false;

    if (check_upgradable(kernel, text_argument(call, 0), &upgradable, error) != 0 ||
        (bundle_id != NULL && bundle_device_has(kernel, bundle_id, &found, error) != 0))
        return -1;
    if (!upgradable || !found || text_argument(call, 3) == NULL)
        return device_refuse(call, error,
                             "upgradeVat needs a living vat, a bundle, parameters and a message");
    if (take_parameters(kernel, call, argument(call, 2), &parameters, error) != 0)
        return -1;
    return parameters == NULL ? 0 : queue_admin_upgrade(kernel, call, parameters, error);
}

/* Reads the vatID in the first argument, if a vat of that number was ever created. */
static int device_vat_admin_find_vat(struct kernel *kernel, const struct device_call *call,
                                     int64_t *vat, bool *found, struct error *error)
{
    const char *vat_id = text_argument(call, 0);
    int64_t end;

    *found = false;
    if (vat_id == NULL || !reference_read_number(vat_id, 'v', vat))
        return 0;
    if (keys_get_number(kernel, "vat.nextID", &end, error) != 0)
        return -1;
    *found = *vat > 0 && *vat < end;
    return 0;
}

static int terminate_with_failure(struct kernel *kernel, struct device_call *call,
                                  struct error *error)
{
    json_t *slots, *moved, *info;
    struct error problem;
    int64_t vat;
    bool found;
    int result;

    if (device_vat_admin_find_vat(kernel, call, &vat, &found, error) != 0)
        return -1;
    if (!found || json_array_size(call->arguments) != 2)
        return device_refuse(call, error, "terminateWithFailure needs a vat and a reason");
    slots = json_array();
    moved = capdata_move(argument(call, 1), call->slots, slots, &problem);
    if (moved == NULL) {
        json_decref(slots);
        return device_refuse(call, error, "%s", problem.text);
    }
    info = capdata_make(moved, slots);
    if (info == NULL)
        return error_memory(error, "the end of a vat");
    result = terminate_vat(kernel, vat, true, info, error);
    json_decref(info);
    return result;
}

static int change_options(struct kernel *kernel, struct device_call *call, struct error *error)
{
    int64_t vat;
    bool found;

    if (device_vat_admin_find_vat(kernel, call, &vat, &found, error) != 0)
        return -1;
    if (!found || !json_is_object(argument(call, 1)) || json_array_size(call->slots) > 0)
        return device_refuse(call, error, "changeOptions needs a vat and options");
    return queue_admin_item(kernel,
                            json_pack("{s:s,s:o,s:o}", "type", "changeVatOptions", "vatID",
                                      json_sprintf("v%" PRId64, vat), "options",
                                      plain_options(argument(call, 1))),
                            error);
}

int device_vat_admin(struct kernel *kernel, struct device_call *call, struct error *error)
{
    static const struct {
        const char *name;
        device_method method;
    } methods[] = {
        {"createMeter", create_meter},
        {"createUnlimitedMeter", create_unlimited_meter},
        {"addMeterRemaining", add_meter_remaining},
        {"setMeterThreshold", set_meter_threshold},
        {"getMeter", get_meter},
        {"createByBundle", create_by_bundle},
        {"createByBundleID", create_by_bundle_id},
        {"upgradeVat", upgrade_vat},
        {"terminateWithFailure", terminate_with_failure},
        {"changeOptions", change_options},
        {"getBundleCap", bundle_device_cap},
        {"getNamedBundleCap", bundle_device_named_cap},
        {"getBundleIDByName", bundle_device_id_by_name},
    };

    if (strcmp(call->node, "d+0") != 0)
        return bundle_device_node(kernel, call, error);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (strcmp(call->method, methods[i].name) == 0)
            return methods[i].method(kernel, call, error);
    }
    return device_refuse(call, error, "no such method");
}
