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
    READY_AT_ONCE = 512 << 10, /* memory */
    MEMORY_UNIT =
        64 << 10, /* and as much is left over: what is too much is freed while others wait */
};

struct save_relay {
    struct save_relay_options options;
    cpu_set_t processors;
    int file;
    char *memory; /* the file's, of this capacity; NULL: there is none */
    size_t capacity;
    int orders[2]; /* a pipe: a byte when the snapshot begins, closed when the worker wrote all */
    bool begun;    /* the thread knows that it has */
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
    close_open(relay->orders[0]);
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

/* 0 or an errno. */
static int grow_memory(struct save_relay *relay, size_t capacity)
{
    void *memory;

    if (ftruncate(relay->file, (off_t)capacity) != 0)
        return errno;
    memory = relay->memory == NULL
                 ? mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_SHARED, relay->file, 0)
                 : mremap(relay->memory, relay->capacity, capacity, MREMAP_MAYMOVE);
    if (memory == MAP_FAILED)
        return errno;
    relay->memory = memory;
    relay->capacity = capacity;
    return 0;
}

/* As read(2). Into memory that is there: writing to the file would look for each of its pages. */
static ssize_t keep_some(struct save_relay *relay)
{
    ssize_t moved;

    if (relay->size == relay->capacity)
        relay->problem = grow_memory(relay, relay->capacity + PIPE_SIZE);
    if (relay->problem != 0)
        return -1;
    moved = read(relay->options.from, relay->memory + relay->size, relay->capacity - relay->size);
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

/* Nothing is before the beginning was compared. */
static bool is_passing(const struct save_relay *relay)
{
    return relay->options.pass_on >= 0 && (uint64_t)relay->passed < relay->size &&
           relay->size >= relay->options.head.length;
}

/* Whoever reads it learns that nothing more comes. */
static void pass_no_more(struct save_relay *relay)
{
    close(relay->options.pass_on);
    relay->options.pass_on = -1;
}

/* As much as the next worker's pipe takes: the pages of the file, as they are. */
static void pass_on(struct save_relay *relay)
{
    ssize_t moved;

    while (is_passing(relay)) {
        moved = sendfile(relay->options.pass_on, relay->file, &relay->passed,
                         (size_t)(relay->size - (uint64_t)relay->passed));
        if (moved > 0 || (moved < 0 && errno == EINTR))
            continue;
        if (moved < 0 && errno == EAGAIN)
            return;
        pass_no_more(relay); /* that worker is gone, and whoever waits for it is told so */
    }
}

/* Once the beginning has come. */
static void compare_head(struct save_relay *relay)
{
    const struct save_head *head = &relay->options.head;

    if (relay->passed > 0 || relay->size < head->length || relay->options.pass_on < 0)
        return;
    if (save_head_fits(head, relay->memory))
        relay->passed = (off_t)head->length;
    else
        pass_no_more(relay);
}

/* Until something can be moved. Whether the worker has written all. */
static bool wait_for_more(const struct save_relay *relay)
{
    struct pollfd fds[] = {
        {.fd = relay->orders[0], .events = POLLIN},
        {.fd = relay->dry ? -1 : relay->options.from, .events = POLLIN},
        {.fd = is_passing(relay) ? relay->options.pass_on : -1, .events = POLLOUT},
    };

    while (poll(fds, sizeof fds / sizeof *fds, -1) < 0)
        if (errno != EINTR)
            return true; /* without memory for it nothing is waited for */
    return fds[0].revents != 0;
}

static void pass_on_rest(struct save_relay *relay)
{
    const int flags = fcntl(relay->options.pass_on, F_GETFL);

    if (is_passing(relay) && flags >= 0 &&
        fcntl(relay->options.pass_on, F_SETFL, flags & ~O_NONBLOCK) == 0)
        pass_on(relay);
}

static bool has_orders(const struct save_relay *relay)
{
    struct pollfd fd = {.fd = relay->orders[0], .events = POLLIN};

    return poll(&fd, 1, 0) != 0;
}

/* The snapshot is not to wait for memory; what is not there when it begins, comes then. */
static void get_memory(struct save_relay *relay)
{
    const uint64_t wanted =
        relay->options.expected < relay->options.cap ? relay->options.expected : relay->options.cap;
    size_t ready = 0, size;

    if (wanted == 0 || grow_memory(relay, (wanted / MEMORY_UNIT + 1) * MEMORY_UNIT) != 0)
        return;
    for (; ready < relay->capacity && !has_orders(relay); ready += size) {
        size = relay->capacity - ready < READY_AT_ONCE ? relay->capacity - ready : READY_AT_ONCE;
        if (madvise(relay->memory + ready, size, MADV_POPULATE_WRITE) != 0)
            return;
    }
}

/* False: it will not. */
static bool wait_for_beginning(struct save_relay *relay)
{
    char order;
    ssize_t length;

    do
        length = read(relay->orders[0], &order, 1);
    while (length < 0 && errno == EINTR);
    return length == 1;
}

static void keep_and_pass_on(struct save_relay *relay)
{
    bool over;

    do {
        over = wait_for_more(relay);
        keep_all(relay);
        compare_head(relay);
        if (!over)
            pass_on(relay);
    } while (!over);
}

/* The file is as long as what is in it. */
static void end_file(struct save_relay *relay)
{
    if (ftruncate(relay->file, (off_t)relay->size) != 0 && relay->problem == 0)
        relay->problem = errno;
}

/* It takes a millisecond for 8 MiB, in which nobody is to wait. */
static void unmap_memory(const struct save_relay *relay)
{
    if (relay->memory != NULL)
        (void)munmap(relay->memory, relay->capacity); /* cannot fail: it is all there */
}

static void *run_relay(void *argument)
{
    struct save_relay *relay = argument;

    if (relay->options.processors != NULL)
        (void)sched_setaffinity(0, sizeof relay->processors, &relay->processors);
    get_memory(relay);
    if (wait_for_beginning(relay))
        keep_and_pass_on(relay);
    end_file(relay);
    (void)sem_post(&relay->kept); /* cannot overflow: it is posted once */
    unmap_memory(relay);
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

static bool open_files(struct save_relay *relay)
{
    relay->file = memfd_create("gaspipe-snapshot", MFD_CLOEXEC);
    return relay->file >= 0 && pipe2(relay->orders, O_CLOEXEC) == 0 &&
           unblock(relay->options.from) &&
           (relay->options.pass_on < 0 || unblock(relay->options.pass_on));
}

struct save_relay *save_relay_start(const struct save_relay_options *options, struct error *error)
{
    struct save_relay *relay = calloc(1, sizeof *relay);
    int problem;

    if (relay == NULL) {
        close_open(options->pass_on);
        error_memory(error, "a snapshot");
        return NULL;
    }
    relay->options = *options;
    if (options->processors != NULL)
        relay->processors = *options->processors;
    relay->file = relay->orders[0] = relay->orders[1] = -1;
    (void)sem_init(&relay->kept, 0, 0); /* cannot fail with these arguments */
    atomic_init(&relay->users, 2);
    problem = open_files(relay) ? start_thread(relay) : errno;
    if (problem == 0)
        return relay;
    error_system(error, problem, "cannot take a snapshot from a worker");
    close_open(relay->orders[1]);
    atomic_store(&relay->users, 1);
    leave_relay(relay);
    return NULL;
}

/* At most what fits into the pipe: a worker that goes on writing spoils its own snapshot. */
static void drop_old(struct save_relay *relay)
{
    for (size_t dropped = 0; dropped < PIPE_SIZE; dropped += DROPPED_AT_ONCE)
        if (drop_some(relay) <= 0)
            return;
}

int save_relay_begin(struct save_relay *relay, struct error *error)
{
    ssize_t written;

    drop_old(relay);
    do
        written = write(relay->orders[1], "", 1);
    while (written < 0 && errno == EINTR);
    return written == 1 ? 0 : error_system(error, errno, "cannot take a snapshot from a worker");
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

    close(relay->orders[1]);
    relay->orders[1] = -1;
    while (sem_wait(&relay->kept) != 0) { /* only EINTR is possible */
    }
    file = kept_file(relay, error);
    leave_relay(relay);
    return file;
}
