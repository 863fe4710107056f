/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/near/engine_near.h"

#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json/json_text.h"
#include "base/json/json_value.h"
#include "base/log.h"
#include "worker/engine.h"
#include "worker/near/call/call.h"
#include "worker/near/call/parameters.h"
#include "worker/near/holdings.h"
#include "worker/near/message.h"
#include "worker/near/vat.h"
#include "worker/wasm/compiled/compiled.h"

/* ---- memory for JSON ---- */

/* Memory for jansson, reset before each delivery. malloc()'s work depends on everything freed
 * before, which would show in the instruction count. */

/* Values that do not fit come from malloc(); only a very large delivery needs that. */
enum { ARENA_SIZE = 4 << 20, ALIGNMENT = 16 };

static _Alignas(ALIGNMENT) unsigned char arena[ARENA_SIZE];
static size_t arena_used;

static void *json_arena_take(size_t size)
{
    const size_t rounded = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    void *place = arena + arena_used;

    if (rounded < size || rounded > ARENA_SIZE - arena_used)
        return malloc(size);
    arena_used += rounded;
    return place;
}

static void arena_free(void *place)
{
    if ((uintptr_t)place - (uintptr_t)arena >= ARENA_SIZE)
        free(place);
}

/* Call once, before using jansson. */
static void json_arena_install(void)
{
    json_set_alloc_funcs(json_arena_take, arena_free);
    /* A random seed would show in the count, too. */
    json_object_seed(1);
}

/* Frees all values: the next one is allocated where the first was. */
static void json_arena_reset(void)
{
    arena_used = 0;
}

/* ---- the profile of gas ---- */

static void near_profile_add(struct near_profile *sum, const struct near_profile *part)
{
    for (size_t i = 0; i < NEAR_COST_COUNT; i++)
        sum->cost[i] += part->cost[i];
    for (size_t i = 0; i < NEAR_FEE_COUNT; i++)
        sum->fee[i] += part->fee[i];
}

static void profile_put(struct buf *text, const char *name, uint64_t gas, uint64_t *rest)
{
    if (gas == 0)
        return;
    *rest -= gas;
    buf_append_string(text, text->length > 1 ? ",\"" : "\"");
    buf_append_string(text, name);
    buf_append_string(text, "\":");
    json_text_unsigned(text, gas);
}

/* Replaces `text` by the profile as a JSON object: gas by nearcore's cost names, without zeros.
 * wasm_instruction is the rest of `burnt`. */
static void near_profile_write(struct buf *text, const struct near_profile *profile, uint64_t burnt)
{
    uint64_t rest = burnt;

    buf_clear(text);
    buf_append_byte(text, '{');
    for (size_t i = 0; i < NEAR_COST_COUNT; i++)
        profile_put(text, near_cost_name((enum near_cost)i), profile->cost[i], &rest);
    for (size_t i = 0; i < NEAR_FEE_COUNT; i++)
        profile_put(text, near_fee_name((enum near_fee_kind)i), profile->fee[i], &rest);
    profile_put(text, "wasm_instruction", rest, &rest);
    buf_append_byte(text, '}');
}

/* ---- what snapshots depend on ---- */

/* The vat's identity, from its startVat; snapshots contain it as it is in memory. */
struct near_identity {
    char account[65];  /* its account */
    char accounts[32]; /* the device that finds other vats' accounts; "" if it has none */
    char protocol[16]; /* the protocol version of the parameters */
};

/* The identity before startVat. */
static const struct near_identity near_identity_unknown = {.account = "contract.near",
                                                           .protocol = "newest"};

/* A vat's name may be no valid account. */
static void set_account(struct near_identity *identity, const char *name)
{
    if (name != NULL && near_is_account(name, strlen(name)))
        snprintf(identity->account, sizeof identity->account, "%s", name);
}

static int take_protocol(struct near_identity *identity, const char *version, struct error *error)
{
    struct near_parameters parameters;

    if (version == NULL)
        return 0;
    if (near_parameters_read(&parameters, version, error) != 0)
        return -1;
    snprintf(identity->protocol, sizeof identity->protocol, "%s", version);
    return 0;
}

