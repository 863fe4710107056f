/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/runtime/runtime_snapshot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/number.h"
#include "base/output/output_file.h"
#include "proto/command.h"
#include "proto/meter.h"
#include "proto/vat_message.h"
#include "supervisor/process/guest.h"
#include "supervisor/process/worker_exit.h"
#include "supervisor/runtime/heap_file.h"

/* ---- a start prepared by make ---- */

enum { FILE_SIZE_MAX = 64 << 20, HEAD_SIZE = 256 };

/* ---- writing ---- */

int prepared_start_write(const char *path, const char *name, int fd, struct error *error)
{
    struct store_snapshot snapshot;
    struct buf compressed = {0}, file = {0};
    char head[HEAD_SIZE];
    int result = snapshot_bytes_pack(fd, &compressed, &snapshot, error);

    if (result == 0) {
        snprintf(head, sizeof head, "%s %s %" PRId64 "\n", name, snapshot.hash, snapshot.size);
        buf_append_string(&file, head);
        buf_append(&file, compressed.data, compressed.length);
        result = output_file_write_whole(path, "the prepared snapshot", &file, error);
    }
    buf_free(&compressed);
    buf_free(&file);
    return result;
}

/* ---- reading ---- */

/* Moves *at past this text and a blank. False if another text is there. */
static bool skip_file_word(const char **at, const char *word)
{
    const size_t length = strlen(word);

    if (strncmp(*at, word, length) != 0 || (*at)[length] != ' ')
        return false;
    *at += length + 1;
    return true;
}

/* Takes the line off the file. False: it is of another name, or no such line. */
static bool take_head(struct buf *file, const char *name, struct store_snapshot *snapshot)
{
    char head[HEAD_SIZE] = "";
    const char *at = head;
    const char *end = file->length > 0 ? memchr(file->data, '\n', file->length) : NULL;
    uint64_t size;

    if (end == NULL || (size_t)(end - file->data) >= sizeof head)
        return false;
    memcpy(head, file->data, (size_t)(end - file->data));
    if (!skip_file_word(&at, name) || strlen(at) < sizeof snapshot->hash)
        return false;
    memcpy(snapshot->hash, at, sizeof snapshot->hash - 1);
    snapshot->hash[sizeof snapshot->hash - 1] = '\0';
    if (!skip_file_word(&at, snapshot->hash) || !number_take(&at, &size) || *at != '\0' ||
        size > FILE_SIZE_MAX)
        return false;
    buf_consume(file, (size_t)(end - file->data) + 1);
    snapshot->size = (int64_t)size;
    snapshot->compressed_size = (int64_t)file->length;
    return true;
}

/* Writes the bytes to `fd` if they match their hash. Otherwise `fd` stays as it was. */
static int unpack_prepared(const char *path, const struct buf *compressed,
                           const struct store_snapshot *snapshot, int fd, bool *whole,
                           struct error *error)
{
    struct error problem;

    *whole = snapshot_bytes_unpack((struct iovec){compressed->data, compressed->length},
                                   snapshot->hash, fd, &problem) == 0;
    if (*whole)
        return 0;
    log_line("%s: %s; making the snapshot again", path, problem.text);
    if (ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0)
        return 0;
    return error_system(error, errno, "cannot empty the file for a snapshot");
}

/*
 * Fills *snapshot and appends its compressed bytes if the file has the snapshot of that name, and
 * writes what they unpack to to `fd`, once its hash is right. Else *found is false: there is no
 * such file, it belongs to another worker or runtime, or it is damaged. -1 with ERROR_SYSTEM:
 * memory ran out, or `fd` cannot be written.
 */
static int prepared_start_read(const char *name, int fd, struct buf *compressed,
                               struct store_snapshot *snapshot, bool *found, struct error *error)
{
    char path[PATH_MAX];
    struct error missing;

    *found = false;
    if (locate(PREPARED_START_FILE, path, &missing) != 0 ||
        io_read_file(path, FILE_SIZE_MAX, compressed, &missing) != 0 ||
        !take_head(compressed, name, snapshot))
        return 0;
    return unpack_prepared(path, compressed, snapshot, fd, found, error);
}

