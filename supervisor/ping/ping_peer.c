/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/ping/ping_peer.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/command.h"
#include "proto/meter.h"
#include "proto/netstring.h"

int ping_samples_reserve(struct ping_samples *samples, size_t capacity, struct error *error)
{
    int64_t *items = reallocarray(samples->items, capacity, sizeof *items);

    if (items == NULL)
        return error_memory(error, "the measurements");
    samples->items = items;
    samples->capacity = capacity;
    return 0;
}

void ping_samples_free(struct ping_samples *samples)
{
    free(samples->items);
    *samples = (struct ping_samples){0};
}

static int ping_samples_compare(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

void ping_samples_sort(struct ping_samples *samples)
{
    qsort(samples->items, samples->count, sizeof *samples->items, ping_samples_compare);
}

int64_t ping_samples_percentile(const struct ping_samples *samples, double share)
{
    size_t rank = (size_t)ceil(share * (double)samples->count);

    return samples->items[rank > 0 ? rank - 1 : 0];
}

int64_t ping_samples_mean(const struct ping_samples *samples)
{
    double sum = 0;

    for (size_t i = 0; i < samples->count; i++)
        sum += (double)samples->items[i];
    return llround(sum / (double)samples->count);
}

/* The edge of that number, from 0: 1, 1.4, 2, 2.8, 4, ... */
static int64_t edge(int number)
{
    return llround(exp2(number / 2.0));
}

bool ping_samples_bar(const struct ping_samples *samples, size_t *next, struct ping_bar *bar)
{
    int number = 0;

    if (*next == samples->count)
        return false;
    *bar = (struct ping_bar){.to = 1};
    while (bar->to <= samples->items[*next]) {
        bar->from = bar->to;
        bar->to = edge(++number);
    }
    while (*next < samples->count && samples->items[*next] < bar->to) {
        bar->count++;
        (*next)++;
    }
    return true;
}

static const char echo[] = "globalThis.handleCommand = bytes => ({ result: bytes });";

/* An error in a callback ends the round trips. */
static void ping_peer_fail(struct ping_peer *peer, const struct error *error)
{
    if (peer->error.kind == ERROR_NONE)
        peer->error = *error;
    uv_stop(peer->loop);
}

static void send_peer_parts(struct ping_peer *peer, char command, struct iovec text)
{
    struct iovec parts[] = {{&command, 1}, text};
    struct error error;

    if (worker_process_send(peer->process, parts, 2, &peer->sent, &error) != 0)
        ping_peer_fail(peer, &error);
}

static void send_delivery(struct ping_peer *peer)
{
    peer->cpu_before = (struct cpu_waits){cpu_wait_begin(&peer->cpu_wait, 0),
                                          worker_process_begin_cpu_wait(peer->process)};
    send_peer_parts(peer, COMMAND_DELIVER, peer->message);
}

/* The parts of a round trip's time, in nanoseconds. */
struct trip {
    int64_t down, worker, up;
};

/* Times of xsnap-worker are in microseconds and on the clock that can be set. */
static struct trip split_trip(const struct ping_peer *peer, const struct meter *meter,
                              struct stamp come)
{
    const struct stamp *first = &meter->stamps[0], *last = &meter->stamps[meter->stamp_count - 1];

    if (first->mono != 0)
        return (struct trip){
            .down = first->mono - peer->sent.mono,
            .worker = last->mono - first->mono,
            .up = come.mono - last->mono,
        };
    return (struct trip){
        .down = (first->real - peer->sent.real) * 1000,
        .worker = (last->real - first->real) * 1000,
        .up = (come.real - last->real) * 1000,
    };
}

static void add_waits_of_trip(struct ping_peer *peer, struct stamp come, struct ping_trips *trips)
{
    const int64_t sent = peer->sent.mono;
    const int64_t gaspipe =
        cpu_wait_end(&peer->cpu_wait, peer->cpu_before.gaspipe, sent, come.mono);
    const int64_t worker =
        worker_process_end_cpu_wait(peer->process, peer->cpu_before.worker, sent, come.mono);

    if (come.mono - sent < CPU_WAIT_SLOW)
        return;
    trips->slow++;
    trips->slow_time += come.mono - sent;
    trips->cpu_wait += gaspipe > 0 ? gaspipe : 0;
    trips->worker_cpu_wait += worker > 0 ? worker : 0;
}

static void add_trip(struct ping_peer *peer, const struct trip *trip, struct stamp come,
                     struct stamp done)
{
    struct ping_trips *trips = peer->trips;

    if (trips == NULL)
        return;
    add_waits_of_trip(peer, come, trips);
    ping_samples_add(&trips->total, done.mono - peer->sent.mono);
    ping_samples_add(&trips->record, done.mono - come.mono);
    ping_samples_add(&trips->down, trip->down);
    ping_samples_add(&trips->worker, trip->worker);
    ping_samples_add(&trips->up, trip->up);
}

static void take_trip(struct ping_peer *peer, const struct meter *meter, struct stamp come)
{
    const struct trip trip = split_trip(peer, meter, come);

    add_trip(peer, &trip, come, stamp_after(come));
}

static int take_answer(struct ping_peer *peer, struct iovec frame, struct stamp come,
                       struct error *error)
{
    const char *bytes = frame.iov_base;
    struct iovec result;
    struct meter meter;
    size_t stamps;

    if (frame.iov_len == 0 || bytes[0] != COMMAND_DONE)
        return error_set(error, ERROR_SYSTEM, "the worker did not answer but said: %.*s",
                         (int)frame.iov_len, bytes);
    if (meter_split((struct iovec){(char *)bytes + 1, frame.iov_len - 1}, &meter, &result, error) !=
        0)
        return -1;
    stamps = meter.stamp_count;
    if (stamps >= 2)
        take_trip(peer, &meter, come);
    meter_free(&meter);
    if (stamps < 2)
        return error_set(error, ERROR_SYSTEM, "the worker took %zu stamps of a delivery, not two",
                         stamps);
    return 0;
}

static void got_frame(void *context, struct iovec frame, struct stamp come)
{
    struct ping_peer *peer = context;
    struct error error;

    if (take_answer(peer, frame, come, &error) != 0) {
        ping_peer_fail(peer, &error);
        return;
    }
    peer->left--;
    if (peer->left > 0) {
        send_delivery(peer);
        return;
    }
    peer->fro = netstring_size(frame.iov_len);
    uv_stop(peer->loop);
}

static void got_bad_frame(void *context, const struct error *error)
{
    ping_peer_fail(context, error);
}

static void got_stderr_line(void *context, const char *line)
{
    struct ping_peer *peer = context;

    snprintf(peer->stderr_text, sizeof peer->stderr_text, ": %s", line);
}

static void gone(void *context, int exit_status, int signal_number)
{
    struct ping_peer *peer = context;
    struct error error;

    peer->gone = true;
    if (signal_number != 0)
        error_set(&error, ERROR_SYSTEM, "the worker was killed by signal %d (%s)", signal_number,
                  strsignal(signal_number));
    else
        error_set(&error, ERROR_SYSTEM, "the worker ended with exit status %d%s", exit_status,
                  peer->stderr_text);
    ping_peer_fail(peer, &error);
}

/* Until the round trips are made or something goes wrong. */
static int wait_for_answers(struct ping_peer *peer, struct error *error)
{
    (void)uv_run(peer->loop, UV_RUN_DEFAULT);
    if (peer->error.kind == ERROR_NONE)
        return 0;
    *error = peer->error;
    return -1;
}

int ping_peer_start(struct ping_peer *peer, uv_loop_t *loop, const struct launch_config *launcher,
                    struct error *error)
{
    const struct worker_listener listener = {
        .context = peer,
        .frame = got_frame,
        .bad_frame = got_bad_frame,
        .stderr_line = got_stderr_line,
        .gone = gone,
    };

    *peer = (struct ping_peer){.loop = loop, .left = 1};
    peer->process = launcher_start(launcher,
                                   &(struct worker_start){
                                       .loop = loop,
                                       .name = "gaspipe-worker:ping",
                                       .snapshot_fd = -1,
                                       .listener = &listener,
                                   },
                                   error);
    if (peer->process == NULL)
        return -1;
    send_peer_parts(peer, COMMAND_EVALUATE, (struct iovec){(char *)echo, strlen(echo)});
    return wait_for_answers(peer, error);
}

int ping_peer_run(struct ping_peer *peer, struct iovec message, size_t count,
                  struct ping_trips *trips, struct error *error)
{
    peer->message = message;
    peer->left = count;
    peer->trips = trips;
    peer->to = netstring_size(message.iov_len + 1);
    send_delivery(peer);
    return wait_for_answers(peer, error);
}

void ping_peer_stop(struct ping_peer *peer)
{
    if (peer->process == NULL)
        return;
    worker_process_hang_up(peer->process);
    while (!peer->gone)
        (void)uv_run(peer->loop, UV_RUN_DEFAULT);
    worker_process_free(peer->process);
    cpu_wait_close(&peer->cpu_wait);
    (void)uv_run(peer->loop, UV_RUN_DEFAULT);
}