/* Smallcaps writes a device as "$N" or "$N.words", with N an index of the slots. */
static void take_device(struct near_identity *identity, const char *text, const json_t *slots)
{
    const char *slot =
        text != NULL && text[0] == '$' ? json_string_value(json_array_get(slots, 0)) : NULL;

    if (slot != NULL && strlen(slot) < sizeof identity->accounts)
        snprintf(identity->accounts, sizeof identity->accounts, "%s", slot);
}

/* Reads vatParameters, capdata of {"account", "protocol", "accounts": device}, all optional. -1
 * with ERROR_INPUT, or ERROR_USAGE for an unknown version. */
static int near_identity_read(struct near_identity *identity, const json_t *parameters,
                              struct error *error)
{
    const json_t *body = json_object_get(parameters, "body");
    const char *text = json_string_value(body);
    json_t *tree = NULL;
    int result;

    if (text != NULL && text[0] == '#')
        tree = json_value_read_inner(text + 1, json_string_length(body) - 1, JSON_ALLOW_NUL);
    set_account(identity, json_string_value(json_object_get(tree, "account")));
    take_device(identity, json_string_value(json_object_get(tree, "accounts")),
                json_object_get(parameters, "slots"));
    result = take_protocol(identity, json_string_value(json_object_get(tree, "protocol")), error);
    json_decref(tree);
    return result;
}

