/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/replay_worker.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proto/command.h"
#include "proto/vat_message.h"
#include "slog/model/describe.h"
#include "supervisor/process/worker_exit.h"
#include "supervisor/runtime/heap_file.h"
#include "supervisor/runtime/runtime_snapshot.h"

enum { ENDED_SIZE = 1024 };

/* ---- frames ---- */

static int send_worker_frame(struct replay_worker *worker, char command, struct iovec payload,
                             struct error *error)
{
    const struct iovec parts[] = {{&command, 1}, payload};

    return session_send(worker->session, parts, 2, error);
}

int replay_worker_answer(struct replay_worker *worker, struct scan_span answer, struct error *error)
{
    return send_worker_frame(worker, COMMAND_ANSWER,
                             (struct iovec){(char *)answer.at, answer.length}, error);
}

/* The first word of the vat message after a frame's first byte. */
static struct scan_span replay_worker_word(struct iovec frame)
{
    struct scan_span message = {(char *)frame.iov_base + 1, frame.iov_len - 1};

    return describe_kind(message);
}

char replay_worker_command(const struct session_news *news)
{
    return news->event == SESSION_FRAME && news->frame.iov_len > 0 ? *(char *)news->frame.iov_base
                                                                   : '\0';
}

void replay_worker_put_end(const struct replay_worker *worker, const struct session_news *news,
                           struct buf *reason)
{
    char ended[ENDED_SIZE];

    if (news->event == SESSION_TIMEOUT)
        buf_printf(reason, "it took longer than %g s", (double)worker->limit_ms / 1000);
    else if (news->event == SESSION_BAD)
        buf_append_string(reason, news->stderr_text);
    else if (news->event == SESSION_FRAME)
        buf_append_string(reason, "its worker sent a frame out of turn");
    else {
        (void)worker_exit_describe(news->exit_status, news->signal_number, news->stderr_text, ended,
                                   sizeof ended);
        buf_append_string(reason, ended);
    }
}

/* The answer to a console call or a test's log line; NULL for another request. */
static const char *answer_to_console(const struct replay_worker *worker, struct scan_span word)
{
    if (scan_is(word, "sourcedConsole"))
        return worker->runtime.console_answer;
    return scan_is(word, "testLog") ? "[\"OK\"]" : NULL;
}

static int note_stop(struct replay_worker *worker, struct iovec frame, struct error *error)
{
    struct meter meter;

    meter_free(&worker->used);
    if (meter_decode(&meter, (char *)frame.iov_base + 1, frame.iov_len - 1, error) != 0)
        return -1;
    worker->stopped = meter_copy(&worker->used, &meter) == 0;
    meter_free(&meter);
    return worker->stopped ? 0 : error_memory(error, "a meter record");
}

int replay_worker_wait(struct replay_worker *worker, struct session_news *news, struct error *error)
{
    worker->stopped = false;
    for (;;) {
        const char *answer;

        if (session_wait(worker->session, worker->limit_ms, news, error) != 0)
            return -1;
        if (replay_worker_command(news) == COMMAND_STOPPED) {
            if (note_stop(worker, news->frame, error) != 0)
                return -1;
            continue;
        }
        if (replay_worker_command(news) != COMMAND_REQUEST)
            return 0;
        answer = answer_to_console(worker, replay_worker_word(news->frame));
        if (answer == NULL)
            return 0;
        if (replay_worker_answer(worker, (struct scan_span){answer, strlen(answer)}, error) != 0)
            return -1;
    }
}

/* ---- beginning and end ---- */

static int command_failed(struct replay_worker *worker, const struct replay_owner *owner,
                          const char *what, const struct session_news *news, struct error *error)
{
    struct buf reason = {0};

    if (replay_worker_command(news) == COMMAND_FAILED)
        buf_append(&reason, (char *)news->frame.iov_base + 1, news->frame.iov_len - 1);
    else
        replay_worker_put_end(worker, news, &reason);
    error_set(error, ERROR_SYSTEM, "%s%s%sits worker cannot %s: %s", owner->id[0] ? "vat " : "",
              owner->id, owner->id[0] ? ": " : "", what, buf_string(&reason));
    buf_free(&reason);
    return -1;
}

