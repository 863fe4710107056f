/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/devices/bundle_device.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "base/hex.h"
#include "base/json/json_value.h"
#include "kernel/records/capdata.h"
#include "kernel/records/keys.h"
#include "kernel/state.h"
#include "store/store.h"

enum { BUNDLE_ID_LENGTH = 131 }; /* "b1-" and a SHA-512 in hexadecimal digits */

static int get_bundle(struct kernel *kernel, const char *bundle_id, struct buf *json, bool *found,
                      struct error *error)
{
    *found = false;
    if (strlen(bundle_id) > BUNDLE_ID_LENGTH)
        return 0;
    return store_bundle_get(kernel->store, bundle_id, json, found, error);
}

int bundle_device_has(struct kernel *kernel, const char *bundle_id, bool *found,
                      struct error *error)
{
    struct buf json = {0};
    int result = get_bundle(kernel, bundle_id, &json, found, error);

    buf_free(&json);
    return result;
}

/* ---- bundles as values ---- */

/* Plain JSON into smallcaps and back: texts get or lose their escape. NULL: no memory, or no plain
 * value. */
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

/* One without a name of its own is kept under the SHA-512 of its JSON. */
static int hash_id(const struct buf *json, char bundle_id[BUNDLE_DEVICE_ID_SIZE],
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

static int keep_json(struct kernel *kernel, const json_t *bundle,
                     char bundle_id[BUNDLE_DEVICE_ID_SIZE], struct error *error)
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

int bundle_device_keep(struct kernel *kernel, const json_t *value,
                       char bundle_id[BUNDLE_DEVICE_ID_SIZE], bool *kept, struct error *error)
{
    json_t *bundle = json_is_object(value) ? convert(value, false) : NULL;
    int result = 0;

    *kept = json_is_string(json_object_get(bundle, "moduleFormat"));
    if (*kept)
        result = keep_json(kernel, bundle, bundle_id, error);
    json_decref(bundle);
    return result;
}

/* ---- nodes ---- */

/* The device's own store: dN.vs.NAME. */
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

/* undefined for a bundle that is not there (yet). */
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

int bundle_device_cap(struct kernel *kernel, struct device_call *call, struct error *error)
{
    const char *bundle_id = capdata_text(json_array_get(call->arguments, 0));

    if (bundle_id == NULL || strlen(bundle_id) != BUNDLE_ID_LENGTH ||
        strncmp(bundle_id, "b1-", 3) != 0 ||
        strspn(bundle_id + 3, "0123456789abcdef") != BUNDLE_ID_LENGTH - 3)
        return device_refuse(call, error, "getBundleCap: not a bundleID");
    return give_cap(kernel, call, bundle_id, error);
}

/* `bundle_id` is emptied before; not *found: refused. */
static int look_up_name(struct kernel *kernel, struct device_call *call, struct buf *bundle_id,
                        bool *found, struct error *error)
{
    const char *name = capdata_text(json_array_get(call->arguments, 0));
    char key[KEYS_NAME_SIZE];

    *found = false;
    if (name != NULL && strlen(name) <= KERNEL_NAME_LIMIT &&
        keys_get(kernel, keys_name(key, "namedBundleID.%s", name), bundle_id, found, error) != 0)
        return -1;
    return *found ? 0 : device_refuse(call, error, "there is no bundle of that name");
}

int bundle_device_named_cap(struct kernel *kernel, struct device_call *call, struct error *error)
{
    struct buf bundle_id = {0};
    bool found;
    int result = look_up_name(kernel, call, &bundle_id, &found, error);

    if (result == 0 && found)
        result = give_cap(kernel, call, buf_string(&bundle_id), error);
    buf_free(&bundle_id);
    return result;
}

int bundle_device_id_by_name(struct kernel *kernel, struct device_call *call, struct error *error)
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

int bundle_device_node(struct kernel *kernel, struct device_call *call, struct error *error)
{
    char key[KEYS_NAME_SIZE];
    struct buf bundle_id = {0};
    bool found;
    int result =
        keys_get(kernel, own_key(key, call, "slot.", call->node), &bundle_id, &found, error);

    if (result == 0 && !found)
        result = device_refuse(call, error, "it is not a bundle's node");
    else if (result == 0 && strcmp(call->method, "getBundleID") == 0)
        result = device_answer_text(call, buf_string(&bundle_id), error);
    else if (result == 0 && strcmp(call->method, "getBundle") == 0)
        result = give_bundle(kernel, call, buf_string(&bundle_id), error);
    else if (result == 0)
        result = device_refuse(call, error, "a bundle's node has no such method");
    buf_free(&bundle_id);
    return result;
}