/* ---- a worker that evaluates a runtime ---- */

struct runtime_worker_options {
    uv_loop_t *loop;
    const struct launch_config *launcher; /* borrowed for the call */
    const struct vat_runtime *runtime;    /* copied; its programs are borrowed until done() */
    int snapshot_fd;                      /* of an empty file; borrowed until done() */
    uint64_t timeout_ms;                  /* for each of the worker's answers; 0: none */
    void *context;
    /* Called from the loop, once, after the worker's process has exited. `error` is NULL if the
     * snapshot was written (heap_file_check()), else ERROR_SYSTEM. */
    void (*done)(void *context, const struct error *error);
};

enum { STDERR_LINE_SIZE = 256, CLOSING_MS = 2000 /* for a worker to end by itself */ };

struct runtime_worker {
    struct runtime_worker_options options;
    struct vat_runtime runtime;
    struct worker_process *process;
    uv_timer_t timer;
    int evaluated; /* how many of the runtime's programs */
    bool saving;   /* it was sent the command to write the snapshot */
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

/* Kills the worker; done() follows, with an error. */
static void runtime_worker_cancel(struct runtime_worker *worker)
{
    runtime_worker_fail(worker, "it was cancelled");
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

/* After the file was compared with the payload. */
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

static void take_runtime_done(struct runtime_worker *worker, struct iovec payload)
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
        take_runtime_done(worker, payload);
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

/* NULL with ERROR_SYSTEM when no worker can be started; done() is not called then. */
/* Natively, and without limits, which are for deliveries, but of block cost. */
static struct worker_process *start_snapshot_process(const struct runtime_worker_options *options,
                                                     const struct worker_listener *listener,
                                                     struct error *error)
{
    const enum launcher_program program = vat_runtime_program(options->runtime);
    const struct worker_limits limits = {.cost = launcher_limits(options->launcher, program).cost};
    const struct worker_start start = {
        .loop = options->loop,
        .name = "gaspipe-worker::",
        .program = program,
        .uncounted = true,
        .limits = &limits,
        .snapshot_fd = -1,
        .listener = listener,
    };

    return launcher_start(options->launcher, &start, error);
}

static struct runtime_worker *runtime_worker_start(const struct runtime_worker_options *options,
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
    worker->process = start_snapshot_process(options, &listener, error);
    if (worker->process == NULL) {
        free(worker);
        return NULL;
    }
    (void)uv_timer_init(options->loop, &worker->timer); /* cannot fail in any libuv 1 */
    worker->timer.data = worker;
    send_next_command(worker);
    return worker;
}

/* ---- warm starts ---- */

enum { LIMIT_MS = 300000 };

/* ---- in the store ---- */

/* "warm-" and the hash of all that the snapshot depends on. */
static int make_name(char name[RUNTIME_SNAPSHOT_NAME_SIZE], const struct launch_config *config,
                     const struct vat_runtime *runtime, struct error *error)
{
    const char *const path = launcher_find(config, vat_runtime_program(runtime), error);
    struct iovec parts[VAT_RUNTIME_PROGRAMS_MAX + 1];
    char worker[FINGERPRINT_HEX_SIZE], all[FINGERPRINT_HEX_SIZE];

    if (path == NULL || fingerprint_hash(path, worker, error) != 0)
        return -1;
    memcpy(parts, runtime->programs, sizeof runtime->programs);
    parts[runtime->program_count] = (struct iovec){worker, strlen(worker)};
    if (fingerprint_hash_parts(parts, runtime->program_count + 1, all, error) != 0)
        return -1;
    snprintf(name, RUNTIME_SNAPSHOT_NAME_SIZE, "warm-%s", all);
    return 0;
}

static int read_stored(const struct runtime_snapshot *start, bool *found, struct error *error)
{
    struct store *store = start->starts->store;
    struct store_snapshot snapshot;

    if (store_snapshot_named(store, start->name, &snapshot, found, error) != 0)
        return -1;
    return *found ? store_snapshot_read(store, snapshot.hash, start->new_fd, error) : 0;
}

/* ---- as the build has prepared it ---- */

static bool may_be_prepared(const struct vat_runtime *runtime)
{
    return runtime->kind == VAT_RUNTIME_LIVESLOTS;
}

static int read_prepared(const struct runtime_snapshot *start, bool *found, struct error *error)
{
    struct store *store = start->starts->store;
    struct store_snapshot snapshot;
    struct buf compressed = {0};
    int result =
        prepared_start_read(start->name, start->new_fd, &compressed, &snapshot, found, error);

    if (result == 0 && *found && store != NULL)
        result =
            store_snapshot_put_packed(store, start->name, &snapshot,
                                      (struct iovec){compressed.data, compressed.length}, error);
    buf_free(&compressed);
    return result;
}

/* ---- making one ---- */

static void keep_new(struct runtime_snapshot *start)
{
    start->fd_plus_1 = start->new_fd + 1;
    start->result = RUNTIME_SNAPSHOT_READY;
}

static int drop_new(struct runtime_snapshot *start, enum runtime_snapshot_result result,
                    const struct error *error)
{
    close(start->new_fd);
    start->error = *error;
    start->result = result;
    return result;
}

static int put_runtime_snapshot(const struct runtime_snapshot *start, struct error *error)
{
    struct store *store = start->starts->store;
    struct store_snapshot snapshot;

    if (store == NULL)
        return 0;
    if (lseek(start->new_fd, 0, SEEK_SET) != 0)
        return error_system(error, errno, "cannot read a snapshot");
    return store_snapshot_put_named(store, start->name, start->new_fd, &snapshot, error);
}

static void on_written(void *context, const struct error *lost)
{
    struct runtime_snapshot *start = context;
    struct runtime_snapshots *starts = start->starts;
    struct error error;

    start->maker = NULL;
    if (lost != NULL)
        (void)drop_new(start, RUNTIME_SNAPSHOT_LOST, lost);
    else if (put_runtime_snapshot(start, &error) != 0)
        (void)drop_new(start, RUNTIME_SNAPSHOT_FAILED, &error);
    else
        keep_new(start);
    if (starts->made != NULL)
        starts->made(starts->context, start->kind, start->result, &start->error);
}

static uint64_t making_limit(uint64_t timeout_ms)
{
    uint64_t limit = launcher_start_limit(timeout_ms);

    return limit > 0 && limit < LIMIT_MS ? limit : LIMIT_MS;
}

static int start_maker(struct runtime_snapshot *start, const struct vat_runtime *runtime,
                       struct error *error)
{
    const struct runtime_snapshots *starts = start->starts;
    const struct runtime_worker_options options = {
        .loop = starts->loop,
        .launcher = starts->launcher,
        .runtime = runtime,
        .snapshot_fd = start->new_fd,
        .timeout_ms = making_limit(starts->timeout_ms),
        .context = start,
        .done = on_written,
    };

    start->maker = runtime_worker_start(&options, error);
    return start->maker == NULL ? RUNTIME_SNAPSHOT_LOST : RUNTIME_SNAPSHOT_MAKING;
}

/* ---- which one ---- */

static int find_or_make(struct runtime_snapshot *start, const struct vat_runtime *runtime,
                        struct error *error)
{
    const struct runtime_snapshots *starts = start->starts;
    const bool may = may_be_prepared(runtime);
    bool found = false;

    if ((starts->store != NULL || may) &&
        make_name(start->name, starts->launcher, runtime, error) != 0)
        return RUNTIME_SNAPSHOT_FAILED;
    if (starts->store != NULL && read_stored(start, &found, error) != 0)
        return RUNTIME_SNAPSHOT_FAILED;
    if (!found && may && read_prepared(start, &found, error) != 0)
        return RUNTIME_SNAPSHOT_FAILED;
    return found ? RUNTIME_SNAPSHOT_READY : start_maker(start, runtime, error);
}

static int provide_runtime_snapshot(struct runtime_snapshot *start,
                                    const struct vat_runtime *runtime, struct error *error)
{
    start->new_fd = heap_file_new(error);
    if (start->new_fd < 0)
        return RUNTIME_SNAPSHOT_FAILED;
    start->result = find_or_make(start, runtime, error);
    if (start->result == RUNTIME_SNAPSHOT_READY)
        keep_new(start);
    else if (start->result != RUNTIME_SNAPSHOT_MAKING)
        return drop_new(start, start->result, error);
    return start->result;
}

bool runtime_snapshots_are_making(const struct runtime_snapshots *starts)
{
    for (int i = 0; i < VAT_RUNTIME_KINDS; i++)
        if (starts->runtimes[i].maker != NULL)
            return true;
    return false;
}

/* It was put into the store within a crank, which may have been undone since. */
static int keep_stored(const struct runtime_snapshot *start, struct error *error)
{
    struct store_snapshot snapshot;
    bool found;

    if (start->starts->store == NULL)
        return 0;
    if (store_snapshot_named(start->starts->store, start->name, &snapshot, &found, error) != 0)
        return -1;
    return found ? 0 : put_runtime_snapshot(start, error);
}

int runtime_snapshot_open(struct runtime_snapshots *starts, const struct vat_runtime *runtime,
                          struct error *error)
{
    struct runtime_snapshot *start = &starts->runtimes[runtime->kind];
    int result = RUNTIME_SNAPSHOT_READY;

    start->starts = starts;
    start->kind = runtime->kind;
    if (start->fd_plus_1 == 0 && runtime_snapshots_are_making(starts)) {
        start->result = start->maker != NULL ? RUNTIME_SNAPSHOT_MAKING : RUNTIME_SNAPSHOT_READY;
        return RUNTIME_SNAPSHOT_MAKING;
    }
    if (start->fd_plus_1 == 0)
        result = provide_runtime_snapshot(start, runtime, error);
    else if (keep_stored(start, error) != 0)
        result = RUNTIME_SNAPSHOT_FAILED;
    return result != RUNTIME_SNAPSHOT_READY ? result
                                            : heap_file_reopen(start->fd_plus_1 - 1, error);
}

int runtime_snapshot_wait(struct runtime_snapshots *starts, const struct vat_runtime *runtime,
                          struct error *error)
{
    struct runtime_snapshot *start = &starts->runtimes[runtime->kind];
    int result;

    while ((result = runtime_snapshot_open(starts, runtime, error)) == RUNTIME_SNAPSHOT_MAKING) {
        while (runtime_snapshots_are_making(starts))
            (void)uv_run(starts->loop, UV_RUN_ONCE);
        if (start->result != RUNTIME_SNAPSHOT_READY) {
            *error = start->error;
            return start->result;
        }
    }
    return result;
}

struct zygote_policy *runtime_snapshot_zygote_policy(struct runtime_snapshots *starts,
                                                     enum vat_runtime_kind kind)
{
    /* Other engines' workers start at once. */
    return kind == VAT_RUNTIME_PLAIN || kind == VAT_RUNTIME_LIVESLOTS
               ? &starts->runtimes[kind].zygote_policy
               : NULL;
}

void runtime_snapshots_cancel(struct runtime_snapshots *starts)
{
    for (int i = 0; i < VAT_RUNTIME_KINDS; i++)
        if (starts->runtimes[i].maker != NULL)
            runtime_worker_cancel(starts->runtimes[i].maker);
}

void runtime_snapshots_free(struct runtime_snapshots *starts)
{
    for (int i = 0; i < VAT_RUNTIME_KINDS; i++) {
        zygote_policy_free(&starts->runtimes[i].zygote_policy);
        if (starts->runtimes[i].fd_plus_1 != 0)
            close(starts->runtimes[i].fd_plus_1 - 1);
    }
    memset(starts->runtimes, 0, sizeof starts->runtimes);
}
