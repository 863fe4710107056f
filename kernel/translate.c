/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/translate.h"

#include <inttypes.h>
#include <string.h>

#include "base/text/format.h"
#include "kernel/graph/clist.h"
#include "kernel/graph/promise.h"
#include "kernel/records/capdata.h"
#include "kernel/records/reference.h"
#include "kernel/state.h"
#include "kernel/syscall.h"

static int translate_no_memory(struct error *error)
{
    return error_memory(error, "a delivery");
}

/* ERROR_SYSTEM if the store's own records are wrong. */
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

/* Makes the vat the decider of the result promise, which had none while its message was queued. */
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

static int syscall_translate_no_memory(struct error *error)
{
    return error_memory(error, "a syscall");
}

static int read_reference(struct vref *vref, const char *bytes, size_t length, struct error *error)
{
    if (!reference_read_vref(vref, bytes, length))
        return error_set(error, ERROR_INPUT, "\"%.64s\" is not a reference", bytes);
    return 0;
}

static int text_to_kernel(struct kernel *kernel, int64_t vat, struct vat_text text,
                          char kref[KERNEL_REF_SIZE], struct error *error)
{
    struct vref vref;

    if (read_reference(&vref, text.bytes, text.length, error) != 0)
        return -1;
    return clist_to_kernel(kernel, vat, &vref, kref, error);
}

static int slot_to_kernel(struct kernel *kernel, int64_t vat, const json_t *slot, json_t *krefs,
                          struct error *error)
{
    struct vat_text text = {json_string_value(slot), json_string_length(slot)};
    char kref[KERNEL_REF_SIZE];

    if (text_to_kernel(kernel, vat, text, kref, error) != 0)
        return -1;
    return json_array_append_new(krefs, json_string(kref)) == 0
               ? 0
               : syscall_translate_no_memory(error);
}

static int capdata_to_kernel(struct kernel *kernel, int64_t vat, const json_t *capdata,
                             json_t **translated, struct error *error)
{
    json_t *krefs = json_array();
    const json_t *slot;
    size_t i;

    *translated = json_pack("{s:O,s:o}", "body", json_object_get(capdata, "body"), "slots", krefs);
    if (*translated == NULL)
        return syscall_translate_no_memory(error);
    json_array_foreach(json_object_get(capdata, "slots"), i, slot)
    {
        if (slot_to_kernel(kernel, vat, slot, krefs, error) != 0) {
            json_decref(*translated);
            *translated = NULL;
            return -1;
        }
    }
    return 0;
}

static const char *vat_id_of(char id[VREF_SIZE], int64_t vat)
{
    format_text(id, VREF_SIZE, "v%" PRId64, vat);
    return id;
}

/* Stores json_pack()'s value; NULL: out of memory. */
static int set_translated(json_t **ksc, json_t *made, struct error *error)
{
    *ksc = made;
    return made != NULL ? 0 : syscall_translate_no_memory(error);
}

/* ---- send ---- */

/* A result promise must be one that the vat decides. It has no decider until the message is
 * delivered. */
static int syscall_translate_take_result(struct kernel *kernel, int64_t vat,
                                         const struct vref *vref, char kpid[KERNEL_REF_SIZE],
                                         struct error *error)
{
    bool known, decides;

    if (vref->kind != REFERENCE_PROMISE || !vref->by_vat)
        return error_set(error, ERROR_INPUT, "%s is not a new promise for a result", vref->text);
    if (clist_knows(kernel, vat, vref, &known, error) != 0)
        return -1;
    if (known)
        return error_set(error, ERROR_INPUT, "%s is in use and cannot be a result", vref->text);
    if (clist_to_kernel(kernel, vat, vref, kpid, error) != 0 ||
        promise_is_decided_by(kernel, kpid, vat, &decides, error) != 0)
        return -1;
    if (!decides)
        return error_set(error, ERROR_INPUT, "%s is not its to give away", vref->text);
    return promise_set_decider(kernel, kpid, 0, error);
}

static int translate_send(struct kernel *kernel, int64_t vat, const struct vat_syscall *syscall,
                          json_t **ksc, struct error *error)
{
    char target[KERNEL_REF_SIZE], kpid[KERNEL_REF_SIZE];
    bool wants_result = syscall->result.bytes != NULL;
    struct vref vref;
    json_t *methargs;

    if (read_reference(&vref, syscall->target.bytes, syscall->target.length, error) != 0)
        return -1;
    if (vref.kind == REFERENCE_DEVICE)
        return error_set(error, ERROR_INPUT, "send to %s: devices take no messages", vref.text);
    if (clist_to_kernel(kernel, vat, &vref, target, error) != 0 ||
        capdata_to_kernel(kernel, vat, syscall->capdata, &methargs, error) != 0)
        return -1;
    if (wants_result &&
        (read_reference(&vref, syscall->result.bytes, syscall->result.length, error) != 0 ||
         syscall_translate_take_result(kernel, vat, &vref, kpid, error) != 0)) {
        json_decref(methargs);
        return -1;
    }
    return set_translated(ksc,
                          json_pack("[s,s,{s:o,s:s?}]", "send", target, "methargs", methargs,
                                    "result", wants_result ? kpid : NULL),
                          error);
}

