/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/pipe/save_relay.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

enum {
    PIPE_SIZE = 1 << 20, /* the most that anybody may have: the ends wait less for each other */
    DROPPED_AT_ONCE = 64 << 10,
};

struct save_relay {
    struct save_relay_options options;
    cpu_set_t processors;
    int file;
    int over[2];   /* a pipe that is closed when the worker has written all */
    sem_t kept;    /* once the file has all of it */
    uint64_t size; /* of what is in the file */
    off_t passed;  /* of that, to the next worker */
    bool dry;      /* nothing more comes out of the pipe */
    int problem;   /* an errno: the file is not whole */
    atomic_int users;
};

static void close_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* By the second of caller and thread. */
static void leave_relay(struct save_relay *relay)
{
    if (atomic_fetch_sub(&relay->users, 1) > 1)
        return;
    close_open(relay->options.pass_on);
    close_open(relay->file);
    close_open(relay->over[0]);
    (void)sem_destroy(&relay->kept); /* nobody waits for it */
    free(relay);
}

/* ---- the thread ---- */

/* Into nothing; the worker would wait for ever if nobody read. As read(2). */
static ssize_t drop_some(struct save_relay *relay)
{
    char dropped[DROPPED_AT_ONCE];

    return read(relay->options.from, dropped, sizeof dropped);
}

static ssize_t keep_some(struct save_relay *relay)
{
    ssize_t moved = splice(relay->options.from, NULL, relay->file, NULL, PIPE_SIZE,
                           SPLICE_F_NONBLOCK | SPLICE_F_MOVE);

    if (moved > 0)
        relay->size += (uint64_t)moved;
    if (relay->size > relay->options.cap)
        relay->problem = EFBIG;
    else if (moved < 0 && errno != EAGAIN && errno != EINTR)
        relay->problem = errno;
    return moved;
}

/* What is in the pipe now, and no more: a worker could write for ever. */
static void keep_all(struct save_relay *relay)
{
    ssize_t kept = 0;

    while (kept < PIPE_SIZE) {
        const bool whole = relay->problem == 0;
        const ssize_t moved = whole ? keep_some(relay) : drop_some(relay);

        if (moved < 0 && errno == EAGAIN)
            return;
        if (moved > 0)
            kept += moved;
        else if (moved == 0 || (errno != EINTR && !whole))
            relay->dry = true;
        if (relay->dry)
            return;
    }
}

static bool is_behind(const struct save_relay *relay)
{
    return relay->options.pass_on >= 0 && (uint64_t)relay->passed < relay->size;
}

/* As much as the next worker's pipe takes: the pages of the file, as they are. */
static void pass_on(struct save_relay *relay)
{
    ssize_t moved;

    while (is_behind(relay)) {
        moved = sendfile(relay->options.pass_on, relay->file, &relay->passed, INT_MAX);
        if (moved > 0 || (moved < 0 && errno == EINTR))
            continue;
        if (moved < 0 && errno == EAGAIN)
            return;
        /* That worker is gone, and whoever waits for it is told so. */
        close(relay->options.pass_on);
        relay->options.pass_on = -1;
    }
}

/* Until something can be moved. Whether the worker has written all. */
static bool wait_for_more(const struct save_relay *relay)
{
    struct pollfd fds[] = {
        {.fd = relay->over[0], .events = POLLIN},
        {.fd = relay->dry ? -1 : relay->options.from, .events = POLLIN},
        {.fd = is_behind(relay) ? relay->options.pass_on : -1, .events = POLLOUT},
    };

    while (poll(fds, sizeof fds / sizeof *fds, -1) < 0)
        if (errno != EINTR)
            return true; /* without memory for it nothing is waited for */
    return fds[0].revents != 0;
}

