/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/format.h"
#include "supervisor/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#include <uv.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/io.h"
#include "base/json/json_text.h"
#include "base/log.h"
#include "base/number.h"
#include "base/stamp.h"
#include "base/thread.h"
#include "base/visible.h"
#include "supervisor/ping/ping_options.h"
#include "supervisor/ping/ping_peer.h"
#include "supervisor/process/child_process.h"
#include "supervisor/process/placement.h"

/* ---- other work on the machine ---- */

/* Threads that compute all the time, and do nothing else: a machine with other work. */
struct ping_load {
    pthread_t threads[PING_LOAD_MAX];
    size_t count;
    atomic_bool stop;
};

static void *compute(void *argument)
{
    const atomic_bool *stop = argument;

    while (!atomic_load_explicit(stop, memory_order_relaxed))
        ;
    return NULL;
}

/*
 * Starts so many, at most PING_LOAD_MAX, where the calling thread may run. -1 with ERROR_SYSTEM;
 * those that were started are then to be stopped too.
 */
static int ping_load_start(struct ping_load *load, size_t count, struct error *error)
{
    load->count = 0;
    load->stop = false;
    while (load->count < count) {
        int result = thread_start(&load->threads[load->count], compute, &load->stop);

        if (result != 0)
            return error_system(error, result, "cannot start a thread for the load");
        load->count++;
    }
    return 0;
}

static void ping_load_stop(struct ping_load *load)
{
    load->stop = true;
    for (size_t i = 0; i < load->count; i++)
        (void)pthread_join(load->threads[i], NULL); /* cannot fail: joined once */
    load->count = 0;
}

/* ---- the baseline ---- */

/*
 * The cost of the pipe itself: a child process reads and writes as many bytes, with only read(2)
 * and write(2) at both ends.
 */
struct ping_baseline {
    pid_t child;
    int down, up;   /* this process's ends */
    char *bytes;    /* owned; of the larger direction */
    size_t to, fro; /* bytes of a frame in each direction */
};

/*
 * The child process is this program, as `gaspipe ping OPTION TO FRO`, which comes to this
 * function: it answers on stdin and stdout until stdin ends. Returns the exit status. Not for
 * users.
 */
#define PING_BASELINE_OPTION "--be-baseline-peer"

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

static int ping_baseline_answer(const char *to, const char *fro)
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
    (void)kill(baseline->child, SIGKILL); /* a child that is not reaped yet */
    (void)child_process_reap(baseline->child, &status, &ignored);
    return -1;
}

