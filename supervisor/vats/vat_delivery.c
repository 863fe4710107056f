/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "proto/command.h"
#include "supervisor/process/worker_process.h"
#include "supervisor/runtime/contract_file.h"
#include "supervisor/vats/vat_actions.h"

/* Its worker wakes on a CPU of its own, and may go where Linux likes after that. */
static struct stamp send_at_reserved_cpu(struct vat *vat, struct iovec vd)
{
    const struct placement *placement = vat->owner->options->launcher->placement;
    struct stamp sent;

    vat->last_cpu = placement_reserve_cpu(placement, &vat->owner->reserved_cpus, vat->last_cpu);
    vat->reserves_cpu = vat->last_cpu >= 0;
    if (!vat->reserves_cpu)
        return vat_send_delivery(vat, vd);
    placement_hold_at(vat->process, vat->last_cpu);
    sent = vat_send_delivery(vat, vd);
    placement_let_go(placement, vat->process);
    return sent;
}

void vat_release_cpu(struct vat *vat)
{
    if (vat->reserves_cpu)
        CPU_CLR((size_t)vat->last_cpu, &vat->owner->reserved_cpus);
    vat->reserves_cpu = false;
}

static struct stamp send_delivery(struct vat *vat)
{
    const struct warehouse_options *options = vat->owner->options;
    const struct iovec vd = {(char *)vat->vd, strlen(vat->vd)};

    if (options->jobs > 1 && options->launcher->placement != NULL)
        return send_at_reserved_cpu(vat, vd);
    return vat_send_delivery(vat, vd);
}

enum vat_event vat_deliver(struct vat *vat, const struct vat_input *input)
{
    const struct vat_owner *owner = vat->owner;
    struct stamp sent;

    (void)input;
    vat_timer_start(&vat->timer, owner->options->timeout_ms);
    sent = send_delivery(vat);
    if (!owner->silent)
        owner->listener->sent(owner->listener->context, vat->id, sent);
    return VAT_EVENT_NONE;
}

enum vat_event vat_answer(struct vat *vat, const struct vat_input *input)
{
    const struct vat_owner *owner = vat->owner;
    const struct warehouse_listener *listener = owner->listener;
    const struct vat_request *request = &input->frame->request;

    if (request->kind == VAT_REQUEST_SYSCALL) {
        listener->asked(listener->context, vat->id, request, input->frame->come);
        return VAT_EVENT_NONE;
    }
    /* The worker waits: the answer goes first. */
    vat_answer_console(vat);
    if (!owner->silent)
        listener->said(listener->context, vat->id, request, input->frame->come);
    return VAT_EVENT_NONE;
}

/* ---- how it ends ---- */

enum { STOPPING_MS = 10000 }; /* for a worker to tell what the delivery used, and to end */

enum vat_event vat_stop(struct vat *vat, const struct vat_input *input)
{
    (void)input;
    vat_timer_start(&vat->timer, STOPPING_MS);
    vat_send_frame(vat, COMMAND_STOP, (struct iovec){0});
    return VAT_EVENT_NONE;
}

enum vat_event vat_note_stop(struct vat *vat, const struct vat_input *input)
{
    struct error error;

    meter_free(&vat->used);
    vat->stopped_at = input->frame->come;
    vat->stopped = meter_copy(&vat->used, &input->frame->meter) == 0;
    if (vat->stopped)
        return VAT_EVENT_NONE;
    error_memory(&error, "what a delivery used");
    return vat_fail(vat, &error);
}

/* Its bundle; false: the store has none, or cannot be read, which its next use reports. */
static bool get_bundle(const struct vat *vat, struct buf *bundle)
{
    struct error error;
    bool found = false;

    return store_bundle_get(vat->owner->options->store, vat->bundle_id, bundle, &found, &error) ==
               0 &&
           found;
}

/* How many lines the source of its contract has; 0: that is not known. */
static long count_lines(const struct vat *vat)
{
    struct buf bundle = {0};
    const long lines = get_bundle(vat, &bundle) ? contract_file_lines(&bundle) : 0;

    buf_free(&bundle);
    return lines;
}

/* The line of its contract's source that the stack leads to; NULL: to none. */
static const char *find_source(const struct vat *vat, const char *stack, struct buf *source)
{
    const long line = contract_file_place(stack);
    struct buf bundle = {0};

    if (line > 0 && get_bundle(vat, &bundle))
        contract_file_line(&bundle, line, source);
    buf_free(&bundle);
    return source->length > 0 ? buf_string(source) : NULL;
}

/*
 * The problem, with the line of a syntax error before it, as "contract.js:LINE: ", where the
 * worker has printed that: only its stderr has it (worker/xs/engine_xs_platform.c).
 */
static const char *place_syntax_error(struct vat *vat, const char *problem, struct buf *placed)
{
    static const char mark[] = "gaspipe-worker: line ";
    long line, lines;

    worker_process_read_stderr(vat->process);
    if (strncmp(problem, "SyntaxError", strlen("SyntaxError")) != 0 ||
        strncmp(vat->stderr_line, mark, strlen(mark)) != 0)
        return problem;
    line = strtol(vat->stderr_line + strlen(mark), NULL, 10);
    lines = count_lines(vat);
    /* What is missing at the end is missed in a line that the runtime appended. */
    if (lines > 0 && line > lines)
        line = lines;
    buf_printf(placed, "contract.js:%ld: SyntaxError%s", line,
               strchrnul(vat->stderr_line + strlen(mark), ':'));
    return buf_string(placed) != NULL ? placed->data : problem;
}

/* The line of a syntax error as the stack's first call, where there is no other in the contract. */
static const char *place_in_stack(const char *problem, const char *stack, struct buf *placed)
{
    static const char file[] = "contract.js:";
    const char *end;
    long line;

    if (stack == NULL || contract_file_place(stack) > 0 ||
        strncmp(problem, file, strlen(file)) != 0)
        return stack;
    line = strtol(problem + strlen(file), NULL, 10);
    end = strchrnul(stack, '\n');
    buf_append(placed, stack, (size_t)(end - stack));
    buf_printf(placed, "\n at (%s%ld)%s", file, line, end);
    return buf_string(placed) != NULL ? placed->data : stack;
}

enum vat_event vat_finish(struct vat *vat, const struct vat_input *input)
{
    const struct warehouse_listener *listener = vat->owner->listener;
    struct warehouse_answer answer = {
        .come = input->frame->come,
        .problem = input->frame->problem,
        .stack = input->frame->stack,
        .value = input->frame->value,
        .meter = &input->frame->meter,
    };
    struct buf placed = {0}, stack = {0}, source = {0};

    vat_timer_stop(&vat->timer);
    if (vat->starts && answer.problem != NULL) {
        answer.problem = place_syntax_error(vat, answer.problem, &placed);
        answer.stack = place_in_stack(answer.problem, answer.stack, &stack);
    }
    answer.source = find_source(vat, answer.stack, &source);
    vat_show_stderr(vat);
    vat->vd = NULL;
    if (!vat->owner->silent)
        listener->answered(listener->context, vat->id, &answer);
    buf_free(&placed);
    buf_free(&stack);
    buf_free(&source);
    return VAT_EVENT_NONE;
}
