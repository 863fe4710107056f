/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/near/vat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_text.h"
#include "base/json/json_value.h"
#include "base/number.h"
#include "worker/near/message.h"

enum { HEX_BYTE = 2 };

/* Sends the request; returns the answer's second element, or NULL. Borrowed from *root. */
static json_t *ask_kernel(struct near_vat *vat, json_t **root)
{
    struct iovec answer = {0};

    *root = NULL;
    if (!vat->is_lost && !buf_failed(&vat->request))
        answer = vat->host.request(vat->host.context,
                                   (struct iovec){vat->request.data, vat->request.length});
    if (answer.iov_base != NULL)
        *root = json_value_read(answer.iov_base, answer.iov_len, JSON_ALLOW_NUL, NULL);
    if (*root == NULL)
        vat->is_lost = true;
    return json_array_get(*root, 1);
}

static int ask_plainly(struct near_vat *vat)
{
    json_t *root;

    (void)ask_kernel(vat, &root);
    json_decref(root);
    return vat->is_lost ? -1 : 0;
}

static void vat_begin(struct near_vat *vat, const char *text)
{
    buf_clear(&vat->request);
    buf_append_string(&vat->request, text);
}

/* ---- the contract's storage ---- */

static void put_hex(struct buf *buf, const void *bytes, size_t length)
{
    if (buf_reserve(buf, length * HEX_BYTE + 1) != 0)
        return;
    hex_write(buf->data + buf->length, bytes, length);
    buf->length += length * HEX_BYTE;
}

static void begin_storage(struct near_vat *vat, const char *name, struct wasm_bytes key)
{
    buf_clear(&vat->request);
    buf_printf(&vat->request, "[\"syscall\",[\"%s\",\"s.", name);
    put_hex(&vat->request, key.data, key.length);
}

