/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives each job of a list to a worker of its own, without a supervisor, and prints what came of
 * it. usage: bare_workers [-z] [-j WORKERS] [-t SECONDS] JOBS WORKER [ARGUMENT ...] -z  has the
 * workers forked by one that has started (--fork-on-request) -j  so many at a time (1) -t  kills a
 * worker that takes longer for a frame (20) Each line of JOBS is one job: the frames that its
 * worker is sent, with tabs between them. `w@7` has its snapshot hashed; `r` has it end, and
 * another one start from its snapshot. For each job, in any order, it prints a line of JSON: the
 * job's number from 0 on, the replies, the computrons and the allocated bytes of each frame, the
 * hash of each snapshot, how the last worker ended, and what it printed. Exit status: 0 all jobs
 * had a worker, 1 not all had, 2 usage, or the list cannot be read.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/json/json_text.h"
#include "base/log.h"
#include "base/number.h"
#include "proto/command.h"
#include "proto/meter.h"
#include "proto/netstring.h"
#include "supervisor/process/child_process.h"
#include "supervisor/process/zygote.h"

enum {
    LIST_LIMIT = 256 << 20, /* bytes of a list of jobs */
    REPLY_SHOWN = 300,      /* bytes of a reply or of what was printed: lines stay under PIPE_BUF */
    ARGUMENTS_MAX = 30,
    RESTORE = 'r', /* instead of a frame's first byte */
};

struct bench {
    char *arguments[ARGUMENTS_MAX + 4]; /* of the worker; with space for -r @8 */
    int count;
    bool forks;
    unsigned at_a_time;
    int timeout_ms;
    char **jobs; /* the lines */
    size_t job_count;
};

struct worker {
    pid_t pid;
    int down, up;
    int save, printed; /* memory; the worker's snapshot, its stdout and stderr */
    struct netstring_decoder decoder;
};

enum frame_end { FRAME_REPLY, FRAME_LATE, FRAME_ENDED };

/* The outcome of one job: members of its line. */
struct outcome {
    struct buf replies, compute, allocate, snapshots;
    const char *ended; /* NULL: as `status` has it */
    int status;        /* of waitpid(2) */
};

/* ---- a worker ---- */

static int start_with(const struct bench *bench, struct zygote *zygote, const int fds[9],
                      pid_t *pid, struct error *error)
{
    const int ordered[FORK_REQUEST_FDS] = {
        [FORK_REQUEST_DOWN] = fds[3],
        [FORK_REQUEST_UP] = fds[4],
        [FORK_REQUEST_PRINTED] = fds[1],
        [FORK_REQUEST_SAVE] = fds[7],
    };
    const struct child_launch launch = {
        .path = bench->arguments[0],
        .arguments = bench->arguments,
        .environment = environ,
        .fds = fds,
        .fd_count = fds[8] < 0 ? 8 : 9,
    };

    if (zygote != NULL)
        return zygote_fork(zygote, "test", ordered, pid, error);
    return child_process_spawn(&launch, pid, error);
}

/* `source`: a snapshot to start from, or -1. The descriptors for saving and printing are there. */
static int worker_start(struct worker *worker, struct bench *bench, struct zygote *zygote,
                        int source, struct error *error)
{
    int down[2], up[2], result;

    if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0)
        return error_system(error, errno, "a pipe");
    const int fds[9] = {-1, worker->printed, worker->printed, down[0], up[1], -1,
                        -1, worker->save,    source};
    bench->arguments[bench->count] = source < 0 ? NULL : "-r";
    bench->arguments[bench->count + 1] = "@8";
    bench->arguments[bench->count + 2] = NULL;
    result = start_with(bench, source < 0 ? zygote : NULL, fds, &worker->pid, error);
    close(down[0]);
    close(up[1]);
    worker->down = down[1];
    worker->up = up[0];
    netstring_decoder_init(&worker->decoder, NETSTRING_CAP_DEFAULT);
    return result;
}

