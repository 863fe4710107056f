/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/start_filter.h"

#include "sandbox/filter_program.h"

static const struct sock_filter program[] = {
#include <start_filter.inc> /* compiled from sandbox/filters/start_rules.c */
};

int sandbox_enter_start_filter(struct error *error)
{
    const int result = filter_program_enter(program, sizeof program / sizeof *program, false);

    return result == 0 ? 0 : error_system(error, result, "cannot enter the filter of system calls");
}
