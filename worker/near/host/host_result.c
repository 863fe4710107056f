/* SPDX-License-Identifier: Apache-2.0 */
/* How a call ends, and what it logs. */
#include <string.h>

#include "worker/near/host/host_functions.h"

static bool pay_base(struct near_call *call)
{
    return near_pay(call, NEAR_COST_base);
}

/* Those who wait for the result are sent it, which is paid ahead for all of them. */
static bool pay_receivers(struct near_call *call, uint64_t length)
{
    const struct near_fee *fee = &call->parameters->fee[NEAR_FEE_new_data_receipt_byte];
    const struct near_context *context = call->context;
    uint64_t gas = 0;

    for (uint32_t i = 0; i < context->receiver_count; i++) {
        const bool is_own = strcmp(context->receivers[i], context->current_account) == 0;
        uint64_t each = (is_own ? fee->send_sir : fee->send_not_sir) + fee->execution;

        if (__builtin_mul_overflow(each, length, &each) || __builtin_add_overflow(gas, each, &gas))
            return near_fail(call, "Integer overflow.");
    }
    return near_pay_fee(call, NEAR_FEE_new_data_receipt_byte, gas, 0);
}

bool near_host_value_return(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes bytes;

    if (!pay_base(call) || !near_take(call, a[0], a[1], &bytes))
        return false;
    if (bytes.length > call->parameters->max_length_returned_data)
        return near_fail(call, "The length of a returned value %u exceeds the limit %llu",
                         bytes.length,
                         (unsigned long long)call->parameters->max_length_returned_data);
    if (!pay_receivers(call, bytes.length))
        return false;
    buf_clear(&call->result);
    call->has_result = true;
    call->returned_receipt = NEAR_NO_RECEIPT;
    if (bytes.length != 0 && buf_append(&call->result, bytes.data, bytes.length) != 0)
        call->is_lost = true;
    return !call->is_lost;
}

bool near_host_panic(struct near_call *call, uint64_t *a)
{
    (void)a;
    return pay_base(call) && near_fail(call, "Smart contract panicked: explicit guest panic");
}

static bool panic_with(struct near_call *call, struct wasm_bytes text)
{
    return near_fail(call, "Smart contract panicked: %.*s", (int)text.length,
                     (const char *)text.data);
}

bool near_host_panic_utf8(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes text;

    return pay_base(call) && near_text(call, a[0], a[1], &text) && panic_with(call, text);
}

bool near_host_log_utf8(struct near_call *call, uint64_t *a)
{
    struct wasm_bytes text;

    return pay_base(call) && near_may_log(call) && near_text(call, a[0], a[1], &text) &&
           near_log_pay(call, text.length) &&
           near_log_push(call, (const char *)text.data, text.length);
}

bool near_host_log_utf16(struct near_call *call, uint64_t *a)
{
    struct buf text = {0};
    const bool result = pay_base(call) && near_may_log(call) &&
                        near_text_16(call, a[0], a[1], &text) && near_log_pay(call, text.length) &&
                        near_log_push(call, text.data, text.length);

    buf_free(&text);
    return result;
}

/* ---- AssemblyScript's abort(message, file, line, column); the length stands before a text ---- */

static bool length_before(struct near_call *call, uint32_t at, uint32_t *length)
{
    struct wasm_bytes bytes;

    if (!near_view(call, at - sizeof *length, sizeof *length, &bytes))
        return false;
    memcpy(length, bytes.data, sizeof *length);
    return true;
}

static bool abort_with(struct near_call *call, const struct buf *message, const struct buf *file,
                       const uint64_t *a)
{
    enum { HEAD = 7 };
    struct buf line = {0};
    bool result = false;

    buf_printf(&line, "ABORT: %.*s, filename: \"%.*s\" line: %u col: %u", (int)message->length,
               message->length > 0 ? message->data : "", (int)file->length,
               file->length > 0 ? file->data : "", (uint32_t)a[2], (uint32_t)a[3]);
    if (buf_string(&line) == NULL)
        result = near_no_memory(call);
    else if (near_log_pay(call, line.length - HEAD) && near_log_push(call, line.data, line.length))
        result = near_fail(call, "Smart contract panicked: %s", line.data + HEAD);
    buf_free(&line);
    return result;
}

bool near_host_abort(struct near_call *call, uint64_t *a)
{
    const uint32_t message_at = (uint32_t)a[0], file_at = (uint32_t)a[1];
    struct buf message = {0}, file = {0};
    uint32_t message_length, file_length;
    bool result = false;

    if (!pay_base(call))
        return false;
    if (message_at < 4 || file_at < 4)
        return near_fail(call, "String encoding is bad UTF-16 sequence.");
    if (near_may_log(call) && length_before(call, message_at, &message_length) &&
        length_before(call, file_at, &file_length) &&
        near_text_16(call, message_length, message_at, &message) &&
        near_text_16(call, file_length, file_at, &file))
        result = abort_with(call, &message, &file, a);
    buf_free(&message);
    buf_free(&file);
    return result;
}
