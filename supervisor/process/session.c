/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/session.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/json/scan.h"

enum { STDERR_TEXT_SIZE = 512, CLOSING_MS = 2000 };

struct session {
    uv_loop_t *loop;
    struct worker_process *process;
    uv_timer_t timer;
    struct buf frame; /* the one that came, and padding */
    bool awaits;      /* a frame from the worker is next */
    bool has_frame;   /* session_wait() has not returned it yet */
    bool gone, bad, late;
    bool in_loop; /* it runs */
    int exit_status, signal_number;
    char stderr_text[STDERR_TEXT_SIZE];
    char problem[STDERR_TEXT_SIZE]; /* of a bad frame */
};

/* Outside the loop, uv_stop() would end its next turn. */
static void end_turn(struct session *session)
{
    if (session->in_loop)
        uv_stop(session->loop);
}

__attribute__((format(printf, 2, 3))) static void note_bad_frame(struct session *session,
                                                                 const char *format, ...)
{
    va_list args;

    session->bad = true;
    va_start(args, format);
    vsnprintf(session->problem, sizeof session->problem, format, args);
    va_end(args);
    end_turn(session); /* also before the loop waits for more */
}

static void keep_session_frame(struct session *session, struct iovec frame)
{
    static const char padding[SCAN_PADDING];

    buf_clear(&session->frame);
    buf_append(&session->frame, frame.iov_base, frame.iov_len);
    buf_append(&session->frame, padding, sizeof padding);
    session->awaits = false;
    session->has_frame = true;
}

static void on_session_frame(void *context, struct iovec frame, struct stamp come)
{
    struct session *session = context;

    if (!session->awaits) {
        note_bad_frame(session, "it sent a second frame before it was answered");
        return;
    }
    (void)come;
    keep_session_frame(session, frame);
    end_turn(session);
}

static void on_bad_session_frame(void *context, const struct error *error)
{
    note_bad_frame(context, "its frames are broken: %s", error->text);
}

static void on_session_stderr(void *context, const char *line)
{
    struct session *session = context;

    snprintf(session->stderr_text, sizeof session->stderr_text, "%s", line);
}

static void on_session_gone(void *context, int exit_status, int signal_number)
{
    struct session *session = context;

    session->gone = true;
    session->exit_status = exit_status;
    session->signal_number = signal_number;
    end_turn(session);
}

static void on_session_timeout(uv_timer_t *timer)
{
    struct session *session = timer->data;

    session->late = true;
}

struct session *session_start(const struct launch_config *config, uv_loop_t *loop,
                              enum launcher_program program, const char *name, int snapshot_fd,
                              struct error *error)
{
    struct session *session = calloc(1, sizeof *session);
    struct worker_listener listener = {
        .context = session,
        .frame = on_session_frame,
        .bad_frame = on_bad_session_frame,
        .stderr_line = on_session_stderr,
        .gone = on_session_gone,
    };

    if (session == NULL) {
        error_memory(error, "a worker");
        return NULL;
    }
    session->loop = loop;
    session->process = launcher_start(config,
                                      &(struct worker_start){
                                          .loop = loop,
                                          .name = name,
                                          .program = program,
                                          .snapshot_fd = snapshot_fd,
                                          .listener = &listener,
                                      },
                                      error);
    if (session->process == NULL) {
        free(session);
        return NULL;
    }
    /* Cannot fail in any libuv 1. */
    (void)uv_timer_init(loop, &session->timer);
    session->timer.data = session;
    return session;
}

int session_send(struct session *session, const struct iovec *parts, int count, struct error *error)
{
    struct stamp sent;

    session->awaits = true;
    return worker_process_send(session->process, parts, count, &sent, error);
}

static void run_session_loop(struct session *session)
{
    session->in_loop = true;
    (void)uv_run(session->loop, UV_RUN_ONCE);
    session->in_loop = false;
}

/* Runs the loop until something has come, or the time is over. */
static void wait_for_event(struct session *session, uint64_t timeout_ms)
{
    session->late = false;
    if (session->awaits)
        worker_process_await(session->process);
    /* Cannot fail: the callback is there. The loop's clock may be old: the
     * time between two waits is not the worker's. */
    uv_update_time(session->loop);
    if (timeout_ms > 0)
        (void)uv_timer_start(&session->timer, on_session_timeout, timeout_ms, 0);
    while (!session->has_frame && !session->gone && !session->bad && !session->late)
        if (!worker_process_read(session->process))
            run_session_loop(session);
    uv_timer_stop(&session->timer);
}

int session_wait(struct session *session, uint64_t timeout_ms, struct session_news *news,
                 struct error *error)
{
    if (!session->has_frame)
        wait_for_event(session, timeout_ms);
    *news = (struct session_news){.stderr_text = session->stderr_text};
    if (session->bad) {
        news->event = SESSION_BAD;
        news->stderr_text = session->problem;
    } else if (session->has_frame) {
        if (buf_failed(&session->frame))
            return error_memory(error, "a frame");
        news->event = SESSION_FRAME;
        news->frame = (struct iovec){session->frame.data, session->frame.length - SCAN_PADDING};
        session->has_frame = false;
    } else if (session->gone) {
        news->event = SESSION_GONE;
        news->exit_status = session->exit_status;
        news->signal_number = session->signal_number;
    } else {
        news->event = SESSION_TIMEOUT;
    }
    return 0;
}

static void free_session(uv_handle_t *handle)
{
    struct session *session = handle->data;

    buf_free(&session->frame);
    free(session);
}

int session_begin_snapshot(struct session *session, struct error *error)
{
    return worker_process_begin_snapshot(session->process, error);
}

int session_end_snapshot(struct session *session, struct error *error)
{
    return worker_process_end_snapshot(session->process, error);
}

void session_end(struct session *session)
{
    if (session == NULL)
        return;
    worker_process_hang_up(session->process);
    uv_update_time(session->loop);
    session->late = false;
    (void)uv_timer_start(&session->timer, on_session_timeout, CLOSING_MS, 0);
    while (!session->gone) {
        run_session_loop(session);
        if (session->late)
            worker_process_kill(session->process);
    }
    worker_process_free(session->process);
    uv_close((uv_handle_t *)&session->timer, free_session);
}
