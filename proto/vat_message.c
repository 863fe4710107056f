/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/vat_message.h"

#include <stdlib.h>
#include <string.h>

#include "base/json/json_value.h"

/*
 * A vat's most frequent syscalls are those of its vatstore. As JSON.stringify() writes them, with
 * only printable ASCII and no escapes, they are parsed in place without a tree:
 * ["syscall",["vatstoreSet","key","value"]]. The syscall's texts point into the JSON. False for
 * anything else, which the parser must judge; *syscall is then unchanged.
 */
static const char before_syscall[] = "[\"syscall\",";

static const struct {
    const char *opening; /* with the quote that ends its word */
    struct vat_syscall syscall;
    bool has_value;
} plain_shapes[] = {
    {"[\"vatstoreGet\"", {.kind = VAT_SYSCALL_STORE_GET, .name = "vatstoreGet"}, false},
    {"[\"vatstoreSet\"", {.kind = VAT_SYSCALL_STORE_SET, .name = "vatstoreSet"}, true},
    {"[\"vatstoreDelete\"", {.kind = VAT_SYSCALL_STORE_DELETE, .name = "vatstoreDelete"}, false},
    {"[\"vatstoreGetNextKey\"",
     {.kind = VAT_SYSCALL_STORE_NEXT_KEY, .name = "vatstoreGetNextKey"},
     false},
};

/* Passes over the word at *at. */
static bool vat_skip_word(const char **at, const char *end, const char *word)
{
    const size_t length = strlen(word);

    if ((size_t)(end - *at) < length || memcmp(*at, word, length) != 0)
        return false;
    *at += length;
    return true;
}

/* A comma and a string without escapes. */
static bool take_plain_text(const char **at, const char *end, struct vat_text *text)
{
    const char *bytes;

    if (!vat_skip_word(at, end, ",\""))
        return false;
    for (bytes = *at; *at < end && **at != '"'; (*at)++)
        if (**at < ' ' || **at > '~' || **at == '\\')
            return false;
    *text = (struct vat_text){bytes, (size_t)(*at - bytes)};
    return vat_skip_word(at, end, "\"");
}

static bool take_shape(struct vat_syscall *syscall, size_t shape, const char *at, const char *end)
{
    const char *bytes = at;
    struct vat_syscall taken = plain_shapes[shape].syscall;

    if (!vat_skip_word(&at, end, plain_shapes[shape].opening) ||
        !take_plain_text(&at, end, &taken.key) ||
        (plain_shapes[shape].has_value && !take_plain_text(&at, end, &taken.value)) ||
        !vat_skip_word(&at, end, "]"))
        return false;
    taken.text = (struct vat_text){bytes, (size_t)(at - bytes)};
    if (!vat_skip_word(&at, end, "]") || at != end)
        return false;
    *syscall = taken;
    return true;
}

static bool read_plain_syscall(struct vat_syscall *syscall, const char *json, size_t length)
{
    const char *at = json, *end = json + length;

    if (!vat_skip_word(&at, end, before_syscall))
        return false;
    for (size_t shape = 0; shape < sizeof plain_shapes / sizeof *plain_shapes; shape++)
        if (take_shape(syscall, shape, at, end))
            return true;
    return false;
}

static void append_text(struct buf *buf, const char *string)
{
    json_value_write_string(buf, string, strlen(string));
}

void vat_message_set_bundle(struct buf *buf, const char *vat_id, const char *bundle_json,
                            const char *options_json)
{
    buf_append_string(buf, "[\"setBundle\",");
    append_text(buf, vat_id);
    buf_append_byte(buf, ',');
    buf_append_string(buf, bundle_json);
    buf_append_byte(buf, ',');
    buf_append_string(buf, options_json);
    buf_append_byte(buf, ']');
}

bool vat_message_is_capdata(const json_t *value)
{
    const json_t *slots = json_object_get(value, "slots");
    const json_t *slot;
    size_t i;

    if (!json_is_string(json_object_get(value, "body")) || !json_is_array(slots) ||
        json_object_size(value) != 2)
        return false;
    json_array_foreach(slots, i, slot)
    {
        if (!json_is_string(slot))
            return false;
    }
    return true;
}

