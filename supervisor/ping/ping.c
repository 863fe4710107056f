/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/ping/ping.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "base/visible.h"
#include "supervisor/ping/ping_baseline.h"
#include "supervisor/ping/ping_load.h"
#include "supervisor/ping/ping_output.h"

enum {
    BLOCKS = 20,        /* both are measured in turns, so that both meet the same weather */
    WARM_UP_SHARE = 10, /* one of so many round trips is made before, unmeasured */
};

struct ping {
    struct ping_options options;
    struct placement placement;
    struct ping_load load;
    struct confinement confinement;
    struct launcher launcher;
    uv_loop_t loop;
    struct ping_peer peer;
    struct ping_baseline bare;
    struct ping_trips trips;
    struct ping_samples baseline;
    struct iovec message;
};

/* ---- one size ---- */

static int reserve(struct ping *ping, size_t count, struct error *error)
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
        result = error_system(error, errno, "cannot write the results to stdout");
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

/* The answers of the warm-up tell how long a frame of the bare pipes is. */
static int measure_size(struct ping *ping, struct error *error)
{
    size_t count = ping_options_count(&ping->options, ping->message.iov_len);
    int result;

    if (reserve(ping, count, error) != 0 ||
        ping_peer_run(&ping->peer, ping->message, count / WARM_UP_SHARE + 1, NULL, error) != 0 ||
        ping_baseline_open(&ping->bare, ping->peer.to, ping->peer.fro, &ping->placement, error) !=
            0)
        return -1;
    result = run_blocks(ping, count, error);
    ping_baseline_close(&ping->bare);
    if (result != 0)
        return -1;
    sort_samples(ping);
    return ping_print(ping, error);
}

static int measure(struct ping *ping, size_t size, struct error *error)
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
        return launcher_open_foreign(&ping->launcher, ping->options.worker,
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
    ping->launcher.cost_limit = ping->options.cost_limit;
    ping->launcher.confinement = &ping->confinement;
    ping->launcher.placement = &ping->placement;
    if (ping_peer_start(&ping->peer, &ping->loop, &ping->launcher, error) != 0)
        return -1;
    placement_gather(&ping->placement);
    for (size_t i = 0; i < ping->options.size_count; i++)
        if (measure(ping, ping->options.sizes[i], error) != 0)
            return -1;
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
    (void)uv_loop_close(&ping->loop); /* nothing is open on it any more */
    return result;
}

int ping_command(int argc, char **argv)
{
    struct ping ping = {.launcher = {.program_fd = -1, .others = LAUNCHER_NO_WORKERS}};
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
