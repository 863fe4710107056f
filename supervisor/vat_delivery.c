/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "proto/command.h"
#include "supervisor/vat.h"
#include "supervisor/worker_words.h"

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

const char *vat_problem_of(struct iovec result, struct buf *words, struct error *error)
{
    struct vat_reply reply;

    if (result.iov_len == 0)
        return worker_words_unsettled;
    if (vat_reply_parse(&reply, result.iov_base, result.iov_len, error) != 0)
        return NULL;
    if (reply.kind == VAT_REPLY_ERROR) {
        buf_append(words, reply.text.bytes, reply.text.length);
        if (buf_string(words) == NULL)
            error_memory(error, "a reply");
    } else if (reply.kind != VAT_REPLY_OK) {
        error_set(error, ERROR_INPUT, "it answered a delivery with \"dispatchReady\"");
    }
    vat_reply_free(&reply);
    return words->length > 0 ? words->data : NULL;
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
    struct error error = {0};
    struct buf words = {0};
    struct iovec result;
    struct meter meter = {0};
    struct warehouse_answer answer = {.come = happening->come, .meter = &meter};

    vat_stop_timer(vat);
    if (meter_split(happening->payload, &meter, &result, &error) == 0)
        answer.problem = vat_problem_of(result, &words, &error);
    if (error.kind != ERROR_NONE) {
        vat_kill_for(vat, ERROR_SYSTEM, "%s", error.text);
    } else {
        if (words.length > 0 && vat->starts)
            vat_place_syntax_error(vat, &words);
        if (words.length > 0)
            answer.problem = buf_string(&words);
        tell_answer(vat, &answer);
    }
    buf_free(&words);
    meter_free(&meter);
}
