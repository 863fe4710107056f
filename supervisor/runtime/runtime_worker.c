/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/runtime/runtime_worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/command.h"
#include "proto/meter.h"
#include "proto/vat_message.h"
#include "supervisor/process/worker_exit.h"
#include "supervisor/runtime/heap_file.h"

enum { STDERR_LINE_SIZE = 256, CLOSING_MS = 2000 /* for a worker to end by itself */ };

struct runtime_worker {
    struct runtime_worker_options options;
    struct vat_runtime runtime;
    struct worker_process *process;
    uv_timer_t timer;
    int evaluated; /* how many of the runtime's programs */
    bool saving;   /* it was told to write the snapshot */
    bool closing;  /* it has written it, or failed */
    bool failed;
    struct error error; /* why */
    char stderr_line[STDERR_LINE_SIZE];
};

/* The first failure caused the others. */
static void runtime_worker_fail(struct runtime_worker *worker, const char *why)
{
    if (!worker->closing) {
        worker->failed = worker->closing = true;
        error_set(&worker->error, ERROR_SYSTEM, "its worker cannot %s: %s",
                  worker->saving ? "write a snapshot" : "evaluate its runtime", why);
    }
    worker_process_kill(worker->process);
}

void runtime_worker_cancel(struct runtime_worker *worker)
{
    runtime_worker_fail(worker, "it is not wanted any more");
}

static void on_runtime_timeout(uv_timer_t *timer)
{
    struct runtime_worker *worker = timer->data;
    char why[64];

    snprintf(why, sizeof why, "it took longer than %g s",
             (double)worker->options.timeout_ms / 1000);
    runtime_worker_fail(worker, why);
}

static void limit_time(struct runtime_worker *worker, uint64_t milliseconds)
{
    uv_update_time(worker->options.loop);
    if (milliseconds > 0) /* cannot fail: the callback is there */
        (void)uv_timer_start(&worker->timer, on_runtime_timeout, milliseconds, 0);
}

static void send_to_runtime(struct runtime_worker *worker, char command, struct iovec payload)
{
    const struct iovec parts[] = {{&command, 1}, payload};
    struct stamp sent;
    struct error error;

    if (worker_process_send(worker->process, parts, 2, &sent, &error) != 0)
        runtime_worker_fail(worker, error.text);
}

/* ---- what it does, step by step ---- */

static void send_next_command(struct runtime_worker *worker)
{
    static char place[] = WORKER_SAVE_PLACE;
    struct error error;

    limit_time(worker, worker->options.timeout_ms);
    if (worker->evaluated < worker->runtime.program_count) {
        send_to_runtime(worker, COMMAND_EVALUATE, worker->runtime.programs[worker->evaluated]);
        return;
    }
    worker->saving = true;
    if (worker_process_begin_snapshot(worker->process, &error) != 0)
        runtime_worker_fail(worker, error.text);
    else
        send_to_runtime(worker, COMMAND_SNAPSHOT, (struct iovec){place, strlen(place)});
}

/* Where the file is what the payload says. */
static int copy_snapshot(const struct runtime_worker *worker, int file, struct iovec payload,
                         struct error *error)
{
    struct meter meter;
    struct iovec reply;

    if (meter_split(payload, &meter, &reply, error) != 0)
        return -1;
    meter_free(&meter);
    if (heap_file_check(file, reply, error) != 0)
        return -1;
    return heap_file_copy(worker->options.snapshot_fd, file, error);
}

static int keep_snapshot(const struct runtime_worker *worker, struct iovec payload,
                         struct error *error)
{
    const int file = worker_process_end_snapshot(worker->process, error);
    int result;

    if (file < 0)
        return -1;
    result = copy_snapshot(worker, file, payload, error);
    close(file);
    return result;
}

static void take_done(struct runtime_worker *worker, struct iovec payload)
{
    struct error error;

    if (!worker->saving) {
        worker->evaluated++;
        send_next_command(worker);
    } else if (keep_snapshot(worker, payload, &error) != 0) {
        runtime_worker_fail(worker, error.text);
    } else {
        worker->closing = true;
        limit_time(worker, CLOSING_MS);
        worker_process_hang_up(worker->process);
    }
}

static void answer_runtime(struct runtime_worker *worker, struct iovec payload)
{
    const char *answer = worker->runtime.console_answer;
    struct vat_request request;
    struct error error;

    if (vat_request_parse(&request, payload.iov_base, payload.iov_len, &error) != 0) {
        runtime_worker_fail(worker, error.text);
        return;
    }
    if (request.kind == VAT_REQUEST_CONSOLE)
        send_to_runtime(worker, COMMAND_ANSWER, (struct iovec){(char *)answer, strlen(answer)});
    else
        runtime_worker_fail(worker, "it made a syscall");
    vat_request_free(&request);
}

static void on_runtime_frame(void *context, struct iovec frame, struct stamp come)
{
    struct runtime_worker *worker = context;
    const char *bytes = frame.iov_base;
    const char command = frame.iov_len > 0 ? bytes[0] : '\0';
    const struct iovec payload = {(char *)bytes + 1, frame.iov_len - 1};
    char why[STDERR_LINE_SIZE];

    (void)come;
    if (worker->closing)
        return;
    if (command == COMMAND_DONE) {
        take_done(worker, payload);
    } else if (command == COMMAND_REQUEST) {
        answer_runtime(worker, payload);
    } else if (command == COMMAND_FAILED) {
        snprintf(why, sizeof why, "%.*s", (int)payload.iov_len, (const char *)payload.iov_base);
        runtime_worker_fail(worker, why);
    } else {
        runtime_worker_fail(worker, "it sent a frame that is not a reply");
    }
}

static void on_runtime_bad_frame(void *context, const struct error *error)
{
    runtime_worker_fail(context, error->text);
}

static void on_runtime_stderr(void *context, const char *line)
{
    struct runtime_worker *worker = context;

    snprintf(worker->stderr_line, sizeof worker->stderr_line, "%s", line);
}

/* ---- its end ---- */

static void on_timer_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void on_runtime_gone(void *context, int exit_status, int signal_number)
{
    struct runtime_worker *worker = context;
    char why[STDERR_LINE_SIZE + 64];

    worker_exit_describe(exit_status, signal_number, worker->stderr_line, why, sizeof why);
    if (!worker->closing)
        runtime_worker_fail(worker, why);
    uv_close((uv_handle_t *)&worker->timer, on_timer_closed);
    worker_process_free(worker->process);
    worker->options.done(worker->options.context, worker->failed ? &worker->error : NULL);
}

struct runtime_worker *runtime_worker_start(const struct runtime_worker_options *options,
                                            struct error *error)
{
    struct runtime_worker *worker = calloc(1, sizeof *worker);
    const struct worker_listener listener = {
        .context = worker,
        .frame = on_runtime_frame,
        .bad_frame = on_runtime_bad_frame,
        .stderr_line = on_runtime_stderr,
        .gone = on_runtime_gone,
    };

    if (worker == NULL) {
        error_memory(error, "a worker");
        return NULL;
    }
    worker->options = *options;
    worker->runtime = *options->runtime;
    worker->process =
        launcher_start(options->launcher, options->loop, "gaspipe-worker::", &listener, error);
    if (worker->process == NULL) {
        free(worker);
        return NULL;
    }
    (void)uv_timer_init(options->loop, &worker->timer); /* cannot fail in any libuv 1 */
    worker->timer.data = worker;
    send_next_command(worker);
    return worker;
}
