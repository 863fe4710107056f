/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/run_profiles.h"

#include <string.h>

int run_profiles_open(struct profile_files *profiles, const struct run_options *options,
                      struct error *error)
{
    const struct profile_paths paths = {options->profile, options->profile_folded};
    const struct option_list *const lists[] = {&options->vats, &options->new_vats,
                                               &options->upgrades};

    if (profile_files_check_input(paths, options->deliveries, error) != 0)
        return -1;
    for (size_t list = 0; list < sizeof lists / sizeof *lists; list++)
        for (size_t i = 0; i < lists[list]->count; i++)
            if (profile_files_check_input(paths, strchr(lists[list]->items[i], '=') + 1, error) !=
                0)
                return -1;
    return profile_files_open(profiles, paths, error);
}

int run_profiles_add(struct profile_files *profiles, const struct delivery_report *report,
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

    return profile_files_add(profiles, &delivery, error);
}
