/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/devices/device_call.h"

#include <inttypes.h>
#include <string.h>

#include "kernel/devices/device.h"
#include "kernel/graph/clist.h"
#include "kernel/graph/object.h"
#include "kernel/lifecycle/vat_lifecycle.h"
#include "kernel/records/capdata.h"
#include "kernel/records/keys.h"
#include "kernel/records/reference.h"
#include "kernel/records/vat_record.h"
#include "kernel/state.h"

/* Gives NEAR contracts each other's root objects: find(account) returns the root object of the
 * static vat of that name, or undefined. deploy(account, module in base64, protocol version)
 * creates such a vat, unless there is one. */

static int device_accounts_find(struct kernel *kernel, struct device_call *call,
                                struct error *error)
{
    const char *name = capdata_text(json_array_get(call->arguments, 0));
    char kref[KERNEL_REF_SIZE];
    int64_t vat;
    bool found;

    if (name == NULL || strlen(name) > KERNEL_NAME_LIMIT)
        return device_refuse(call, error, "an account is a text of at most %d bytes",
                             KERNEL_NAME_LIMIT);
    if (vat_record_named(kernel, name, &vat, &found, error) != 0)
        return -1;
    if (!found)
        return 0;
    if (clist_export_root(kernel, vat, kref, error) != 0)
        return -1;
    call->result = json_string("$0");
    if (call->result == NULL || json_array_append_new(call->result_slots, json_string(kref)) != 0)
        return error_memory(error, "an answer");
    return 0;
}

/* Creates the vat as `gaspipe run --vat` does. */
static int create_account_vat(struct kernel *kernel, const char *account, const char *source,
                              const char *protocol, struct error *error)
{
    char bundle_id[DEVICE_BUNDLE_ID_SIZE];
    struct kernel_vat_setup setup = {.name = account,
                                     .bundle_id = bundle_id,
                                     .runtime = KERNEL_VAT_PLAIN,
                                     .device = "accounts",
                                     .brings_limit = true};
    json_t *bundle = json_pack("{s:s,s:s}", "moduleFormat", "gaspipeWasm", "source", source);
    struct buf parameters = {0};
    int64_t vat;
    int result = device_keep_bundle(kernel, bundle, bundle_id, error);

    json_decref(bundle);
    buf_printf(&parameters, "{\"account\":\"%s\",\"accounts\":\"$0\",\"protocol\":\"%s\"}", account,
               protocol);
    setup.parameters = buf_string(&parameters);
    if (result == 0)
        result = setup.parameters != NULL ? static_vat_create(kernel, &setup, &vat, error)
                                          : error_memory(error, "a vat");
    buf_free(&parameters);
    return result;
}

static int device_accounts_deploy(struct kernel *kernel, struct device_call *call,
                                  struct error *error)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
    const char *account = capdata_text(json_array_get(call->arguments, 0));
    const char *source = capdata_text(json_array_get(call->arguments, 1));
    const char *protocol = capdata_text(json_array_get(call->arguments, 2));
    int64_t vat;
    bool found;

    if (account == NULL || source == NULL || protocol == NULL || account[0] == '\0' ||
        strlen(account) > KERNEL_NAME_LIMIT || account[strspn(account, allowed)] != '\0' ||
        protocol[strspn(protocol, allowed)] != '\0')
        return device_refuse(call, error, "needs an account, a module and a protocol version");
    if (vat_record_named(kernel, account, &vat, &found, error) != 0)
        return -1;
    return found ? 0 : create_account_vat(kernel, account, source, protocol, error);
}

static int device_accounts(struct kernel *kernel, struct device_call *call, struct error *error)
{
    if (strcmp(call->method, "find") == 0)
        return device_accounts_find(kernel, call, error);
    if (strcmp(call->method, "deploy") == 0)
        return device_accounts_deploy(kernel, call, error);
    return device_refuse(call, error, "no such method");
}

static const struct {
    const char *name;
    device_method method;
} devices[] = {
    {"accounts", device_accounts}, {"clock", device_clock},        {"echo", device_echo},
    {"timer", device_clock},       {"vatAdmin", device_vat_admin},
};

static device_method method_of(const char *name)
{
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        if (strcmp(devices[i].name, name) == 0)
            return devices[i].method;
    }
    return NULL;
}

