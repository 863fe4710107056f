/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/run_profiles.h"

#include <string.h>

static int check_inputs(const char *path, const struct run_options *options, struct error *error)
{
    if (output_file_check(path, "the profile", options->deliveries, error) != 0)
        return -1;
    for (size_t i = 0; i < options->vats.count; i++)
        if (output_file_check(path, "the profile", strchr(options->vats.items[i], '=') + 1,
                              error) != 0)
            return -1;
    return 0;
}

static int open_one(struct run_profiles *profiles, const char *path, enum profile_format format,
                    const struct run_options *options, struct error *error)
{
    if (path == NULL)
        return 0;
    if (check_inputs(path, options, error) != 0 ||
        profile_file_open(&profiles->files[profiles->count], path, format, error) != 0)
        return -1;
    profiles->count++;
    return 0;
}

int run_profiles_open(struct run_profiles *profiles, const struct run_options *options,
                      struct error *error)
{
    if (open_one(profiles, options->profile, PROFILE_JSON, options, error) != 0)
        return -1;
    return open_one(profiles, options->profile_folded, PROFILE_FOLDED, options, error);
}

int run_profiles_add(struct run_profiles *profiles, const struct delivery_report *report,
                     struct error *error)
{
    const struct profiled_delivery delivery = {
        .vat_id = report->vat_id,
        .vat = report->vat,
        .method = report->method,
        .crank_num = report->crank_num,
        .delivery_num = report->delivery_num,
        .profile = report->profile,
        .counted = report->instructions != REPORT_NONE,
        .instructions = (uint64_t)report->instructions,
    };

    if (report->profile.iov_len == 0)
        return 0;
    for (size_t i = 0; i < profiles->count; i++)
        if (profile_file_add(&profiles->files[i], &delivery, error) != 0)
            return -1;
    return 0;
}

int run_profiles_flush(struct run_profiles *profiles, struct error *error)
{
    for (size_t i = 0; i < profiles->count; i++)
        if (profile_file_flush(&profiles->files[i], error) != 0)
            return -1;
    return 0;
}

void run_profiles_drop(struct run_profiles *profiles)
{
    for (size_t i = 0; i < profiles->count; i++)
        profile_file_drop(&profiles->files[i]);
}

int run_profiles_close(struct run_profiles *profiles, struct error *error)
{
    int result = 0;

    for (size_t i = 0; i < profiles->count; i++)
        if (profile_file_close(&profiles->files[i], error) != 0)
            result = -1;
    profiles->count = 0;
    return result;
}
