/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/trace/trace_session.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/stamp.h"
#include "base/thread.h"
#include "supervisor/process/guest.h"
#include "supervisor/trace/trace_target.h"
#include "trace/read/trace_budget.h"
#include "trace/ring/trace_ring.h"

enum {
    WORKER_LANES = 8, /* workers have one thread, or few */
    FLUSH_MS = 500,
    MOMENT = 1000000,        /* nanoseconds */
    GATHERED_MOST = 1 << 20, /* bytes */
    NAME_SIZE = 96,
};

/* A worker that is traced. */
struct traced {
    struct traced *next;
    struct trace_session *session;
    struct trace_ring *ring;
    struct trace_throttle throttle;
    uint32_t number; /* in the file */
    pid_t pid;       /* 0: not known yet */
    char program[PATH_MAX];
    char name[NAME_SIZE];
};

/* The lock guards all members that follow it, and each `traced`; options, agent and launcher stay
 * as they were before the thread began. */
struct trace_session {
    pthread_t thread; /* reads the rings; started and joined by the command's thread */
    pthread_mutex_t lock;
    pthread_cond_t wake; /* `closing` was set */
    bool closing, failed;
    struct error error; /* when failed */
    struct trace_file file;
    int64_t began, flushed; /* nanoseconds of CLOCK_MONOTONIC */
    struct trace_session_options options;
    uint32_t count;
    struct traced *traced;
    char agent[PATH_MAX];
    struct launcher_trace launcher;
};

/* ---- what is read ---- */

static int on_session_left_out(void *context, const uint32_t *functions, size_t count, int64_t at,
                               struct error *error)
{
    const struct traced *const traced = context;

    return trace_file_left_out(&traced->session->file, traced->number, functions, count, at, error);
}

static int on_session_begun(void *context, uint32_t process, const struct patch_plan *plan,
                            struct error *error)
{
    struct traced *const traced = context;

    traced->pid = (pid_t)process;
    if (trace_file_process(&traced->session->file, traced->number, process, traced->name, plan,
                           error) != 0)
        return -1;
    return trace_throttle_open(&traced->throttle, traced->ring, traced->session->options.overhead,
                               on_session_left_out, traced, error);
}

static int on_session_events(void *context, unsigned lane, uint32_t thread, const uint64_t *events,
                             size_t count, struct error *error)
{
    struct traced *const traced = context;

    if (trace_file_events(&traced->session->file, traced->number, lane, thread, events, count,
                          error) != 0)
        return -1;
    return trace_throttle_add(&traced->throttle, events, count, error);
}

static int on_session_ended(void *context, unsigned lane, struct error *error)
{
    const struct traced *const traced = context;

    return trace_file_lane_ended(&traced->session->file, traced->number, lane, error);
}

static struct trace_sink sink_of(struct traced *traced)
{
    return (struct trace_sink){.context = traced,
                               .begun = on_session_begun,
                               .events = on_session_events,
                               .ended = on_session_ended};
}

/* ---- the thread ---- */

static void trace_session_fail(struct trace_session *session, const struct error *error)
{
    if (!session->failed)
        session->error = *error;
    session->failed = true;
    for (struct traced *traced = session->traced; traced != NULL; traced = traced->next)
        trace_ring_detach(traced->ring);
}

/* Returns true if the worker's process no longer exists. */
static bool has_traced_ended(const struct traced *traced)
{
    return traced->pid > 1 && kill(traced->pid, 0) != 0 && errno == ESRCH;
}

static void drop_traced(struct traced **link)
{
    struct traced *const traced = *link;

    *link = traced->next;
    trace_throttle_close(&traced->throttle);
    trace_ring_free(traced->ring);
    free(traced);
}

static int read_ring(struct traced *traced, bool *busy, struct error *error)
{
    const struct trace_sink sink = sink_of(traced);

    return trace_ring_step(traced->ring, &sink, busy, error);
}

/* Logs which functions were left out of the trace, and when. */
static int log_left_out(struct traced *traced, struct error *error)
{
    struct buf words = {0};
    const int result = trace_throttle_put(&traced->throttle, traced->session->began, &words, error);

    if (result == 0 && words.length > 0 && buf_string(&words) != NULL)
        log_line("%s: %s", traced->name, words.data);
    buf_free(&words);
    return result;
}

static int finish_traced(struct traced *traced, struct error *error)
{
    const struct trace_sink sink = sink_of(traced);

    if (trace_ring_attach_check(traced->ring)[0] != '\0')
        log_line("%s is not traced: %s", traced->name, trace_ring_attach_check(traced->ring));
    if (trace_ring_finish(traced->ring, &sink, error) != 0)
        return -1;
    return log_left_out(traced, error);
}

static int flush_session(struct trace_session *session, struct error *error)
{
    session->flushed = stamp_now().mono;
    if (trace_file_clock(&session->file, trace_moment_now(), error) != 0)
        return -1;
    return trace_file_flush(&session->file, error);
}

static int step_session(struct trace_session *session, bool *busy, struct error *error)
{
    struct traced **link = &session->traced;
    const bool due = stamp_now().mono - session->flushed >= FLUSH_MS * INT64_C(1000000);

    while (*link != NULL) {
        const bool ended = session->closing || (due && has_traced_ended(*link));

        if (read_ring(*link, busy, error) != 0 || (ended && finish_traced(*link, error) != 0))
            return -1;
        if (ended)
            drop_traced(link);
        else
            link = &(*link)->next;
    }
    return due || session->file.gathered.length > GATHERED_MOST ? flush_session(session, error) : 0;
}

