/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/near/message.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_text.h"
#include "base/json/json_value.h"

/* ---- smallcaps: a text with one of these first characters is escaped or special ---- */

static bool needs_escape(const char *text)
{
    return text[0] >= '!' && text[0] < '.';
}

/* Removes a value's escapes; the caller's, or NULL if it is not plain data. */
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

json_t *near_value_read(const json_t *capdata)
{
    const json_t *body = json_object_get(capdata, "body");
    const char *text = json_string_value(body);
    json_t *escaped, *value;

    if (text == NULL || text[0] != '#' || json_array_size(json_object_get(capdata, "slots")) != 0)
        return NULL;
    escaped = json_value_read_inner(text + 1, json_string_length(body) - 1,
                                    JSON_ALLOW_NUL | JSON_DECODE_ANY);
    if (json_is_string(escaped) && strcmp(json_string_value(escaped), "#undefined") == 0)
        value = json_null();
    else
        value = plain(escaped);
    json_decref(escaped);
    return value;
}

/* ---- values to smallcaps ---- */

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

void near_value_write_body(struct buf *buf, json_t *value)
{
    struct buf body = {0};

    buf_append_byte(&body, '#');
    if (value != NULL)
        escape_strings(&body, value);
    else
        buf_append_string(&body, "\"#undefined\"");
    json_text_string(buf, body.data, body.length);
    buf->failed |= buf_failed(&body);
    buf_free(&body);
}

/* ---- bytes ---- */

int near_value_bytes(struct buf *bytes, const json_t *value)
{
    const char *base64 = json_string_value(json_object_get(value, "base64"));

    if (value == NULL || json_is_null(value))
        return 0;
    if (base64 != NULL && json_object_size(value) == 1)
        return near_base64_decode(bytes, base64, strlen(base64));
    if (json_is_string(value))
        return buf_append(bytes, json_string_value(value), json_string_length(value));
    return json_value_write(bytes, value);
}

json_t *near_base64_of(const void *bytes, size_t length)
{
    unsigned char *text = malloc(length / 3 * 4 + 5);
    json_t *value = NULL;

    if (text != NULL) {
        EVP_EncodeBlock(text, bytes, (int)length);
        value = json_string((const char *)text);
    }
    free(text);
    return value;
}

/* Returns NULL if the bytes are not text. U+FFFE is special in json_value.h. */
static json_t *value_text_of(const void *bytes, size_t length)
{
    if (length > 0 && memmem(bytes, length, "\xef\xbf\xbe", 3) != NULL)
        return NULL;
    return json_stringn(length > 0 ? bytes : "", length);
}

json_t *near_value_exact(const void *bytes, size_t length)
{
    json_t *text = value_text_of(bytes, length);

    return text != NULL ? text : json_pack("{s:o}", "base64", near_base64_of(bytes, length));
}

/* Bytes for the user: JSON parsed, other text as a string, other bytes as a base64 string. */
static json_t *near_value_shown(const void *bytes, size_t length)
{
    json_t *value = json_value_read(bytes, length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

    if (value == NULL)
        value = value_text_of(bytes, length);
    return value != NULL ? value : near_base64_of(bytes, length);
}

json_t *near_value_of_result(const struct buf *bytes, bool is_exact)
{
    if (is_exact)
        return near_value_exact(bytes->data, bytes->length);
    return bytes->length > 0 ? near_value_shown(bytes->data, bytes->length) : NULL;
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
    /* EVP_DecodeBlock() counts the padding in. */
    bytes->length += (size_t)decoded - (text[length - 1] == '=') - (text[length - 2] == '=');
    return 0;
}

/* Defaults for messages that do not set the call's world. */
static const char someone[] = "alice.near";
enum { BLOCK_HEIGHT = 1, SEED_SIZE = 32, KEY_SIZE = 33 };
#define BLOCK_TIMESTAMP UINT64_C(1600000000000000000) /* ns; fixed, so no clock is read */
#define PREPAID_GAS     UINT64_C(300000000000000)

static const uint8_t zeros[KEY_SIZE];

static int message_no_memory(struct error *error)
{
    return error_memory(error, "a message");
}

/* ---- numbers ---- */

bool near_amount_read(const json_t *value, unsigned __int128 *amount)
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

const char *near_amount_text(unsigned __int128 amount, char text[NEAR_AMOUNT_SIZE])
{
    char *at = &text[NEAR_AMOUNT_SIZE - 1];

    *at = '\0';
    do
        *--at = (char)('0' + (int)(amount % 10));
    while ((amount /= 10) != 0);
    return at;
}

static bool message_take_number(const json_t *value, uint64_t *number)
{
    unsigned __int128 amount;

    if (!near_amount_read(value, &amount) || amount > UINT64_MAX)
        return false;
    *number = (uint64_t)amount;
    return true;
}

/* ---- the call's world ---- */

static bool parse_account(const json_t *value, const char **text)
{
    *text = json_string_value(value);
    return *text != NULL && near_is_account(*text, json_string_length(value));
}

static bool take_flag(const json_t *value, bool *flag)
{
    *flag = json_is_true(value);
    return json_is_boolean(value);
}

/* Each is {"ok": VALUE} or {"failed": true}. */
static bool take_results(struct near_message *message, const json_t *list)
{
    const size_t count = json_array_size(list);

    message->results = calloc(count + 1, sizeof *message->results);
    message->result_bytes = calloc(count + 1, sizeof *message->result_bytes);
    if (!json_is_array(list) || message->results == NULL || message->result_bytes == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i);
        struct buf *bytes = &message->result_bytes[i];

        message->context.result_count = (uint32_t)i + 1;
        message->results[i].is_failed = json_is_true(json_object_get(item, "failed"));
        if (!json_is_object(item) || near_value_bytes(bytes, json_object_get(item, "ok")) != 0)
            return false;
        message->results[i].bytes =
            (struct wasm_bytes){(const uint8_t *)bytes->data, (uint32_t)bytes->length};
    }
    message->context.results = message->results;
    return true;
}

