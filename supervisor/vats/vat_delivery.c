/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/json/json_value.h"
#include "proto/command.h"
#include "supervisor/process/worker_exit.h"
#include "supervisor/vats/vat.h"

void vat_deliver(struct vat *vat, const struct vat_happening *happening)
{
    struct warehouse *warehouse = vat->warehouse;
    struct stamp sent;

    (void)happening;
    vat_start_timer(vat, warehouse->options.timeout_ms);
    sent = vat_send_delivery(vat, (struct iovec){(char *)vat->vd, strlen(vat->vd)});
    if (!warehouse->failed)
        warehouse->listener.sent(warehouse->listener.context, vat->id, sent);
}

/* ---- what it asks ---- */

static void take_request(struct vat *vat, const struct vat_request *request, struct stamp come)
{
    const struct warehouse_listener *listener = &vat->warehouse->listener;
    const char *answer = vat->runtime.console_answer;

    if (request->kind == VAT_REQUEST_SYSCALL) {
        listener->asked(listener->context, vat->id, request, come);
        return;
    }
    /* The worker waits: the answer goes first. */
    vat_send_frame(vat, COMMAND_ANSWER, (struct iovec){(char *)answer, strlen(answer)});
    if (!vat->warehouse->failed)
        listener->said(listener->context, vat->id, request, come);
}

void vat_ask(struct vat *vat, const struct vat_happening *happening)
{
    struct vat_request request;
    struct error error;

    if (vat_request_parse(&request, happening->payload.iov_base, happening->payload.iov_len,
                          &error) != 0) {
        vat_kill_for(vat, ERROR_DELIVERY, "%s", error.text);
        return;
    }
    take_request(vat, &request, happening->come);
    vat_request_free(&request);
}

/* ---- how it ends ---- */

static int take_value(struct vat_ending *ending, const json_t *value, struct error *error)
{
    if (value == NULL || json_is_null(value))
        return 0;
    if (json_value_write(&ending->text, value) == 0)
        ending->value = buf_string(&ending->text);
    return ending->value != NULL ? 0 : error_memory(error, "a reply");
}

static int take_reply(struct vat_ending *ending, const struct vat_reply *reply, struct error *error)
{
    switch (reply->kind) {
    case VAT_REPLY_OK:
        return take_value(ending, json_array_get(reply->message, 1), error);
    case VAT_REPLY_ERROR:
        json_value_c_string(&ending->text, reply->text.bytes, reply->text.length);
        ending->problem = buf_string(&ending->text);
        return ending->problem != NULL ? 0 : error_memory(error, "a reply");
    default:
        return error_set(error, ERROR_INPUT, "it answered a delivery with \"dispatchReady\"");
    }
}

int vat_ending_read(struct vat_ending *ending, struct iovec payload, struct error *error)
{
    struct vat_reply reply;
    struct iovec result;
    int taken;

    if (meter_split(payload, &ending->meter, &result, error) != 0)
        return -1;
    if (result.iov_len == 0) {
        ending->problem = worker_unsettled;
        return 0;
    }
    if (vat_reply_parse(&reply, result.iov_base, result.iov_len, error) != 0)
        return -1;
    taken = take_reply(ending, &reply, error);
    vat_reply_free(&reply);
    return taken;
}

void vat_ending_free(struct vat_ending *ending)
{
    buf_free(&ending->text);
    meter_free(&ending->meter);
}

static void tell_answer(struct vat *vat, const struct warehouse_answer *answer)
{
    const struct warehouse_listener *listener = &vat->warehouse->listener;

    vat_show_words(vat);
    vat->vd = NULL;
    listener->answered(listener->context, vat->id, answer);
}

void vat_finish(struct vat *vat, const struct vat_happening *happening)
{
    struct vat_ending ending = {0};
    struct error error;

    vat_stop_timer(vat);
    if (vat_ending_read(&ending, happening->payload, &error) != 0) {
        vat_kill_for(vat, ERROR_SYSTEM, "%s", error.text);
    } else {
        struct warehouse_answer answer = {.come = happening->come, .meter = &ending.meter};

        if (ending.problem == ending.text.data && ending.problem != NULL && vat->starts) {
            vat_place_syntax_error(vat, &ending.text);
            ending.problem = buf_string(&ending.text);
        }
        answer.problem = ending.problem;
        answer.value = ending.value;
        tell_answer(vat, &answer);
    }
    vat_ending_free(&ending);
}
