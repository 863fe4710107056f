/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/vats/vat.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "proto/command.h"
#include "supervisor/process/worker_exit.h"
#include "supervisor/process/worker_process.h"
#include "supervisor/runtime/contract_file.h"

static void take_vat_input(struct vat *vat, const struct vat_input *input);

static const struct vat_frame no_frame;

/* ---- events of its worker and its timer ---- */

static void on_vat_frame(void *context, struct iovec bytes, struct stamp come)
{
    struct vat *vat = context;
    struct vat_frame frame;
    struct vat_input input = {.frame = &frame};

    vat_frame_read(&frame, vat->state, bytes, come, &vat->reason);
    input.event = frame.event;
    if (input.event == VAT_EVENT_DONE && vat->state == VAT_SNAPSHOTTING)
        input.event = vat_keep_snapshot(vat, frame.payload);
    take_vat_input(vat, &input);
    vat_frame_free(&frame);
}

static void on_vat_bad_frame(void *context, const struct error *error)
{
    struct vat *vat = context;

    vat_reason_worker(&vat->reason, "its worker's frames are broken: %s", error->text);
    vat_handle_event(vat, VAT_EVENT_BAD);
}

/* Keeps the last line: it is the reason if the worker ends now. */
static void on_vat_stderr(void *context, const char *line)
{
    struct vat *vat = context;

    vat_show_stderr(vat);
    snprintf(vat->stderr_line, sizeof vat->stderr_line, "%s", line);
}

static void on_vat_gone(void *context, int exit_status, int signal_number)
{
    const struct vat_input input = {
        .event = VAT_EVENT_GONE,
        .frame = &no_frame,
        .exit_status = exit_status,
        .signal_number = signal_number,
    };

    take_vat_input(context, &input);
}

static void on_vat_timeout(void *context)
{
    struct vat *vat = context;

    vat_reason_set(&vat->reason, ERROR_SYSTEM, "it took longer than %g s",
                   (double)vat->timer.limit_ms / 1000);
    vat->reason.cause = VAT_CAUSE_TIME;
    vat_handle_event(vat, VAT_EVENT_TIMEOUT);
}

/* ---- a delivery ---- */

/* Its worker wakes on a CPU of its own; Linux may move it afterwards. */
static struct stamp send_at_reserved_cpu(struct vat *vat, struct iovec vd)
{
    const struct placement *placement = vat->owner->options->launcher->placement;
    struct stamp sent;

    vat->delivery.last_cpu =
        placement_reserve_cpu(placement, &vat->owner->reserved_cpus, vat->delivery.last_cpu);
    vat->delivery.reserves_cpu = vat->delivery.last_cpu >= 0;
    if (!vat->delivery.reserves_cpu)
        return vat_send_delivery(vat, vd);
    placement_pin(vat->process, vat->delivery.last_cpu);
    sent = vat_send_delivery(vat, vd);
    placement_unpin(placement, vat->process);
    return sent;
}

static void vat_release_cpu(struct vat *vat)
{
    if (vat->delivery.reserves_cpu)
        CPU_CLR((size_t)vat->delivery.last_cpu, &vat->owner->reserved_cpus);
    vat->delivery.reserves_cpu = false;
}

static struct stamp send_vat_delivery(struct vat *vat)
{
    const struct warehouse_options *options = vat->owner->options;
    const struct iovec vd = {(char *)vat->delivery.text, strlen(vat->delivery.text)};

    if (options->jobs > 1 && options->launcher->placement != NULL && vat->delivery.was_long)
        return send_at_reserved_cpu(vat, vd);
    return vat_send_delivery(vat, vd);
}

static void vat_deliver(struct vat *vat)
{
    struct vat_delivery *delivery = &vat->delivery;

    vat_timer_start(&vat->timer, vat->owner->options->timeout_ms);
    delivery->cpu_wait_before = cpu_wait_begin(&vat->owner->cpu_wait, 0);
    delivery->worker_cpu_wait_before = worker_process_begin_cpu_wait(vat->process);
    delivery->sent = send_vat_delivery(vat);
    vat_report(vat, &(struct warehouse_event){.kind = WAREHOUSE_EVENT_SENT, .at = delivery->sent});
}