/* 0, or -1 with ERROR_SYSTEM, and then there is nothing to close. */
static int ping_baseline_open(struct ping_baseline *baseline, size_t to, size_t fro,
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

/* One round trip: *nanoseconds is how long it took. */
static int ping_baseline_trip(const struct ping_baseline *baseline, int64_t *nanoseconds,
                              struct error *error)
{
    struct stamp sent = stamp_now();

    if (io_write_all(baseline->down, baseline->bytes, baseline->to) != 0 ||
        read_exactly(baseline->up, baseline->bytes, baseline->fro) != 0)
        return error_set(error, ERROR_SYSTEM, "the bare ping-pong's other process is gone");
    *nanoseconds = stamp_now().mono - sent.mono;
    return 0;
}

static void ping_baseline_close(struct ping_baseline *baseline)
{
    struct error ignored;
    int status;

    close(baseline->down);
    close(baseline->up);
    free(baseline->bytes);
    (void)child_process_reap(baseline->child, &status, &ignored);
}

/* ---- output ---- */

/* All that was measured of one size; the samples are sorted. */
struct ping_report {
    const struct ping_options *options;
    const struct placement *placement;
    size_t size;
    size_t to, fro; /* bytes of a frame in each direction */
    const struct ping_trips *trips;
    const struct ping_samples *baseline;
};

enum { BAR_WIDTH = 50 };

static double ratio_of_times(const struct ping_report *report, double share)
{
    return (double)ping_samples_percentile(&report->trips->total, share) /
           (double)ping_samples_percentile(report->baseline, share);
}

static const char *worker_of(const struct ping_options *options)
{
    if (options->worker != NULL)
        return options->worker;
    if (options->counters.compiled)
        return options->counters.qemu ? "gaspipe-worker-metered under QEMU"
                                      : "gaspipe-worker-metered";
    return options->counters.qemu ? "gaspipe-worker under QEMU" : "gaspipe-worker";
}

/* ---- for people ---- */

static void put_ping_place(struct buf *out, const struct placement *placement)
{
    switch (placement->kind) {
    case PLACEMENT_NONE:
        buf_append_string(out, "both ends where the system puts them");
        break;
    case PLACEMENT_SAME:
        buf_printf(out, "both ends on CPU %d", placement->here);
        break;
    case PLACEMENT_SPREAD:
        buf_printf(out, "ends on CPUs %d and %d", placement->here, placement->there);
        break;
    case PLACEMENT_AUTO:
        if (placement->here >= 0)
            buf_printf(out, "both ends on CPU %d", placement->here);
        else
            buf_append_string(out, "both ends where the system puts them, as found best");
        break;
    }
}

static void put_ping_row(struct buf *out, const char *name, const struct ping_samples *samples)
{
    static const double shares[] = {0.5, 0.9, 0.99, 1};

    buf_printf(out, "%-20s", name);
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
        buf_printf(out, " %11.2f", (double)ping_samples_percentile(samples, shares[i]) / 1e3);
    buf_printf(out, " %11.2f\n", (double)ping_samples_mean(samples) / 1e3);
}

static void put_histogram(struct buf *out, const struct ping_samples *samples)
{
    struct ping_bar bar;
    size_t next = 0;

    while (ping_samples_bar(samples, &next, &bar)) {
        size_t length = (bar.count * BAR_WIDTH + samples->count - 1) / samples->count;

        buf_printf(out, "%12.2f - %9.2f us %9zu ", (double)bar.from / 1e3, (double)bar.to / 1e3,
                   bar.count);
        while (length-- > 0)
            buf_append_byte(out, '#');
        buf_append_byte(out, '\n');
    }
}

static void put_slow_trips(struct buf *out, const struct ping_trips *trips)
{
    if (trips->slow > 0)
        buf_printf(
            out,
            "%zu round trip%s took 1 ms or more: %.1f ms, of which gaspipe waited %.1f ms for "
            "a CPU, and the worker %.1f ms\n",
            trips->slow, trips->slow == 1 ? "" : "s", (double)trips->slow_time / 1e6,
            (double)trips->cpu_wait / 1e6, (double)trips->worker_cpu_wait / 1e6);
}

/* Each appends a report: what people read, or one line of JSON. */
static void ping_output_text(struct buf *out, const struct ping_report *report)
{
    const struct ping_trips *trips = report->trips;

    buf_printf(out, "%zu %s there and back, %zu %s, %s, ", report->size,
               format_plural(report->size, "byte", "bytes"), trips->total.count,
               format_plural(trips->total.count, "time", "times"), worker_of(report->options));
    put_ping_place(out, report->placement);
    if (report->options->load > 0)
        buf_printf(out, ", next to %zu process%s", report->options->load,
                   report->options->load == 1 ? " that computes" : "es that compute");
    buf_printf(out, "\n%-20s %11s %11s %11s %11s %11s\n", "microseconds", "median", "90 %", "99 %",
               "longest", "mean");
    put_ping_row(out, "bare pipes", report->baseline);
    put_ping_row(out, "round trip", &trips->total);
    put_ping_row(out, "  to the worker", &trips->down);
    put_ping_row(out, "  in the worker", &trips->worker);
    put_ping_row(out, "  from the worker", &trips->up);
    put_ping_row(out, "  reading the meter", &trips->record);
    buf_printf(out, "%-20s %11.2f %11.2f %11.2f\n", "times bare pipes", ratio_of_times(report, 0.5),
               ratio_of_times(report, 0.9), ratio_of_times(report, 0.99));
    put_slow_trips(out, trips);
    put_histogram(out, &trips->total);
    buf_append_byte(out, '\n');
}

/* ---- for programs ---- */

static void put_json_samples(struct buf *out, const char *name, const struct ping_samples *samples)
{
    buf_printf(out,
               ",\"%s\":{\"median\":%" PRId64 ",\"p90\":%" PRId64 ",\"p99\":%" PRId64
               ",\"max\":%" PRId64 ",\"mean\":%" PRId64 "}",
               name, ping_samples_percentile(samples, 0.5), ping_samples_percentile(samples, 0.9),
               ping_samples_percentile(samples, 0.99), ping_samples_percentile(samples, 1),
               ping_samples_mean(samples));
}

static void put_json_histogram(struct buf *out, const struct ping_samples *samples)
{
    struct ping_bar bar;
    size_t next = 0;

    buf_append_string(out, ",\"histogram\":[");
    while (ping_samples_bar(samples, &next, &bar))
        buf_printf(out, "%s[%" PRId64 ",%" PRId64 ",%zu]", next == bar.count ? "" : ",", bar.from,
                   bar.to, bar.count);
    buf_append_byte(out, ']');
}

/* The CPUs of this process and of the worker; null: not pinned. */
static void put_json_processors(struct buf *out, const struct placement *placement)
{
    if (placement->here >= 0)
        buf_printf(out, ",\"processors\":[%d,%d]", placement->here, placement->there);
    else
        buf_append_string(out, ",\"processors\":null");
}

static void ping_output_json(struct buf *out, const struct ping_report *report)
{
    const struct ping_trips *trips = report->trips;
    const char *worker = worker_of(report->options);

    buf_printf(out, "{\"kind\":\"ping\",\"size\":%zu,\"frameDown\":%zu,\"frameUp\":%zu",
               report->size, report->to, report->fro);
    buf_printf(out, ",\"count\":%zu,\"placement\":\"%s\"", trips->total.count,
               placement_names[report->placement->kind]);
    put_json_processors(out, report->placement);
    buf_printf(out, ",\"load\":%zu", report->options->load);
    buf_append_string(out, ",\"worker\":");
    json_text_string(out, worker, strlen(worker));
    put_json_samples(out, "bare", report->baseline);
    put_json_samples(out, "total", &trips->total);
    put_json_samples(out, "down", &trips->down);
    put_json_samples(out, "inWorker", &trips->worker);
    put_json_samples(out, "up", &trips->up);
    put_json_samples(out, "meter", &trips->record);
    buf_printf(out, ",\"ratio\":{\"median\":%.3f,\"p99\":%.3f}", ratio_of_times(report, 0.5),
               ratio_of_times(report, 0.99));
    buf_printf(out,
               ",\"slow\":{\"count\":%zu,\"time\":%" PRId64 ",\"cpuWait\":%" PRId64
               ",\"workerCpuWait\":%" PRId64 "}",
               trips->slow, trips->slow_time, trips->cpu_wait, trips->worker_cpu_wait);
    put_json_histogram(out, &trips->total);
    buf_append_string(out, "}\n");
}

/* ---- the command ---- */

enum {
    BLOCKS = 20,        /* both are measured in turns, so that both meet the same weather */
    WARM_UP_SHARE = 10, /* one of so many round trips is made before, unmeasured */
};

struct ping {
    struct ping_options options;
    struct placement placement;
    struct ping_load load;
    struct confinement confinement;
    struct launch_config launcher;
    uv_loop_t loop;
    struct ping_peer peer;
    struct ping_baseline bare;
    struct ping_trips trips;
    struct ping_samples baseline;
    struct iovec message;
    struct cpu_waits waits; /* of all sizes, in round trips that took so long in all: */
    int64_t took;
};

/* ---- one size ---- */

static int reserve_samples(struct ping *ping, size_t count, struct error *error)
{
    struct ping_samples *const all[] = {&ping->trips.total,  &ping->trips.down,
                                        &ping->trips.worker, &ping->trips.up,
                                        &ping->trips.record, &ping->baseline};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (ping_samples_reserve(all[i], count, error) != 0)
            return -1;
    return 0;
}

static void free_samples(struct ping *ping)
{
    struct ping_samples *const all[] = {&ping->trips.total,  &ping->trips.down,
                                        &ping->trips.worker, &ping->trips.up,
                                        &ping->trips.record, &ping->baseline};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        ping_samples_free(all[i]);
    ping->trips = (struct ping_trips){0};
}

static int run_bare(struct ping *ping, size_t count, struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        int64_t nanoseconds;

        if (ping_baseline_trip(&ping->bare, &nanoseconds, error) != 0)
            return -1;
        ping_samples_add(&ping->baseline, nanoseconds);
    }
    return 0;
}