/* Nanoseconds until a worker's ring has to be read. */
static int64_t time_to_next_read(const struct trace_session *session)
{
    int64_t moment = MOMENT;

    for (const struct traced *traced = session->traced; traced != NULL; traced = traced->next)
        moment = trace_throttle_moment(&traced->throttle, moment);
    return moment;
}

/* Polls: to notify this thread would cost a worker a system call. */
static void wait_a_moment(struct trace_session *session)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += time_to_next_read(session);
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    (void)pthread_cond_timedwait(&session->wake, &session->lock, &until);
}

static void *trace_session_read_all(void *context)
{
    struct trace_session *const session = context;
    struct error error;

    pthread_mutex_lock(&session->lock);
    while (!session->failed) {
        const bool closing = session->closing;
        bool busy = false;

        if (step_session(session, &busy, &error) != 0)
            trace_session_fail(session, &error);
        if (closing)
            break;
        if (!busy) {
            wait_a_moment(session);
        } else {
            /* Let the command's thread have the lock. */
            pthread_mutex_unlock(&session->lock);
            pthread_mutex_lock(&session->lock);
        }
    }
    pthread_mutex_unlock(&session->lock);
    return NULL;
}

/* ---- for the command ---- */

static struct traced *new_traced(struct trace_session *session, const char *program,
                                 const char *name, struct error *error)
{
    struct traced *const traced = calloc(1, sizeof *traced);
    const struct trace_ring_options options = {
        .program = traced != NULL ? traced->program : NULL,
        .policy = TRACE_WAIT,
        .clock = session->file.clock,
        .lanes = WORKER_LANES,
        /* With a budget, small rings: events that are written before the reader has counted them
         * may already exceed it. */
        .lane_chunks = session->options.overhead != 0 ? TRACE_CHUNKS_BUDGET : TRACE_CHUNKS_DEFAULT,
    };

    if (traced == NULL) {
        error_memory(error, "a trace");
        return NULL;
    }
    snprintf(traced->program, sizeof traced->program, "%s", program);
    snprintf(traced->name, sizeof traced->name, "%s", name);
    traced->session = session;
    traced->ring = trace_ring_new(&options, -1, error);
    if (traced->ring != NULL)
        return traced;
    free(traced);
    return NULL;
}

static int on_traced_worker(void *context, const char *program, const char *name,
                            struct error *error)
{
    struct trace_session *const session = context;
    struct traced *traced = new_traced(session, program, name, error);

    if (traced == NULL)
        return -1;
    pthread_mutex_lock(&session->lock);
    traced->number = session->count++;
    traced->next = session->traced;
    session->traced = traced;
    if (session->failed)
        trace_ring_detach(traced->ring);
    pthread_mutex_unlock(&session->lock);
    return trace_ring_fd(traced->ring);
}

static int trace_session_start(struct trace_session *session, struct error *error)
{
    pthread_condattr_t attributes;
    int result;

    if (pthread_mutex_init(&session->lock, NULL) != 0 || pthread_condattr_init(&attributes) != 0)
        return error_memory(error, "a trace");
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    result = pthread_cond_init(&session->wake, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    if (result == 0)
        result = thread_start(&session->thread, trace_session_read_all, session);
    return result == 0 ? 0 : error_system(error, result, "cannot start a thread for a trace");
}

struct trace_session *trace_session_open(const struct trace_session_options *options,
                                         struct error *error)
{
    struct trace_session *const session = calloc(1, sizeof *session);

    if (session == NULL) {
        error_memory(error, "a trace");
        return NULL;
    }
    session->options = *options;
    session->began = stamp_now().mono;
    session->launcher = (struct launcher_trace){
        .agent = session->agent, .begin = on_traced_worker, .context = session};
    if (trace_machine_check(error) == 0 && locate("libgastrace.so", session->agent, error) == 0 &&
        trace_file_open(&session->file, options->path, options->clock, error) == 0) {
        if (trace_file_clock(&session->file, trace_moment_now(), error) == 0 &&
            trace_session_start(session, error) == 0)
            return session;
        trace_file_drop(&session->file);
    }
    free(session);
    return NULL;
}

const struct launcher_trace *trace_session_launcher(struct trace_session *session)
{
    return &session->launcher;
}

int trace_session_delivery(struct trace_session *session, const struct trace_delivery *delivery,
                           struct error *error)
{
    int result;

    pthread_mutex_lock(&session->lock);
    result = trace_file_delivery(&session->file, delivery, error);
    for (struct traced *traced = session->traced; result == 0 && traced != NULL;
         traced = traced->next)
        trace_throttle_between(&traced->throttle);
    pthread_mutex_unlock(&session->lock);
    return result;
}

int trace_session_close(struct trace_session *session, struct error *error)
{
    int result = 0;

    if (session == NULL)
        return 0;
    pthread_mutex_lock(&session->lock);
    session->closing = true;
    pthread_cond_signal(&session->wake);
    pthread_mutex_unlock(&session->lock);
    (void)pthread_join(session->thread, NULL);
    while (session->traced != NULL)
        drop_traced(&session->traced);
    if (session->failed) {
        *error = session->error;
        result = -1;
    } else if (flush_session(session, error) != 0) {
        result = -1;
    }
    if (trace_file_close(&session->file, error) != 0)
        result = -1;
    pthread_cond_destroy(&session->wake);
    pthread_mutex_destroy(&session->lock);
    free(session);
    return result;
}
