/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/trace/trace_target.h"

/* In place of trace_target.c where no functions are traced. */

int trace_machine_check(struct error *error)
{
    return error_set(error, ERROR_INPUT,
                     "functions can only be traced on x86-64; reports of a trace work here, too");
}

int trace_child_start(struct trace_child *child, const char *program, char *const *arguments,
                      int ring_fd, struct error *error)
{
    (void)child, (void)program, (void)arguments, (void)ring_fd;
    return trace_machine_check(error);
}

int trace_child_wait(struct trace_child *child, int milliseconds, int *status, struct error *error)
{
    (void)child, (void)milliseconds, (void)status;
    return trace_machine_check(error);
}

int trace_attach(struct trace_attached *attached, pid_t process, struct trace_ring_options *options,
                 const struct trace_sink *sink, struct error *error)
{
    (void)attached, (void)process, (void)options, (void)sink;
    return trace_machine_check(error);
}

int trace_detach(struct trace_attached *attached, struct error *error)
{
    (void)attached;
    return trace_machine_check(error);
}
