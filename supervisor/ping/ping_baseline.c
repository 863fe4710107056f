/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/ping/ping_baseline.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "base/number.h"
#include "base/stamp.h"
#include "supervisor/process/child_process.h"

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

int ping_baseline_answer(const char *to, const char *fro)
{
    uint64_t to_size, fro_size;
    char *bytes;

    if (!number_read(to, SIZE_MAX, &to_size) || !number_read(fro, SIZE_MAX, &fro_size))
        return ERROR_USAGE;
    bytes = calloc(1, to_size > fro_size ? to_size : fro_size);
    if (bytes == NULL)
        return ERROR_SYSTEM;
    while (read_exactly(STDIN_FILENO, bytes, to_size) == 0 &&
           io_write_all(STDOUT_FILENO, bytes, fro_size) == 0)
        ;
    free(bytes);
    return 0;
}

static int start_peer(struct ping_baseline *baseline, const int down[2], const int up[2],
                      struct error *error)
{
    char to[24], fro[24], option[] = PING_BASELINE_OPTION;
    char *const arguments[] = {(char *)"gaspipe", (char *)"ping", option, to, fro, NULL};
    const int fds[] = {down[0], up[1], STDERR_FILENO};
    const struct child_launch launch = {
        .path = "/proc/self/exe",
        .arguments = arguments,
        .environment = environ,
        .fds = fds,
        .fd_count = 3,
    };

    snprintf(to, sizeof to, "%zu", baseline->to);
    snprintf(fro, sizeof fro, "%zu", baseline->fro);
    return child_process_spawn(&launch, &baseline->child, error);
}

static int start_placed(struct ping_baseline *baseline, const int down[2], const int up[2],
                        const struct placement *placement, struct error *error)
{
    struct error ignored;
    int result, status;

    if (placement_begin_start(placement, error) != 0)
        return -1;
    result = start_peer(baseline, down, up, error);
    if (placement_end_start(placement, error) == 0 || result != 0)
        return result;
    (void)kill(baseline->child, SIGKILL); /* it is ours and not reaped yet */
    (void)child_process_reap(baseline->child, &status, &ignored);
    return -1;
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
    struct error ignored;
    int status;

    close(baseline->down);
    close(baseline->up);
    free(baseline->bytes);
    (void)child_process_reap(baseline->child, &status, &ignored);
}
