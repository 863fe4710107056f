/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/xs/xs_trace_clock.h"

#include <stddef.h>

#include <xsAll.h>

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