/* Both ends' waits for a CPU since the delivery was sent. */
static struct cpu_waits vat_cpu_waits(struct vat *vat, struct stamp come)
{
    const struct vat_delivery *delivery = &vat->delivery;
    const int64_t sent = delivery->sent.mono;

    return (struct cpu_waits){
        .gaspipe = cpu_wait_end(&vat->owner->cpu_wait, delivery->cpu_wait_before, sent, come.mono),
        .worker = worker_process_end_cpu_wait(vat->process, delivery->worker_cpu_wait_before, sent,
                                              come.mono),
    };
}

static void vat_answer(struct vat *vat, const struct vat_frame *frame)
{
    const struct vat_request *request = &frame->request;
    const bool is_syscall = request->kind == VAT_REQUEST_SYSCALL;

    /* The worker waits: the answer goes first. */
    if (!is_syscall)
        vat_answer_console(vat);
    vat_report(vat, &(struct warehouse_event){
                        .kind = is_syscall ? WAREHOUSE_EVENT_SYSCALL : WAREHOUSE_EVENT_CONSOLE,
                        .at = frame->come,
                        .request = request,
                    });
}

/* ---- how it ends ---- */

enum { STOPPING_MS = 10000 }; /* for a worker to report what the delivery used, and to end */

static void vat_stop(struct vat *vat)
{
    vat_timer_start(&vat->timer, STOPPING_MS);
    vat_send_frame(vat, COMMAND_STOP, (struct iovec){0});
}

static enum vat_event vat_note_stop(struct vat *vat, const struct vat_frame *frame)
{
    struct error error;

    meter_free(&vat->delivery.used);
    vat->delivery.stopped_at = frame->come;
    vat->delivery.stopped = meter_copy(&vat->delivery.used, &frame->meter) == 0;
    if (vat->delivery.stopped)
        return VAT_EVENT_NONE;
    error_memory(&error, "what a delivery used");
    return vat_fail(vat, &error);
}

/* False if the store has no bundle, or cannot be read, which its next use reports. */
static bool get_vat_bundle(const struct vat *vat, struct buf *bundle)
{
    struct error error;
    bool found = false;

    return store_bundle_get(vat->owner->options->store, vat->identity.bundle_id, bundle, &found,
                            &error) == 0 &&
           found;
}

/* The number of lines of its contract's source; 0 if not known. */
static long count_lines(const struct vat *vat)
{
    struct buf bundle = {0};
    const long lines = get_vat_bundle(vat, &bundle) ? contract_file_lines(&bundle) : 0;

    buf_free(&bundle);
    return lines;
}

/* The line of its contract's source that the stack leads to; NULL: to none. */
static const char *find_source_line(const struct vat *vat, const char *stack, struct buf *source)
{
    const long line = contract_file_place(stack);
    struct buf bundle = {0};

    if (line > 0 && get_vat_bundle(vat, &bundle))
        contract_file_line(&bundle, line, source);
    buf_free(&bundle);
    return source->length > 0 ? buf_string(source) : NULL;
}

/*
 * The problem, with the line of a syntax error before it, as "contract.js:LINE: ", where the
 * worker has printed that: only its stderr has it (worker/xs/engine_xs.c).
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
    /* XS reports what is missing at the end in a line that the runtime appended. */
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

static void vat_finish(struct vat *vat, const struct vat_frame *frame)
{
    struct warehouse_answer answer = {
        .come = frame->come,
        .problem = frame->problem,
        .stack = frame->stack,
        .value = frame->value,
        .meter = &frame->meter,
        .cpu_waits = vat_cpu_waits(vat, frame->come),
    };
    struct buf placed = {0}, stack = {0}, source = {0};

    vat_timer_stop(&vat->timer);
    if (vat->delivery.is_start && answer.problem != NULL) {
        answer.problem = place_syntax_error(vat, answer.problem, &placed);
        answer.stack = place_in_stack(answer.problem, answer.stack, &stack);
    }
    answer.source = find_source_line(vat, answer.stack, &source);
    vat_show_stderr(vat);
    vat->delivery.text = NULL;
    vat->delivery.was_long = meter_is_long(&frame->meter);
    vat_report(vat, &(struct warehouse_event){.kind = WAREHOUSE_EVENT_ANSWERED, .answer = &answer});
    buf_free(&placed);
    buf_free(&stack);
    buf_free(&source);
}

/* ---- actions of a worker's life ---- */