/* ---- the others ---- */

static int translate_subscribe(struct kernel *kernel, int64_t vat,
                               const struct vat_syscall *syscall, json_t **ksc, struct error *error)
{
    char kpid[KERNEL_REF_SIZE];
    struct vref vref;

    if (read_reference(&vref, syscall->target.bytes, syscall->target.length, error) != 0)
        return -1;
    if (vref.kind != REFERENCE_PROMISE)
        return error_set(error, ERROR_INPUT, "%s is not a promise to subscribe to", vref.text);
    if (clist_to_kernel(kernel, vat, &vref, kpid, error) != 0)
        return -1;
    return set_translated(
        ksc, json_pack("[s,o,s]", "subscribe", json_sprintf("v%" PRId64, vat), kpid), error);
}

static int check_call(const struct vat_syscall *syscall, const struct vref *device,
                      struct error *error)
{
    const json_t *slot;
    size_t i;

    if (device->kind != REFERENCE_DEVICE)
        return error_set(error, ERROR_INPUT, "callNow to %s, which is not a device", device->text);
    json_array_foreach(json_object_get(syscall->capdata, "slots"), i, slot)
    {
        if (json_string_value(slot)[0] == 'p')
            return error_set(error, ERROR_INPUT, "callNow with the promise \"%.64s\"",
                             json_string_value(slot));
    }
    return 0;
}

static int translate_call(struct kernel *kernel, int64_t vat, const struct vat_syscall *syscall,
                          json_t **ksc, struct error *error)
{
    char device[KERNEL_REF_SIZE];
    struct vref vref;
    json_t *arguments;

    if (read_reference(&vref, syscall->target.bytes, syscall->target.length, error) != 0 ||
        check_call(syscall, &vref, error) != 0 ||
        clist_to_kernel(kernel, vat, &vref, device, error) != 0 ||
        capdata_to_kernel(kernel, vat, syscall->capdata, &arguments, error) != 0)
        return -1;
    return set_translated(ksc,
                          json_pack("[s,s,s%,o]", "invoke", device, syscall->method.bytes,
                                    syscall->method.length, arguments),
                          error);
}

static int translate_exit(struct kernel *kernel, int64_t vat, const struct vat_syscall *syscall,
                          json_t **ksc, struct error *error)
{
    json_t *info;

    if (capdata_to_kernel(kernel, vat, syscall->capdata, &info, error) != 0)
        return -1;
    return set_translated(
        ksc,
        json_pack("[s,o,b,o]", "exit", json_sprintf("v%" PRId64, vat), syscall->is_failure, info),
        error);
}

/* ---- resolve ---- */

/* Promises resolve to data or objects; none forwards to another promise. */
static int check_value(const json_t *data, struct error *error)
{
    const char *slot = capdata_single_slot(data);

    if (slot != NULL && slot[0] == 'p')
        return error_set(error, ERROR_INPUT, "fulfils a promise to the promise \"%.64s\"", slot);
    return 0;
}

static int translate_resolution(struct kernel *kernel, int64_t vat, const json_t *resolution,
                                struct reference_set *kpids, json_t *resolutions,
                                struct error *error)
{
    const json_t *vpid = json_array_get(resolution, 0), *data = json_array_get(resolution, 2);
    json_t *rejected = json_array_get(resolution, 1), *translated;
    char kpid[KERNEL_REF_SIZE];
    struct vref vref;
    bool decides;

    if (read_reference(&vref, json_string_value(vpid), json_string_length(vpid), error) != 0)
        return -1;
    if (vref.kind != REFERENCE_PROMISE)
        return error_set(error, ERROR_INPUT, "resolves %s, which is not a promise", vref.text);
    if (!json_is_true(rejected) && check_value(data, error) != 0)
        return -1;
    if (clist_to_kernel(kernel, vat, &vref, kpid, error) != 0 ||
        promise_is_decided_by(kernel, kpid, vat, &decides, error) != 0)
        return -1;
    if (!decides || reference_set_has(kpids, kpid))
        return error_set(error, ERROR_INPUT, "resolves %s, which is not its to resolve", vref.text);
    if (reference_set_add(kpids, kpid, error) != 0 ||
        capdata_to_kernel(kernel, vat, data, &translated, error) != 0)
        return -1;
    if (json_array_append_new(resolutions, json_pack("[s,O,o]", kpid, rejected, translated)) != 0)
        return syscall_translate_no_memory(error);
    return 0;
}