static int run_blocks(struct ping *ping, size_t count, struct error *error)
{
    for (size_t block = 0; block < BLOCKS; block++) {
        size_t trips = count * (block + 1) / BLOCKS - count * block / BLOCKS;

        if (trips > 0 &&
            (run_bare(ping, trips, error) != 0 ||
             ping_peer_run(&ping->peer, ping->message, trips, &ping->trips, error) != 0))
            return -1;
    }
    return 0;
}

static int ping_print(struct ping *ping, struct error *error)
{
    const struct ping_report report = {
        .options = &ping->options,
        .placement = &ping->placement,
        .size = ping->message.iov_len,
        .to = ping->peer.to,
        .fro = ping->peer.fro,
        .trips = &ping->trips,
        .baseline = &ping->baseline,
    };
    struct buf out = {0};
    int result = 0;

    if (ping->options.json)
        ping_output_json(&out, &report);
    else
        ping_output_text(&out, &report);
    if (buf_failed(&out))
        result = error_memory(error, "the results");
    else if (visible_write(STDOUT_FILENO, out.data, out.length) != 0)
        result = io_fail_stdout("cannot write the results to stdout", error);
    buf_free(&out);
    return result;
}

static void sort_samples(struct ping *ping)
{
    ping_samples_sort(&ping->trips.total);
    ping_samples_sort(&ping->trips.down);
    ping_samples_sort(&ping->trips.worker);
    ping_samples_sort(&ping->trips.up);
    ping_samples_sort(&ping->trips.record);
    ping_samples_sort(&ping->baseline);
}

