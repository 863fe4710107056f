/* SPDX-License-Identifier: Apache-2.0 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker/near/message.h"

static const char next_key[] = "near.next";

/* The result in place of a JavaScript vat's value that contracts' bytes cannot express. */
static const char not_json[] = "a promise failed, since its result is not JSON: it holds a BigInt, "
                               "undefined, NaN, infinity or a reference";

enum { KEY_SIZE = 40, TARGET_SIZE = 32 };

static const char *receipt_key(json_int_t number, char key[KEY_SIZE])
{
    snprintf(key, KEY_SIZE, "near.r.%" JSON_INTEGER_FORMAT, number);
    return key;
}

static json_t *read_receipt(const struct near_outbox *outbox, json_int_t number)
{
    char key[KEY_SIZE];

    return near_vat_get(outbox->vat, receipt_key(number, key));
}

static void write_receipt(const struct near_outbox *outbox, json_int_t number, const json_t *record)
{
    char key[KEY_SIZE];

    near_vat_set(outbox->vat, receipt_key(number, key), record);
}

static void forget_record(const struct near_outbox *outbox, json_int_t number)
{
    char key[KEY_SIZE];

    near_vat_delete(outbox->vat, receipt_key(number, key));
}

static json_int_t take_numbers(const struct near_outbox *outbox, uint32_t count)
{
    json_t *kept = near_vat_get(outbox->vat, next_key);
    const json_int_t first = kept != NULL ? json_integer_value(kept) : 1;
    json_t *next = json_integer(first + count);

    near_vat_set(outbox->vat, next_key, next);
    json_decref(next);
    json_decref(kept);
    return first;
}

/* ---- what a receipt becomes when it is made ---- */

static json_t *outbox_text_of(const struct buf *bytes)
{
    return json_stringn(bytes->length > 0 ? bytes->data : "", bytes->length);
}

static json_t *amount_of(unsigned __int128 amount)
{
    char text[NEAR_AMOUNT_SIZE];

    return json_string(near_amount_text(amount, text));
}

static json_t *outbox_number_of(uint64_t number)
{
    return amount_of(number);
}

static json_t *input_of(const struct near_action *action)
{
    return near_value_exact(action->arguments.data, action->arguments.length);
}

/* Actions that need a chain are not in the message. */
static bool is_sent(const struct near_action *action)
{
    return action->kind == NEAR_ACTION_FUNCTION_CALL || action->kind == NEAR_ACTION_TRANSFER;
}

static json_t *actions_of(const struct near_receipt *receipt)
{
    json_t *actions = json_array();

    for (uint32_t i = 0; i < receipt->action_count; i++) {
        const struct near_action *action = &receipt->actions[i];

        if (action->kind == NEAR_ACTION_TRANSFER)
            json_array_append_new(actions,
                                  json_pack("{s:o}", "transfer", amount_of(action->amount)));
        else if (action->kind == NEAR_ACTION_FUNCTION_CALL)
            json_array_append_new(
                actions, json_pack("{s:o,s:o,s:o,s:I}", "method", outbox_text_of(&action->method),
                                   "input", input_of(action), "deposit", amount_of(action->amount),
                                   "gas", (json_int_t)action->gas));
    }
    return actions;
}

/* The part of the call's world that all its receipts share. */
static json_t *receipt_world(const struct near_outbox *outbox, const struct near_context *context)
{
    return json_pack("{s:s,s:s,s:o,s:o,s:o}", "predecessor", outbox->account, "signer",
                     context->signer_account, "blockHeight",
                     outbox_number_of(context->block_height), "blockTimestamp",
                     outbox_number_of(context->block_timestamp), "epochHeight",
                     outbox_number_of(context->epoch_height));
}

