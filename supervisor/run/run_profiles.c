/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/run_profiles.h"

#include <string.h>

static int check_paths(const struct run_options *options, struct profile_paths paths,
                       struct error *error)
{
    const struct option_list *const lists[] = {&options->vats, &options->new_vats,
                                               &options->upgrades};

    if (profile_files_check_input(paths, options->deliveries, error) != 0)
        return -1;
    for (size_t list = 0; list < sizeof lists / sizeof *lists; list++)
        for (size_t i = 0; i < lists[list]->count; i++)
            if (profile_files_check_input(paths, strchr(lists[list]->items[i], '=') + 1, error) !=
                0)
                return -1;
    return 0;
}

int run_profiles_open(struct run_profiles *profiles, const struct run_options *options,
                      struct launcher *launcher, struct error *error)
{
    const struct profile_paths paths = {options->profile, options->profile_folded};
    const struct profile_paths native = {options->native_profile, options->native_folded};

    if (check_paths(options, paths, error) != 0 || check_paths(options, native, error) != 0 ||
        profile_files_open(&profiles->files, paths, error) != 0)
        return -1;
    if (native.json == NULL && native.folded == NULL)
        return 0;
    profiles->native = native_session_open(
        native, options->counters.qemu ? NATIVE_INSTRUCTIONS : NATIVE_BLOCK_COST, error);
    if (profiles->native == NULL)
        return -1;
    launcher->native_profile = native_session_launcher(profiles->native);
    return 0;
}

int run_profiles_add(struct run_profiles *profiles, const struct delivery_report *report,
                     struct error *error)
{
    const struct profiled_delivery delivery = {
        .delivery = {.vat_id = report->vat_id,
                     .vat = report->vat,
                     .method = report->method,
                     .crank_num = report->crank_num,
                     .delivery_num = report->delivery_num},
        .profile = report->profile,
        .counted = report->instructions != REPORT_NONE,
        .instructions = (uint64_t)report->instructions,
        .costed = report->block_cost != REPORT_NONE,
        .block_cost = (uint64_t)report->block_cost,
    };

    if (profile_files_add(&profiles->files, &delivery, error) != 0)
        return -1;
    if (profiles->native == NULL || report->worker_began == 0)
        return 0;
    return native_session_add(profiles->native, &delivery, report->worker_began,
                              report->worker_ended, error);
}

/* The files of both; a second that is not there is empty. */
static struct profile_files *files_of(struct run_profiles *profiles, bool native)
{
    static struct profile_files none;

    if (!native)
        return &profiles->files;
    return profiles->native != NULL ? native_session_files(profiles->native) : &none;
}

void run_profiles_keep(struct run_profiles *profiles)
{
    profile_files_keep(files_of(profiles, false));
    profile_files_keep(files_of(profiles, true));
}

void run_profiles_undo(struct run_profiles *profiles)
{
    profile_files_undo(files_of(profiles, false));
    profile_files_undo(files_of(profiles, true));
}

int run_profiles_flush(struct run_profiles *profiles, struct error *error)
{
    if (profile_files_flush(files_of(profiles, false), error) != 0)
        return -1;
    return profile_files_flush(files_of(profiles, true), error);
}

void run_profiles_drop(struct run_profiles *profiles)
{
    profile_files_drop(files_of(profiles, false));
    profile_files_drop(files_of(profiles, true));
}

int run_profiles_close(struct run_profiles *profiles, struct error *error)
{
    int result = profile_files_close(&profiles->files, error);

    if (native_session_close(profiles->native, error) != 0)
        result = -1;
    profiles->native = NULL;
    return result;
}
