/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/devices/device.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernel/graph/object.h"
#include "kernel/graph/queue.h"
#include "kernel/records/capdata.h"
#include "kernel/records/keys.h"
#include "kernel/records/refcount.h"
#include "kernel/records/reference.h"
#include "kernel/state.h"

enum { FIRST_OBJECT = 10, FIRST_DEVICE = 20, FIRST_PROMISE = 30 };

static const struct {
    const char *name;
    device_method method;
} devices[] = {
    {"clock", device_clock},
    {"echo", device_echo},
    {"vatAdmin", device_vat_admin},
};

static device_method method_of(const char *name)
{
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        if (strcmp(devices[i].name, name) == 0)
            return devices[i].method;
    }
    return NULL;
}

static const char *field(char key[KEYS_NAME_SIZE], int64_t device, const char *name)
{
    return keys_name(key, "d%" PRId64 ".%s", device, name);
}

int device_named(struct kernel *kernel, const char *name, int64_t *device, bool *found,
                 struct error *error)
{
    char key[KEYS_NAME_SIZE];

    keys_name(key, "device.name.%.64s", name);
    if (keys_get(kernel, key, &kernel->value, found, error) != 0)
        return -1;
    if (*found && !reference_read_number(buf_string(&kernel->value), 'd', device))
        return error_set(error, ERROR_SYSTEM, "the store is damaged: %s is no device", key);
    return 0;
}

static int create(struct kernel *kernel, const char *name, int64_t *device, struct error *error)
{
    char key[KEYS_NAME_SIZE], id[32];

    if (keys_take_number(kernel, "device.nextID", device, error) != 0)
        return -1;
    snprintf(id, sizeof id, "d%" PRId64, *device);
    if (keys_set(kernel, keys_name(key, "device.name.%s", name), id, error) != 0 ||
        keys_append_text(kernel, "device.names", name, error) != 0 ||
        keys_set(kernel, field(key, *device, "name"), name, error) != 0 ||
        keys_set_number(kernel, field(key, *device, "o.nextID"), FIRST_OBJECT, error) != 0 ||
        keys_set_number(kernel, field(key, *device, "d.nextID"), FIRST_DEVICE, error) != 0)
        return -1;
    return keys_set_number(kernel, field(key, *device, "p.nextID"), FIRST_PROMISE, error);
}

static int set_entry(struct kernel *kernel, int64_t device, const char *kref, const char *reference,
                     struct error *error)
{
    char key[KEYS_NAME_SIZE];

    if (keys_set(kernel, keys_name(key, "d%" PRId64 ".c.%s", device, kref), reference, error) != 0)
        return -1;
    return keys_set(kernel, keys_name(key, "d%" PRId64 ".c.%s", device, reference), kref, error);
}

int device_node(struct kernel *kernel, int64_t device, const char *node, char kdid[KERNEL_REF_SIZE],
                struct error *error)
{
    char key[KEYS_NAME_SIZE];
    bool found;

    keys_name(key, "d%" PRId64 ".c.%s", device, node);
    if (keys_get(kernel, key, &kernel->value, &found, error) != 0)
        return -1;
    if (found) {
        snprintf(kdid, KERNEL_REF_SIZE, "%s", buf_string(&kernel->value));
        return 0;
    }
    if (object_add_device_node(kernel, device, kdid, error) != 0)
        return -1;
    return set_entry(kernel, device, kdid, node, error);
}

int device_root(struct kernel *kernel, const char *name, char kdid[KERNEL_REF_SIZE], bool *found,
                struct error *error)
{
    int64_t device = 0;
    bool made;

    *found = method_of(name) != NULL;
    if (!*found)
        return 0;
    if (device_named(kernel, name, &device, &made, error) != 0 ||
        (!made && create(kernel, name, &device, error) != 0))
        return -1;
    return device_node(kernel, device, "d+0", kdid, error);
}

/* What the device was given it holds for good: it says of nothing that it dropped it. */
static int import(struct kernel *kernel, int64_t device, const char *kref, struct error *error)
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
    return set_entry(kernel, device, kref, reference, error);
}

static int import_all(struct kernel *kernel, int64_t device, const json_t *krefs,
                      struct error *error)
{
    const json_t *kref;
    size_t i;

    json_array_foreach(krefs, i, kref)
    {
        if (import(kernel, device, json_string_value(kref), error) != 0)
            return -1;
    }
    return 0;
}

int device_refuse(struct device_call *call, struct error *error, const char *format, ...)
{
    va_list arguments;
    char words[256];

    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    buf_clear(&call->problem);
    return buf_append_string(&call->problem, words) == 0 ? 0 : error_memory(error, "an answer");
}

/* The vat gets the same words whatever it was; the user gets the reason. */
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

    if (keys_require(kernel, field(key, call->device, "name"), &kernel->value, error) != 0)
        return -1;
    method = method_of(buf_string(&kernel->value));
    call->arguments = tree;
    if (method == NULL)
        return error_set(error, ERROR_SYSTEM, "the store is damaged: %s", key);
    if (!json_is_array(tree))
        result = device_refuse(call, error, "its arguments are no array");
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

int device_get_state(struct kernel *kernel, int64_t device, json_t **state, struct error *error)
{
    char key[KEYS_NAME_SIZE];
    bool found;

    *state = NULL;
    if (keys_has(kernel, field(key, device, "deviceState"), &found, error) != 0)
        return -1;
    return found ? keys_get_json(kernel, key, state, error) : 0;
}

int device_set_state(struct kernel *kernel, int64_t device, const json_t *state,
                     struct error *error)
{
    char key[KEYS_NAME_SIZE];

    return keys_set_json(kernel, field(key, device, "deviceState"), state, error);
}

int device_send(struct kernel *kernel, const char *target, const char *method, json_t *arguments,
                struct error *error)
{
    json_t *methargs = capdata_make(json_pack("[s,o]", method, arguments), json_array());
    json_t *message = json_pack("{s:o,s:n}", "methargs", methargs, "result");
    int result = message != NULL ? queue_new_send(kernel, target, message, error)
                                 : error_memory(error, "a device's message");

    json_decref(message);
    return result;
}
