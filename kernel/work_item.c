/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/work_item.h"

#include <string.h>

#include "kernel/records/capdata.h"
#include "kernel/records/reference.h"

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