/* A single function call becomes the message's method; anything else is a batch. */
static json_t *methargs_of(const struct near_outbox *outbox, const struct near_receipt *receipt,
                           const struct near_context *context)
{
    json_t *world = receipt_world(outbox, context);
    const struct near_action *only = receipt->actions;

    if (receipt->refund_to.length > 0)
        json_object_set_new(world, "refund", outbox_text_of(&receipt->refund_to));
    if (receipt->action_count == 1 && only->kind == NEAR_ACTION_FUNCTION_CALL) {
        json_object_set_new(world, "deposit", amount_of(only->amount));
        json_object_set_new(world, "gas", json_integer((json_int_t)only->gas));
        return json_pack("[o,[o,o]]", outbox_text_of(&only->method), input_of(only), world);
    }
    json_object_set_new(world, "actions", actions_of(receipt));
    return json_pack("[s,[n,o]]", "(batch)", world);
}

static unsigned __int128 deposits_of(const struct near_receipt *receipt)
{
    unsigned __int128 sum = 0;

    for (uint32_t i = 0; i < receipt->action_count; i++)
        if (is_sent(&receipt->actions[i]))
            sum += receipt->actions[i].amount;
    return sum;
}

static const char *words_of(enum near_action_kind kind)
{
    static const char *const words[] = {
        [NEAR_ACTION_FUNCTION_CALL] = "function call",
        [NEAR_ACTION_TRANSFER] = "transfer",
        [NEAR_ACTION_CREATE_ACCOUNT] = "create account",
        [NEAR_ACTION_DEPLOY_CONTRACT] = "deploy contract",
        [NEAR_ACTION_STAKE] = "stake",
        [NEAR_ACTION_ADD_FULL_ACCESS_KEY] = "add full access key",
        [NEAR_ACTION_ADD_FUNCTION_CALL_KEY] = "add function call key",
        [NEAR_ACTION_DELETE_KEY] = "delete key",
        [NEAR_ACTION_DELETE_ACCOUNT] = "delete account",
        [NEAR_ACTION_TRANSFER_TO_GAS_KEY] = "transfer to gas key",
        [NEAR_ACTION_ADD_GAS_KEY] = "add gas key",
    };

    return words[kind];
}

/* Reports an action without effect here on the console. */
static void report_action(const struct near_outbox *outbox, const struct near_receipt *receipt,
                          const struct near_action *action)
{
    char amount[NEAR_AMOUNT_SIZE];
    struct buf line = {0};

    buf_printf(&line, "action on %.*s: %s", (int)receipt->receiver.length, receipt->receiver.data,
               words_of(action->kind));
    if (action->kind == NEAR_ACTION_STAKE)
        buf_printf(&line, " %s", near_amount_text(action->amount, amount));
    if (action->kind == NEAR_ACTION_DEPLOY_CONTRACT)
        buf_printf(&line, " of %zu bytes", action->arguments.length);
    if (action->kind == NEAR_ACTION_DELETE_ACCOUNT)
        buf_printf(&line, ", the rest to %.*s", (int)action->arguments.length,
                   action->arguments.data);
    if (buf_string(&line) != NULL)
        near_vat_log(outbox->vat, line.data, line.length);
    buf_free(&line);
}

/* ---- settled receipts ---- */

/* How a receipt ended. */
struct ending {
    bool is_failed;
    const json_t *reason; /* capdata, of one that failed */
    struct buf bytes;     /* of one that did not */
};

static void send_record(const struct near_outbox *outbox, json_int_t number, json_t *record);

static void notify_waiting(const struct near_outbox *outbox, const json_t *place,
                           const struct ending *ending)
{
    const json_int_t number = json_integer_value(json_array_get(place, 0));
    json_t *record = read_receipt(outbox, number);
    const json_int_t missing = json_integer_value(json_object_get(record, "wait")) - 1;
    json_t *result =
        ending->is_failed
            ? json_pack("{s:b}", "failed", 1)
            : json_pack("{s:o}", "ok", near_value_exact(ending->bytes.data, ending->bytes.length));

    json_array_set_new(json_object_get(record, "results"),
                       (size_t)json_integer_value(json_array_get(place, 1)), result);
    json_object_set_new(record, "wait", json_integer(missing));
    if (missing > 0)
        write_receipt(outbox, number, record);
    else if (record != NULL)
        send_record(outbox, number, record);
    json_decref(record);
}

static void settle_receipt(const struct near_outbox *outbox, json_int_t number,
                           const json_t *record, const struct ending *ending);

