/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/devices/device.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "kernel/graph/object.h"
#include "kernel/graph/queue.h"
#include "kernel/records/capdata.h"
#include "kernel/records/keys.h"
#include "kernel/records/reference.h"
#include "kernel/state.h"
#include "store/store.h"

enum { FIRST_OBJECT = 10, FIRST_DEVICE = 20, FIRST_PROMISE = 30 };

static const char *device_field(char key[KEYS_NAME_SIZE], int64_t device, const char *name)
{
    return keys_name(key, "d%" PRId64 ".%s", device, name);
}

static int find_device_record(struct kernel *kernel, const char *name, int64_t *device, bool *found,
                              struct error *error)
{
    char key[KEYS_NAME_SIZE];

    keys_name(key, "device.name.%.64s", name);
    if (keys_get(kernel, key, &kernel->value, found, error) != 0)
        return -1;
    if (*found && !reference_read_number(buf_string(&kernel->value), 'd', device))
        return error_set(error, ERROR_SYSTEM, "the store is damaged: %s is not a device", key);
    return 0;
}

/* gaspipe's clock is what SwingSet's configurations call timer: one device has both names. */
static const char *other_name(const char *name)
{
    if (strcmp(name, "clock") == 0)
        return "timer";
    return strcmp(name, "timer") == 0 ? "clock" : NULL;
}

int device_named(struct kernel *kernel, const char *name, int64_t *device, bool *found,
                 struct error *error)
{
    const char *other = other_name(name);

    if (find_device_record(kernel, name, device, found, error) != 0)
        return -1;
    return *found || other == NULL ? 0 : find_device_record(kernel, other, device, found, error);
}

static int create(struct kernel *kernel, const char *name, int64_t *device, struct error *error)
{
    char key[KEYS_NAME_SIZE], id[32];

    if (keys_take_number(kernel, "device.nextID", device, error) != 0)
        return -1;
    snprintf(id, sizeof id, "d%" PRId64, *device);
    if (keys_set(kernel, keys_name(key, "device.name.%s", name), id, error) != 0 ||
        keys_append_text(kernel, "device.names", name, error) != 0 ||
        keys_set(kernel, device_field(key, *device, "name"), name, error) != 0 ||
        keys_set_number(kernel, device_field(key, *device, "o.nextID"), FIRST_OBJECT, error) != 0 ||
        keys_set_number(kernel, device_field(key, *device, "d.nextID"), FIRST_DEVICE, error) != 0)
        return -1;
    return keys_set_number(kernel, device_field(key, *device, "p.nextID"), FIRST_PROMISE, error);
}

int device_set_entry(struct kernel *kernel, int64_t device, const char *kref, const char *reference,
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
    return device_set_entry(kernel, device, kdid, node, error);
}

int device_root(struct kernel *kernel, const char *name, int64_t *device,
                char kdid[KERNEL_REF_SIZE], struct error *error)
{
    bool made;

    if (device_named(kernel, name, device, &made, error) != 0 ||
        (!made && create(kernel, name, device, error) != 0))
        return -1;
    return device_node(kernel, *device, "d+0", kdid, error);
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

int device_answer_text(struct device_call *call, const char *text, struct error *error)
{
    call->result = capdata_string(text);
    return call->result != NULL ? 0 : error_memory(error, "an answer");
}

int device_get_state(struct kernel *kernel, int64_t device, json_t **state, struct error *error)
{
    char key[KEYS_NAME_SIZE];
    bool found;

    *state = NULL;
    if (keys_has(kernel, device_field(key, device, "deviceState"), &found, error) != 0)
        return -1;
    return found ? keys_get_json(kernel, key, state, error) : 0;
}

int device_set_state(struct kernel *kernel, int64_t device, const json_t *state,
                     struct error *error)
{
    char key[KEYS_NAME_SIZE];

    return keys_set_json(kernel, device_field(key, device, "deviceState"), state, error);
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

/* A bundle without a name is kept under the SHA-512 of its JSON. */
static int hash_id(const struct buf *json, char bundle_id[DEVICE_BUNDLE_ID_SIZE],
                   struct error *error)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int length;

    if (EVP_Digest(json->data, json->length, digest, &length, EVP_sha512(), NULL) != 1)
        return error_set(error, ERROR_SYSTEM, "SHA-512 failed");
    memcpy(bundle_id, "h1-", sizeof "h1-");
    hex_write(bundle_id + 3, digest, length);
    return 0;
}

int device_keep_bundle(struct kernel *kernel, const json_t *bundle,
                       char bundle_id[DEVICE_BUNDLE_ID_SIZE], struct error *error)
{
    struct buf json = {0};
    int result = -1;

    if (keys_json_text(&json, bundle, error) == 0 && hash_id(&json, bundle_id, error) == 0)
        result =
            store_bundle_put(kernel->store, bundle_id,
                             (struct iovec){.iov_base = json.data, .iov_len = json.length}, error);
    buf_free(&json);
    return result;
}