static bool is_ended(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

/* Reads the identity in a snapshot; -1 if it is invalid. */
static int near_identity_take(struct near_identity *identity, const void *bytes)
{
    memcpy(identity, bytes, sizeof *identity);
    return is_ended(identity->account, sizeof identity->account) &&
                   is_ended(identity->accounts, sizeof identity->accounts) &&
                   is_ended(identity->protocol, sizeof identity->protocol)
               ? 0
               : -1;
}

/* Returns the device, or NULL if absent. */
static const char *near_identity_accounts(const struct near_identity *identity)
{
    return identity->accounts[0] != '\0' ? identity->accounts : NULL;
}

/* ---- the engine ---- */

struct engine {
    struct engine_options options;
    const struct near_contract_kind *kind;
    struct near_identity identity;
    struct buf module; /* of the contract; empty: not set yet */
    struct near_contract *contract;
    struct compiled_code *compiled; /* that may be the contract's; NULL: none */
    struct near_vat vat;
    struct buf reply; /* the result of the last command */
    /* Use by the last command. */
    uint64_t operations;
    uint64_t gas_burnt;
    uint64_t gas_refunded;
    struct near_profile gas_profile;
    struct buf profile_text;
    bool cost_known;
    uint64_t block_cost;
};

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

static struct engine_result engine_near_no_memory(void)
{
    return stopped("out of memory for a contract", WORKER_EXIT_HOST_MEMORY);
}

static struct engine_result reply_error(struct engine *engine, const char *words)
{
    buf_append_string(&engine->reply, "[\"error\",");
    json_text_string(&engine->reply, words, strlen(words));
    buf_append_byte(&engine->reply, ']');
    return buf_failed(&engine->reply) ? engine_near_no_memory() : ok_with(engine);
}

static struct engine_result reply_text(struct engine *engine, const char *text)
{
    buf_append_string(&engine->reply, text);
    return buf_failed(&engine->reply) ? engine_near_no_memory() : ok_with(engine);
}

/* ---- commands ---- */

/* Loads the module in engine->module. */
static int load_contract(struct engine *engine, struct error *error)
{
    const struct near_contract_options options = {
        .protocol = engine->identity.protocol,
        .heap_limit = engine->options.heap_limit,
        .cost_limit = engine->options.cost_limit,
        .compiled = engine->compiled,
    };

    engine->kind->close(engine->contract);
    engine->contract = engine->kind->open((const uint8_t *)engine->module.data,
                                          engine->module.length, &options, error);
    return engine->contract != NULL ? 0 : -1;
}

/* Closes the sandbox before any contract code runs, except for what that code needs. */
static int close_sandbox(struct engine *engine)
{
    return engine->kind->loads_code ? engine->options.host.confine(engine->options.host.context)
                                    : 0;
}

static struct engine_result refuse_contract(struct engine *engine, const struct error *error)
{
    if (error->kind == ERROR_INPUT)
        return reply_error(engine, error->text);
    log_line("%s", error->text);
    return engine_near_no_memory();
}

static struct engine_result set_bundle(struct engine *engine, const json_t *bundle)
{
    const json_t *source = json_object_get(bundle, "source");
    const char *refusal;
    struct error error;

    if (engine->kind->loads_code && engine->contract != NULL)
        return reply_error(engine, "this worker has a contract already");
    buf_clear(&engine->module);
    if (!json_is_string(source) || near_base64_decode(&engine->module, json_string_value(source),
                                                      json_string_length(source)) != 0)
        return reply_error(engine, "the bundle is not a contract in base64");
    if (load_contract(engine, &error) != 0)
        return refuse_contract(engine, &error);
    refusal = engine->kind->why_unusable(engine->contract);
    if (refusal != NULL)
        return reply_error(engine, refusal);
    if (close_sandbox(engine) != 0)
        return stopped("the sandbox cannot be closed", WORKER_EXIT_USAGE);
    return reply_text(engine, "[\"dispatchReady\"]");
}

/* ---- deliveries ---- */

/* Judges a step of a message; ENGINE_OK: continue with the next one. */
static struct engine_result engine_near_judge(struct engine *engine,
                                              const struct near_outcome *outcome)
{
    if (outcome->is_over_limit)
        return stopped("too much computation", WORKER_EXIT_COMPUTATION);
    if (outcome->is_over_cost)
        return stopped("cost limit exceeded", WORKER_EXIT_COST);
    if (outcome->is_lost && !engine->vat.is_lost)
        return engine_near_no_memory();
    if (outcome->error != NULL)
        return reply_error(engine, outcome->error);
    return ok_with(engine);
}

/* A message in progress. */
struct work {
    struct near_message *message;
    struct near_holdings holdings;
    struct near_outbox outbox;
    struct near_outcome outcome; /* of the last function call */
    bool has_outcome;            /* the last step was one */
};

/* Returns the gas that a call leaves. A failed call makes no promises, so none of it goes there. */
static uint64_t refund(const struct near_context *context, const struct near_outcome *outcome)
{
    const uint64_t used = outcome->error != NULL ? outcome->burnt_gas : outcome->used_gas;

    return context->is_view || used > context->prepaid_gas ? 0 : context->prepaid_gas - used;
}

static void add_up(struct engine *engine, const struct near_context *context,
                   const struct near_outcome *outcome)
{
    engine->operations += outcome->operations;
    engine->gas_burnt += outcome->burnt_gas;
    engine->gas_refunded += refund(context, outcome);
    near_profile_add(&engine->gas_profile, &outcome->profile);
    engine->cost_known |= outcome->cost_known;
    engine->block_cost += outcome->block_cost;
}

static bool near_is_waiting(const void *yields, const char *name)
{
    return json_object_get(yields, name) != NULL;
}

static struct engine_result do_call(struct engine *engine, struct work *work,
                                    const struct near_step *step)
{
    const struct near_storage storage = near_vat_storage(&engine->vat);
    struct near_context *context = &work->message->context;
    const uint64_t limit = engine->options.compute_limit;
    struct engine_result result;

    if (context->current_account == NULL)
        context->current_account = engine->identity.account;
    context->input =
        (struct wasm_bytes){(const uint8_t *)step->input.data, (uint32_t)step->input.length};
    context->deposit = step->deposit;
    context->balance = work->holdings.balance;
    context->storage_usage = work->holdings.usage;
    context->prepaid_gas = step->gas;
    context->is_waiting = near_is_waiting;
    context->yields = work->holdings.yields;
    context->yielded = work->holdings.yielded;
    context->operation_limit = limit > engine->operations ? limit - engine->operations : limit != 0;
    work->outcome = engine->kind->call(engine->contract, step->method, context, &storage);
    work->has_outcome = true;
    add_up(engine, context, &work->outcome);
    result = engine_near_judge(engine, &work->outcome);
    if (result.outcome != ENGINE_OK || work->outcome.error != NULL)
        return result;
    work->holdings.balance = work->outcome.balance;
    work->holdings.usage = work->outcome.storage_usage;
    return result;
}

static struct engine_result do_step(struct engine *engine, struct work *work, size_t index)
{
    const struct near_step *step = &work->message->steps[index];
    const bool is_last = index + 1 == work->message->step_count;
    struct engine_result result = ok_with(engine);

    work->has_outcome = false;
    if (step->is_transfer) {
        work->holdings.balance += step->deposit;
        return result;
    }
    result = do_call(engine, work, step);
    if (result.outcome == ENGINE_OK && work->outcome.error == NULL)
        near_outbox_take(&work->outbox, work->outcome.receipts, work->message,
                         is_last ? work->outcome.returned_receipt : NEAR_NO_RECEIPT);
    return result;
}

/* In nearcore's words. */
static struct engine_result lacks_balance(struct engine *engine, const struct work *work)
{
    char missing[NEAR_AMOUNT_SIZE];
    struct error error;

    error_set(&error, ERROR_INPUT,
              "The account %s wouldn't have enough balance to cover storage, required to have %s "
              "yoctoNEAR more",
              engine->identity.account,
              near_amount_text(work->outcome.stored - work->holdings.balance, missing));
    return reply_error(engine, error.text);
}

/* Resolves the message's result, unless another receipt will. */
static void resolve_result(struct work *work)
{
    static const struct buf nothing;
    const struct near_outcome *outcome = &work->outcome;
    const bool has_result = work->has_outcome && outcome->has_result;

    if (!work->has_outcome || outcome->returned_receipt == NEAR_NO_RECEIPT)
        near_outbox_resolve(&work->outbox, work->message, has_result ? outcome->result : &nothing);
}

static struct near_outbox outbox_of(struct engine *engine, struct near_holdings *holdings)
{
    return (struct near_outbox){.vat = &engine->vat,
                                .accounts = near_identity_accounts(&engine->identity),
                                .account = engine->identity.account,
                                .protocol = engine->identity.protocol,
                                .balance = &holdings->balance,
                                .yields = holdings->yields,
                                .yielded = &holdings->yielded};
}

static struct engine_result do_steps(struct engine *engine, struct work *work,
                                     const struct near_holdings *before)
{
    const struct near_message *message = work->message;

    if (!message->context.is_view)
        near_outbox_expire(&work->outbox, message->context.block_height);
    for (size_t i = 0; i < message->step_count && !engine->vat.is_lost; i++) {
        const struct engine_result result = do_step(engine, work, i);

        if (result.outcome != ENGINE_OK || (work->has_outcome && work->outcome.error != NULL))
            return result;
    }
    if (work->has_outcome && work->holdings.balance < work->outcome.stored)
        return lacks_balance(engine, work);
    resolve_result(work);
    if (!message->context.is_view)
        near_holdings_write(&engine->vat, before, &work->holdings);
    return reply_text(engine, "[\"ok\",null]");
}

static bool has_failed(const struct engine *engine)
{
    static const char begins[] = "[\"error\"";

    return engine->reply.length > strlen(begins) &&
           memcmp(engine->reply.data, begins, strlen(begins)) == 0;
}

static struct engine_result do_message(struct engine *engine, struct near_message *message)
{
    struct near_holdings before =
        near_holdings_read(&engine->vat, engine->kind->size(engine->contract));
    struct work work = {.message = message, .holdings = near_holdings_copy(&before)};
    struct engine_result result;

    work.outbox = outbox_of(engine, &work.holdings);
    if (message->reports_balance)
        work.holdings.balance = message->context.balance;
    result = do_steps(engine, &work, &before);
    if (message->ends_vat && has_failed(engine))
        near_vat_exit(&engine->vat, "the receipt that deployed the contract failed");
    near_holdings_free(&work.holdings);
    near_holdings_free(&before);
    return result;
}

static struct engine_result run_message(struct engine *engine, const json_t *delivery)
{
    struct near_message message;
    struct engine_result result;
    struct error error;

    if (engine->contract == NULL)
        return reply_error(engine, "no contract is set yet");
    if (near_message_read(&message, delivery, &error) != 0)
        result = reply_error(engine, error.text);
    else
        result = do_message(engine, &message);
    near_message_free(&message);
    return result;
}

/* Handles notifications about the vat's own promises: ["notify", [[promise, how], ..]]. */
static struct engine_result take_notify(struct engine *engine, const json_t *delivery)
{
    struct near_holdings before =
                             near_holdings_read(&engine->vat, engine->kind->size(engine->contract)),
                         after = near_holdings_copy(&before);
    struct near_outbox outbox = outbox_of(engine, &after);
    const json_t *resolution;
    size_t i;

    json_array_foreach(json_array_get(delivery, 1), i, resolution)
    {
        near_outbox_settled(&outbox, resolution);
    }
    near_holdings_write(&engine->vat, &before, &after);
    near_holdings_free(&after);
    near_holdings_free(&before);
    return reply_text(engine, "[\"ok\",null]");
}

/* Runs the contract's initialization, which has no message and makes no promises. */
static struct engine_result start_contract(struct engine *engine)
{
    const struct near_storage storage = near_vat_storage(&engine->vat);
    const struct near_holdings before =
        near_holdings_read(&engine->vat, engine->kind->size(engine->contract));
    struct near_context context = near_message_context();
    struct near_holdings after = before;
    struct near_outcome outcome;
    struct engine_result result;

    context.current_account = context.predecessor_account = engine->identity.account;
    context.balance = before.balance;
    context.storage_usage = before.usage;
    outcome = engine->kind->init(engine->contract, &context, &storage);
    add_up(engine, &context, &outcome);
    result = engine_near_judge(engine, &outcome);
    if (result.outcome != ENGINE_OK || outcome.error != NULL)
        return result;
    after.usage = outcome.storage_usage;
    near_holdings_write(&engine->vat, &before, &after);
    return reply_text(engine, "[\"ok\",null]");
}

/* Handles ["startVat", capdata], which has the vat's identity; gas costs depend on it. */
static struct engine_result take_start(struct engine *engine, const json_t *delivery)
{
    struct error error;

    if (near_identity_read(&engine->identity, json_array_get(delivery, 1), &error) != 0 ||
        (engine->kind->has_gas && engine->contract != NULL && load_contract(engine, &error) != 0))
        return reply_error(engine, error.text);
    if (engine->kind->init != NULL && engine->contract != NULL)
        return start_contract(engine);
    return reply_text(engine, "[\"ok\",null]");
}

static struct engine_result handle_near_command(struct engine *engine, const json_t *command)
{
    const char *tag = json_string_value(json_array_get(command, 0));
    const json_t *delivery = json_array_get(command, 1);
    const char *kind = json_string_value(json_array_get(delivery, 0));

    if (tag != NULL && strcmp(tag, "setBundle") == 0)
        return set_bundle(engine, json_array_get(command, 2));
    if (tag == NULL || strcmp(tag, "deliver") != 0 || kind == NULL)
        return reply_error(engine, "no such command");
    if (strcmp(kind, "startVat") == 0)
        return take_start(engine, delivery);
    if (strcmp(kind, "message") == 0)
        return run_message(engine, delivery);
    if (strcmp(kind, "notify") == 0 && engine->contract != NULL)
        return take_notify(engine, delivery);
    return reply_error(engine, "a contract knows no such delivery");
}

static void begin_command(struct engine *engine)
{
    engine->operations = 0;
    engine->gas_burnt = 0;
    engine->gas_refunded = 0;
    engine->gas_profile = (struct near_profile){0};
    engine->cost_known = false;
    engine->block_cost = 0;
    buf_clear(&engine->reply);
}

static struct engine_result near_deliver(struct engine *engine, struct iovec message)
{
    struct engine_result result;
    json_t *command;

    json_arena_reset();
    command = json_value_read(message.iov_base, message.iov_len, JSON_ALLOW_NUL, NULL);
    begin_command(engine);
    result = handle_near_command(engine, command);
    json_decref(command);
    near_profile_write(&engine->profile_text, &engine->gas_profile, engine->gas_burnt);
    return engine->vat.is_lost ? stopped("the pipe is lost", WORKER_EXIT_IO) : result;
}

static struct engine_result no_program(struct engine *engine, struct iovec source)
{
    (void)source;
    return threw(engine->kind->refusal);
}

static struct engine_result no_file(struct engine *engine, const char *path)
{
    (void)path;
    return no_program(engine, (struct iovec){0});
}

/* ---- snapshots ---- */

static struct engine_result near_write_snapshot(struct engine *engine, const char *place)
{
    FILE *file = engine_open_place(place, "wb", "wb");
    bool is_written;

    begin_command(engine);
    near_profile_write(&engine->profile_text, &engine->gas_profile, 0);
    if (file == NULL)
        return threw("a snapshot cannot be opened");
    is_written =
        fputs(engine->kind->snapshot, file) >= 0 &&
        fwrite(&engine->identity, sizeof engine->identity, 1, file) == 1 &&
        (engine->module.length == 0 ||
         fwrite(engine->module.data, 1, engine->module.length, file) == engine->module.length);
    if (fclose(file) != 0 || !is_written)
        return threw("a snapshot cannot be written");
    return ok_with(engine);
}

static int engine_near_read_all(FILE *file, struct buf *bytes)
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
    const size_t head = strlen(engine->kind->snapshot);
    FILE *file = engine_open_place(place, "rb", "rb");
    int result;

    if (file == NULL)
        return error_system(error, errno, "cannot open the snapshot %s", place);
    result = engine_near_read_all(file, &engine->module);
    (void)fclose(file); /* it was only read */
    if (result != 0)
        return error_system(error, errno, "cannot read the snapshot %s", place);
    if (engine->module.data == NULL || engine->module.length < head ||
        memcmp(engine->module.data, engine->kind->snapshot, head) != 0)
        return error_set(error, ERROR_INPUT, "%s is not a snapshot of %s", place,
                         engine->kind->version);
    if (engine->module.length < head + sizeof engine->identity ||
        near_identity_take(&engine->identity, engine->module.data + head) != 0)
        return error_set(error, ERROR_INPUT, "%s is a damaged snapshot", place);
    buf_consume(&engine->module, head + sizeof engine->identity);
    if (engine->module.length == 0)
        return 0;
    if (load_contract(engine, error) != 0)
        return -1;
    return close_sandbox(engine) == 0
               ? 0
               : error_set(error, ERROR_SYSTEM, "the sandbox cannot be closed");
}