/* The kernel does not notify a vat of its own resolutions. */
static void settle_own(const struct near_outbox *outbox, const char *promise,
                       const struct ending *ending)
{
    json_int_t number;
    json_t *record;

    if (strncmp(promise, "p+", 2) != 0)
        return;
    number = strtoll(promise + 2, NULL, 10);
    record = read_receipt(outbox, number);
    if (record != NULL)
        settle_receipt(outbox, number, record, ending);
    json_decref(record);
}

static void resolve_promise(const struct near_outbox *outbox, const char *promise, bool is_exact,
                            const struct ending *ending)
{
    json_t *value;

    if (ending->is_failed) {
        near_vat_reject(outbox->vat, promise, ending->reason);
    } else {
        value = near_value_of_result(&ending->bytes, is_exact);
        near_vat_resolve(outbox->vat, promise, value);
        json_decref(value);
    }
    settle_own(outbox, promise, ending);
}

/* A refund is a transfer by the chain. */
static void send_refund(const struct near_outbox *outbox, const char *account,
                        unsigned __int128 refund)
{
    json_t *record =
        json_pack("{s:{s:s,s:[s,[n,{s:s,s:[{s:o}]}]]}}", "send", "to", account, "methargs",
                  "(batch)", "predecessor", "system", "actions", "transfer", amount_of(refund));

    send_record(outbox, take_numbers(outbox, 1), record);
    json_decref(record);
}

/* Returns the deposits of a receipt that failed. */
static void refund_receipt(const struct near_outbox *outbox, const json_t *record)
{
    const char *account = json_string_value(json_object_get(record, "refundTo"));
    unsigned __int128 refund;

    if (!near_amount_read(json_object_get(record, "refund"), &refund))
        return;
    if (account == NULL || strcmp(account, outbox->account) == 0)
        *outbox->balance += refund;
    else
        send_refund(outbox, account, refund);
}

static void settle_receipt(const struct near_outbox *outbox, json_int_t number,
                           const json_t *record, const struct ending *ending)
{
    const char *promise;
    const json_t *place;
    size_t i;

    forget_record(outbox, number);
    if (ending->is_failed)
        refund_receipt(outbox, record);
    json_array_foreach(json_object_get(record, "then"), i, place)
    {
        notify_waiting(outbox, place, ending);
    }
    promise = json_string_value(json_array_get(json_object_get(record, "resolve"), 0));
    if (promise != NULL)
        resolve_promise(outbox, promise,
                        json_is_true(json_array_get(json_object_get(record, "resolve"), 1)),
                        ending);
}

static bool has_call(const json_t *world)
{
    const json_t *action;
    size_t i;

    if (json_object_get(world, "actions") == NULL)
        return true;
    json_array_foreach(json_object_get(world, "actions"), i, action)
    {
        if (json_object_get(action, "method") != NULL)
            return true;
    }
    return false;
}

static void report_transfers(const struct near_outbox *outbox, const json_t *world,
                             const char *account)
{
    struct buf line = {0};
    const json_t *action;
    size_t i;

    json_array_foreach(json_object_get(world, "actions"), i, action)
    {
        buf_clear(&line);
        buf_printf(&line, "action on %s: transfer %s", account,
                   json_string_value(json_object_get(action, "transfer")));
        if (buf_string(&line) != NULL)
            near_vat_log(outbox->vat, line.data, line.length);
    }
    buf_free(&line);
}

/* Makes capdata of an Error. Takes over the text, which needs no escapes. */
static json_t *error_of(json_t *words)
{
    json_t *body =
        json_sprintf("#{\"#error\":\"%s\",\"name\":\"Error\"}", json_string_value(words));

    json_decref(words);
    return json_pack("{s:o,s:[]}", "body", body, "slots");
}

/* In nearcore's words, whose %s is the account. */
static void fail_receipt(const struct near_outbox *outbox, json_int_t number, const json_t *record,
                         const char *before, const char *account, const char *after)
{
    struct ending ending = {.is_failed = true};
    json_t *reason = error_of(json_sprintf("%s\\\"%s\\\"%s", before, account, after));

    ending.reason = reason;
    settle_receipt(outbox, number, record, &ending);
    json_decref(reason);
}

