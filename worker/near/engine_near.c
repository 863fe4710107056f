/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/near/engine_near.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/json/json_text.h"
#include "base/json/json_value.h"
#include "worker/near/contract.h"
#include "worker/near/json_arena.h"
#include "worker/near/message.h"
#include "worker/snapshot_place.h"

struct engine {
    struct engine_options options;
    struct buf module; /* of the contract; empty: none was set yet */
    struct near_contract *contract;
    struct buf request; /* the request at hand */
    struct buf reply;   /* the result of the last command */
    bool pipe_lost;
    uint64_t operations; /* of the last command */
};

static const char version_of_costs[] = "newest";

/* ---- the contract's storage: the vat's store, where keys are texts ---- */

enum { HEX_BYTE = 2 };

static void put_hex(struct buf *buf, const void *bytes, size_t length)
{
    if (buf_reserve(buf, length * HEX_BYTE + 1) != 0)
        return;
    hex_write(buf->data + buf->length, bytes, length);
    buf->length += length * HEX_BYTE;
}

/* The answer's second element, the caller's as long as *root is; NULL without one. */
static json_t *ask(struct engine *engine, json_t **root)
{
    const struct engine_host *host = &engine->options.host;
    struct iovec answer = {0};

    *root = NULL;
    if (!engine->pipe_lost && !buf_failed(&engine->request))
        answer = host->request(host->context,
                               (struct iovec){engine->request.data, engine->request.length});
    if (answer.iov_base != NULL)
        *root = json_value_read(answer.iov_base, answer.iov_len, JSON_ALLOW_NUL, NULL);
    if (*root == NULL)
        engine->pipe_lost = true;
    return json_array_get(*root, 1);
}

static int ask_plainly(struct engine *engine)
{
    json_t *root;

    (void)ask(engine, &root);
    json_decref(root);
    return engine->pipe_lost ? -1 : 0;
}

static void begin_syscall(struct engine *engine, const char *name, struct wasm_bytes key)
{
    buf_clear(&engine->request);
    buf_printf(&engine->request, "[\"syscall\",[\"%s\",\"s.", name);
    put_hex(&engine->request, key.data, key.length);
}

static int take_hex(struct buf *value, const char *text, size_t length)
{
    buf_clear(value);
    for (size_t i = 0; i + 1 < length; i += HEX_BYTE) {
        const char digits[] = {text[i], text[i + 1], '\0'};

        if (buf_append_byte(value, (char)strtoul(digits, NULL, 16)) != 0)
            return -1;
    }
    return 0;
}

static int storage_get(void *context, struct wasm_bytes key, struct buf *value, bool *found)
{
    struct engine *engine = context;
    json_t *root;
    const json_t *answer;
    int result = 0;

    begin_syscall(engine, "vatstoreGet", key);
    buf_append_string(&engine->request, "\"]]");
    answer = ask(engine, &root);
    *found = json_is_string(answer);
    if (*found)
        result = take_hex(value, json_string_value(answer), json_string_length(answer));
    json_decref(root);
    return engine->pipe_lost ? -1 : result;
}

static int storage_set(void *context, struct wasm_bytes key, struct wasm_bytes value)
{
    struct engine *engine = context;

    begin_syscall(engine, "vatstoreSet", key);
    buf_append_string(&engine->request, "\",\"");
    put_hex(&engine->request, value.data, value.length);
    buf_append_string(&engine->request, "\"]]");
    return ask_plainly(engine);
}

static int storage_remove(void *context, struct wasm_bytes key)
{
    struct engine *engine = context;

    begin_syscall(engine, "vatstoreDelete", key);
    buf_append_string(&engine->request, "\"]]");
    return ask_plainly(engine);
}

static int storage_log(void *context, const char *text, size_t length)
{
    struct engine *engine = context;

    buf_clear(&engine->request);
    buf_append_string(&engine->request, "[\"sourcedConsole\",\"vat\",\"log\",");
    json_text_string(&engine->request, text, length);
    buf_append_byte(&engine->request, ']');
    return ask_plainly(engine);
}

/* The bytes that the contract's records take, kept beside them. */
static uint64_t read_usage(struct engine *engine)
{
    json_t *root;
    const char *text;
    uint64_t usage;

    buf_clear(&engine->request);
    buf_append_string(&engine->request, "[\"syscall\",[\"vatstoreGet\",\"usage\"]]");
    text = json_string_value(ask(engine, &root));
    usage = text != NULL ? strtoull(text, NULL, 10) : near_contract_size(engine->contract);
    json_decref(root);
    return usage;
}