/* How it ended, for which it is given a moment unless it was killed. */
static int worker_end(struct worker *worker)
{
    int status = 0;

    close(worker->down);
    close(worker->up);
    netstring_decoder_free(&worker->decoder);
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static int send_frame(const struct worker *worker, const char *text, size_t length)
{
    struct iovec part = {(char *)text, length};
    struct netstring_frame frame;

    netstring_encode(&frame, &part, 1);
    return io_writev_all(worker->down, frame.pieces, frame.count);
}

/* The next frame of the worker's; *payload is good until the next call. */
static enum frame_end receive_frame(struct worker *worker, int timeout_ms, struct iovec *payload)
{
    static char bytes[1 << 16];
    struct error error;

    for (;;) {
        struct pollfd awaited = {.fd = worker->up, .events = POLLIN};
        int ready = poll(&awaited, 1, timeout_ms);
        size_t used, at = 0;
        ssize_t length;

        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            return FRAME_LATE;
        length = read(worker->up, bytes, sizeof bytes);
        if (length <= 0)
            return FRAME_ENDED;
        while (at < (size_t)length) {
            enum netstring_result result = netstring_decode(
                &worker->decoder, bytes + at, (size_t)length - at, &used, payload, &error);

            if (result == NETSTRING_FRAME)
                return FRAME_REPLY; /* it sends one at a time */
            if (result == NETSTRING_BAD)
                return FRAME_ENDED;
            at += used;
        }
    }
}

/* The reply to a frame; requests before it have empty answers. */
static enum frame_end exchange(struct worker *worker, int timeout_ms, const char *frame,
                               size_t length, struct iovec *reply)
{
    enum frame_end end = FRAME_ENDED;

    if (send_frame(worker, frame, length) != 0)
        return FRAME_ENDED;
    while ((end = receive_frame(worker, timeout_ms, reply)) == FRAME_REPLY)
        if (reply->iov_len == 0 || *(char *)reply->iov_base != COMMAND_REQUEST)
            return FRAME_REPLY;
        else if (send_frame(worker, "/", 1) != 0)
            return FRAME_ENDED;
    return end;
}

/* ---- a job ---- */

static void add_text(struct buf *list, char kind, struct iovec text)
{
    char shown[REPLY_SHOWN + 1];
    size_t length = text.iov_len < REPLY_SHOWN ? text.iov_len : REPLY_SHOWN;

    shown[0] = kind;
    if (length > 0)
        memcpy(shown + 1, text.iov_base, length);
    /* The engine's text can hold half of a surrogate pair, which is no UTF-8. */
    for (size_t i = 0; i <= length; i++)
        if (shown[i] < ' ' || shown[i] > '~')
            shown[i] = '?';
    if (list->length > 0)
        buf_append_byte(list, ',');
    json_text_string(list, shown, length + 1);
}

static void add_reply(struct outcome *outcome, struct iovec reply)
{
    char kind = reply.iov_len > 0 ? *(char *)reply.iov_base : '\0';
    struct meter meter = {0};
    struct iovec rest = {(char *)reply.iov_base + 1, reply.iov_len > 0 ? reply.iov_len - 1 : 0};
    struct iovec text = rest;
    struct error error;
    bool metered = kind == COMMAND_DONE && meter_split(rest, &meter, &text, &error) == 0;

    add_text(&outcome->replies, kind, text);
    buf_printf(&outcome->compute, "%s%" PRIu64, outcome->compute.length > 0 ? "," : "",
               metered ? meter.compute : 0);
    buf_printf(&outcome->allocate, "%s%" PRIu64, outcome->allocate.length > 0 ? "," : "",
               metered ? meter.allocate : 0);
    if (metered)
        meter_free(&meter);
}

/* Hashes what was saved, and leaves the memory empty for the next one. */
static void take_snapshot(struct worker *worker, struct outcome *outcome)
{
    off_t size = lseek(worker->save, 0, SEEK_END);
    void *bytes =
        size <= 0 ? MAP_FAILED : mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, worker->save, 0);

    if (bytes != MAP_FAILED) {
        buf_printf(&outcome->snapshots, "%s\"%016" PRIx64 "\"",
                   outcome->snapshots.length > 0 ? "," : "", XXH3_64bits(bytes, (size_t)size));
        munmap(bytes, (size_t)size);
    }
    if (ftruncate(worker->save, 0) != 0 || lseek(worker->save, 0, SEEK_SET) != 0)
        outcome->ended = "unsaved";
}