static bool request_take_text(const json_t *array, size_t index, struct vat_text *text)
{
    const json_t *string = json_array_get(array, index);

    if (!json_is_string(string))
        return false;
    text->bytes = json_string_value(string);
    text->length = json_string_length(string);
    return true;
}

static bool is_word(const json_t *array, const char *word)
{
    const json_t *first = json_array_get(array, 0);

    /* Compares the length too: a JSON string may contain '\0'. */
    return json_is_string(first) && json_string_length(first) == strlen(word) &&
           strcmp(json_string_value(first), word) == 0;
}

static json_t *load_array(const char *json, size_t length, const char *what, struct error *error)
{
    const size_t most = json_nodes_affordable(length);
    json_error_t problem;
    json_t *message;

    if (json_nodes_exceed(json, length, most)) {
        error_set(error, ERROR_INPUT, "%s: more than %zu values in %zu bytes", what, most, length);
        return NULL;
    }
    message = json_value_read(json, length, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &problem);
    if (message == NULL) {
        error_set(error, ERROR_INPUT, "%s: not JSON at byte %d: %s", what, problem.position,
                  problem.text);
        return NULL;
    }
    if (!json_is_array(message) || !json_is_string(json_array_get(message, 0))) {
        error_set(error, ERROR_INPUT, "%s: not an array that begins with a word", what);
        json_decref(message);
        return NULL;
    }
    return message;
}

static bool request_take_key(struct vat_syscall *syscall)
{
    return request_take_text(syscall->object, 1, &syscall->key);
}

static bool take_key_and_value(struct vat_syscall *syscall)
{
    return request_take_key(syscall) && request_take_text(syscall->object, 2, &syscall->value);
}

static bool take_resolutions(struct vat_syscall *syscall)
{
    const json_t *resolution;
    size_t i;

    syscall->resolutions = json_array_get(syscall->object, 1);
    if (!json_is_array(syscall->resolutions))
        return false;
    json_array_foreach(syscall->resolutions, i, resolution)
    {
        if (json_array_size(resolution) != 3 || !json_is_string(json_array_get(resolution, 0)) ||
            !json_is_boolean(json_array_get(resolution, 1)) ||
            !vat_message_is_capdata(json_array_get(resolution, 2)))
            return false;
    }
    return true;
}

static bool take_target(struct vat_syscall *syscall)
{
    return request_take_text(syscall->object, 1, &syscall->target);
}

static bool take_capdata(struct vat_syscall *syscall, const json_t *value)
{
    syscall->capdata = value;
    return vat_message_is_capdata(value);
}

/* The result may be null or absent. */
static bool take_send(struct vat_syscall *syscall)
{
    const json_t *message = json_array_get(syscall->object, 2);
    const json_t *result = json_object_get(message, "result");

    if (!take_target(syscall) || json_object_size(message) != (result != NULL ? 2 : 1) ||
        !take_capdata(syscall, json_object_get(message, "methargs")))
        return false;
    if (json_is_string(result)) {
        syscall->result.bytes = json_string_value(result);
        syscall->result.length = json_string_length(result);
        return true;
    }
    return result == NULL || json_is_null(result);
}

static bool request_take_call(struct vat_syscall *syscall)
{
    return take_target(syscall) && request_take_text(syscall->object, 2, &syscall->method) &&
           take_capdata(syscall, json_array_get(syscall->object, 3));
}

static bool request_take_exit(struct vat_syscall *syscall)
{
    const json_t *is_failure = json_array_get(syscall->object, 1);

    syscall->is_failure = json_is_true(is_failure);
    return json_is_boolean(is_failure) && take_capdata(syscall, json_array_get(syscall->object, 2));
}

static bool take_references(struct vat_syscall *syscall)
{
    const json_t *reference;
    size_t i;

    syscall->references = json_array_get(syscall->object, 1);
    if (!json_is_array(syscall->references))
        return false;
    json_array_foreach(syscall->references, i, reference)
    {
        if (!json_is_string(reference))
            return false;
    }
    return true;
}