/* The warm-up's answers give the frame size for the bare pipes. */
static int measure_size(struct ping *ping, struct error *error)
{
    size_t count = ping_options_count(&ping->options, ping->message.iov_len);
    int result;

    if (reserve_samples(ping, count, error) != 0 ||
        ping_peer_run(&ping->peer, ping->message, count / WARM_UP_SHARE + 1, NULL, error) != 0 ||
        ping_baseline_open(&ping->bare, ping->peer.to, ping->peer.fro, &ping->placement, error) !=
            0)
        return -1;
    result = run_blocks(ping, count, error);
    ping_baseline_close(&ping->bare);
    if (result != 0)
        return -1;
    sort_samples(ping);
    ping->waits.gaspipe += ping->trips.cpu_wait;
    ping->waits.worker += ping->trips.worker_cpu_wait;
    ping->took += ping_samples_mean(&ping->trips.total) * (int64_t)ping->trips.total.count;
    return ping_print(ping, error);
}

static int measure_round_trips(struct ping *ping, size_t size, struct error *error)
{
    int result;

    ping->message = (struct iovec){.iov_base = calloc(1, size + 1), .iov_len = size};
    if (ping->message.iov_base == NULL)
        return error_memory(error, "the message");
    result = measure_size(ping, error);
    free_samples(ping);
    free(ping->message.iov_base);
    return result;
}

/* ---- the whole ---- */

static int open_launcher(struct ping *ping, struct error *error)
{
    if (ping->options.worker != NULL)
        return launcher_open_xsnap(&ping->launcher, ping->options.worker,
                                   LAUNCHER_COMPUTE_LIMIT_DEFAULT, error);
    return launcher_open(&ping->launcher, ping->options.counters, LAUNCHER_COMPUTE_LIMIT_DEFAULT,
                         error);
}

static int measure_all(struct ping *ping, struct error *error)
{
    if (confinement_open(&ping->confinement, ping->options.sandbox, error) != 0 ||
        open_launcher(ping, error) != 0 ||
        ping_load_start(&ping->load, ping->options.load, error) != 0 ||
        placement_open(&ping->placement, ping->options.placement, PLACEMENT_NO_SLOT, false,
                       error) != 0)
        return -1;
    ping->launcher.limits.cost = ping->options.cost_limit;
    ping->launcher.confinement = &ping->confinement;
    ping->launcher.placement = &ping->placement;
    if (ping_peer_start(&ping->peer, &ping->loop, &ping->launcher, error) != 0)
        return -1;
    placement_gather(&ping->placement);
    for (size_t i = 0; i < ping->options.size_count; i++)
        if (measure_round_trips(ping, ping->options.sizes[i], error) != 0)
            return -1;
    if (ping->options.placement_given)
        placement_explain_busy(&ping->placement, &ping->waits, ping->took);
    return 0;
}

static int ping_run(struct ping *ping, struct error *error)
{
    int result = uv_loop_init(&ping->loop);

    if (result != 0)
        return error_set(error, ERROR_SYSTEM, "cannot start the event loop: %s",
                         uv_strerror(result));
    result = measure_all(ping, error);
    ping_peer_stop(&ping->peer);
    ping_load_stop(&ping->load);
    launcher_close(&ping->launcher);
    confinement_close(&ping->confinement);
    (void)uv_loop_close(&ping->loop); /* all its handles are closed */
    return result;
}

int ping_command(int argc, char **argv)
{
    struct ping ping = {.launcher = LAUNCH_CONFIG_UNOPENED};
    struct error error;
    enum option_result parsed;

    if (argc == 4 && strcmp(argv[1], PING_BASELINE_OPTION) == 0)
        return ping_baseline_answer(argv[2], argv[3]);
    parsed = ping_options_parse(&ping.options, argc, argv, &error);
    if (parsed != OPTION_TAKEN)
        return option_end(&ping_options_table, parsed, &error);
    if (ping_run(&ping, &error) == 0)
        return 0;
    log_line("%s", error.text);
    return (int)error.kind;
}