static bool take_receivers(struct near_message *message, const json_t *list)
{
    const size_t count = json_array_size(list);

    message->receivers = calloc(count + 1, sizeof *message->receivers);
    if (!json_is_array(list) || message->receivers == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!parse_account(json_array_get(list, i), &message->receivers[i]))
            return false;
    message->context.receivers = message->receivers;
    message->context.receiver_count = (uint32_t)count;
    return true;
}

/* The valid form of each member of a call's world. */
static const struct {
    const char *name, *form;
} members[] = {
    {"predecessor", "the name of an account"},
    {"signer", "the name of an account"},
    {"account", "the name of an account"},
    {"refund", "the name of an account"},
    {"chain", "a string"},
    {"deposit", "yoctoNEAR, such as \"1\", or \"0.5 NEAR\""},
    {"balance", "yoctoNEAR, such as \"1\", or \"0.5 NEAR\""},
    {"gas", "a number, or \"30 Tgas\""},
    {"blockHeight", "a number"},
    {"blockTimestamp", "nanoseconds since 1970"},
    {"epochHeight", "a number"},
    {"view", "true or false"},
    {"results", "a list of {\"ok\": VALUE} and {\"failed\": true}"},
    {"actions", "a list"},
    {"receivers", "a list of accounts"},
    {"exact", "true or false"},
};

/* Appends the value as JSON, cut between characters. */
static void quote_value(struct buf *text, const json_t *value)
{
    enum { MOST = 64 };
    struct buf json = {0};
    size_t length;

    if (value == NULL || json_value_write(&json, value) != 0)
        buf_append_string(&json, "nothing");
    length = json.length < MOST ? json.length : MOST;
    while (length < json.length && (json.data[length] & 0xc0) == 0x80)
        length--;
    buf_append(text, json.data, length);
    buf_append_string(text, length < json.length ? ".." : "");
    buf_free(&json);
}

/* Says what is wrong with a member. */
static int refuse_member(const char *name, const json_t *value, struct error *error)
{
    const size_t count = sizeof members / sizeof *members;
    struct buf text = {0};
    size_t i = 0;
    int result;

    while (i < count && strcmp(members[i].name, name) != 0)
        i++;
    if (i < count) {
        buf_printf(&text, "%s: ", name);
        quote_value(&text, value);
        buf_printf(&text, " is not valid; expected %s", members[i].form);
    } else {
        buf_printf(&text, "unknown call member: %.64s; expected one of", name);
        for (i = 0; i < count; i++)
            buf_printf(&text, " %s", members[i].name);
    }
    result = buf_string(&text) == NULL ? message_no_memory(error)
                                       : error_set(error, ERROR_INPUT, "%s", text.data);
    buf_free(&text);
    return result;
}

static bool message_take_member(struct near_message *message, const char *name, const json_t *value)
{
    struct near_context *context = &message->context;

    if (strcmp(name, "predecessor") == 0)
        return parse_account(value, &context->predecessor_account);
    if (strcmp(name, "signer") == 0)
        return parse_account(value, &context->signer_account);
    if (strcmp(name, "account") == 0)
        return parse_account(value, &context->current_account);
    if (strcmp(name, "refund") == 0)
        return parse_account(value, &context->refund_account);
    if (strcmp(name, "chain") == 0)
        return (context->chain = json_string_value(value)) != NULL;
    if (strcmp(name, "deposit") == 0)
        return near_money_read(value, &context->deposit);
    if (strcmp(name, "balance") == 0)
        return message->reports_balance = true, near_money_read(value, &context->balance);
    if (strcmp(name, "gas") == 0)
        return near_gas_read(value, &context->prepaid_gas);
    if (strcmp(name, "blockHeight") == 0)
        return message_take_number(value, &context->block_height);
    if (strcmp(name, "blockTimestamp") == 0)
        return message_take_number(value, &context->block_timestamp);
    if (strcmp(name, "epochHeight") == 0)
        return message_take_number(value, &context->epoch_height);
    if (strcmp(name, "results") == 0)
        return take_results(message, value);
    if (strcmp(name, "receivers") == 0)
        return take_receivers(message, value);
    if (strcmp(name, "exact") == 0)
        return take_flag(value, &message->is_exact);
    if (strcmp(name, "created") == 0) /* from outbox.c only */
        return take_flag(value, &message->ends_vat);
    if (strcmp(name, "actions") == 0)
        return json_is_array(value);
    return strcmp(name, "view") == 0 && take_flag(value, &context->is_view);
}