static const struct {
    const char *name;
    size_t elements; /* of the array, with the name */
    bool (*take)(struct vat_syscall *syscall);
} syscall_shapes[] = {
    [VAT_SYSCALL_STORE_GET] = {"vatstoreGet", 2, request_take_key},
    [VAT_SYSCALL_STORE_SET] = {"vatstoreSet", 3, take_key_and_value},
    [VAT_SYSCALL_STORE_DELETE] = {"vatstoreDelete", 2, request_take_key},
    [VAT_SYSCALL_STORE_NEXT_KEY] = {"vatstoreGetNextKey", 2, request_take_key},
    [VAT_SYSCALL_RESOLVE] = {"resolve", 2, take_resolutions},
    [VAT_SYSCALL_SEND] = {"send", 3, take_send},
    [VAT_SYSCALL_SUBSCRIBE] = {"subscribe", 2, take_target},
    [VAT_SYSCALL_CALL_NOW] = {"callNow", 4, request_take_call},
    [VAT_SYSCALL_EXIT] = {"exit", 3, request_take_exit},
    [VAT_SYSCALL_DROP_IMPORTS] = {"dropImports", 2, take_references},
    [VAT_SYSCALL_RETIRE_IMPORTS] = {"retireImports", 2, take_references},
    [VAT_SYSCALL_RETIRE_EXPORTS] = {"retireExports", 2, take_references},
    [VAT_SYSCALL_ABANDON_EXPORTS] = {"abandonExports", 2, take_references},
};

static int parse_syscall(struct vat_syscall *syscall, const json_t *message, struct error *error)
{
    size_t kinds = sizeof syscall_shapes / sizeof syscall_shapes[0];

    syscall->object = json_array_get(message, 1);
    if (json_array_size(message) != 2 || !json_is_string(json_array_get(syscall->object, 0)))
        return error_set(error, ERROR_INPUT, "syscall: not [\"syscall\", [NAME, ...]]");
    for (size_t kind = 0; kind < kinds; kind++) {
        if (!is_word(syscall->object, syscall_shapes[kind].name))
            continue;
        syscall->kind = (enum vat_syscall_kind)kind;
        syscall->name = syscall_shapes[kind].name;
        if (json_array_size(syscall->object) != syscall_shapes[kind].elements ||
            !syscall_shapes[kind].take(syscall))
            return error_set(error, ERROR_INPUT, "syscall %s: its arguments are not of its shape",
                             syscall->name);
        return 0;
    }
    return error_set(error, ERROR_INPUT, "syscall \"%.64s\" is not known",
                     json_string_value(json_array_get(syscall->object, 0)));
}

static int parse_console(struct vat_console *console, const json_t *message, struct error *error)
{
    if (!request_take_text(message, 1, &console->source) ||
        !request_take_text(message, 2, &console->level))
        return error_set(error, ERROR_INPUT,
                         "console: not [\"sourcedConsole\", SOURCE, LEVEL, ...]");
    console->arguments = json_array();
    if (console->arguments == NULL)
        return error_memory(error, "a console line");
    for (size_t i = 3; i < json_array_size(message); i++) {
        if (json_array_append(console->arguments, json_array_get(message, i)) != 0)
            return error_memory(error, "a console line");
    }
    return 0;
}

int vat_request_parse(struct vat_request *request, const char *json, size_t length,
                      struct error *error)
{
    int result;

    memset(request, 0, sizeof *request);
    if (read_plain_syscall(&request->syscall, json, length)) {
        request->kind = VAT_REQUEST_SYSCALL;
        return 0;
    }
    request->message = load_array(json, length, "worker's request", error);
    if (request->message == NULL)
        return -1;
    if (is_word(request->message, "syscall")) {
        request->kind = VAT_REQUEST_SYSCALL;
        result = parse_syscall(&request->syscall, request->message, error);
    } else if (is_word(request->message, "sourcedConsole")) {
        request->kind = VAT_REQUEST_CONSOLE;
        result = parse_console(&request->console, request->message, error);
    } else {
        result = error_set(error, ERROR_INPUT, "worker's request \"%.64s\" is not known",
                           json_string_value(json_array_get(request->message, 0)));
    }
    if (result != 0)
        vat_request_free(request);
    return result;
}

void vat_request_free(struct vat_request *request)
{
    json_decref(request->console.arguments);
    json_decref(request->message);
    free(request->kept);
    memset(request, 0, sizeof *request);
}

/* The same offset in a copy. */
static void move_text(struct vat_text *text, struct vat_text whole, const char *copy)
{
    if (text->bytes != NULL)
        text->bytes = copy + (text->bytes - whole.bytes);
}

