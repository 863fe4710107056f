/* SPDX-License-Identifier: Apache-2.0 */
/* Texts in the contract's memory, and logs. */
#include "worker/near/call/call.h"
#include "worker/wasm/module/reader.h"

/* What may still be logged, in bytes. */
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

/* Its bytes up to the two zeros, each two of which are read and paid by themselves. */
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

static void append_utf8(struct buf *text, uint32_t point)
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

/* False where it is no UTF-16. */
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
        append_utf8(text, point);
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