static void pass_on_rest(struct save_relay *relay)
{
    const int flags = fcntl(relay->options.pass_on, F_GETFL);

    if (is_behind(relay) && flags >= 0 &&
        fcntl(relay->options.pass_on, F_SETFL, flags & ~O_NONBLOCK) == 0)
        pass_on(relay);
}

static void *run_relay(void *argument)
{
    struct save_relay *relay = argument;
    bool over;

    if (relay->options.processors != NULL)
        (void)sched_setaffinity(0, sizeof relay->processors, &relay->processors);
    do {
        over = wait_for_more(relay);
        keep_all(relay);
        if (!over)
            pass_on(relay);
    } while (!over);
    (void)sem_post(&relay->kept); /* cannot overflow: it is posted once */
    pass_on_rest(relay);
    leave_relay(relay);
    return NULL;
}

/* ---- its beginning and end ---- */

/* 0 or an errno. Signals are for the thread that has the event loop; SIGPIPE is not wanted. */
static int start_thread(struct save_relay *relay)
{
    sigset_t all, before;
    pthread_t thread;
    int result;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* cannot fail with these arguments */
    result = pthread_create(&thread, NULL, run_relay, relay);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (result == 0)
        (void)pthread_detach(thread); /* cannot fail: nobody has joined it */
    return result;
}

static bool unblock(int fd)
{
    const int flags = fcntl(fd, F_GETFL);

    /* Where it may not be larger, the ends take more turns. */
    (void)fcntl(fd, F_SETPIPE_SZ, PIPE_SIZE);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

/* At most what fits into the pipe: a worker that goes on writing spoils its own snapshot. */
static void drop_old(struct save_relay *relay)
{
    for (size_t dropped = 0; dropped < PIPE_SIZE; dropped += DROPPED_AT_ONCE)
        if (drop_some(relay) <= 0)
            return;
}

static bool open_files(struct save_relay *relay)
{
    relay->file = memfd_create("gaspipe-snapshot", MFD_CLOEXEC);
    return relay->file >= 0 && pipe2(relay->over, O_CLOEXEC) == 0 && unblock(relay->options.from) &&
           (relay->options.pass_on < 0 || unblock(relay->options.pass_on));
}

struct save_relay *save_relay_start(const struct save_relay_options *options, struct error *error)
{
    struct save_relay *relay = calloc(1, sizeof *relay);
    int problem = ENOMEM;

    if (relay == NULL) {
        close_open(options->pass_on);
        error_memory(error, "a snapshot");
        return NULL;
    }
    relay->options = *options;
    if (options->processors != NULL)
        relay->processors = *options->processors;
    relay->file = relay->over[0] = relay->over[1] = -1;
    (void)sem_init(&relay->kept, 0, 0); /* cannot fail with these arguments */
    atomic_init(&relay->users, 2);
    if (open_files(relay)) {
        drop_old(relay);
        problem = start_thread(relay);
    } else {
        problem = errno;
    }
    if (problem == 0)
        return relay;
    error_system(error, problem, "cannot take a snapshot from a worker");
    close_open(relay->over[1]);
    atomic_store(&relay->users, 1);
    leave_relay(relay);
    return NULL;
}

static int kept_file(const struct save_relay *relay, struct error *error)
{
    int file;

    if (relay->problem == EFBIG)
        return error_set(error, ERROR_INPUT, "it wrote a snapshot of more than %" PRIu64 " bytes",
                         relay->options.cap);
    if (relay->problem != 0)
        return error_system(error, relay->problem, "cannot keep a snapshot");
    file = fcntl(relay->file, F_DUPFD_CLOEXEC, 0);
    return file >= 0 ? file : error_system(error, errno, "cannot keep a snapshot");
}

int save_relay_end(struct save_relay *relay, struct error *error)
{
    int file;

    close(relay->over[1]);
    relay->over[1] = -1;
    while (sem_wait(&relay->kept) != 0) { /* only EINTR is possible */
    }
    file = kept_file(relay, error);
    leave_relay(relay);
    return file;
}