struct near_context near_message_context(void)
{
    return (struct near_context){
        .signer_account = someone,
        .chain = "mainnet",
        .signer_key = {zeros, KEY_SIZE},
        .random_seed = {zeros, SEED_SIZE},
        .block_height = BLOCK_HEIGHT,
        .block_timestamp = BLOCK_TIMESTAMP,
        .epoch_height = 1,
        .prepaid_gas = PREPAID_GAS,
    };
}

static int read_context(struct near_message *message, json_t *world, struct error *error)
{
    struct near_context *context = &message->context;
    const char *name;
    json_t *value;

    *context = near_message_context();
    if (world != NULL && !json_is_object(world))
        return error_set(error, ERROR_INPUT, "the second argument must be an object");
    json_object_foreach(world, name, value)
    {
        if (!message_take_member(message, name, value))
            return refuse_member(name, value, error);
    }
    if (context->predecessor_account == NULL)
        context->predecessor_account = context->signer_account;
    return 0;
}

/* ---- steps ---- */

static int add_message_step(struct near_message *message, struct near_step **step,
                            struct error *error)
{
    struct near_step *grown = reallocarray(message->steps, message->step_count + 1, sizeof *grown);

    if (grown == NULL)
        return message_no_memory(error);
    message->steps = grown;
    *step = &grown[message->step_count++];
    **step = (struct near_step){.deposit = 0};
    return 0;
}

static int set_call(struct near_step *step, const json_t *method, const json_t *input,
                    struct error *error)
{
    step->method = json_string_value(method);
    if (step->method == NULL)
        return error_set(error, ERROR_INPUT, "a function call has a method");
    if (near_value_bytes(&step->input, input) != 0)
        return error_set(error, ERROR_INPUT, "a call's input cannot be taken");
    return 0;
}

/* {"method", "input", "deposit", "gas"}, or {"transfer"} */
static int add_action(struct near_message *message, const json_t *action, struct error *error)
{
    const json_t *transfer = json_object_get(action, "transfer");
    const json_t *deposit = json_object_get(action, "deposit");
    struct near_step *step;

    if (add_message_step(message, &step, error) != 0)
        return -1;
    step->is_transfer = transfer != NULL;
    if (transfer != NULL)
        deposit = transfer;
    if (deposit != NULL && !near_money_read(deposit, &step->deposit))
        return refuse_member("deposit", deposit, error);
    if (step->is_transfer)
        return 0;
    if (!near_gas_read(json_object_get(action, "gas"), &step->gas))
        return refuse_member("gas", json_object_get(action, "gas"), error);
    return set_call(step, json_object_get(action, "method"), json_object_get(action, "input"),
                    error);
}

/* Reads the message's own method, or its batch of actions. */
static int read_steps(struct near_message *message, const json_t *arguments, struct error *error)
{
    const json_t *actions = json_object_get(json_array_get(arguments, 1), "actions");
    struct near_step *step;
    const json_t *action;
    size_t i;

    json_array_foreach(actions, i, action)
    {
        if (add_action(message, action, error) != 0)
            return -1;
    }
    if (actions != NULL)
        return 0;
    if (add_message_step(message, &step, error) != 0)
        return -1;
    step->deposit = message->context.deposit;
    step->gas = message->context.prepaid_gas;
    return set_call(step, json_array_get(message->methargs, 0), json_array_get(arguments, 0),
                    error);
}

int near_message_read(struct near_message *message, const json_t *delivery, struct error *error)
{
    const json_t *content = json_array_get(delivery, 2);
    json_t *arguments;

    *message = (struct near_message){0};
    message->result = json_string_value(json_object_get(content, "result"));
    message->methargs = near_value_read(json_object_get(content, "methargs"));
    arguments = json_array_get(message->methargs, 1);
    if (message->methargs == NULL)
        return error_set(error, ERROR_INPUT, "a contract takes plain data only");
    if (!json_is_array(arguments))
        return error_set(error, ERROR_INPUT, "a message has a method and its arguments");
    if (json_array_size(arguments) > 2)
        return error_set(error, ERROR_INPUT,
                         "a call takes at most two arguments, its input and an object");
    if (read_context(message, json_array_get(arguments, 1), error) != 0)
        return -1;
    return read_steps(message, arguments, error);
}

void near_message_free(struct near_message *message)
{
    for (size_t i = 0; i < message->step_count; i++)
        buf_free(&message->steps[i].input);
    for (uint32_t i = 0; i < message->context.result_count; i++)
        buf_free(&message->result_bytes[i]);
    free(message->steps);
    free(message->results);
    free(message->result_bytes);
    free(message->receivers);
    json_decref(message->methargs);
}
