/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/vats/vat_frame.h"

#include "base/json/json_value.h"
#include "proto/command.h"
#include "supervisor/process/worker_exit.h"

static enum vat_event event_of(char command)
{
    switch (command) {
    case COMMAND_DONE:
        return VAT_EVENT_DONE;
    case COMMAND_FAILED:
        return VAT_EVENT_FAILED;
    case COMMAND_REQUEST:
        return VAT_EVENT_REQUEST;
    case COMMAND_STOPPED:
        return VAT_EVENT_STOPPED;
    default:
        return VAT_EVENT_BAD;
    }
}

/* ---- how a delivery ended ---- */

static int take_reply_value(struct vat_frame *frame, const json_t *value, struct error *error)
{
    if (value == NULL || json_is_null(value))
        return 0;
    if (json_value_write(&frame->text, value) == 0)
        frame->value = buf_string(&frame->text);
    return frame->value != NULL ? 0 : error_memory(error, "a reply");
}

static int take_problem(struct vat_frame *frame, const struct vat_reply *reply, struct error *error)
{
    json_value_c_string(&frame->text, reply->text.bytes, reply->text.length);
    frame->problem = buf_string(&frame->text);
    if (frame->problem != NULL && reply->stack.bytes != NULL) {
        json_value_c_string(&frame->stack_text, reply->stack.bytes, reply->stack.length);
        frame->stack = buf_string(&frame->stack_text);
    }
    if (frame->problem == NULL || buf_failed(&frame->stack_text))
        return error_memory(error, "a reply");
    return 0;
}

static int take_vat_reply(struct vat_frame *frame, const struct vat_reply *reply,
                          struct error *error)
{
    switch (reply->kind) {
    case VAT_REPLY_OK:
        return take_reply_value(frame, json_array_get(reply->message, 1), error);
    case VAT_REPLY_ERROR:
        return take_problem(frame, reply, error);
    default:
        return error_set(error, ERROR_INPUT, "it answered a delivery with \"dispatchReady\"");
    }
}

static int read_ending(struct vat_frame *frame, struct error *error)
{
    struct vat_reply reply;
    struct iovec result;
    int taken;

    if (meter_split(frame->payload, &frame->meter, &result, error) != 0)
        return -1;
    if (result.iov_len == 0) {
        frame->problem = worker_unsettled;
        return 0;
    }
    if (vat_reply_parse(&reply, result.iov_base, result.iov_len, error) != 0)
        return -1;
    taken = take_vat_reply(frame, &reply, error);
    vat_reply_free(&reply);
    return taken;
}

/* ---- how loading a contract ended ---- */

static int read_loaded(struct vat_frame *frame, struct vat_reason *reason, struct error *error)
{
    struct vat_reply reply;
    struct iovec result;
    int status = 0;

    if (meter_split(frame->payload, &frame->meter, &result, error) != 0 ||
        vat_reply_parse(&reply, result.iov_base, result.iov_len, error) != 0)
        return -1;
    if (reply.kind == VAT_REPLY_OK) {
        status = error_set(error, ERROR_INPUT, "it answered a contract as if it were a delivery");
    } else if (reply.kind == VAT_REPLY_ERROR) {
        vat_reason_set(reason, ERROR_DELIVERY, "the contract was not taken: %.*s",
                       (int)reply.text.length, reply.text.bytes);
        status = -1;
    }
    vat_reply_free(&reply);
    return status;
}

static int read_done(struct vat_frame *frame, enum vat_state state, struct vat_reason *reason,
                     struct error *error)
{
    switch (state) {
    case VAT_DELIVERING:
    case VAT_CATCHING_UP:
        return read_ending(frame, error);
    case VAT_LOADING:
        return read_loaded(frame, reason, error);
    default: /* it has nothing else to read */
        return 0;
    }
}

static int read_stopped(struct vat_frame *frame, enum vat_state state, struct error *error)
{
    const struct iovec payload = frame->payload;

    if (state != VAT_DELIVERING && state != VAT_STOPPING)
        return 0;
    return meter_decode(&frame->meter, payload.iov_base, payload.iov_len, error);
}

/* ---- requests ---- */

/* In a replay it is compared as JSON, without being parsed. */
static int read_request(struct vat_frame *frame, enum vat_state state, struct vat_reason *reason)
{
    struct error error;

    if (state != VAT_DELIVERING && state != VAT_LOADING)
        return 0;
    if (vat_request_parse(&frame->request, frame->payload.iov_base, frame->payload.iov_len,
                          &error) == 0)
        return 0;
    frame->request = (struct vat_request){0};
    vat_reason_set(reason, ERROR_DELIVERY, "%s", error.text);
    return -1;
}

void vat_frame_read(struct vat_frame *frame, enum vat_state state, struct iovec bytes,
                    struct stamp come, struct vat_reason *reason)
{
    struct error error = {0};
    int result = 0;

    *frame = (struct vat_frame){.event = VAT_EVENT_BAD, .come = come};
    if (bytes.iov_len > 0) {
        frame->event = event_of(*(char *)bytes.iov_base);
        frame->payload = (struct iovec){(char *)bytes.iov_base + 1, bytes.iov_len - 1};
    }
    if (frame->event == VAT_EVENT_BAD)
        vat_reason_worker(reason, "its worker sent a frame that is not a reply");
    else if (frame->event == VAT_EVENT_DONE)
        result = read_done(frame, state, reason, &error);
    else if (frame->event == VAT_EVENT_STOPPED)
        result = read_stopped(frame, state, &error);
    else if (frame->event == VAT_EVENT_REQUEST)
        result = read_request(frame, state, reason);
    if (result != 0) {
        frame->event = frame->event == VAT_EVENT_REQUEST && state == VAT_DELIVERING
                           ? VAT_EVENT_REFUSED
                           : VAT_EVENT_BAD;
        vat_reason_worker(reason, "its worker's result cannot be read: %s", error.text);
    }
}

void vat_frame_free(struct vat_frame *frame)
{
    buf_free(&frame->text);
    buf_free(&frame->stack_text);
    meter_free(&frame->meter);
    vat_request_free(&frame->request);
}
