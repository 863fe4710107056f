/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/log.h"
#include "proto/command.h"
#include "supervisor/vat.h"
#include "supervisor/worker_words.h"

void vat_begin_delivery(struct vat *vat, const struct vat_happening *happening)
{
    struct kernel *kernel = vat->kernel;
    struct crank_vat of = {
        .id = vat->stored.id,
        .delivery_num = vat->stored.delivery_next,
        .name = vat->name,
    };
    struct buf message = {0};
    struct stamp sent;
    struct error error;

    (void)happening;
    kernel->crank_open = true;
    if (crank_begin(&kernel->crank, kernel->crank_next, &of, kernel->line, &error) != 0) {
        kernel_fail(kernel, &error);
        return;
    }
    vat_message_deliver(&message, buf_string(&kernel->crank.vd));
    vat_start_timer(vat, kernel->options.timeout_ms);
    sent = vat_send_message(vat, &message);
    if (!kernel->failed && crank_sent(&kernel->crank, sent, &error) != 0)
        kernel_fail(kernel, &error);
}

/* The worker has answered setBundle. */
void vat_get_ready(struct vat *vat, const struct vat_happening *happening)
{
    struct vat_reply reply;
    struct meter meter;
    struct iovec text;
    struct error error;

    uv_timer_stop(&vat->timer);
    if (meter_split(happening->payload, &meter, &text, &error) != 0) {
        vat_set_reason(vat, ERROR_SYSTEM, "%s", error.text);
        vat_event(vat, VAT_EVENT_BAD);
        return;
    }
    meter_free(&meter);
    if (vat_reply_parse(&reply, text.iov_base, text.iov_len, &error) != 0) {
        vat_set_reason(vat, ERROR_SYSTEM, "%s", error.text);
        vat_event(vat, VAT_EVENT_BAD);
        return;
    }
    if (reply.kind != VAT_REPLY_READY) {
        vat_set_reason(vat, ERROR_DELIVERY, "the contract was not taken: %.*s",
                       (int)reply.text.length, reply.text.bytes);
        vat_event(vat, VAT_EVENT_BAD);
    } else {
        if (vat_log_startup(vat, "vat-startup-finish", true, &error) != 0)
            kernel_fail(vat->kernel, &error);
        kernel_deliver_when_ready(vat->kernel);
    }
    vat_reply_free(&reply);
}

/* What the worker said of the delivery: NULL for well, else words in *words. */
static const char *problem_of(struct vat *vat, struct iovec result, struct buf *words,
                              struct error *error)
{
    struct vat_reply reply;

    if (result.iov_len == 0)
        return worker_words_unsettled;
    if (vat_reply_parse(&reply, result.iov_base, result.iov_len, error) != 0)
        return NULL;
    if (reply.kind == VAT_REPLY_ERROR) {
        buf_append(words, reply.text.bytes, reply.text.length);
        if (vat->kernel->line == NULL && buf_string(words) != NULL)
            vat_place_syntax_error(vat, words);
    } else if (reply.kind != VAT_REPLY_OK) {
        error_set(error, ERROR_INPUT, "it answered a delivery with \"dispatchReady\"");
    }
    vat_reply_free(&reply);
    return words->length > 0 ? buf_string(words) : NULL;
}

void vat_finish_delivery(struct vat *vat, const struct vat_happening *happening)
{
    struct error error = {0};
    struct buf words = {0};
    struct iovec result;
    struct meter meter = {0};
    struct crank_end end = {
        .returned = happening->come,
        .blame = ERROR_DELIVERY,
        .meter = &meter,
    };

    uv_timer_stop(&vat->timer);
    if (meter_split(happening->payload, &meter, &result, &error) == 0)
        end.problem = problem_of(vat, result, &words, &error);
    if (error.kind != ERROR_NONE) {
        vat_set_reason(vat, ERROR_SYSTEM, "%s", error.text);
        vat_event(vat, VAT_EVENT_BAD);
    } else {
        vat_show_words(vat);
        kernel_finish_crank(vat->kernel, &end);
    }
    buf_free(&words);
    meter_free(&meter);
}

/* A console call, for the person at the terminal. */
static void print_console(const struct vat *vat, const struct vat_console *console)
{
    struct buf line = {0};
    const json_t *argument;
    size_t i;

    json_array_foreach(console->arguments, i, argument)
    {
        buf_append_byte(&line, ' ');
        if (json_is_string(argument))
            buf_append(&line, json_string_value(argument), json_string_length(argument));
    }
    if (buf_string(&line) != NULL)
        log_line("%s:%s", vat->name, line.data);
    buf_free(&line);
}

static void answer_parsed(struct vat *vat, const struct vat_request *request, struct stamp come)
{
    struct kernel *kernel = vat->kernel;
    const struct buf *answer = &kernel->crank.answer;
    struct stamp answered;
    struct error error;

    switch (crank_request(&kernel->crank, request, &error)) {
    case CRANK_OK:
        /* The worker waits: the answer goes before the slog's lines are made. */
        answered =
            vat_send_frame(vat, COMMAND_ANSWER, (struct iovec){answer->data, answer->length});
        if (!kernel->failed && crank_answered(&kernel->crank, request, come, answered, &error) != 0)
            kernel_fail(kernel, &error);
        break;
    case CRANK_SENSELESS:
        vat_set_reason(vat, ERROR_DELIVERY, "%s", error.text);
        vat_event(vat, VAT_EVENT_BAD);
        break;
    case CRANK_BROKEN:
        kernel_fail(kernel, &error);
        break;
    }
}

void vat_answer_request(struct vat *vat, const struct vat_happening *happening)
{
    struct vat_request request;
    struct error error;

    if (vat_request_parse(&request, happening->payload.iov_base, happening->payload.iov_len,
                          &error) != 0) {
        vat_set_reason(vat, ERROR_DELIVERY, "%s", error.text);
        vat_event(vat, VAT_EVENT_BAD);
        return;
    }
    answer_parsed(vat, &request, happening->come);
    if (request.kind == VAT_REQUEST_CONSOLE)
        print_console(vat, &request.console);
    vat_request_free(&request);
}
