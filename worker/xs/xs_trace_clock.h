/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_XS_TRACE_CLOCK_H
#define GASPIPE_WORKER_XS_XS_TRACE_CLOCK_H

/*
 * A machine's meter as a clock for tracers (trace/agent/clock.c): while one runs, the variable
 * gastrace_computrons points to it, which they find by its symbol. Nothing is executed for that
 * while it is metered; exporting it would make the dynamic linker's work another, which is counted.
 */
void xs_trace_clock_begin(void *machine);
void xs_trace_clock_end(void);

#endif