static void settle_without_vat(const struct near_outbox *outbox, json_int_t number,
                               const json_t *record, const char *account, const json_t *world)
{
    const struct ending done = {.is_failed = false};

    if (has_call(world)) {
        fail_receipt(outbox, number, record, "Can't complete the action because account ", account,
                     " doesn't exist");
        return;
    }
    report_transfers(outbox, world, account);
    settle_receipt(outbox, number, record, &done);
}

/* ---- sending ---- */

/* Returns true if another receipt or message needs the result. */
static bool is_awaited(const json_t *record)
{
    return json_object_get(record, "then") != NULL || json_object_get(record, "resolve") != NULL ||
           json_object_get(record, "refund") != NULL;
}

static bool find_target(const struct near_outbox *outbox, const char *account,
                        char target[TARGET_SIZE])
{
    if (strcmp(account, outbox->account) == 0) {
        snprintf(target, TARGET_SIZE, "%s", "o+0");
        return true;
    }
    return outbox->accounts != NULL &&
           near_vat_find(outbox->vat, outbox->accounts, account, target);
}

static void send_methargs(const struct near_outbox *outbox, json_int_t number, json_t *record,
                          const char *target, json_t *methargs)
{
    const bool awaited = is_awaited(record);
    char promise[TARGET_SIZE];

    json_object_del(record, "send");
    json_object_del(record, "wait");
    json_object_del(record, "results");
    snprintf(promise, sizeof promise, "p+%" JSON_INTEGER_FORMAT, number);
    if (awaited)
        write_receipt(outbox, number, record);
    else
        forget_record(outbox, number);
    near_vat_send(outbox->vat, target, methargs, awaited ? promise : NULL);
}

/* Makes the vat of a contract that the receipt deploys. A new account has only what the receipt
 * transfers. */
static void deploy_contract(const struct near_outbox *outbox, const char *account,
                            const json_t *send, json_t *world)
{
    const char *module = json_string_value(json_object_get(send, "deploy"));

    if (module == NULL || outbox->accounts == NULL)
        return;
    near_vat_deploy(outbox->vat, outbox->accounts, account, module, outbox->protocol);
    json_object_set_new(world, "created", json_true());
    if (json_object_get(send, "create") != NULL)
        json_object_set_new(world, "balance", json_string("0"));
}

static void send_record(const struct near_outbox *outbox, json_int_t number, json_t *record)
{
    json_t *send = json_incref(json_object_get(record, "send"));
    const char *account = json_string_value(json_object_get(send, "to"));
    json_t *methargs = json_object_get(send, "methargs");
    json_t *world = json_array_get(json_array_get(methargs, 1), 1);
    json_t *results = json_object_get(record, "results");
    char target[TARGET_SIZE];
    bool found;

    if (account == NULL) {
        json_decref(send);
        return;
    }
    if (json_array_size(results) > 0)
        json_object_set(world, "results", results);
    found = find_target(outbox, account, target);
    if (found && json_object_get(send, "create") != NULL) {
        fail_receipt(outbox, number, record, "Can't create a new account ", account,
                     ", because it already exists");
    } else {
        if (!found && json_object_get(send, "deploy") != NULL) {
            deploy_contract(outbox, account, send, world);
            found = find_target(outbox, account, target);
        }
        if (found)
            send_methargs(outbox, number, record, target, methargs);
        else
            settle_without_vat(outbox, number, record, account, world);
    }
    json_decref(send);
}

/* ---- a call's receipts ---- */

/* The records of a call's receipts before they are sent or written. */
struct batch {
    struct near_outbox *outbox;
    const struct near_receipts *receipts;
    const struct near_message *message;
    uint32_t returned;
    json_int_t first; /* the number of the first */
    json_t **records;
};

static uint32_t missing_results(const struct near_receipt *receipt)
{
    return receipt->yield[0] != '\0' ? 1 : receipt->wait_count;
}

