/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/vats/succession/retired_workers.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"

enum { NAME_SIZE = 64 };

struct retirement {
    struct retired_workers *workers;
    struct retirement *next; /* that has not ended yet */
    struct worker_process *process;
    uv_timer_t patience;
    char name[NAME_SIZE];
};

struct retirement *retirement_new(struct retired_workers *workers, const char *name)
{
    struct retirement *retirement = calloc(1, sizeof *retirement);

    if (retirement == NULL)
        return NULL;
    retirement->workers = workers;
    snprintf(retirement->name, sizeof retirement->name, "%.63s", name);
    return retirement;
}

void retirement_free(struct retirement *retirement)
{
    free(retirement);
}

/* Nothing that it says matters any more. */
static void on_retired_frame(void *context, struct iovec frame, struct stamp come)
{
    (void)context;
    (void)frame;
    (void)come;
}

static void on_retired_bad_frame(void *context, const struct error *error)
{
    (void)context;
    (void)error;
}

static void on_retired_stderr(void *context, const char *line)
{
    const struct retirement *retirement = context;

    log_line("%s: %s", retirement->name, line);
}

static void forget(struct retirement *retirement)
{
    struct retirement **link = &retirement->workers->first;

    while (*link != retirement)
        link = &(*link)->next;
    *link = retirement->next;
    retirement->workers->count--;
}

static void patience_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void on_retired_gone(void *context, int exit_status, int signal_number)
{
    struct retirement *retirement = context;
    struct retired_workers *workers = retirement->workers;

    (void)exit_status; /* it had done its work */
    (void)signal_number;
    worker_process_free(retirement->process);
    forget(retirement);
    uv_close((uv_handle_t *)&retirement->patience, patience_closed);
    workers->ended(workers->context);
}

static void on_patience_over(uv_timer_t *timer)
{
    const struct retirement *retirement = timer->data;

    worker_process_kill(retirement->process);
}

static void limit_patience(struct retirement *retirement)
{
    (void)uv_timer_start(&retirement->patience, on_patience_over, retirement->workers->patience_ms,
                         0); /* cannot fail: the callback is there */
}

void retired_workers_hurry(struct retired_workers *workers, uint64_t patience_ms)
{
    workers->patience_ms = patience_ms;
    for (struct retirement *each = workers->first; each != NULL; each = each->next)
        limit_patience(each);
}

void retirement_begin(struct retirement *retirement, struct worker_process *process, bool at_once)
{
    const struct worker_listener listener = {
        .context = retirement,
        .frame = on_retired_frame,
        .bad_frame = on_retired_bad_frame,
        .stderr_line = on_retired_stderr,
        .gone = on_retired_gone,
    };

    retirement->process = process;
    retirement->next = retirement->workers->first;
    retirement->workers->first = retirement;
    retirement->workers->count++;
    (void)uv_timer_init(retirement->workers->loop, &retirement->patience); /* cannot fail */
    retirement->patience.data = retirement;
    worker_process_listen(process, &listener);
    worker_process_hang_up(process);
    if (at_once)
        worker_process_kill(process);
    else
        limit_patience(retirement);
}
