/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/near/call/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker/wasm/module/module.h"

static uint32_t *copy_numbers(const uint32_t *numbers, uint32_t count)
{
    uint32_t *copy = malloc((count + 1u) * sizeof *copy);

    if (copy != NULL && count > 0)
        memcpy(copy, numbers, count * sizeof *copy);
    return copy;
}

struct near_receipt *near_receipts_add(struct near_receipts *receipts, const void *receiver,
                                       size_t length, const uint32_t *waits_for,
                                       uint32_t wait_count)
{
    struct near_receipt *grown =
        reallocarray(receipts->receipts, receipts->count + 1u, sizeof *grown);
    struct near_receipt made = {.wait_count = wait_count};

    if (grown == NULL)
        return NULL;
    receipts->receipts = grown;
    made.waits_for = copy_numbers(waits_for, wait_count);
    if (made.waits_for == NULL || buf_append(&made.receiver, receiver, length) != 0) {
        free(made.waits_for);
        return NULL;
    }
    grown[receipts->count] = made;
    return &grown[receipts->count++];
}

struct near_promise *near_receipts_add_promise(struct near_receipts *receipts, bool is_joint,
                                               const uint32_t *members, uint32_t count)
{
    struct near_promise *grown =
        reallocarray(receipts->promises, receipts->promise_count + 1u, sizeof *grown);
    uint32_t *copy;

    if (grown == NULL)
        return NULL;
    receipts->promises = grown;
    copy = copy_numbers(members, count);
    if (copy == NULL)
        return NULL;
    grown[receipts->promise_count] =
        (struct near_promise){.is_joint = is_joint, .receipts = copy, .receipt_count = count};
    return &grown[receipts->promise_count++];
}

struct near_action *near_receipt_add_action(struct near_receipt *receipt,
                                            enum near_action_kind kind)
{
    struct near_action *grown =
        reallocarray(receipt->actions, receipt->action_count + 1u, sizeof *grown);

    if (grown == NULL)
        return NULL;
    receipt->actions = grown;
    grown[receipt->action_count] = (struct near_action){.kind = kind};
    return &grown[receipt->action_count++];
}

struct near_resumption *near_receipts_add_resumption(struct near_receipts *receipts,
                                                     const char *yield, struct wasm_bytes payload)
{
    struct near_resumption *grown =
        reallocarray(receipts->resumptions, receipts->resumption_count + 1u, sizeof *grown);
    struct near_resumption made = {.yield = ""};

    if (grown == NULL)
        return NULL;
    receipts->resumptions = grown;
    if (payload.length > 0 && buf_append(&made.payload, payload.data, payload.length) != 0)
        return NULL;
    snprintf(made.yield, sizeof made.yield, "%s", yield);
    grown[receipts->resumption_count] = made;
    return &grown[receipts->resumption_count++];
}

/* ---- gas that is left ---- */

typedef void action_visitor(struct near_action *action, void *context);

static void visit_weighted(struct near_receipts *receipts, action_visitor *visit, void *context)
{
    for (uint32_t i = 0; i < receipts->count; i++)
        for (uint32_t k = 0; k < receipts->receipts[i].action_count; k++)
            if (receipts->receipts[i].actions[k].weight > 0)
                visit(&receipts->receipts[i].actions[k], context);
}

struct distribution {
    unsigned __int128 weights;
    uint64_t gas;  /* to be given out */
    uint64_t left; /* not yet */
    struct near_action *last;
};

static void add_weight(struct near_action *action, void *context)
{
    struct distribution *distribution = context;

    distribution->weights += action->weight;
    distribution->last = action;
}

static void give_share(struct near_action *action, void *context)
{
    struct distribution *distribution = context;
    const uint64_t share =
        (uint64_t)((unsigned __int128)distribution->gas * action->weight / distribution->weights);

    action->gas += share;
    distribution->left -= share;
}