bool device_is_known(const char *name)
{
    return method_of(name) != NULL;
}

/* Imports what a device receives. Devices never drop a reference, so it stays permanently. */
static int import_for_device(struct kernel *kernel, int64_t device, const char *kref,
                             struct error *error)
{
    char key[KEYS_NAME_SIZE], reference[VREF_SIZE];
    enum reference_kind kind = reference_kref_kind(kref);
    int64_t id;
    bool found;

    if (keys_has(kernel, keys_name(key, "d%" PRId64 ".c.%s", device, kref), &found, error) != 0 ||
        found)
        return found ? 0 : -1;
    keys_name(key, "d%" PRId64 ".%c.nextID", device, reference_letter(kind));
    if (keys_take_number(kernel, key, &id, error) != 0 ||
        refcount_increment(kernel, kref, REFCOUNT_KERNEL, error) != 0)
        return -1;
    reference_make_import(reference, kind, id);
    return device_set_entry(kernel, device, kref, reference, error);
}

static int import_all(struct kernel *kernel, int64_t device, const json_t *krefs,
                      struct error *error)
{
    const json_t *kref;
    size_t i;

    json_array_foreach(krefs, i, kref)
    {
        if (import_for_device(kernel, device, json_string_value(kref), error) != 0)
            return -1;
    }
    return 0;
}

/* Gives the vat fixed words, and the user the reason. */
static int answer_problem(struct kernel *kernel, struct device_call *call, json_t **answer,
                          struct error *error)
{
    struct buf line = {0};

    *answer = json_pack("[s,s]", "error", "device.invoke failed, see logs for details");
    if (*answer == NULL)
        return error_memory(error, "an answer");
    if (kernel->listener.console != NULL) {
        buf_printf(&line, "device.invoke failed, informing calling vat: %s.%.64s: %s", call->node,
                   call->method, buf_string(&call->problem));
        if (buf_string(&line) != NULL)
            kernel->listener.console(kernel->listener.context, line.data);
        buf_free(&line);
    }
    return 0;
}

static int answer_result(struct device_call *call, json_t **answer, struct error *error)
{
    json_t *tree = call->result != NULL ? json_incref(call->result) : json_string("#undefined");
    json_t *capdata = capdata_make(tree, json_incref(call->result_slots));

    *answer = json_pack("[s,o]", "ok", capdata);
    return *answer != NULL ? 0 : error_memory(error, "an answer");
}

static int call_device(struct kernel *kernel, struct device_call *call, json_t *tree,
                       json_t **answer, struct error *error)
{
    char key[KEYS_NAME_SIZE];
    device_method method;
    int result = 0;

    if (keys_require(kernel, keys_name(key, "d%" PRId64 ".name", call->device), &kernel->value,
                     error) != 0)
        return -1;
    method = method_of(buf_string(&kernel->value));
    call->arguments = tree;
    if (method == NULL)
        return error_set(error, ERROR_SYSTEM, "the store is damaged: %s", key);
    if (!json_is_array(tree))
        result = device_refuse(call, error, "needs an array of arguments");
    else
        result = method(kernel, call, error);
    if (result != 0)
        return -1;
    if (call->problem.length > 0)
        return answer_problem(kernel, call, answer, error);
    return answer_result(call, answer, error);
}

int device_invoke(struct kernel *kernel, const char *kdid, const char *method,
                  const json_t *arguments, json_t **answer, struct error *error)
{
    struct device_call call = {.method = method, .slots = json_object_get(arguments, "slots")};
    char key[KEYS_NAME_SIZE];
    struct buf node = {0};
    json_t *tree = NULL;
    int result = -1;

    if (object_device_of(kernel, kdid, &call.device, error) != 0 ||
        keys_require(kernel, keys_name(key, "d%" PRId64 ".c.%s", call.device, kdid), &node,
                     error) != 0 ||
        import_all(kernel, call.device, call.slots, error) != 0)
        goto out;
    call.node = node.data;
    call.result_slots = json_array();
    tree = capdata_tree(arguments);
    result = call_device(kernel, &call, tree, answer, error);
    json_decref(tree);
    json_decref(call.result);
    json_decref(call.result_slots);
    buf_free(&call.problem);
out:
    buf_free(&node);
    return result;
}