/* Another worker, which starts from this one's snapshot. 0, or -1 with outcome->ended. */
static int restore(struct bench *bench, struct worker *worker, struct outcome *outcome)
{
    static const char save[] = "w@7";
    struct iovec reply;
    struct error error;
    int source, result;

    if (exchange(worker, bench->timeout_ms, save, sizeof save - 1, &reply) != FRAME_REPLY ||
        (source = memfd_create("source", MFD_CLOEXEC)) < 0) {
        outcome->ended = "unsaved";
        return -1;
    }
    if (lseek(worker->save, 0, SEEK_SET) != 0 || io_copy_all(worker->save, source) != 0 ||
        lseek(source, 0, SEEK_SET) != 0)
        outcome->ended = "unsaved";
    take_snapshot(worker, outcome);
    outcome->status = worker_end(worker);
    result = worker_start(worker, bench, NULL, source, &error);
    close(source);
    if (result != 0)
        outcome->ended = "unrestored";
    return result;
}

static void run_frames(struct bench *bench, struct worker *worker, char *job,
                       struct outcome *outcome)
{
    char *rest = job, *frame;

    while (outcome->ended == NULL && (frame = strsep(&rest, "\t")) != NULL) {
        struct iovec reply = {0};

        if (*frame == RESTORE) {
            if (restore(bench, worker, outcome) != 0)
                return;
            continue;
        }
        switch (exchange(worker, bench->timeout_ms, frame, strlen(frame), &reply)) {
        case FRAME_REPLY:
            add_reply(outcome, reply);
            if (*frame == COMMAND_SNAPSHOT)
                take_snapshot(worker, outcome);
            break;
        case FRAME_LATE:
            outcome->ended = "late";
            (void)kill(worker->pid, SIGKILL);
            break;
        case FRAME_ENDED:
            outcome->ended = "early";
            break;
        }
    }
    outcome->status = worker_end(worker);
}

static void print_outcome(const struct worker *worker, size_t number, struct outcome *outcome)
{
    char printed[REPLY_SHOWN];
    ssize_t length = io_read_at(worker->printed, printed, sizeof printed, 0);
    struct buf said = {0}, line = {0};

    add_text(&said, ' ', (struct iovec){printed, length < 0 ? 0 : (size_t)length});
    buf_printf(&line, "{\"job\":%zu,\"replies\":[%.*s],\"compute\":[%.*s],\"allocate\":[%.*s],",
               number, (int)outcome->replies.length, outcome->replies.data,
               (int)outcome->compute.length, outcome->compute.data, (int)outcome->allocate.length,
               outcome->allocate.data);
    buf_printf(&line, "\"snapshots\":[%.*s],\"end\":\"%s%s %d\",\"printed\":%.*s}\n",
               (int)outcome->snapshots.length, outcome->snapshots.data,
               outcome->ended != NULL ? outcome->ended : "",
               WIFSIGNALED(outcome->status) ? " signal" : " exit",
               WIFSIGNALED(outcome->status) ? WTERMSIG(outcome->status)
                                            : WEXITSTATUS(outcome->status),
               (int)said.length, said.data);
    if (buf_failed(&line) || io_write_all(STDOUT_FILENO, line.data, line.length) != 0)
        exit(1);
    buf_free(&said);
    buf_free(&line);
}