static enum vat_event start_vat_worker(struct vat *vat)
{
    const struct worker_listener listener = {
        .context = vat,
        .frame = on_vat_frame,
        .bad_frame = on_vat_bad_frame,
        .stderr_line = on_vat_stderr,
        .gone = on_vat_gone,
    };

    return vat_start(vat, &listener);
}

/* It may be busy or hang, and would not notice the end of its pipe. */
static void kill_worker(struct vat *vat)
{
    vat_timer_stop(&vat->timer);
    worker_process_kill(vat->process);
}

static void kill_bad_worker(struct vat *vat, const struct vat_input *input)
{
    if (input->event == VAT_EVENT_FAILED)
        vat_reason_worker(&vat->reason, "its worker threw an exception: %.*s",
                          (int)input->frame->payload.iov_len,
                          (const char *)input->frame->payload.iov_base);
    else
        vat_reason_worker(&vat->reason, "its worker sent a frame out of turn");
    kill_worker(vat);
}

static void lose_worker(struct vat *vat)
{
    vat_release(vat);
    vat_close_origin(vat);
}

static void reap_worker(struct vat *vat, const struct vat_input *input)
{
    char ended[VAT_REASON_SIZE];
    const enum error_kind blame = worker_exit_describe(input->exit_status, input->signal_number,
                                                       vat->stderr_line, ended, sizeof ended);

    if (blame == ERROR_SYSTEM && input->signal_number == 0)
        vat_reason_worker(&vat->reason, "%s", ended);
    else
        vat_reason_set(&vat->reason, blame, "%s", ended);
    if (worker_exit_is_crash(input->signal_number))
        vat->reason.cause = VAT_CAUSE_CRASH;
    else if (worker_exit_is_memory(input->exit_status, input->signal_number))
        vat->reason.cause = VAT_CAUSE_MEMORY;
    lose_worker(vat);
}

/* Actions that may lead to another event. */
static enum vat_event run_action(struct vat *vat, enum vat_action action,
                                 const struct vat_frame *frame)
{
    switch (action) {
    case VAT_ACT_PREPARE:
        return vat_prepare(vat);
    case VAT_ACT_START:
        return start_vat_worker(vat);
    case VAT_ACT_STARTED:
        return vat->origin.kind == VAT_ORIGIN_SNAPSHOT ? VAT_EVENT_RESTORED : VAT_EVENT_FRESH;
    case VAT_ACT_LOAD:
        return vat_load(vat);
    case VAT_ACT_ANSWER_LOADING:
        return vat_answer_loading(vat, frame);
    case VAT_ACT_CATCH_UP:
        return vat_catch_up(vat);
    case VAT_ACT_ANSWER_RECORDED:
        return vat_answer_recorded(vat, frame);
    case VAT_ACT_COMPARE:
        return vat_compare(vat, frame);
    case VAT_ACT_READY:
        return vat_ready(vat);
    case VAT_ACT_NOTE_STOP:
        return vat_note_stop(vat, frame);
    case VAT_ACT_SNAPSHOT:
        return vat_snapshot(vat);
    case VAT_ACT_AGAIN: /* the worker has written the snapshot that the next one starts from */
        vat_release(vat);
        return vat_prepare(vat);
    default:
        return VAT_EVENT_NONE;
    }
}

/* Actions after which the vat waits. */
static void run_last_action(struct vat *vat, enum vat_action action, const struct vat_input *input)
{
    switch (action) {
    case VAT_ACT_DELIVER:
        vat_deliver(vat);
        break;
    case VAT_ACT_ANSWER:
        vat_answer(vat, input->frame);
        break;
    case VAT_ACT_STOP:
        vat_stop(vat);
        break;
    case VAT_ACT_FINISH:
        vat_finish(vat, input->frame);
        break;
    case VAT_ACT_RESTART:
        vat_restart(vat);
        break;
    case VAT_ACT_KILL:
        kill_bad_worker(vat, input);
        break;
    case VAT_ACT_DISMISS:
        kill_worker(vat);
        break;
    case VAT_ACT_HANG_UP:
        vat_leave(vat);
        break;
    case VAT_ACT_REAP:
        reap_worker(vat, input);
        break;
    case VAT_ACT_LOSE:
    case VAT_ACT_FORGET:
        lose_worker(vat);
        break;
    case VAT_ACT_FORBIDDEN:
        log_line("%s: unexpected event %d", vat->log.vat_id, input->event);
        abort();
    default:
        break;
    }
}

