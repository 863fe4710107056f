/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/replay_probes.h"

#include <string.h>

#include "slog/model/describe.h"

static struct profile_paths paths_of(const struct replay_options *options)
{
    return (struct profile_paths){options->profile, options->profile_folded};
}

static struct profile_paths native_paths_of(const struct replay_options *options)
{
    return (struct profile_paths){options->native_profile, options->native_folded};
}

static int check_sources(const struct replay_options *options, struct error *error)
{
    for (size_t i = 0; i < options->source_count; i++) {
        const char *source = options->sources[i];

        if (profile_files_check_input(paths_of(options), source, error) != 0 ||
            profile_files_check_input(native_paths_of(options), source, error) != 0 ||
            (options->trace.path != NULL &&
             output_file_check(options->trace.path, "the trace", source, error) != 0))
            return -1;
    }
    return 0;
}

static int open_native(struct replay_probes *probes, const struct replay_options *options,
                       struct launch_config *launcher, struct error *error)
{
    const struct profile_paths paths = native_paths_of(options);

    if (paths.json == NULL && paths.folded == NULL)
        return 0;
    probes->native = native_session_open(
        paths, options->counters.qemu ? NATIVE_INSTRUCTIONS : NATIVE_BLOCK_COST, error);
    if (probes->native == NULL)
        return -1;
    launcher->native_profile = native_session_launcher(probes->native);
    return 0;
}

int replay_probes_open(struct replay_probes *probes, const struct replay_options *options,
                       struct launch_config *launcher, struct error *error)
{
    if (check_sources(options, error) != 0 ||
        profile_files_open(&probes->profiles, paths_of(options), error) != 0 ||
        open_native(probes, options, launcher, error) != 0)
        return -1;
    launcher->profile = probes->profiles.count > 0;
    if (options->trace.path == NULL)
        return 0;
    probes->trace = trace_session_open(&options->trace, error);
    if (probes->trace == NULL)
        return -1;
    launcher->trace = trace_session_launcher(probes->trace);
    return 0;
}

static int note_profile(struct replay_probes *probes, const struct profiled_delivery *delivery,
                        struct error *error)
{
    if (profile_files_add(&probes->profiles, delivery, error) != 0)
        return -1;
    return profile_files_flush(&probes->profiles, error);
}

static int note_native(struct replay_probes *probes, const struct profiled_delivery *delivery,
                       const struct meter *meter, struct error *error)
{
    if (probes->native == NULL || meter->stamp_count == 0)
        return 0;
    if (native_session_add(probes->native, delivery, meter->stamps[0].mono,
                           meter->stamps[meter->stamp_count - 1].mono, error) != 0)
        return -1;
    return profile_files_flush(native_session_files(probes->native), error);
}

static int note_trace(struct replay_probes *probes, const struct profile_delivery *of,
                      const struct meter *meter, struct error *error)
{
    struct trace_delivery delivery = {
        .vat_id = of->vat_id,
        .vat = of->vat,
        .method = of->method,
        .crank_num = of->crank_num,
        .delivery_num = of->delivery_num,
    };

    if (probes->trace == NULL || meter->stamp_count == 0)
        return 0;
    delivery.begin = meter->stamps[0].mono;
    delivery.end = meter->stamps[meter->stamp_count - 1].mono;
    return trace_session_delivery(probes->trace, &delivery, error);
}

static int describe(struct replay_probes *probes, struct scan_span delivery, struct error *error)
{
    const struct scan_span kind = describe_kind(delivery);

    buf_clear(&probes->method);
    if (scan_is(kind, "message"))
        describe_delivered_method(delivery, &probes->method);
    else
        describe_string(kind, &probes->method);
    return buf_string(&probes->method) != NULL ? 0 : error_memory(error, "a delivery");
}

int replay_probes_note(struct replay_probes *probes, const struct replay_result *vat,
                       const struct source_event *event, const struct meter *meter,
                       struct error *error)
{
    struct profiled_delivery delivery = {
        .delivery = {.vat_id = vat->id,
                     .vat = vat->name,
                     .crank_num = event->crank_num,
                     .delivery_num = event->delivery_num},
        .profile = meter->profile,
        .counted = meter->counted,
        .instructions = meter->instructions,
        .costed = meter->cost_known,
        .block_cost = meter->block_cost,
    };

    if (probes->profiles.count == 0 && probes->native == NULL && probes->trace == NULL)
        return 0;
    if (describe(probes, event->delivery->delivery, error) != 0)
        return -1;
    delivery.delivery.method = probes->method.data;
    if (note_profile(probes, &delivery, error) != 0 ||
        note_native(probes, &delivery, meter, error) != 0)
        return -1;
    return note_trace(probes, &delivery.delivery, meter, error);
}

int replay_probes_close(struct replay_probes *probes, struct error *error)
{
    int result = profile_files_close(&probes->profiles, error);

    if (native_session_close(probes->native, error) != 0)
        result = -1;
    probes->native = NULL;
    if (trace_session_close(probes->trace, error) != 0)
        result = -1;
    probes->trace = NULL;
    buf_free(&probes->method);
    return result;
}