static void write_usage(struct engine *engine, uint64_t usage)
{
    buf_clear(&engine->request);
    buf_printf(&engine->request, "[\"syscall\",[\"vatstoreSet\",\"usage\",\"%llu\"]]",
               (unsigned long long)usage);
    (void)ask_plainly(engine);
}

/* ---- results of commands ---- */

static struct engine_result ok_with(struct engine *engine)
{
    return (struct engine_result){.outcome = ENGINE_OK,
                                  .text = {engine->reply.data, engine->reply.length}};
}

static struct engine_result threw(const char *words)
{
    return (struct engine_result){.outcome = ENGINE_THREW, .text = {(char *)words, strlen(words)}};
}

static struct engine_result stopped(const char *words, int exit_status)
{
    return (struct engine_result){.outcome = ENGINE_STOPPED,
                                  .text = {(char *)words, strlen(words)},
                                  .exit_status = exit_status};
}

static struct engine_result no_memory(void)
{
    return stopped("out of memory for a contract", WORKER_EXIT_HOST_MEMORY);
}

static struct engine_result reply_error(struct engine *engine, const char *words)
{
    buf_append_string(&engine->reply, "[\"error\",");
    json_text_string(&engine->reply, words, strlen(words));
    buf_append_byte(&engine->reply, ']');
    return buf_failed(&engine->reply) ? no_memory() : ok_with(engine);
}

static struct engine_result reply_text(struct engine *engine, const char *text)
{
    buf_append_string(&engine->reply, text);
    return buf_failed(&engine->reply) ? no_memory() : ok_with(engine);
}

/* ---- commands ---- */

/* Takes the module that engine->module holds. */
static int load_contract(struct engine *engine, struct error *error)
{
    near_contract_close(engine->contract);
    engine->contract = near_contract_open((const uint8_t *)engine->module.data,
                                          engine->module.length, version_of_costs, error);
    return engine->contract != NULL ? 0 : -1;
}

static struct engine_result set_bundle(struct engine *engine, const json_t *bundle)
{
    const json_t *source = json_object_get(bundle, "source");
    struct error error;

    buf_clear(&engine->module);
    if (!json_is_string(source) || near_base64_decode(&engine->module, json_string_value(source),
                                                      json_string_length(source)) != 0)
        return reply_error(engine, "the bundle is not a module in base64");
    if (load_contract(engine, &error) != 0)
        return no_memory();
    if (near_contract_refusal(engine->contract) != NULL)
        return reply_error(engine, near_contract_refusal(engine->contract));
    return reply_text(engine, "[\"dispatchReady\"]");
}

static void resolve(struct engine *engine, const char *promise, const struct near_outcome *outcome)
{
    buf_clear(&engine->request);
    near_message_resolve(&engine->request, promise, outcome->has_result ? outcome->result : NULL);
    (void)ask_plainly(engine);
}

static struct engine_result call_contract(struct engine *engine, struct near_message *message)
{
    const struct near_storage storage = {
        .context = engine,
        .get = storage_get,
        .set = storage_set,
        .remove = storage_remove,
        .log = storage_log,
    };
    struct near_outcome outcome;

    message->context.storage_usage = read_usage(engine);
    if (engine->pipe_lost)
        return stopped("the pipe is lost", WORKER_EXIT_IO);
    message->context.operation_limit = engine->options.compute_limit;
    outcome = near_contract_call(engine->contract, message->method, &message->context, &storage);
    engine->operations = outcome.operations;
    if (outcome.is_over_limit)
        return stopped("too much computation", WORKER_EXIT_COMPUTATION);
    if (outcome.is_lost && !engine->pipe_lost)
        return no_memory();
    if (outcome.error != NULL)
        return reply_error(engine, outcome.error);
    if (outcome.storage_usage != message->context.storage_usage)
        write_usage(engine, outcome.storage_usage);
    if (message->result != NULL)
        resolve(engine, message->result, &outcome);
    return reply_text(engine, "[\"ok\",null]");
}

static struct engine_result take_message(struct engine *engine, const json_t *delivery)
{
    struct near_message message;
    struct engine_result result;
    struct error error;

    if (engine->contract == NULL)
        return reply_error(engine, "there is no contract yet");
    if (near_message_read(&message, delivery, &error) != 0)
        result = reply_error(engine, error.text);
    else
        result = call_contract(engine, &message);
    near_message_free(&message);
    return result;
}

static struct engine_result handle(struct engine *engine, const json_t *command)
{
    const char *tag = json_string_value(json_array_get(command, 0));
    const json_t *delivery = json_array_get(command, 1);
    const char *kind = json_string_value(json_array_get(delivery, 0));