/* Removes the resolved promises from the vat's c-list. */
static int translate_resolve(struct kernel *kernel, int64_t vat, const struct vat_syscall *syscall,
                             json_t **ksc, struct error *error)
{
    char id[VREF_SIZE];
    struct reference_set kpids = {0};
    json_t *resolutions = json_array();
    const json_t *resolution;
    int result = 0;
    size_t i;

    json_array_foreach(syscall->resolutions, i, resolution)
    {
        if (result == 0)
            result = translate_resolution(kernel, vat, resolution, &kpids, resolutions, error);
    }
    for (i = 0; i < kpids.count && result == 0; i++)
        result = clist_delete(kernel, vat, kpids.items[i], error);
    reference_set_free(&kpids);
    if (result != 0) {
        json_decref(resolutions);
        return -1;
    }
    return set_translated(ksc, json_pack("[s,s,o]", "resolve", vat_id_of(id, vat), resolutions),
                          error);
}

/* ---- garbage ---- */

/* Applies one garbage syscall to one c-list entry. */
static int change_entry(struct kernel *kernel, int64_t vat, enum vat_syscall_kind kind,
                        const struct vref *vref, const char *kref, struct error *error)
{
    struct clist_entry entry;
    bool found;

    if (kind == VAT_SYSCALL_ABANDON_EXPORTS)
        return 0;
    if (kind == VAT_SYSCALL_DROP_IMPORTS)
        return clist_clear_reachable(kernel, vat, kref, error);
    if (clist_find(kernel, vat, kref, &entry, &found, error) != 0)
        return -1;
    if (!found || entry.reachable)
        return error_set(error, ERROR_INPUT, "retires %s, which is still reachable", vref->text);
    return clist_delete(kernel, vat, kref, error);
}

static int translate_collected_one(struct kernel *kernel, int64_t vat,
                                   const struct vat_syscall *syscall, const json_t *reference,
                                   json_t *krefs, struct error *error)
{
    bool exports =
        syscall->kind == VAT_SYSCALL_RETIRE_EXPORTS || syscall->kind == VAT_SYSCALL_ABANDON_EXPORTS;
    char kref[KERNEL_REF_SIZE];
    struct vref vref;

    if (read_reference(&vref, json_string_value(reference), json_string_length(reference), error) !=
        0)
        return -1;
    if (vref.kind != REFERENCE_OBJECT || vref.by_vat != exports)
        return error_set(error, ERROR_INPUT, "%s of %s, which is not an object that it %s",
                         syscall->name, vref.text, exports ? "exports" : "imports");
    if (clist_known(kernel, vat, &vref, kref, error) != 0 ||
        change_entry(kernel, vat, syscall->kind, &vref, kref, error) != 0)
        return -1;
    return json_array_append_new(krefs, json_string(kref)) == 0
               ? 0
               : syscall_translate_no_memory(error);
}

static int translate_collected(struct kernel *kernel, int64_t vat,
                               const struct vat_syscall *syscall, json_t **ksc, struct error *error)
{
    json_t *krefs = json_array();
    const json_t *reference;
    int result = 0;
    size_t i;

    json_array_foreach(syscall->references, i, reference)
    {
        if (result == 0)
            result = translate_collected_one(kernel, vat, syscall, reference, krefs, error);
    }
    if (result != 0) {
        json_decref(krefs);
        return -1;
    }
    if (syscall->kind == VAT_SYSCALL_ABANDON_EXPORTS)
        return set_translated(
            ksc, json_pack("[s,o,o]", syscall->name, json_sprintf("v%" PRId64, vat), krefs), error);
    return set_translated(ksc, json_pack("[s,o]", syscall->name, krefs), error);
}

int syscall_translate(struct kernel *kernel, int64_t vat, const struct vat_syscall *syscall,
                      json_t **ksc, struct error *error)
{
    static int (*const translate[])(struct kernel *, int64_t, const struct vat_syscall *, json_t **,
                                    struct error *) = {
        [VAT_SYSCALL_RESOLVE] = translate_resolve,
        [VAT_SYSCALL_SEND] = translate_send,
        [VAT_SYSCALL_SUBSCRIBE] = translate_subscribe,
        [VAT_SYSCALL_CALL_NOW] = translate_call,
        [VAT_SYSCALL_EXIT] = translate_exit,
        [VAT_SYSCALL_DROP_IMPORTS] = translate_collected,
        [VAT_SYSCALL_RETIRE_IMPORTS] = translate_collected,
        [VAT_SYSCALL_RETIRE_EXPORTS] = translate_collected,
        [VAT_SYSCALL_ABANDON_EXPORTS] = translate_collected,
    };

    *ksc = NULL;
    return translate[syscall->kind](kernel, vat, syscall, ksc, error);
}