/* Notes in the message what is done to the account before it receives the message. */
static void note_account_actions(const struct near_receipt *receipt, json_t *send)
{
    for (uint32_t i = 0; i < receipt->action_count; i++) {
        const struct near_action *action = &receipt->actions[i];

        if (action->kind == NEAR_ACTION_CREATE_ACCOUNT)
            json_object_set_new(send, "create", json_true());
        if (action->kind == NEAR_ACTION_DEPLOY_CONTRACT)
            json_object_set_new(send, "deploy",
                                near_base64_of(action->arguments.data, action->arguments.length));
    }
}

static json_t *make_receipt_record(const struct batch *batch, uint32_t index)
{
    const struct near_receipt *receipt = &batch->receipts->receipts[index];
    const unsigned __int128 deposit = deposits_of(receipt);
    json_t *record =
        json_pack("{s:{s:o,s:o}}", "send", "to", outbox_text_of(&receipt->receiver), "methargs",
                  methargs_of(batch->outbox, receipt, &batch->message->context));

    note_account_actions(receipt, json_object_get(record, "send"));
    if (missing_results(receipt) > 0) {
        json_object_set_new(record, "wait", json_integer(missing_results(receipt)));
        json_object_set_new(record, "results", json_array());
        for (uint32_t i = 0; i < missing_results(receipt); i++)
            json_array_append_new(json_object_get(record, "results"), json_null());
    }
    if (deposit > 0)
        json_object_set_new(record, "refund", amount_of(deposit));
    if (receipt->refund_to.length > 0)
        json_object_set_new(record, "refundTo", outbox_text_of(&receipt->refund_to));
    for (uint32_t i = 0; i < receipt->action_count; i++)
        if (!is_sent(&receipt->actions[i]))
            report_action(batch->outbox, receipt, &receipt->actions[i]);
    return record;
}

static json_t *world_of(const struct batch *batch, uint32_t index)
{
    const json_t *send = json_object_get(batch->records[index], "send");

    return json_array_get(json_array_get(json_object_get(send, "methargs"), 1), 1);
}

static void add_receiver(const struct batch *batch, uint32_t index, json_t *account)
{
    json_t *world = world_of(batch, index);

    if (json_object_get(world, "receivers") == NULL)
        json_object_set_new(world, "receivers", json_array());
    json_array_append_new(json_object_get(world, "receivers"), account);
    json_object_set_new(world, "exact", json_true());
}

/* Registers receipt `index` with the receipts that it waits for. */
static void link_waiting_receipt(const struct batch *batch, uint32_t index)
{
    const struct near_receipt *receipt = &batch->receipts->receipts[index];

    for (uint32_t i = 0; i < receipt->wait_count; i++) {
        json_t *record = batch->records[receipt->waits_for[i]];

        if (json_object_get(record, "then") == NULL)
            json_object_set_new(record, "then", json_array());
        json_array_append_new(json_object_get(record, "then"),
                              json_pack("[I,I]", batch->first + index, (json_int_t)i));
        add_receiver(batch, receipt->waits_for[i], outbox_text_of(&receipt->receiver));
    }
}

/* Makes its result the message's, and passes it to the message's waiters. */
static void return_result(const struct batch *batch)
{
    const struct near_message *message = batch->message;
    json_t *world;

    if (batch->returned == NEAR_NO_RECEIPT || message->result == NULL)
        return;
    json_object_set_new(batch->records[batch->returned], "resolve",
                        json_pack("[s,b]", message->result, message->is_exact));
    world = world_of(batch, batch->returned);
    json_object_set_new(world, "exact", json_true());
    for (uint32_t i = 0; i < message->context.receiver_count; i++)
        add_receiver(batch, batch->returned, json_string(message->context.receivers[i]));
}

/* ---- yielded promises ---- */

static void keep_yields(const struct batch *batch)
{
    const struct near_outbox *outbox = batch->outbox;

    for (uint32_t i = 0; i < batch->receipts->count; i++) {
        const struct near_receipt *receipt = &batch->receipts->receipts[i];

        if (receipt->yield[0] == '\0')
            continue;
        json_object_set_new(outbox->yields, receipt->yield,
                            json_pack("[I,I]", batch->first + i, (json_int_t)receipt->expires));
        *outbox->yielded += receipt->yield[0] == NEAR_YIELD_BY_DATA;
    }
}