/* Reports the outcome of a step, if no event follows. */
static void notify_vat_owner(struct vat *vat, enum vat_state before, enum vat_action action)
{
    struct vat_owner *owner = vat->owner;
    const bool ended = action == VAT_ACT_REAP || action == VAT_ACT_LOSE;

    if (ended || action == VAT_ACT_KILL)
        owner->lost(owner->context, vat, before);
    /* The owner may have asked for another worker already. */
    if ((ended && vat->state == VAT_NO_WORKER) || action == VAT_ACT_FORGET ||
        vat->state == VAT_IDLE)
        owner->settled(owner->context, vat);
}

static void take_vat_input(struct vat *vat, const struct vat_input *input)
{
    struct vat_input next = *input;

    while (next.event != VAT_EVENT_NONE) {
        const enum vat_state before = vat->state;
        const struct vat_step step = vat_step(before, next.event);
        enum vat_event follows;

        vat->state = step.next;
        if (step.next != VAT_DELIVERING)
            vat_release_cpu(vat);
        follows = run_action(vat, step.action, next.frame);
        if (follows == VAT_EVENT_NONE) {
            run_last_action(vat, step.action, &next);
            notify_vat_owner(vat, before, step.action);
        }
        next = (struct vat_input){.event = follows, .frame = &no_frame};
    }
}

void vat_handle_event(struct vat *vat, enum vat_event event)
{
    take_vat_input(vat, &(struct vat_input){.event = event, .frame = &no_frame});
}

/* ---- what its owner wants ---- */

void vat_evict(struct vat *vat)
{
    vat->delivery.text = NULL;
    vat->delivery.turn = VAT_TURN_DUE;
    vat_close_origin(vat);
    vat_handle_event(vat, VAT_EVENT_EVICT);
}

void vat_refuse(struct vat *vat, enum error_kind blame, const char *reason)
{
    vat_reason_set(&vat->reason, blame, "%s", reason);
    vat_handle_event(vat, VAT_EVENT_REFUSED);
}

struct stamp vat_reply(struct vat *vat, struct iovec answer)
{
    return vat_send_frame(vat, COMMAND_ANSWER, answer);
}

bool vat_is_speculative(const struct vat *vat)
{
    return vat->delivery.turn == VAT_TURN_EARLY &&
           (vat->state == VAT_DELIVERING || vat->state == VAT_STOPPING || vat->state == VAT_IDLE);
}

void vat_prepare_again(struct vat *vat, enum runtime_snapshot_result result,
                       const struct error *error)
{
    vat_handle_event(vat, vat_prepared(vat, result, error));
}

/* ---- beginning and end ---- */

struct vat *vat_new(struct vat_owner *owner, const struct warehouse_vat *described)
{
    struct vat *vat = calloc(1, sizeof *vat);

    if (vat == NULL)
        return NULL;
    vat->owner = owner;
    vat->identity.id = described->id;
    vat->identity.dynamic = described->dynamic;
    vat->identity.incarnation = described->incarnation;
    vat->replay.first_num = described->first_delivery;
    vat->identity.deliveries = described->deliveries;
    vat->identity.limits = described->limits;
    vat->origin.file = -1;
    vat->delivery.last_cpu = -1;
    vat->log.slog = owner->options->slog;
    snprintf(vat->log.vat_id, sizeof vat->log.vat_id, "v%" PRId64, vat->identity.id);
    vat_timer_init(&vat->timer, owner->options->loop, on_vat_timeout, vat);
    vat->identity.name = strdup(described->name);
    vat->identity.bundle_id = strdup(described->bundle_id);
    return vat;
}

static void free_vat(uv_handle_t *timer)
{
    struct vat *vat = ((struct vat_timer *)timer->data)->context;
    struct error ignored;

    (void)slog_writer_join(NULL, vat->log.deferred, &ignored); /* of a vat that was removed */
    vat_close_origin(vat);
    buf_free(&vat->bundle);
    meter_free(&vat->delivery.used);
    vat_replay_free(&vat->replay);
    free(vat->identity.name);
    free(vat->identity.bundle_id);
    free(vat);
}

void vat_close(struct vat *vat)
{
    uv_close((uv_handle_t *)&vat->timer.handle, free_vat);
}