int vat_request_keep(struct vat_request *kept, const struct vat_request *request)
{
    const struct vat_text whole = request->syscall.text;

    *kept = *request;
    kept->kept = NULL;
    json_incref(kept->console.arguments);
    json_incref(kept->message);
    if (whole.bytes == NULL)
        return 0;
    kept->kept = strndup(whole.bytes, whole.length);
    if (kept->kept == NULL) {
        memset(kept, 0, sizeof *kept);
        return -1;
    }
    move_text(&kept->syscall.key, whole, kept->kept);
    move_text(&kept->syscall.value, whole, kept->kept);
    move_text(&kept->syscall.text, whole, kept->kept);
    return 0;
}

bool vat_request_same(const struct vat_request *one, const struct vat_request *other)
{
    const struct vat_text a = one->syscall.text, b = other->syscall.text;

    if (one->kind != other->kind || (a.bytes == NULL) != (b.bytes == NULL))
        return false;
    if (a.bytes == NULL)
        return json_equal(one->message, other->message) != 0;
    return a.length == b.length && memcmp(a.bytes, b.bytes, a.length) == 0;
}

size_t vat_request_size(const struct vat_request *request)
{
    return request->message != NULL ? json_dumpb(request->message, NULL, 0, JSON_COMPACT)
                                    : request->syscall.text.length;
}

static int take_reply(struct vat_reply *reply, struct error *error)
{
    if (is_word(reply->message, "dispatchReady")) {
        reply->kind = VAT_REPLY_READY;
        return 0;
    }
    if (is_word(reply->message, "ok")) {
        reply->kind = VAT_REPLY_OK;
        return 0;
    }
    reply->kind = VAT_REPLY_ERROR;
    if (is_word(reply->message, "error") && request_take_text(reply->message, 1, &reply->text)) {
        (void)request_take_text(reply->message, 2, &reply->stack); /* only gaspipe's own runtime
                                                              sends one */
        return 0;
    }
    if (is_word(reply->message, "err") && request_take_text(reply->message, 2, &reply->text))
        return 0;
    return error_set(error, ERROR_INPUT,
                     "worker's result is none of [\"dispatchReady\"], "
                     "[\"ok\",null], [\"error\",MESSAGE]");
}

int vat_reply_parse(struct vat_reply *reply, const char *json, size_t length, struct error *error)
{
    memset(reply, 0, sizeof *reply);
    reply->message = load_array(json, length, "worker's result", error);
    if (reply->message == NULL)
        return -1;
    if (take_reply(reply, error) != 0) {
        vat_reply_free(reply);
        return -1;
    }
    return 0;
}

void vat_reply_free(struct vat_reply *reply)
{
    json_decref(reply->message);
    memset(reply, 0, sizeof *reply);
}

/* The name of npm @agoric/xsnap 0.15.0's meter. */
#define METER_TYPE "xs-meter-36"

/* Without the profile, which has files of its own. */
static void encode_meter(struct buf *dr, const struct meter *meter)
{
    struct meter plain = *meter;

    plain.profile = (struct iovec){0};
    meter_encode(dr, &plain);
}

static void put_meter(struct buf *dr, const struct meter *meter)
{
    size_t start;

    buf_append_string(dr, "{\"meterType\":\"" METER_TYPE "\",");
    if (meter->text.iov_len > 0) {
        buf_append(dr, (char *)meter->text.iov_base + 1, meter->text.iov_len - 1);
        return;
    }
    start = dr->length;
    encode_meter(dr, meter);
    /* The record without its opening brace. */
    if (buf_failed(dr))
        return;
    memmove(dr->data + start, dr->data + start + 1, dr->length - start - 1);
    dr->length--;
}

void delivery_result_put(struct buf *dr, const char *problem, const char *value,
                         const struct meter *meter)
{
    if (problem == NULL) {
        buf_printf(dr, "[\"ok\",%s,", value != NULL ? value : "null");
    } else {
        buf_append_string(dr, "[\"error\",");
        json_value_write_string(dr, problem, strlen(problem));
        buf_append_byte(dr, ',');
    }
    if (meter == NULL)
        buf_append_string(dr, "null");
    else
        put_meter(dr, meter);
    buf_append_byte(dr, ']');
}