static int digit_of(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* Decodes after the '=' that starts each value, because the kernel treats an empty text as
 * absent. */
static int decode_value(struct buf *value, const char *text, size_t length)
{
    buf_clear(value);
    for (size_t i = 1; i + 1 < length; i += HEX_BYTE)
        if (buf_append_byte(value, (char)(digit_of(text[i]) << 4 | digit_of(text[i + 1]))) != 0)
            return -1;
    return 0;
}

static int storage_get(void *context, struct wasm_bytes key, struct buf *value, bool *found)
{
    struct near_vat *vat = context;
    json_t *root;
    const json_t *answer;
    int result = 0;

    begin_storage(vat, "vatstoreGet", key);
    buf_append_string(&vat->request, "\"]]");
    answer = ask_kernel(vat, &root);
    *found = json_is_string(answer);
    if (*found)
        result = decode_value(value, json_string_value(answer), json_string_length(answer));
    json_decref(root);
    return vat->is_lost ? -1 : result;
}

static int storage_set(void *context, struct wasm_bytes key, struct wasm_bytes value)
{
    struct near_vat *vat = context;

    begin_storage(vat, "vatstoreSet", key);
    buf_append_string(&vat->request, "\",\"=");
    put_hex(&vat->request, value.data, value.length);
    buf_append_string(&vat->request, "\"]]");
    return ask_plainly(vat);
}

static int storage_remove(void *context, struct wasm_bytes key)
{
    struct near_vat *vat = context;

    begin_storage(vat, "vatstoreDelete", key);
    buf_append_string(&vat->request, "\"]]");
    return ask_plainly(vat);
}

static int storage_log(void *context, const char *text, size_t length)
{
    struct near_vat *vat = context;

    near_vat_log(vat, text, length);
    return vat->is_lost ? -1 : 0;
}

struct near_storage near_vat_storage(struct near_vat *vat)
{
    return (struct near_storage){
        .context = vat,
        .get = storage_get,
        .set = storage_set,
        .remove = storage_remove,
        .log = storage_log,
    };
}

/* ---- other records ---- */

json_t *near_vat_get(struct near_vat *vat, const char *key)
{
    const json_t *answer;
    json_t *root, *value = NULL;

    buf_clear(&vat->request);
    buf_printf(&vat->request, "[\"syscall\",[\"vatstoreGet\",\"%s\"]]", key);
    answer = ask_kernel(vat, &root);
    if (json_is_string(answer))
        value = json_value_read_inner(json_string_value(answer), json_string_length(answer),
                                      JSON_DECODE_ANY | JSON_ALLOW_NUL);
    json_decref(root);
    return value;
}

void near_vat_set(struct near_vat *vat, const char *key, const json_t *value)
{
    struct buf text = {0};

    buf_clear(&vat->request);
    buf_printf(&vat->request, "[\"syscall\",[\"vatstoreSet\",\"%s\",", key);
    (void)json_value_write(&text, value);
    json_text_string(&vat->request, text.data, text.length);
    buf_append_string(&vat->request, "]]");
    vat->is_lost |= buf_failed(&text);
    buf_free(&text);
    (void)ask_plainly(vat);
}

void near_vat_delete(struct near_vat *vat, const char *key)
{
    buf_clear(&vat->request);
    buf_printf(&vat->request, "[\"syscall\",[\"vatstoreDelete\",\"%s\"]]", key);
    (void)ask_plainly(vat);
}

/* ---- messages ---- */

void near_vat_log(struct near_vat *vat, const char *text, size_t length)
{
    vat_begin(vat, "[\"sourcedConsole\",\"vat\",\"log\",");
    json_text_string(&vat->request, text, length);
    buf_append_byte(&vat->request, ']');
    (void)ask_plainly(vat);
}

void near_vat_exit(struct near_vat *vat, const char *reason)
{
    json_t *text = json_string(reason);

    vat_begin(vat, "[\"syscall\",[\"exit\",true,{\"body\":");
    near_value_write_body(&vat->request, text);
    buf_append_string(&vat->request, ",\"slots\":[]}]]");
    json_decref(text);
    (void)ask_plainly(vat);
}

/* Takes over the arguments. */
static json_t *call_accounts(struct near_vat *vat, const char *accounts, const char *method,
                             json_t *arguments, json_t **root)
{
    vat_begin(vat, "[\"syscall\",[\"callNow\",");
    json_text_string(&vat->request, accounts, strlen(accounts));
    buf_printf(&vat->request, ",\"%s\",{\"body\":", method);
    near_value_write_body(&vat->request, arguments);
    buf_append_string(&vat->request, ",\"slots\":[]}]]");
    json_decref(arguments);
    return ask_kernel(vat, root);
}

void near_vat_deploy(struct near_vat *vat, const char *accounts, const char *account,
                     const char *module, const char *protocol)
{
    json_t *root;

    (void)call_accounts(vat, accounts, "deploy", json_pack("[s,s,s]", account, module, protocol),
                        &root);
    json_decref(root);
}

bool near_vat_find(struct near_vat *vat, const char *accounts, const char *account, char target[32])
{
    const char *slot;
    const json_t *answer;
    json_t *root;
    bool found;

    answer = call_accounts(vat, accounts, "find", json_pack("[s]", account), &root);
    slot = json_string_value(json_array_get(json_object_get(answer, "slots"), 0));
    found = slot != NULL && strlen(slot) < 32;
    if (found)
        memcpy(target, slot, strlen(slot) + 1);
    json_decref(root);
    return found;
}

static void subscribe_to_promise(struct near_vat *vat, const char *promise)
{
    buf_clear(&vat->request);
    buf_printf(&vat->request, "[\"syscall\",[\"subscribe\",\"%s\"]]", promise);
    (void)ask_plainly(vat);
}

void near_vat_send(struct near_vat *vat, const char *target, json_t *methargs, const char *result)
{
    buf_clear(&vat->request);
    buf_printf(&vat->request, "[\"syscall\",[\"send\",\"%s\",{\"methargs\":{\"body\":", target);
    near_value_write_body(&vat->request, methargs);
    buf_append_string(&vat->request, ",\"slots\":[]},\"result\":");
    buf_printf(&vat->request, result != NULL ? "\"%s\"}]]" : "null}]]", result);
    (void)ask_plainly(vat);
    if (result != NULL)
        subscribe_to_promise(vat, result);
}

static void begin_resolve(struct near_vat *vat, const char *promise, bool is_rejected)
{
    vat_begin(vat, "[\"syscall\",[\"resolve\",[[");
    json_text_string(&vat->request, promise, strlen(promise));
    buf_append_string(&vat->request, is_rejected ? ",true," : ",false,");
}

void near_vat_resolve(struct near_vat *vat, const char *promise, json_t *value)
{
    begin_resolve(vat, promise, false);
    buf_append_string(&vat->request, "{\"body\":");
    near_value_write_body(&vat->request, value);
    buf_append_string(&vat->request, ",\"slots\":[]}]]]]");
    (void)ask_plainly(vat);
}

void near_vat_reject(struct near_vat *vat, const char *promise, const json_t *capdata)
{
    begin_resolve(vat, promise, true);
    (void)json_value_write(&vat->request, capdata);
    buf_append_string(&vat->request, "]]]]");
    (void)ask_plainly(vat);
}
