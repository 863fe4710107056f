/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/xs/xs_platform.h"

#include <stddef.h>

#include <xsAll.h>

/* LeakSanitizer reads this list. If XS stops within a script (computrons, stack, memory), its
 * code stays allocated, and the worker ends. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_options(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:fxParserCode\n";
}

const char *__lsan_default_options(void)
{
    return "print_suppressions=0";
}

/* ---- parser depth ---- */

static bool was_deep;

bool xs_depth_is_over(struct xs_depth *depth)
{
    was_deep = true;
    depth->next = XS_DEPTH_MAX;
    return depth->levels > XS_DEPTH_MAX;
}

bool xs_depth_take_note(void)
{
    const bool taken = was_deep;

    was_deep = false;
    return taken;
}

/* ---- the tracer's clock ---- */

extern const volatile txU4 *volatile gastrace_computrons;
const volatile txU4 *volatile gastrace_computrons;

void xs_trace_clock_begin(void *machine)
{
    const txMachine *const the = machine;

    gastrace_computrons = &the->meterIndex;
}

void xs_trace_clock_end(void)
{
    gastrace_computrons = NULL;
}
