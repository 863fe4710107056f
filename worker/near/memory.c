/* SPDX-License-Identifier: Apache-2.0 */
/* The contract's memory and its registers, as host functions see them. */
#include <stdlib.h>
#include <string.h>

#include "worker/near/call.h"

static bool violation(struct near_call *call)
{
    return near_fail(call, "Accessed memory outside the bounds.");
}

static bool pay_both(struct near_call *call, uint64_t base, uint64_t each, uint64_t count)
{
    return near_pay(call, base) && near_pay_each(call, each, count);
}

bool near_view(struct near_call *call, uint64_t at, uint64_t length, struct wasm_bytes *bytes)
{
    const struct wasm_memory *memory = call->instance->memory;

    if (!pay_both(call, call->parameters->wasm_read_memory_base,
                  call->parameters->wasm_read_memory_byte, length))
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

    if (!pay_both(call, call->parameters->wasm_write_memory_base,
                  call->parameters->wasm_write_memory_byte, length))
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
    return pay_both(call, call->parameters->wasm_read_register_base,
                    call->parameters->wasm_read_register_byte, found->bytes.length);
}

static struct near_register *add_register(struct near_call *call, uint64_t id)
{
    struct near_register *grown;

    if (call->register_count >= call->parameters->max_number_registers) {
        violation(call);
        return NULL;
    }
    grown = reallocarray(call->registers, call->register_count + 1u, sizeof *grown);
    if (grown == NULL) {
        call->is_lost = true;
        return NULL;
    }
    call->registers = grown;
    grown[call->register_count] = (struct near_register){.id = id};
    return &grown[call->register_count++];
}

bool near_register_set(struct near_call *call, uint64_t id, const void *bytes, uint64_t length)
{
    struct near_register *entry = find_register(call, id);
    struct buf copy = {0};
    const uint64_t before = entry != NULL ? entry->bytes.length : 0;

    if (!pay_both(call, call->parameters->wasm_write_register_base,
                  call->parameters->wasm_write_register_byte, length))
        return false;
    if (length > call->parameters->max_register_size ||
        call->register_bytes - before + length > call->parameters->registers_memory_limit)
        return violation(call);
    if (entry == NULL)
        entry = add_register(call, id);
    if (entry == NULL)
        return false;
    /* What is copied may be the register itself. */
    if (length != 0 && buf_append(&copy, bytes, length) != 0)
        call->is_lost = true;
    buf_free(&entry->bytes);
    entry->bytes = copy;
    call->register_bytes += length - before;
    return !call->is_lost;
}

/* ---- texts ---- */

static bool too_long(struct near_call *call, uint64_t length)
{
    return near_fail(call, "The length of a log message %llu exceeds the limit %llu",
                     (unsigned long long)call->log_bytes + length,
                     (unsigned long long)call->parameters->max_total_log_length);
}

/* Each byte up to the zero is read and paid by itself. */
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
    const uint64_t most = call->parameters->max_total_log_length - call->log_bytes;

    if (!near_pay(call, call->parameters->wasm_utf8_decoding_base))
        return false;
    if (length != UINT64_MAX && length > most)
        return too_long(call, length);
    if (!(length == UINT64_MAX ? terminated_text(call, at, most, text)
                               : near_view(call, at, length, text)) ||
        !near_pay_each(call, call->parameters->wasm_utf8_decoding_byte, text->length))
        return false;
    if (!wasm_is_utf8(text->data, text->length))
        return near_fail(call, "String encoding is bad UTF-8 sequence.");
    return true;
}

void near_call_free(struct near_call *call)
{
    for (uint32_t i = 0; i < call->register_count; i++)
        buf_free(&call->registers[i].bytes);
    free(call->registers);
    call->registers = NULL;
    call->register_count = 0;
    buf_free(&call->old_value);
    buf_free(&call->result);
}