/* 0, or -1: no worker could be started. */
static int run_job(struct bench *bench, struct zygote *zygote, size_t number)
{
    struct worker worker = {
        .save = memfd_create("save", MFD_CLOEXEC),
        .printed = memfd_create("printed", MFD_CLOEXEC),
    };
    struct outcome outcome = {0};
    struct error error;
    int result = -1;

    if (worker.save < 0 || worker.printed < 0)
        log_line("memory for a worker: %s", strerror(errno));
    else if ((result = worker_start(&worker, bench, zygote, -1, &error)) != 0)
        log_line("%s", error.text);
    if (result == 0) {
        run_frames(bench, &worker, bench->jobs[number], &outcome);
        print_outcome(&worker, number, &outcome);
    }
    close(worker.save);
    close(worker.printed);
    buf_free(&outcome.replies);
    buf_free(&outcome.compute);
    buf_free(&outcome.allocate);
    buf_free(&outcome.snapshots);
    return result;
}

/* ---- all of them ---- */

static struct zygote *start_zygote(struct bench *bench)
{
    const int fds[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
    const struct child_launch launch = {
        .path = bench->arguments[0],
        .arguments = bench->arguments,
        .environment = environ,
        .fds = fds,
        .fd_count = 8,
    };
    struct error error;
    struct zygote *zygote;

    bench->arguments[bench->count] = "--fork-on-request";
    bench->arguments[bench->count + 1] = NULL;
    zygote = zygote_start(&launch, &error);
    if (zygote == NULL)
        log_line("%s", error.text);
    return zygote;
}

/* Every `at_a_time`-th job from the first on. 0, or 1: not all had a worker. */
static int run_share(struct bench *bench, size_t first)
{
    struct zygote *zygote = bench->forks ? start_zygote(bench) : NULL;
    int status = bench->forks && zygote == NULL;

    for (size_t i = first; status == 0 && i < bench->job_count; i += bench->at_a_time)
        status = run_job(bench, zygote, i) != 0;
    zygote_end(zygote);
    return status;
}

static int run_all(struct bench *bench)
{
    int status = 0, ended;

    for (unsigned i = 0; i < bench->at_a_time; i++) {
        pid_t pid = fork();

        if (pid < 0)
            return 1;
        if (pid == 0)
            _exit(run_share(bench, i));
    }
    while (wait(&ended) > 0 || errno == EINTR)
        status |= ended != 0;
    return status;
}

static int read_list(struct bench *bench, const char *path)
{
    static struct buf list;
    struct error error;
    char *rest, *line;

    if (io_read_file(path, LIST_LIMIT, &list, &error) != 0) {
        log_line("%s", error.text);
        return -1;
    }
    if (buf_append_byte(&list, '\0') != 0)
        return -1;
    for (rest = list.data; (line = strsep(&rest, "\n")) != NULL;) {
        char **jobs;

        if (*line == '\0')
            continue;
        jobs = reallocarray(bench->jobs, bench->job_count + 1, sizeof *jobs);
        if (jobs == NULL)
            return -1;
        bench->jobs = jobs;
        jobs[bench->job_count++] = line;
    }
    return 0;
}

static int read_options(struct bench *bench, int argc, char **argv)
{
    int option;

    *bench = (struct bench){.at_a_time = 1, .timeout_ms = 20000};
    while ((option = getopt(argc, argv, "+zj:t:")) != -1) {
        switch (option) {
        case 'z':
            bench->forks = true;
            break;
        case 'j':
            bench->at_a_time = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 't':
            bench->timeout_ms = (int)strtoul(optarg, NULL, 10) * 1000;
            break;
        default:
            return -1;
        }
    }
    bench->count = argc - optind - 1;
    if (bench->count < 1 || bench->count > ARGUMENTS_MAX || bench->at_a_time < 1)
        return -1;
    memcpy(bench->arguments, argv + optind + 1, (size_t)bench->count * sizeof *argv);
    return read_list(bench, argv[optind]);
}

int main(int argc, char **argv)
{
    struct bench bench;

    (void)signal(SIGPIPE, SIG_IGN);
    if (read_options(&bench, argc, argv) != 0) {
        fprintf(stderr, "usage: bare_workers [-z] [-j WORKERS] [-t SECONDS] JOBS WORKER ...\n");
        return 2;
    }
    return run_all(&bench);
}
