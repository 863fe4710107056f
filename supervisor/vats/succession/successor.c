/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/vats/succession/successor.h"

#include <stddef.h>

static void forget(struct successor *successor)
{
    successor->process = NULL;
    successor->retirement = NULL;
}

/* It was told nothing that it could answer: it is of no use. */
static void on_successor_frame(void *context, struct iovec frame, struct stamp come)
{
    (void)frame;
    (void)come;
    successor_drop(context);
}

static void on_successor_bad_frame(void *context, const struct error *error)
{
    (void)error;
    successor_drop(context);
}

/* Another one is started in its place, and says the same in its turn. */
static void on_successor_stderr(void *context, const char *line)
{
    (void)context;
    (void)line;
}

static void on_successor_gone(void *context, int exit_status, int signal_number)
{
    struct successor *successor = context;

    (void)exit_status;
    (void)signal_number;
    worker_process_free(successor->process);
    retirement_free(successor->retirement);
    forget(successor);
}

struct worker_listener successor_listener(struct successor *successor)
{
    return (struct worker_listener){
        .context = successor,
        .frame = on_successor_frame,
        .bad_frame = on_successor_bad_frame,
        .stderr_line = on_successor_stderr,
        .gone = on_successor_gone,
    };
}

void successor_set(struct successor *successor, struct worker_process *process,
                   struct retirement *retirement)
{
    *successor = (struct successor){.process = process, .retirement = retirement};
}

struct worker_process *successor_take(struct successor *successor,
                                      const struct worker_listener *listener)
{
    struct worker_process *process = successor->process;

    if (process == NULL)
        return NULL;
    worker_process_listen(process, listener);
    retirement_free(successor->retirement);
    *successor = (struct successor){0};
    return process;
}

void successor_drop(struct successor *successor)
{
    struct worker_process *process = successor->process;
    struct retirement *retirement = successor->retirement;

    if (process == NULL)
        return;
    forget(successor);
    retirement_begin(retirement, process, true);
}
