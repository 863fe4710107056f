/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/near/message.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_text.h"
#include "base/json/json_value.h"

/* What a call is told where its message says nothing else. */
static const char someone[] = "alice.near";
static const char contract_account[] = "contract.near";
enum { BLOCK_HEIGHT = 1, SEED_SIZE = 32, KEY_SIZE = 33 };
#define BLOCK_TIMESTAMP UINT64_C(1600000000000000000) /* ns, so that nobody's clock is seen */
#define PREPAID_GAS     UINT64_C(300000000000000)
#define BALANCE         ((unsigned __int128)UINT64_C(1000000000000000000) * 1000000000)

static const uint8_t zeros[KEY_SIZE];

/* ---- smallcaps: what other texts mean there begins with one of these ---- */

static bool needs_escape(const char *text)
{
    return text[0] >= '!' && text[0] < '.';
}

/* The value without its escapes, the caller's; NULL for what is no plain data. */
static json_t *plain(const json_t *value);

static json_t *plain_array(const json_t *value)
{
    json_t *copy = json_array();
    size_t index;
    json_t *item;

    json_array_foreach(value, index, item)
    {
        json_t *part = plain(item);

        if (part == NULL || json_array_append_new(copy, part) != 0) {
            json_decref(copy);
            return NULL;
        }
    }
    return copy;
}

static json_t *plain_object(json_t *value)
{
    json_t *copy = json_object();
    const char *name;
    json_t *item;

    json_object_foreach(value, name, item)
    {
        json_t *part = plain(item);

        if (part == NULL ||
            json_object_set_new(copy, name[0] == '!' ? name + 1 : name, part) != 0) {
            json_decref(copy);
            return NULL;
        }
    }
    return copy;
}

static json_t *plain(const json_t *value)
{
    const char *text = json_string_value(value);

    if (json_is_array(value))
        return plain_array(value);
    if (json_is_object(value))
        return plain_object((json_t *)value);
    if (text == NULL || !needs_escape(text))
        return json_incref((json_t *)value);
    return text[0] == '!' ? json_stringn(text + 1, json_string_length(value) - 1) : NULL;
}

/* ---- what a call is told ---- */

/* A decimal number, as a string or a JSON number. */
static bool take_amount(const json_t *value, unsigned __int128 *amount)
{
    const char *text = json_string_value(value);

    if (json_is_integer(value) && json_integer_value(value) >= 0) {
        *amount = (unsigned __int128)json_integer_value(value);
        return true;
    }
    if (text == NULL || *text == '\0' || strlen(text) > 38 ||
        strspn(text, "0123456789") != strlen(text))
        return false;
    for (*amount = 0; *text != '\0'; text++)
        *amount = *amount * 10 + (unsigned)(*text - '0');
    return true;
}

static bool take_number(const json_t *value, uint64_t *number)
{
    unsigned __int128 amount;

    if (!take_amount(value, &amount) || amount > UINT64_MAX)
        return false;
    *number = (uint64_t)amount;
    return true;
}

static bool take_text(const json_t *value, const char **text)
{
    *text = json_string_value(value);
    return *text != NULL;
}

static bool take_flag(const json_t *value, bool *flag)
{
    *flag = json_is_true(value);
    return json_is_boolean(value);
}

static bool take_member(struct near_context *context, const char *name, const json_t *value)
{
    if (strcmp(name, "predecessor") == 0)
        return take_text(value, &context->predecessor_account);
    if (strcmp(name, "signer") == 0)
        return take_text(value, &context->signer_account);
    if (strcmp(name, "account") == 0)
        return take_text(value, &context->current_account);
    if (strcmp(name, "deposit") == 0)
        return take_amount(value, &context->deposit);
    if (strcmp(name, "balance") == 0)
        return take_amount(value, &context->balance);
    if (strcmp(name, "gas") == 0)
        return take_number(value, &context->prepaid_gas);
    if (strcmp(name, "blockHeight") == 0)
        return take_number(value, &context->block_height);
    if (strcmp(name, "blockTimestamp") == 0)
        return take_number(value, &context->block_timestamp);
    if (strcmp(name, "epochHeight") == 0)
        return take_number(value, &context->epoch_height);
    return strcmp(name, "view") == 0 && take_flag(value, &context->is_view);
}

static int read_context(struct near_message *message, json_t *told, struct error *error)
{
    struct near_context *context = &message->context;
    const char *name;
    json_t *value;

    *context = (struct near_context){
        .current_account = contract_account,
        .signer_account = someone,
        .predecessor_account = NULL,
        .signer_key = {zeros, KEY_SIZE},
        .random_seed = {zeros, SEED_SIZE},
        .block_height = BLOCK_HEIGHT,
        .block_timestamp = BLOCK_TIMESTAMP,
        .epoch_height = 1,
        .balance = BALANCE,
        .prepaid_gas = PREPAID_GAS,
    };
    if (told != NULL && !json_is_object(told))
        return error_set(error, ERROR_INPUT, "what a call is told must be an object");
    json_object_foreach(told, name, value)
    {
        if (!take_member(context, name, value))
            return error_set(error, ERROR_INPUT, "a call cannot be told this %.64s", name);
    }
    if (context->predecessor_account == NULL)
        context->predecessor_account = context->signer_account;
    return 0;
}

/* ---- the message ---- */

