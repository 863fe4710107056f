/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/runtime/heap_feed.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <unistd.h>

/* The most that anybody may have: the fewer times the two ends wait for each other. */
enum { FEED_PIPE_SIZE = 1 << 20 };

struct feed {
    int file, pipe;
};

static void free_feed(struct feed *feed)
{
    close(feed->file);
    close(feed->pipe);
    free(feed);
}

/* The pages of the file are put into the pipe as they are. */
static void *run_feed(void *argument)
{
    struct feed *feed = argument;
    off_t place = 0; /* others read the file, too */
    ssize_t moved;

    do
        moved = sendfile(feed->pipe, feed->file, &place, INT_MAX);
    while (moved > 0 || (moved < 0 && errno == EINTR));
    free_feed(feed);
    return NULL;
}

/* 0 or an errno. Signals are for the thread that has the event loop; SIGPIPE is not wanted. */
static int start_thread(struct feed *feed)
{
    sigset_t all, before;
    pthread_t thread;
    int result;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* cannot fail with these arguments */
    result = pthread_create(&thread, NULL, run_feed, feed);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (result == 0)
        (void)pthread_detach(thread); /* cannot fail: nobody has joined it */
    return result;
}

int heap_feed_start(int file, int pipe, struct error *error)
{
    struct feed *feed = malloc(sizeof *feed);
    int result;

    if (feed == NULL) {
        close(file);
        close(pipe);
        return error_memory(error, "a snapshot");
    }
    *feed = (struct feed){.file = file, .pipe = pipe};
    /* Where it is not allowed, the ends take more turns. */
    (void)fcntl(pipe, F_SETPIPE_SZ, FEED_PIPE_SIZE);
    result = start_thread(feed);
    if (result == 0)
        return 0;
    free_feed(feed);
    return error_system(error, result, "cannot start a thread for a snapshot");
}