    if (tag != NULL && strcmp(tag, "setBundle") == 0)
        return set_bundle(engine, json_array_get(command, 2));
    if (tag == NULL || strcmp(tag, "deliver") != 0 || kind == NULL)
        return reply_error(engine, "no such command");
    if (strcmp(kind, "startVat") == 0)
        return reply_text(engine, "[\"ok\",null]");
    if (strcmp(kind, "message") == 0)
        return take_message(engine, delivery);
    return reply_error(engine, "a contract knows no such delivery");
}

static struct engine_result deliver(struct engine *engine, struct iovec message)
{
    struct engine_result result;
    json_t *command;

    json_arena_reset();
    command = json_value_read(message.iov_base, message.iov_len, JSON_ALLOW_NUL, NULL);
    engine->operations = 0;
    buf_clear(&engine->reply);
    result = handle(engine, command);
    json_decref(command);
    return engine->pipe_lost ? stopped("the pipe is lost", WORKER_EXIT_IO) : result;
}

static struct engine_result no_program(struct engine *engine, struct iovec source)
{
    (void)engine;
    (void)source;
    return threw("this worker runs WebAssembly and evaluates nothing");
}

static struct engine_result no_file(struct engine *engine, const char *path)
{
    (void)path;
    return no_program(engine, (struct iovec){0});
}

/* ---- snapshots ---- */

static const char snapshot_head[] = "gaspipe wasm 1\n";

static struct engine_result write_snapshot(struct engine *engine, const char *place)
{
    FILE *file = snapshot_place_open(place, "wb", "wb");
    bool is_written;

    engine->operations = 0;
    buf_clear(&engine->reply);
    if (file == NULL)
        return threw("a snapshot cannot be opened");
    is_written =
        fputs(snapshot_head, file) >= 0 &&
        (engine->module.length == 0 ||
         fwrite(engine->module.data, 1, engine->module.length, file) == engine->module.length);
    if (fclose(file) != 0 || !is_written)
        return threw("a snapshot cannot be written");
    return ok_with(engine);
}

static int read_all(FILE *file, struct buf *bytes)
{
    char part[16384];
    size_t length;

    while ((length = fread(part, 1, sizeof part, file)) > 0)
        if (buf_append(bytes, part, length) != 0)
            return -1;
    return ferror(file) ? -1 : 0;
}

static int read_snapshot(struct engine *engine, const char *place, struct error *error)
{
    const size_t head = strlen(snapshot_head);
    FILE *file = snapshot_place_open(place, "rb", "rb");
    int result;

    if (file == NULL)
        return error_system(error, errno, "cannot open the snapshot %s", place);
    result = read_all(file, &engine->module);
    (void)fclose(file); /* it was only read */
    if (result != 0)
        return error_system(error, errno, "cannot read the snapshot %s", place);
    if (engine->module.length < head || memcmp(engine->module.data, snapshot_head, head) != 0)
        return error_set(error, ERROR_INPUT, "%s is not a snapshot of gaspipe-worker-wasm", place);
    buf_consume(&engine->module, head);
    return engine->module.length == 0 ? 0 : load_contract(engine, error);
}

/* ---- the engine ---- */

static void version(char *line, size_t size)
{
    snprintf(line, size, "WebAssembly with NEAR's host");
}

static struct engine *open_engine(const struct engine_options *options, struct error *error)
{
    struct engine *engine = calloc(1, sizeof *engine);

    json_arena_install();
    if (engine == NULL)
        error_memory(error, "an engine");
    else
        engine->options = *options;
    return engine;
}

static void close_engine(struct engine *engine)
{
    near_contract_close(engine->contract);
    buf_free(&engine->module);
    buf_free(&engine->request);
    buf_free(&engine->reply);
    free(engine);
}

static struct engine *open_snapshot(const struct engine_options *options, const char *place,
                                    struct error *error)
{
    struct engine *engine = open_engine(options, error);

    if (engine == NULL || read_snapshot(engine, place, error) == 0)
        return engine;
    close_engine(engine);
    return NULL;
}

static const char *exception_left(struct engine *engine)
{
    (void)engine;
    return NULL;
}

static struct engine_usage usage(const struct engine *engine)
{
    return (struct engine_usage){
        .compute = engine->operations,
        .allocate = engine->contract != NULL ? near_contract_memory(engine->contract) : 0,
    };
}

const struct engine_ops engine_near = {
    .version = version,
    .open = open_engine,
    .close = close_engine,
    .evaluate = no_program,
    .deliver = deliver,
    .run_script = no_file,
    .run_module = no_file,
    .write_snapshot = write_snapshot,
    .open_snapshot = open_snapshot,
    .exception_left = exception_left,
    .usage = usage,
};