/* ---- the engine ---- */

/* Before the sandbox closes, which forbids executable memory. Without it the contract runs in the
 * interpreter, and gives the same. */
static void load_compiled(struct engine *engine)
{
    struct error error;

    if (engine->options.compiled == NULL)
        return;
    engine->compiled = compiled_code_open(engine->options.compiled, &error);
    if (engine->compiled == NULL)
        log_line("%s; the contract is interpreted", error.text);
}

struct engine *engine_near_open(const struct near_contract_kind *kind,
                                const struct engine_options *options, struct error *error)
{
    struct engine *engine = calloc(1, sizeof *engine);

    json_arena_install();
    if (engine == NULL)
        error_memory(error, "an engine");
    else
        *engine = (struct engine){.options = *options,
                                  .kind = kind,
                                  .identity = near_identity_unknown,
                                  .vat = {.host = options->host}};
    if (engine != NULL) {
        load_compiled(engine);
        near_profile_write(&engine->profile_text, &engine->gas_profile, 0);
    }
    return engine;
}

static void close_engine(struct engine *engine)
{
    engine->kind->close(engine->contract);
    compiled_code_close(engine->compiled);
    buf_free(&engine->module);
    buf_free(&engine->vat.request);
    buf_free(&engine->reply);
    buf_free(&engine->profile_text);
    free(engine);
}

struct engine *engine_near_open_snapshot(const struct near_contract_kind *kind,
                                         const struct engine_options *options, const char *place,
                                         struct error *error)
{
    struct engine *engine = engine_near_open(kind, options, error);

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
        .allocate = engine->contract != NULL ? engine->kind->memory(engine->contract) : 0,
        .gas_known = engine->kind->has_gas,
        .gas_burnt = engine->gas_burnt,
        .gas_refunded = engine->gas_refunded,
        .gas_profile = &engine->profile_text,
        .cost_known = engine->cost_known,
        .block_cost = engine->block_cost,
    };
}

const struct engine_ops engine_near = {
    .close = close_engine,
    .evaluate = no_program,
    .deliver = near_deliver,
    .run_script = no_file,
    .run_module = no_file,
    .write_snapshot = near_write_snapshot,
    .exception_left = exception_left,
    .usage = usage,
};