/* Sends a command that is not a delivery, and waits until it is done. */
static int do_command(struct replay_worker *worker, const struct replay_owner *owner, char command,
                      struct iovec payload, const char *what, struct error *error)
{
    struct session_news news;

    worker->limit_ms = launcher_start_limit(worker->host->timeout_ms);
    if (send_worker_frame(worker, command, payload, error) != 0 ||
        replay_worker_wait(worker, &news, error) != 0)
        return -1;
    worker->limit_ms = worker->host->timeout_ms;
    if (replay_worker_command(&news) != COMMAND_DONE)
        return command_failed(worker, owner, what, &news, error);
    return 0;
}

static int open_session(struct replay_worker *worker, const struct replay_owner *owner,
                        int snapshot_fd, struct error *error)
{
    char title[64];

    snprintf(title, sizeof title, "gaspipe-worker:%.16s:%.24s", owner->id, owner->name);
    worker->limit_ms = worker->host->timeout_ms;
    worker->session =
        session_start(worker->host->launcher, worker->host->loop,
                      vat_runtime_program(&worker->runtime), title, snapshot_fd, error);
    return worker->session == NULL ? -1 : 0;
}

/* The word of the RESULT that follows `.` and its meter record. */
static struct scan_span result_word(struct iovec frame)
{
    const char *end = memchr(frame.iov_base, COMMAND_METER_END, frame.iov_len);

    if (end == NULL)
        return (struct scan_span){0};
    return replay_worker_word(
        (struct iovec){(char *)end, frame.iov_len - (size_t)(end - (char *)frame.iov_base)});
}

static int set_worker_bundle(struct replay_worker *worker, const struct replay_owner *owner,
                             struct error *error)
{
    struct session_news news;
    struct buf message = {0};
    int result;

    vat_message_set_bundle(&message, owner->id, owner->bundle->data, worker->runtime.options);
    if (buf_failed(&message))
        result = error_memory(error, "a bundle");
    else
        result = send_worker_frame(worker, COMMAND_DELIVER,
                                   (struct iovec){message.data, message.length}, error);
    buf_free(&message);
    if (result != 0 || replay_worker_wait(worker, &news, error) != 0)
        return -1;
    if (replay_worker_command(&news) != COMMAND_DONE ||
        !scan_is(result_word(news.frame), "dispatchReady"))
        return command_failed(worker, owner, "take its bundle", &news, error);
    return 0;
}

static int start_warm(struct replay_worker *worker, const struct replay_owner *owner,
                      struct error *error)
{
    int fd = runtime_snapshot_wait(worker->host->warm, &worker->runtime, error);
    int result;

    if (fd < 0)
        return -1;
    result = replay_worker_restore(worker, owner, fd, error);
    close(fd);
    return result;
}

int replay_worker_start(struct replay_worker *worker, const struct replay_owner *owner,
                        struct error *error)
{
    return start_warm(worker, owner, error) == 0 ? set_worker_bundle(worker, owner, error) : -1;
}

int replay_worker_restore(struct replay_worker *worker, const struct replay_owner *owner,
                          int snapshot_fd, struct error *error)
{
    if (open_session(worker, owner, snapshot_fd, error) != 0)
        return -1;
    return do_command(worker, owner, COMMAND_READY, (struct iovec){0}, "start from a snapshot",
                      error);
}

int replay_worker_save(struct replay_worker *worker, const struct replay_owner *owner,
                       int snapshot_fd, struct error *error)
{
    static char place[] = WORKER_SAVE_PLACE;
    int saved, result;

    if (session_begin_snapshot(worker->session, error) != 0 ||
        do_command(worker, owner, COMMAND_SNAPSHOT, (struct iovec){place, strlen(place)},
                   "write a snapshot", error) != 0)
        return -1;
    saved = session_end_snapshot(worker->session, error);
    if (saved < 0)
        return -1;
    result = heap_file_copy(snapshot_fd, saved, error);
    close(saved);
    return result;
}

void replay_worker_end(struct replay_worker *worker)
{
    session_end(worker->session);
    worker->session = NULL;
    meter_free(&worker->used);
}
