/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/start_filter.h"

#include "sandbox/filter_program.h"

static const struct sock_filter program[] = {
#include <start_filter.inc> /* compiled from sandbox/filters/start_rules.c */
};

static const struct sock_filter zygote_program[] = {
#include <zygote_filter.inc> /* from the same rules */
};

static int enter(const struct sock_filter *filter, size_t length, struct error *error)
{
    const int result = filter_program_enter(filter, length, false);

    return result == 0 ? 0 : error_system(error, result, "cannot enter the filter of system calls");
}

int sandbox_enter_start_filter(struct error *error)
{
    return enter(program, sizeof program / sizeof *program, error);
}

int sandbox_enter_zygote_filter(struct error *error)
{
    return enter(zygote_program, sizeof zygote_program / sizeof *zygote_program, error);
}
