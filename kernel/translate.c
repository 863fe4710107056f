/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/translate.h"

#include <string.h>

#include "kernel/graph/clist.h"
#include "kernel/graph/promise.h"
#include "kernel/state.h"

static int translate_no_memory(struct error *error)
{
    return error_memory(error, "a delivery");
}

/* ERROR_SYSTEM also for what the store should not hold. */
static int wrong(const char *what, const char *kref, struct error *error)
{
    return error_set(error, ERROR_SYSTEM, "the store is damaged: %s %s", what, kref);
}

static int translate_slots(struct kernel *kernel, int64_t vat, const json_t *krefs, json_t *vrefs,
                           struct error *error)
{
    char vref[VREF_SIZE];
    const json_t *kref;
    size_t i;

    json_array_foreach(krefs, i, kref)
    {
        if (clist_to_vat(kernel, vat, json_string_value(kref), vref, error) != 0)
            return -1;
        if (json_array_append_new(vrefs, json_string(vref)) != 0)
            return translate_no_memory(error);
    }
    return 0;
}

int translate_capdata(struct kernel *kernel, int64_t vat, const json_t *capdata,
                      json_t **translated, struct error *error)
{
    json_t *vrefs = json_array();

    *translated = json_pack("{s:O,s:o}", "body", json_object_get(capdata, "body"), "slots", vrefs);
    if (*translated == NULL)
        return translate_no_memory(error);
    if (translate_slots(kernel, vat, json_object_get(capdata, "slots"), vrefs, error) == 0)
        return 0;
    json_decref(*translated);
    *translated = NULL;
    return -1;
}

static int check_target(struct kernel *kernel, int64_t vat, const char *target,
                        char vref[VREF_SIZE], struct error *error)
{
    struct vref parsed;

    if (clist_to_vat(kernel, vat, target, vref, error) != 0)
        return -1;
    if (!reference_read_vref(&parsed, vref, strlen(vref)) || parsed.kind != REFERENCE_OBJECT ||
        !parsed.by_vat)
        return wrong("a message to an object of another vat:", target, error);
    return 0;
}

/* The result's promise, which nobody decides while its message is queued, is the vat's now. */
static int translate_take_result(struct kernel *kernel, int64_t vat, const char *kpid,
                                 char vref[VREF_SIZE], struct error *error)
{
    bool free;

    if (promise_is_decided_by(kernel, kpid, 0, &free, error) != 0)
        return -1;
    if (!free)
        return wrong("a message's result that is decided elsewhere:", kpid, error);
    if (clist_to_vat(kernel, vat, kpid, vref, error) != 0)
        return -1;
    return promise_set_decider(kernel, kpid, vat, error);
}

int translate_message(struct kernel *kernel, int64_t vat, const char *target, const json_t *message,
                      json_t **vd, struct error *error)
{
    const char *kpid = json_string_value(json_object_get(message, "result"));
    char target_vref[VREF_SIZE], result_vref[VREF_SIZE];
    json_t *methargs;

    if (check_target(kernel, vat, target, target_vref, error) != 0 ||
        translate_capdata(kernel, vat, json_object_get(message, "methargs"), &methargs, error) != 0)
        return -1;
    if (kpid != NULL && translate_take_result(kernel, vat, kpid, result_vref, error) != 0) {
        json_decref(methargs);
        return -1;
    }
    *vd = json_pack("[s,s,{s:o,s:s?}]", "message", target_vref, "methargs", methargs, "result",
                    kpid != NULL ? result_vref : NULL);
    return *vd != NULL ? 0 : translate_no_memory(error);
}

static int translate_settled(struct kernel *kernel, int64_t vat, const char *kpid,
                             json_t *kernel_side, json_t *vat_side, struct error *error)
{
    char vpid[VREF_SIZE];
    enum kernel_promise state;
    json_t *data, *translated = NULL;
    int result = -1;

    if (promise_state(kernel, kpid, &state, error) != 0 ||
        promise_data(kernel, kpid, &data, error) != 0)
        return -1;
    if (clist_to_vat(kernel, vat, kpid, vpid, error) != 0 ||
        translate_capdata(kernel, vat, data, &translated, error) != 0)
        goto out;
    if (json_array_append_new(kernel_side,
                              json_pack("[s,{s:s,s:O}]", kpid, "state",
                                        state == KERNEL_PROMISE_REJECTED ? "rejected" : "fulfilled",
                                        "data", data)) != 0 ||
        json_array_append_new(vat_side, json_pack("[s,b,O]", vpid, state == KERNEL_PROMISE_REJECTED,
                                                  translated)) != 0) {
        translate_no_memory(error);
        goto out;
    }
    result = 0;
out:
    json_decref(translated);
    json_decref(data);
    return result;
}

int translate_notify(struct kernel *kernel, int64_t vat, const struct reference_set *kpids,
                     json_t **kd, json_t **vd, struct error *error)
{
    json_t *kernel_side = json_array(), *vat_side = json_array();
    int result = 0;

    for (size_t i = 0; i < kpids->count && result == 0; i++)
        result = translate_settled(kernel, vat, kpids->items[i], kernel_side, vat_side, error);
    for (size_t i = 0; i < kpids->count && result == 0; i++)
        result = clist_delete(kernel, vat, kpids->items[i], error);
    *kd = json_pack("[s,o]", "notify", kernel_side);
    *vd = json_pack("[s,o]", "notify", vat_side);
    if (result == 0 && (*kd == NULL || *vd == NULL))
        result = translate_no_memory(error);
    return result;
}

int translate_start(struct kernel *kernel, int64_t vat, const json_t *parameters, json_t **vd,
                    struct error *error)
{
    json_t *translated;

    if (translate_capdata(kernel, vat, parameters, &translated, error) != 0)
        return -1;
    *vd = json_pack("[s,o]", "startVat", translated);
    return *vd != NULL ? 0 : translate_no_memory(error);
}

static int translate_garbage_one(struct kernel *kernel, int64_t vat, bool drops, const char *kref,
                                 json_t *vrefs, struct error *error)
{
    struct clist_entry entry;
    bool found;

    if (clist_find(kernel, vat, kref, &entry, &found, error) != 0)
        return -1;
    if (!found)
        return wrong("garbage that the vat does not know:", kref, error);
    if (json_array_append_new(vrefs, json_string(entry.vref.text)) != 0)
        return translate_no_memory(error);
    return drops ? clist_clear_reachable(kernel, vat, kref, error)
                 : clist_delete(kernel, vat, kref, error);
}

int translate_garbage(struct kernel *kernel, int64_t vat, const char *type, const json_t *krefs,
                      json_t **vd, struct error *error)
{
    bool drops = strcmp(type, "dropExports") == 0;
    json_t *vrefs = json_array();
    const json_t *kref;
    size_t i;

    *vd = json_pack("[s,o]", type, vrefs);
    if (*vd == NULL)
        return translate_no_memory(error);
    json_array_foreach(krefs, i, kref)
    {
        if (translate_garbage_one(kernel, vat, drops, json_string_value(kref), vrefs, error) != 0) {
            json_decref(*vd);
            *vd = NULL;
            return -1;
        }
    }
    return 0;
}
