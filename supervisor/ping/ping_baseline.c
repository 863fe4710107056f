/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/ping/ping_baseline.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/stamp.h"

/* 0 when `length` bytes came, -1 at the end of the file or with errno. */
static int read_exactly(int fd, char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t got = read(fd, bytes, length);

        if (got == 0 || (got < 0 && errno != EINTR))
            return -1;
        if (got > 0) {
            bytes += got;
            length -= (size_t)got;
        }
    }
    return 0;
}

/* The other process, until our end of the pipe is closed. */
static void __attribute__((noreturn))
answer_all(const struct ping_baseline *baseline, int in, int out)
{
    while (read_exactly(in, baseline->bytes, baseline->to) == 0 &&
           io_write_all(out, baseline->bytes, baseline->fro) == 0)
        ;
    _exit(0);
}

static void reap(pid_t child)
{
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}

static int start(struct ping_baseline *baseline, const int down[2], const int up[2],
                 struct error *error)
{
    baseline->child = fork();
    if (baseline->child < 0)
        return error_system(error, errno, "cannot start a process");
    if (baseline->child > 0)
        return 0;
    close(down[1]);
    close(up[0]);
    answer_all(baseline, down[0], up[1]);
}

static int start_placed(struct ping_baseline *baseline, const int down[2], const int up[2],
                        const struct placement *placement, struct error *error)
{
    int result;

    if (placement_begin_start(placement, error) != 0)
        return -1;
    result = start(baseline, down, up, error);
    if (result == 0 && placement_end_start(placement, error) != 0) {
        (void)kill(baseline->child, SIGKILL); /* it is ours and not reaped yet */
        reap(baseline->child);
        return -1;
    }
    return result;
}

int ping_baseline_open(struct ping_baseline *baseline, size_t to, size_t fro,
                       const struct placement *placement, struct error *error)
{
    int down[2], up[2];

    *baseline = (struct ping_baseline){.child = -1, .to = to, .fro = fro};
    baseline->bytes = calloc(1, to > fro ? to : fro);
    if (baseline->bytes == NULL)
        return error_memory(error, "a frame");
    if (pipe2(down, O_CLOEXEC) != 0) {
        error_system(error, errno, "cannot make a pipe");
        goto free_bytes;
    }
    if (pipe2(up, O_CLOEXEC) != 0) {
        error_system(error, errno, "cannot make a pipe");
        goto close_down;
    }
    baseline->down = down[1];
    baseline->up = up[0];
    if (start_placed(baseline, down, up, placement, error) != 0)
        goto close_up;
    close(down[0]);
    close(up[1]);
    return 0;
close_up:
    close(up[0]);
    close(up[1]);
close_down:
    close(down[0]);
    close(down[1]);
free_bytes:
    free(baseline->bytes);
    return -1;
}

int ping_baseline_trip(const struct ping_baseline *baseline, int64_t *nanoseconds,
                       struct error *error)
{
    struct stamp sent = stamp_now();

    if (io_write_all(baseline->down, baseline->bytes, baseline->to) != 0 ||
        read_exactly(baseline->up, baseline->bytes, baseline->fro) != 0)
        return error_set(error, ERROR_SYSTEM, "the bare ping-pong's other process is gone");
    *nanoseconds = stamp_now().mono - sent.mono;
    return 0;
}

void ping_baseline_close(struct ping_baseline *baseline)
{
    close(baseline->down);
    close(baseline->up);
    free(baseline->bytes);
    reap(baseline->child);
}
