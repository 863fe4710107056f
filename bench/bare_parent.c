/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The minimum that can drive a worker: blocking reads and writes, with answers
 * that are not examined. Between bare pipes and gaspipe, it shows the worker's
 * share.
 * usage: bare_parent WORKER PLACEMENT COUNT SIZE
 * Prints {"median":NANOSECONDS,"p99":NANOSECONDS} of COUNT round trips.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/stamp.h"
#include "supervisor/ping/ping_peer.h"
#include "supervisor/process/placement.h"
#include "worker/channel.h"

static const char echo[] = "eglobalThis.handleCommand = bytes => ({ result: bytes });";

/* Creates both pipes with descriptors other than 3 and 4, which the worker needs. */
static void __attribute__((noreturn)) become_worker(const char *path, int in, int out)
{
    if (dup2(in, 3) == 3 && dup2(out, 4) == 4)
        execl(path, path, "bare-parent", "-l", "100000000", NULL);
    log_line("%s: %m", path);
    _exit(127);
}

static int start(struct channel *channel, const char *path, const struct placement *placement,
                 struct error *error)
{
    int down[2], up[2];
    pid_t child;

    if (dup2(STDERR_FILENO, 3) != 3 || dup2(STDERR_FILENO, 4) != 4 || pipe(down) != 0 ||
        pipe(up) != 0)
        return error_system(error, errno, "cannot make the pipes");
    if (placement_begin_start(placement, error) != 0)
        return -1;
    child = fork();
    if (child < 0)
        return error_system(error, errno, "cannot start a process");
    if (child == 0) {
        close(down[1]);
        close(up[0]);
        become_worker(path, down[0], up[1]);
    }
    close(down[0]);
    close(up[1]);
    if (placement_end_start(placement, error) != 0)
        return -1;
    return channel_open(channel, up[0], down[1], NETSTRING_CAP_DEFAULT, error);
}

static int round_trip(struct channel *channel, const struct iovec *parts, int count,
                      int64_t *nanoseconds, struct error *error)
{
    struct stamp sent = stamp_now();
    struct iovec answer;

    *nanoseconds = 0;
    if (channel_send(channel, parts, count, error) != 0)
        return -1;
    if (channel_receive(channel, &answer, error) != CHANNEL_FRAME || answer.iov_len == 0 ||
        *(char *)answer.iov_base != '.')
        return error_set(error, ERROR_SYSTEM, "the worker did not answer");
    *nanoseconds = stamp_now().mono - sent.mono;
    return 0;
}

static int run(struct channel *channel, size_t count, struct iovec message,
               struct ping_samples *samples, struct error *error)
{
    const struct iovec start_up = {(char *)echo, strlen(echo)};
    const struct iovec delivery[] = {{(char *)"?", 1}, message};
    int64_t nanoseconds;

    if (round_trip(channel, &start_up, 1, &nanoseconds, error) != 0)
        return -1;
    for (size_t i = 0; i < count / 10; i++)
        if (round_trip(channel, delivery, 2, &nanoseconds, error) != 0)
            return -1;
    for (size_t i = 0; i < count; i++) {
        if (round_trip(channel, delivery, 2, &nanoseconds, error) != 0)
            return -1;
        ping_samples_add(samples, nanoseconds);
    }
    return 0;
}

/* Measures the round trips of a worker that it starts. */
static int measure(const char *path, enum placement_kind kind, size_t count, struct iovec message,
                   struct ping_samples *samples, struct error *error)
{
    struct placement placement;
    struct channel channel;
    int result;

    if (placement_open(&placement, kind, PLACEMENT_NO_SLOT, false, error) != 0 ||
        ping_samples_reserve(samples, count, error) != 0 ||
        start(&channel, path, &placement, error) != 0)
        return -1;
    result = run(&channel, count, message, samples, error);
    close(channel.in);
    close(channel.out);
    channel_close(&channel);
    (void)wait(NULL);
    return result;
}

int main(int argc, char **argv)
{
    struct ping_samples samples = {0};
    unsigned kind = 0;
    struct iovec message = {0};
    struct error error;
    size_t count = argc == 5 ? strtoul(argv[3], NULL, 10) : 0;
    int result;

    log_name("bare_parent");
    while (count > 0 && placement_names[kind] != NULL &&
           strcmp(argv[2], placement_names[kind]) != 0)
        kind++;
    if (count == 0 || placement_names[kind] == NULL) {
        log_line("usage: bare_parent WORKER PLACEMENT COUNT SIZE");
        return ERROR_USAGE;
    }
    message.iov_len = strtoul(argv[4], NULL, 10);
    message.iov_base = calloc(1, message.iov_len + 1);
    if (message.iov_base == NULL)
        result = error_memory(&error, "the message");
    else
        result = measure(argv[1], kind, count, message, &samples, &error);
    free(message.iov_base);
    ping_samples_sort(&samples);
    if (result != 0)
        log_line("%s", error.text);
    else
        printf("{\"median\":%" PRId64 ",\"p99\":%" PRId64 "}\n",
               ping_samples_percentile(&samples, 0.5), ping_samples_percentile(&samples, 0.99));
    ping_samples_free(&samples);
    return result != 0 ? ERROR_SYSTEM : 0;
}