bool near_receipts_distribute(struct near_receipts *receipts, uint64_t gas)
{
    struct distribution distribution = {.gas = gas, .left = gas};

    visit_weighted(receipts, add_weight, &distribution);
    if (distribution.last == NULL)
        return false;
    visit_weighted(receipts, give_share, &distribution);
    distribution.last->gas += distribution.left;
    return true;
}

/* ---- the end of them ---- */

static void free_receipt(struct near_receipt *receipt)
{
    for (uint32_t i = 0; i < receipt->action_count; i++) {
        buf_free(&receipt->actions[i].method);
        buf_free(&receipt->actions[i].arguments);
    }
    buf_free(&receipt->receiver);
    buf_free(&receipt->refund_to);
    free(receipt->actions);
    free(receipt->waits_for);
}

void near_receipts_free(struct near_receipts *receipts)
{
    for (uint32_t i = 0; i < receipts->count; i++)
        free_receipt(&receipts->receipts[i]);
    for (uint32_t i = 0; i < receipts->promise_count; i++)
        free(receipts->promises[i].receipts);
    for (uint32_t i = 0; i < receipts->resumption_count; i++)
        buf_free(&receipts->resumptions[i].payload);
    free(receipts->resumptions);
    free(receipts->receipts);
    free(receipts->promises);
    *receipts = (struct near_receipts){0};
}

/* ---- names of accounts ---- */

static bool is_separator(char c)
{
    return c == '-' || c == '_' || c == '.';
}