/* The first that resumes it counts. */
static void end_yield(const struct near_outbox *outbox, const char *name,
                      const struct ending *ending)
{
    json_t *kept = json_object_get(outbox->yields, name), *place;

    if (kept == NULL)
        return;
    place = json_pack("[I,i]", json_integer_value(json_array_get(kept, 0)), 0);
    json_object_del(outbox->yields, name);
    notify_waiting(outbox, place, ending);
    json_decref(place);
}

static void resume_yields(const struct near_outbox *outbox, const struct near_receipts *receipts)
{
    for (uint32_t i = 0; i < receipts->resumption_count; i++) {
        const struct near_resumption *resumption = &receipts->resumptions[i];

        end_yield(outbox, resumption->yield, &(struct ending){.bytes = resumption->payload});
    }
}

void near_outbox_expire(struct near_outbox *outbox, uint64_t block_height)
{
    const struct ending failure = {.is_failed = true};
    const char *name;
    json_t *kept;
    void *next;

    json_object_foreach_safe(outbox->yields, next, name, kept)
    {
        if ((uint64_t)json_integer_value(json_array_get(kept, 1)) <= block_height)
            end_yield(outbox, name, &failure);
    }
}

/* Writes all records before sending one, because sending may settle it at once. */
static void dispatch_batch(const struct batch *batch)
{
    for (uint32_t i = 0; i < batch->receipts->count; i++)
        if (missing_results(&batch->receipts->receipts[i]) > 0)
            write_receipt(batch->outbox, batch->first + i, batch->records[i]);
    for (uint32_t i = 0; i < batch->receipts->count; i++)
        if (missing_results(&batch->receipts->receipts[i]) == 0)
            send_record(batch->outbox, batch->first + i, batch->records[i]);
}

void near_outbox_take(struct near_outbox *outbox, const struct near_receipts *receipts,
                      const struct near_message *message, uint32_t returned)
{
    struct batch batch = {
        .outbox = outbox, .receipts = receipts, .message = message, .returned = returned};

    if (receipts->count == 0) {
        resume_yields(outbox, receipts);
        return;
    }
    batch.records = calloc(receipts->count, sizeof *batch.records);
    if (batch.records == NULL) {
        outbox->vat->is_lost = true;
        return;
    }
    batch.first = take_numbers(outbox, receipts->count);
    for (uint32_t i = 0; i < receipts->count; i++)
        batch.records[i] = make_receipt_record(&batch, i);
    for (uint32_t i = 0; i < receipts->count; i++)
        link_waiting_receipt(&batch, i);
    return_result(&batch);
    keep_yields(&batch);
    dispatch_batch(&batch);
    resume_yields(outbox, receipts);
    for (uint32_t i = 0; i < receipts->count; i++)
        json_decref(batch.records[i]);
    free(batch.records);
}

/* ---- notifications from the kernel ---- */

void near_outbox_settled(struct near_outbox *outbox, const json_t *resolution)
{
    const char *promise = json_string_value(json_array_get(resolution, 0));
    const json_t *data = json_array_get(resolution, 2);
    struct ending ending = {.is_failed = json_is_true(json_array_get(resolution, 1)),
                            .reason = data};
    json_t *value = ending.is_failed ? NULL : near_value_read(data), *refusal = NULL;

    if (!ending.is_failed && (value == NULL || near_value_bytes(&ending.bytes, value) != 0)) {
        near_vat_log(outbox->vat, not_json, strlen(not_json));
        refusal = error_of(json_string(not_json));
        ending.is_failed = true;
        ending.reason = refusal;
    }
    if (promise != NULL)
        settle_own(outbox, promise, &ending);
    buf_free(&ending.bytes);
    json_decref(refusal);
    json_decref(value);
}

void near_outbox_resolve(struct near_outbox *outbox, const struct near_message *message,
                         const struct buf *result)
{
    const struct ending ending = {.bytes = *result};

    if (message->result != NULL)
        resolve_promise(outbox, message->result, message->is_exact, &ending);
}