/* A string is the input's bytes; {"base64": ..} any bytes; what else there is, its JSON. */
static int read_input(struct near_message *message, const json_t *input, struct error *error)
{
    const char *base64 = json_string_value(json_object_get(input, "base64"));
    int result = 0;

    if (input == NULL)
        return 0;
    if (base64 != NULL && json_object_size(input) == 1)
        result = near_base64_decode(&message->input, base64, strlen(base64));
    else if (json_is_string(input))
        result = buf_append(&message->input, json_string_value(input), json_string_length(input));
    else
        result = json_value_write(&message->input, input);
    return result == 0 ? 0 : error_set(error, ERROR_INPUT, "a call's input cannot be taken");
}

static int read_arguments(struct near_message *message, struct error *error)
{
    const json_t *arguments = json_array_get(message->methargs, 1);

    message->method = json_string_value(json_array_get(message->methargs, 0));
    if (message->method == NULL || !json_is_array(arguments))
        return error_set(error, ERROR_INPUT, "a message has a method and its arguments");
    if (json_array_size(arguments) > 2)
        return error_set(error, ERROR_INPUT,
                         "a call takes its input, and what it is told: two arguments at most");
    if (read_input(message, json_array_get(arguments, 0), error) != 0 ||
        read_context(message, json_array_get(arguments, 1), error) != 0)
        return -1;
    message->context.input =
        (struct wasm_bytes){(const uint8_t *)message->input.data, (uint32_t)message->input.length};
    return 0;
}

int near_message_read(struct near_message *message, const json_t *delivery, struct error *error)
{
    const json_t *content = json_array_get(delivery, 2);
    const json_t *capdata = json_object_get(content, "methargs");
    const json_t *body = json_object_get(capdata, "body");
    const char *text = json_string_value(body);
    json_t *escaped;

    *message = (struct near_message){0};
    if (text == NULL || text[0] != '#' || json_array_size(json_object_get(capdata, "slots")) != 0)
        return error_set(error, ERROR_INPUT, "a contract takes data only");
    escaped = json_value_read_inner(text + 1, json_string_length(body) - 1, JSON_ALLOW_NUL);
    message->methargs = plain(escaped);
    json_decref(escaped);
    if (message->methargs == NULL)
        return error_set(error, ERROR_INPUT, "a contract takes plain data only");
    message->result = json_string_value(json_object_get(content, "result"));
    return read_arguments(message, error);
}

void near_message_free(struct near_message *message)
{
    json_decref(message->methargs);
    buf_free(&message->input);
}

/* ---- results ---- */

static void escape_strings(struct buf *buf, json_t *value)
{
    size_t index;
    const char *name;
    json_t *item;
    bool is_first = true;

    if (json_is_array(value)) {
        buf_append_byte(buf, '[');
        json_array_foreach(value, index, item)
        {
            buf_append_string(buf, index > 0 ? "," : "");
            escape_strings(buf, item);
        }
        buf_append_byte(buf, ']');
    } else if (json_is_object(value)) {
        buf_append_byte(buf, '{');
        json_object_foreach(value, name, item)
        {
            buf_append_string(buf, is_first ? "\"" : ",\"");
            is_first = false;
            buf_append_string(buf, needs_escape(name) ? "!" : "");
            json_text_escape(buf, name, strlen(name));
            buf_append_string(buf, "\":");
            escape_strings(buf, item);
        }
        buf_append_byte(buf, '}');
    } else if (json_is_string(value) && needs_escape(json_string_value(value))) {
        buf_append_string(buf, "\"!");
        json_text_escape(buf, json_string_value(value), json_string_length(value));
        buf_append_byte(buf, '"');
    } else {
        json_value_write(buf, value);
    }
}

static json_t *base64_of(const struct buf *bytes)
{
    unsigned char *text = malloc(bytes->length / 3 * 4 + 5);
    json_t *value = NULL;

    if (text != NULL) {
        EVP_EncodeBlock(text, (const unsigned char *)bytes->data, (int)bytes->length);
        value = json_string((const char *)text);
    }
    free(text);
    return value;
}

static json_t *value_of(const struct buf *result)
{
    json_t *value =
        json_value_read(result->data, result->length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

    if (value == NULL)
        value = json_stringn(result->data, result->length);
    return value != NULL ? value : base64_of(result);
}

void near_message_resolve(struct buf *buf, const char *promise, const struct buf *result)
{
    json_t *value = result != NULL && result->length != 0 ? value_of(result) : NULL;
    struct buf body = {0};

    buf_append_byte(&body, '#');
    if (value != NULL)
        escape_strings(&body, value);
    else
        buf_append_string(&body, "\"#undefined\"");
    buf_append_string(buf, "[\"syscall\",[\"resolve\",[[");
    json_text_string(buf, promise, strlen(promise));
    buf_append_string(buf, ",false,{\"body\":");
    json_text_string(buf, body.data, body.length);
    buf_append_string(buf, ",\"slots\":[]}]]]]");
    buf->failed |= buf_failed(&body);
    buf_free(&body);
    json_decref(value);
}

int near_base64_decode(struct buf *bytes, const char *text, size_t length)
{
    int decoded;

    if (length == 0)
        return 0;
    if (length % 4 != 0 || length > INT32_MAX || buf_reserve(bytes, length / 4 * 3 + 1) != 0)
        return -1;
    decoded = EVP_DecodeBlock((unsigned char *)bytes->data + bytes->length,
                              (const unsigned char *)text, (int)length);
    if (decoded < 0)
        return -1;
    /* It counts the padding in. */
    bytes->length += (size_t)decoded - (text[length - 1] == '=') - (text[length - 2] == '=');
    return 0;
}