bool near_is_account(const void *bytes, size_t length)
{
    enum { LEAST = 2, MOST = 64 };
    const char *text = bytes;

    if (length < LEAST || length > MOST)
        return false;
    for (size_t i = 0; i < length; i++) {
        const char c = text[i];

        if (is_separator(c) ? i == 0 || i + 1 == length || is_separator(text[i - 1])
                            : !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')))
            return false;
    }
    return true;
}

/* ---- gas ---- */

bool near_fail(struct near_call *call, const char *format, ...)
{
    va_list arguments;

    if (call->error[0] != '\0')
        return false;
    va_start(arguments, format);
    (void)vsnprintf(call->error, sizeof call->error, format, arguments);
    va_end(arguments);
    return false;
}

bool near_not_in_view(struct near_call *call, const char *name)
{
    return !call->context->is_view || near_fail(call, "%s is not allowed in view calls", name);
}

bool near_no_memory(struct near_call *call)
{
    call->is_lost = true;
    return false;
}

uint64_t near_operations(const struct near_call *call)
{
    const int64_t left = call->machine->left > 0 ? call->machine->left : 0;

    return (uint64_t)(call->granted - left);
}

uint64_t near_burnt(const struct near_call *call)
{
    if (call->is_out_of_gas)
        return call->exhausted_burnt;
    return call->host_gas + near_operations(call) * call->parameters->wasm_regular_op_cost;
}

uint64_t near_used(const struct near_call *call)
{
    return near_burnt(call) + call->promises_gas;
}

/* Grants the remaining gas to the interpreter as operations. */
static void near_grant(struct near_call *call)
{
    const int64_t spent = (int64_t)near_operations(call);
    const uint64_t limit = call->context->operation_limit;
    uint64_t most = (call->gas_limit - call->host_gas) / call->parameters->wasm_regular_op_cost;

    if (limit != 0 && limit < most)
        most = limit;
    call->granted = (int64_t)most;
    call->machine->left = (int64_t)most - spent;
}

/* Burns the requested gas, or all that is left, including gas reserved for promises. */
static bool exhaust(struct near_call *call, uint64_t burnt, uint64_t used)
{
    const uint64_t most =
        call->burnt_limit < call->prepaid_gas ? call->burnt_limit : call->prepaid_gas;
    const uint64_t used_most = used < call->prepaid_gas ? used : call->prepaid_gas;

    call->exhausted_burnt = burnt < most ? burnt : most;
    call->is_out_of_gas = true;
    call->promises_gas = used_most > call->exhausted_burnt ? used_most - call->exhausted_burnt : 0;
    return near_fail(call, burnt > call->burnt_limit
                               ? "Exceeded the maximum amount of gas allowed to burn per contract."
                               : "Exceeded the prepaid gas.");
}

void near_exhaust(struct near_call *call)
{
    const uint64_t burnt = call->gas_limit;

    /* Burns one operation more than the gas allowed. */
    (void)exhaust(call, burnt == call->burnt_limit ? burnt + 1 : burnt, burnt + call->promises_gas);
}

static bool burn(struct near_call *call, uint64_t gas, uint64_t *profile)
{
    const uint64_t before = near_burnt(call);
    uint64_t sum;

    if (__builtin_add_overflow(before, gas, &sum))
        return near_fail(call, "Integer overflow.");
    if (sum > call->gas_limit) {
        exhaust(call, sum, sum + call->promises_gas);
        *profile += call->exhausted_burnt > before ? call->exhausted_burnt - before : 0;
        return false;
    }
    call->host_gas += gas;
    *profile += gas;
    near_grant(call);
    return true;
}

bool near_pay(struct near_call *call, enum near_cost cost)
{
    return burn(call, call->parameters->cost[cost], &call->profile.cost[cost]);
}

bool near_pay_each(struct near_call *call, enum near_cost cost, uint64_t count)
{
    uint64_t product;

    if (__builtin_mul_overflow(call->parameters->cost[cost], count, &product))
        return near_fail(call, "Integer overflow.");
    return burn(call, product, &call->profile.cost[cost]);
}

bool near_pay_fee(struct near_call *call, enum near_fee_kind fee, uint64_t burnt, uint64_t reserved)
{
    const uint64_t before = near_burnt(call);
    uint64_t promises, sum, used;

    if (__builtin_add_overflow(call->promises_gas, reserved, &promises) ||
        __builtin_add_overflow(before, burnt, &sum) || __builtin_add_overflow(sum, promises, &used))
        return near_fail(call, "Integer overflow.");
    if (sum > call->burnt_limit || used > call->prepaid_gas) {
        exhaust(call, sum, used);
        call->profile.fee[fee] +=
            call->exhausted_burnt > before ? call->exhausted_burnt - before : 0;
        return false;
    }
    call->promises_gas = promises;
    if (call->prepaid_gas - promises < call->gas_limit)
        call->gas_limit = call->prepaid_gas - promises;
    call->host_gas += burnt;
    call->profile.fee[fee] += burnt;
    near_grant(call);
    return true;
}

bool near_pay_action(struct near_call *call, enum near_fee_kind fee, uint64_t count, bool is_own)
{
    const struct near_fee *fees = &call->parameters->fee[fee];
    uint64_t burnt, reserved;

    if (__builtin_mul_overflow(is_own ? fees->send_sir : fees->send_not_sir, count, &burnt) ||
        __builtin_mul_overflow(fees->execution, count, &reserved))
        return near_fail(call, "Integer overflow.");
    return near_pay_fee(call, fee, burnt, reserved);
}

/* ---- memory and registers ---- */

/* Host functions' access to the contract's memory and registers. */

static bool violation(struct near_call *call)
{
    return near_fail(call, "Accessed memory outside the bounds.");
}

static bool pay_both(struct near_call *call, enum near_cost base, enum near_cost each,
                     uint64_t count)
{
    return near_pay(call, base) && near_pay_each(call, each, count);
}

bool near_view(struct near_call *call, uint64_t at, uint64_t length, struct wasm_bytes *bytes)
{
    const struct wasm_memory *memory = call->instance->memory;

    if (!pay_both(call, NEAR_COST_read_memory_base, NEAR_COST_read_memory_byte, length))
        return false;
    if (!wasm_memory_has(memory, at, length)) {
        (void)violation(call);
        return false;
    }
    *bytes = (struct wasm_bytes){.data = memory->bytes + at, .length = (uint32_t)length};
    return true;
}

bool near_put(struct near_call *call, uint64_t at, const void *bytes, uint64_t length)
{
    const struct wasm_memory *memory = call->instance->memory;

    if (!pay_both(call, NEAR_COST_write_memory_base, NEAR_COST_write_memory_byte, length))
        return false;
    if (!wasm_memory_has(memory, at, length))
        return violation(call);
    if (length != 0)
        memcpy(memory->bytes + at, bytes, length);
    return true;
}

bool near_take(struct near_call *call, uint64_t length, uint64_t at, struct wasm_bytes *bytes)
{
    return length == UINT64_MAX ? near_register_get(call, at, bytes)
                                : near_view(call, at, length, bytes);
}

static struct near_register *find_register(const struct near_call *call, uint64_t id)
{
    for (uint32_t i = 0; i < call->register_count; i++)
        if (call->registers[i].id == id)
            return &call->registers[i];
    return NULL;
}

bool near_register_length(const struct near_call *call, uint64_t id, uint64_t *length)
{
    const struct near_register *found = find_register(call, id);

    if (found != NULL)
        *length = found->bytes.length;
    return found != NULL;
}

bool near_register_get(struct near_call *call, uint64_t id, struct wasm_bytes *bytes)
{
    const struct near_register *found = find_register(call, id);

    if (found == NULL)
        return near_fail(call, "Accessed invalid register id: %llu", (unsigned long long)id);
    *bytes = (struct wasm_bytes){.data = (const uint8_t *)found->bytes.data,
                                 .length = (uint32_t)found->bytes.length};
    return pay_both(call, NEAR_COST_read_register_base, NEAR_COST_read_register_byte,
                    found->bytes.length);
}

static struct near_register *add_register(struct near_call *call, uint64_t id)
{
    struct near_register *grown =
        reallocarray(call->registers, call->register_count + 1u, sizeof *grown);

    if (grown == NULL) {
        (void)near_no_memory(call);
        return NULL;
    }
    call->registers = grown;
    grown[call->register_count] = (struct near_register){.id = id};
    return &grown[call->register_count++];
}

/* NEAR wants space for one more register even if one is replaced. */
static bool check_limits(struct near_call *call, const struct near_register *entry, uint64_t length)
{
    enum { OVERHEAD = 8 };
    const uint64_t before = entry != NULL ? entry->bytes.length + OVERHEAD : 0;
    const struct near_parameters *limits = call->parameters;
    uint64_t usage;

    if (length > limits->max_register_size || call->register_count >= limits->max_number_registers)
        return violation(call);
    usage = call->register_bytes - before + length + OVERHEAD;
    if (usage > limits->registers_memory_limit)
        return violation(call);
    call->register_bytes = usage;
    return true;
}

static bool set_register(struct near_call *call, uint64_t id, const void *bytes, uint64_t length)
{
    struct near_register *entry = find_register(call, id);
    struct buf copy = {0};

    if (!check_limits(call, entry, length))
        return false;
    if (entry == NULL)
        entry = add_register(call, id);
    if (entry == NULL)
        return false;
    /* Copies first, because the bytes may be in the register that changes. */
    if (length != 0 && buf_append(&copy, bytes, length) != 0)
        call->is_lost = true;
    buf_free(&entry->bytes);
    entry->bytes = copy;
    return !call->is_lost;
}

bool near_register_set(struct near_call *call, uint64_t id, const void *bytes, uint64_t length)
{
    return pay_both(call, NEAR_COST_write_register_base, NEAR_COST_write_register_byte, length) &&
           set_register(call, id, bytes, length);
}

bool near_register_share(struct near_call *call, uint64_t id, const void *bytes, uint64_t length)
{
    if (!call->parameters->deterministic_account_ids)
        return near_register_set(call, id, bytes, length);
    return near_pay(call, NEAR_COST_write_register_base) && set_register(call, id, bytes, length);
}

bool near_take_amount(struct near_call *call, uint64_t at, unsigned __int128 *amount)
{
    struct wasm_bytes bytes;

    if (!near_view(call, at, sizeof *amount, &bytes))
        return false;
    memcpy(amount, bytes.data, sizeof *amount);
    return true;
}

bool near_take_account(struct near_call *call, uint64_t length, uint64_t at,
                       struct wasm_bytes *account)
{
    if (!near_take(call, length, at, account) ||
        !pay_both(call, NEAR_COST_utf8_decoding_base, NEAR_COST_utf8_decoding_byte,
                  account->length))
        return false;
    if (!wasm_is_utf8(account->data, account->length))
        return near_fail(call, "String encoding is bad UTF-8 sequence.");
    return near_is_account(account->data, account->length) ||
           near_fail(call, "VM Logic returned an invalid account id");
}

/* ---- texts ---- */

/* Texts in the contract's memory, and logs. */

/* Returns how many bytes may still be logged. */
static uint64_t most_of_log(const struct near_call *call)
{
    return call->parameters->max_total_log_length - call->log_bytes;
}

static bool too_long(struct near_call *call, uint64_t length)
{
    return near_fail(call, "The length of a log message %llu exceeds the limit %llu",
                     (unsigned long long)call->log_bytes + length,
                     (unsigned long long)call->parameters->max_total_log_length);
}

/* Each byte up to the zero is read and paid for separately. */
static bool terminated_text(struct near_call *call, uint64_t at, uint64_t most,
                            struct wasm_bytes *text)
{
    struct wasm_bytes byte;
    uint32_t length = 0;

    for (;; length++) {
        if (!near_view(call, at + length, 1, &byte))
            return false;
        if (length == 0)
            text->data = byte.data;
        if (byte.data[0] == 0)
            break;
        if (length == most)
            return too_long(call, most + 1);
    }
    text->length = length;
    return true;
}

bool near_text(struct near_call *call, uint64_t length, uint64_t at, struct wasm_bytes *text)
{
    const uint64_t most = most_of_log(call);

    if (!near_pay(call, NEAR_COST_utf8_decoding_base))
        return false;
    if (length != UINT64_MAX && length > most)
        return too_long(call, length);
    if (!(length == UINT64_MAX ? terminated_text(call, at, most, text)
                               : near_view(call, at, length, text)) ||
        !near_pay_each(call, NEAR_COST_utf8_decoding_byte, text->length))
        return false;
    if (!wasm_is_utf8(text->data, text->length))
        return near_fail(call, "String encoding is bad UTF-8 sequence.");
    return true;
}

/* Finds the length up to two zero bytes; each pair is read and paid for separately. */
static bool terminated_length_16(struct near_call *call, uint64_t at, uint64_t *length)
{
    struct wasm_bytes unit;

    for (*length = 0;; *length += 2) {
        if (*length > most_of_log(call))
            return too_long(call, *length);
        if (!near_view(call, at + *length, 2, &unit))
            return false;
        if (unit.data[0] == 0 && unit.data[1] == 0)
            return true;
    }
}

static void append_utf8_point(struct buf *text, uint32_t point)
{
    const unsigned char bytes[] = {
        (unsigned char)(0xf0 | point >> 18), (unsigned char)(0x80 | (point >> 12 & 0x3f)),
        (unsigned char)(0x80 | (point >> 6 & 0x3f)), (unsigned char)(0x80 | (point & 0x3f))};

    if (point < 0x80) {
        buf_append_byte(text, (char)point);
    } else if (point < 0x800) {
        buf_append_byte(text, (char)(0xc0 | point >> 6));
        buf_append(text, bytes + 3, 1);
    } else if (point < 0x10000) {
        buf_append_byte(text, (char)(0xe0 | point >> 12));
        buf_append(text, bytes + 2, 2);
    } else {
        buf_append(text, bytes, 4);
    }
}

static uint32_t unit_at(const struct wasm_bytes *bytes, uint32_t at)
{
    return bytes->data[at] | (uint32_t)bytes->data[at + 1] << 8;
}

/* Returns false if the bytes are not UTF-16. */
static bool decode_16(const struct wasm_bytes *bytes, struct buf *text)
{
    for (uint32_t at = 0; at < bytes->length; at += 2) {
        uint32_t point = unit_at(bytes, at);

        if (point >= 0xd800 && point < 0xe000) {
            const uint32_t low = at + 2 < bytes->length ? unit_at(bytes, at + 2) : 0;

            if (point >= 0xdc00 || low < 0xdc00 || low >= 0xe000)
                return false;
            point = 0x10000 + ((point - 0xd800) << 10 | (low - 0xdc00));
            at += 2;
        }
        append_utf8_point(text, point);
    }
    return true;
}

bool near_text_16(struct near_call *call, uint64_t length, uint64_t at, struct buf *text)
{
    struct wasm_bytes bytes;

    if (!near_pay(call, NEAR_COST_utf16_decoding_base))
        return false;
    if (length == UINT64_MAX) {
        if (!terminated_length_16(call, at, &length))
            return false;
        bytes = (struct wasm_bytes){call->instance->memory->bytes + at, (uint32_t)length};
    } else if (!near_view(call, at, length, &bytes)) {
        return false;
    }
    if (length % 2 != 0)
        return near_fail(call, "String encoding is bad UTF-16 sequence.");
    if (length > most_of_log(call))
        return too_long(call, length);
    if (!near_pay_each(call, NEAR_COST_utf16_decoding_byte, length))
        return false;
    if (!decode_16(&bytes, text))
        return near_fail(call, "String encoding is bad UTF-16 sequence.");
    return !buf_failed(text) || near_no_memory(call);
}

bool near_may_log(struct near_call *call)
{
    return call->log_count < call->parameters->max_number_logs ||
           near_fail(call, "The number of logs will exceed the limit %llu",
                     (unsigned long long)call->parameters->max_number_logs);
}

bool near_log_push(struct near_call *call, const char *text, size_t length)
{
    if (length > most_of_log(call))
        return too_long(call, length);
    call->log_count++;
    call->log_bytes += length;
    call->is_lost = call->storage->log(call->storage->context, text, length) != 0;
    return !call->is_lost;
}

bool near_log_pay(struct near_call *call, size_t length)
{
    return near_pay(call, NEAR_COST_log_base) && near_pay_each(call, NEAR_COST_log_byte, length);
}

/* ---- a call ---- */

/* The beginning and the end of a call. */

void near_call_begin(struct near_call *call, const struct near_context *context,
                     const struct near_storage *storage)
{
    const struct near_parameters *parameters = call->parameters;

    near_call_free(call);
    *call = (struct near_call){
        .parameters = parameters,
        .context = context,
        .storage = storage,
        .machine = call->machine,
        .instance = call->instance,
        .storage_usage = context->storage_usage,
        .balance = context->balance + context->deposit,
        .burnt_limit =
            context->is_view ? parameters->max_gas_burnt_view : parameters->max_gas_burnt,
        /* A view call prepays nothing. */
        .prepaid_gas = context->is_view ? UINT64_MAX : context->prepaid_gas,
        .returned_receipt = NEAR_NO_RECEIPT,
    };
    call->gas_limit = call->prepaid_gas < call->burnt_limit ? call->prepaid_gas : call->burnt_limit;
    wasm_machine_begin(call->machine, 0);
    near_grant(call);
}

void near_proof_free(struct near_proof *proof)
{
    if (proof->marks != proof->few)
        free(proof->marks);
}

void near_call_free(struct near_call *call)
{
    for (uint32_t i = 0; i < call->register_count; i++)
        buf_free(&call->registers[i].bytes);
    free(call->registers);
    call->registers = NULL;
    call->register_count = 0;
    near_proof_free(&call->proof);
    call->proof.marks = NULL;
    call->proof.capacity = 0;
    near_receipts_free(&call->receipts);
    buf_free(&call->old_value);
    buf_free(&call->result);
}
