/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/scheduler.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "supervisor/process/worker_exit.h"
#include "supervisor/schedule/active_crank.h"
#include "supervisor/schedule/commit_sync.h"
#include "supervisor/schedule/policy.h"
#include "supervisor/schedule/scheduler_state.h"
#include "supervisor/schedule/speculation.h"
#include "supervisor/schedule/startup.h"
#include "supervisor/vats/warehouse.h"

/* Cranks at most that are added to a commit which waits for a snapshot: their output waits, too. */
enum { EXTRA_CRANKS_MAX = 1000 };

struct scheduler {
    struct scheduler_options options;
    struct scheduler_listener listener;
    struct active_crank crank;
    struct startup startup;
    struct commit_sync sync;

    enum scheduler_state state;
    bool idle_first;   /* of scheduler_start() */
    bool has_new_vats; /* nothing is committed before their first deliveries have ended */
    bool in_run;       /* run_cranks() is on the stack */
    struct error loss; /* why cranks could not be committed while closing; or of no kind */
    unsigned tries;    /* that failed in a row, of the crank, a snapshot or a vat's start */
    uv_timer_t pause;  /* of PAUSED */
    uint64_t uncommitted_cranks;
};

static void scheduler_handle_event(struct scheduler *scheduler, enum scheduler_event event)
{
    const enum scheduler_state next = scheduler_step(scheduler->state, event);

    if (next == SCHEDULER_FORBIDDEN) {
        log_line("scheduler: unexpected event %d in state %d", event, scheduler->state);
        abort();
    }
    scheduler->state = next;
}

static bool scheduler_has_stopped(void *context)
{
    const struct scheduler *scheduler = context;

    return scheduler->state >= SCHEDULER_FAILED;
}

static void fail_scheduler(struct scheduler *scheduler, const struct error *error)
{
    const bool is_first = !scheduler_has_stopped(scheduler);

    scheduler_handle_event(scheduler, SCHEDULER_EVENT_FAILURE);
    if (is_first)
        scheduler->listener.failed(scheduler->listener.context, error);
}

/* ---- transactions ---- */

int scheduler_open_transaction(struct scheduler *scheduler, struct error *error)
{
    return store_transaction_begin(scheduler->options.store, error);
}

static int commit_cranks(struct scheduler *scheduler, struct error *error)
{
    commit_sync_poll(&scheduler->sync);
    if (scheduler->state == SCHEDULER_FAILED)
        return 0; /* the commit before was lost */
    scheduler->uncommitted_cranks = 0;
    if (commit_sync_write(&scheduler->sync, error) != 0)
        return -1;
    scheduler->listener.committed(scheduler->listener.context);
    commit_sync_request(&scheduler->sync);
    return 0;
}

int scheduler_commit(struct scheduler *scheduler)
{
    struct error error;

    if (commit_cranks(scheduler, &error) != 0) {
        fail_scheduler(scheduler, &error);
        return -1;
    }
    return scheduler->state == SCHEDULER_FAILED ? -1 : 0;
}

/* While closing. Reported after the durable results were printed; the owner drops the others. */
static void lose_cranks(struct scheduler *scheduler, const struct error *error)
{
    error_set(&scheduler->loss, ERROR_SYSTEM, "the last cranks are lost: %s", error->text);
    scheduler->loss.is_damage = error->is_damage;
}

static void scheduler_on_sync_begins(void *context)
{
    struct scheduler *scheduler = context;

    scheduler->listener.syncing(scheduler->listener.context);
}

static void scheduler_on_sync_over(void *context, int result, const struct error *error)
{
    struct scheduler *scheduler = context;

    if (result == 0)
        scheduler->listener.durable(scheduler->listener.context);
    else if (scheduler->state == SCHEDULER_CLOSING)
        lose_cranks(scheduler, error);
    else
        fail_scheduler(scheduler, error);
}

/* ---- steps ---- */

static void count_crank(struct scheduler *scheduler)
{
    scheduler->uncommitted_cranks++;
    scheduler->tries = 0;
}

/* The commit would wait for a snapshot that is being compressed; cranks continue meanwhile. */
static bool waits_for_snapshot(const struct scheduler *scheduler)
{
    return store_snapshot_is_pending(scheduler->options.store) &&
           scheduler->uncommitted_cranks < scheduler->options.cranks_per_commit + EXTRA_CRANKS_MAX;
}

static int commit_when_full(struct scheduler *scheduler)
{
    struct error error;

    if (scheduler->has_new_vats || waits_for_snapshot(scheduler))
        return 0;
    /* Also where many cranks are committed together: the slog waits in memory for the hash. */
    if (store_snapshot_settle(scheduler->options.store, &error) != 0) {
        fail_scheduler(scheduler, &error);
        return -1;
    }
    return scheduler->uncommitted_cranks < scheduler->options.cranks_per_commit
               ? 0
               : scheduler_commit(scheduler);
}

static void report_idle(struct scheduler *scheduler)
{
    const bool new_vats = scheduler->has_new_vats;

    scheduler_handle_event(scheduler, SCHEDULER_EVENT_NOTHING);
    /* Vats that cannot be started have been reported by now; the others stay in the store. */
    scheduler->has_new_vats = scheduler->crank.quiet = false;
    if ((new_vats ? scheduler_commit(scheduler) : commit_when_full(scheduler)) == 0)
        scheduler->listener.idle(scheduler->listener.context);
}

static void deliver_crank(struct scheduler *scheduler, const struct kernel_delivery *delivery)
{
    struct error error;

    scheduler_handle_event(scheduler, SCHEDULER_EVENT_DELIVERY);
    if (active_crank_deliver(&scheduler->crank, delivery, &error) != 0)
        fail_scheduler(scheduler, &error);
}

static void run_crank(struct scheduler *scheduler)
{
    struct kernel_step step;
    struct error error;

    if (scheduler_open_transaction(scheduler, &error) != 0) {
        fail_scheduler(scheduler, &error);
        return;
    }
    if (active_crank_next(&scheduler->crank, &step, &error) != 0) {
        if (active_crank_give_up(&scheduler->crank, &error) != 0)
            fail_scheduler(scheduler, &error);
        return;
    }
    switch (step.work) {
    case KERNEL_ROUTED:
        /* A routing crank has no visible effect before the delivery that follows: both go into one
         * commit. */
        count_crank(scheduler);
        return;
    case KERNEL_DELIVERY:
        deliver_crank(scheduler, &step.delivery);
        return;
    case KERNEL_IDLE:
        report_idle(scheduler);
        return;
    }
}

/* A loop, since a delivery may end within its crank and call this: recursion would make the stack
 * grow with the number of cranks. */
static void run_cranks(struct scheduler *scheduler)
{
    if (scheduler->in_run)
        return;
    scheduler->in_run = true;
    while (scheduler->state == SCHEDULER_READY)
        run_crank(scheduler);
    scheduler->in_run = false;
}

void scheduler_run(struct scheduler *scheduler)
{
    scheduler_handle_event(scheduler, SCHEDULER_EVENT_GO);
    run_cranks(scheduler);
}

/* After a crank, or after its snapshot. */
static void continue_after(struct scheduler *scheduler, enum scheduler_event event)
{
    scheduler_handle_event(scheduler, event);
    if (commit_when_full(scheduler) == 0)
        run_cranks(scheduler);
}

/* ---- snapshots ---- */

static bool is_snapshot_due(const struct scheduler *scheduler, int64_t vat, int64_t end)
{
    return policy_snapshot_due(&scheduler->options.snapshots,
                               warehouse_saved_at(scheduler->crank.warehouse, vat), end);
}

/* Begins the vat's snapshot if it is due, which it returns. */
static bool write_due_snapshot(struct scheduler *scheduler, int64_t vat)
{
    struct kernel_vat described;
    struct error error;
    bool lives, due;

    if (kernel_vat_get(scheduler->crank.kernel, vat, &described, &lives, &error) != 0) {
        fail_scheduler(scheduler, &error);
        return true;
    }
    due = lives && is_snapshot_due(scheduler, vat, described.deliveries);
    if (lives)
        kernel_vat_free(&described);
    if (due && scheduler->state != SCHEDULER_STARTING)
        scheduler_handle_event(scheduler, SCHEDULER_EVENT_SNAPSHOT);
    if (due)
        warehouse_save(scheduler->crank.warehouse, vat);
    return due;
}

/* After a snapshot the vat's deliveries are numbered differently. The next crank waits until the
 * vat's worker has restarted from it. */
static void continue_after_save(struct scheduler *scheduler, int64_t vat)
{
    struct error error;

    if (scheduler->state != SCHEDULER_STARTING)
        scheduler_handle_event(scheduler, SCHEDULER_EVENT_SAVED);
    if (active_crank_update_vat(&scheduler->crank, vat, &error) != 0)
        fail_scheduler(scheduler, &error);
}

/* ---- the start ---- */

static void start_cranks(struct scheduler *scheduler)
{
    scheduler_handle_event(scheduler, SCHEDULER_EVENT_STARTED);
    run_cranks(scheduler);
}

static void go_when_started(struct scheduler *scheduler, int result, const struct error *error)
{
    if (result != 0)
        fail_scheduler(scheduler, error);
    else if (!startup_is_over(&scheduler->startup) || scheduler->state != SCHEDULER_STARTING)
        return;
    else if (scheduler->idle_first)
        report_idle(scheduler);
    else
        start_cranks(scheduler);
}

void scheduler_start(struct scheduler *scheduler, bool idle_first)
{
    struct error error;
    int result;

    /* A vat that cannot be started may end the start from within startup_go(). */
    scheduler->idle_first = idle_first;
    result = startup_go(&scheduler->startup, &error);
    go_when_started(scheduler, result, &error);
}

static void vat_arrived(struct scheduler *scheduler, int64_t vat)
{
    struct error error;
    int result = startup_arrived(&scheduler->startup, vat, &error);

    go_when_started(scheduler, result, &error);
}

static void scheduler_vat_is_ready(struct scheduler *scheduler, int64_t vat)
{
    const bool starting = scheduler->state == SCHEDULER_STARTING;

    if (!starting && scheduler->state != SCHEDULER_SNAPSHOTTING &&
        scheduler->state != SCHEDULER_RESTORING)
        return;
    /* The worker that was to write the snapshot may have been lost, and this one replaces it. */
    if (write_due_snapshot(scheduler, vat))
        return;
    if (starting) {
        scheduler->tries = 0;
        vat_arrived(scheduler, vat);
    } else {
        continue_after(scheduler, SCHEDULER_EVENT_RESTORED);
    }
}

/* ---- a delivery's end ---- */

static void after_crank(struct scheduler *scheduler, bool worker_lives)
{
    const struct kernel_delivery *delivery = &scheduler->crank.delivery;

    if (worker_lives && warehouse_waits(scheduler->crank.warehouse, delivery->vat) &&
        is_snapshot_due(scheduler, delivery->vat, delivery->position + 1)) {
        scheduler_handle_event(scheduler, SCHEDULER_EVENT_SNAPSHOT);
        warehouse_save(scheduler->crank.warehouse, delivery->vat);
        if (scheduler->crank.speculation != NULL)
            speculation_continue(scheduler->crank.speculation);
    } else {
        continue_after(scheduler, SCHEDULER_EVENT_CRANK_ENDED);
    }
}

static void finish_delivery(struct scheduler *scheduler, const struct delivery_end *end)
{
    const struct kernel_delivery *delivery = &scheduler->crank.delivery;
    const bool due = is_snapshot_due(scheduler, delivery->vat, delivery->position + 1);
    struct kernel_delivery_end ended;
    struct delivery_report report;
    struct error error;

    if (active_crank_end_delivery(&scheduler->crank, end, due, &ended, &report, &error) != 0) {
        fail_scheduler(scheduler, &error);
        return;
    }
    if (report.crank_ended)
        count_crank(scheduler);
    scheduler->listener.delivered(scheduler->listener.context, &report);
    if (scheduler_has_stopped(scheduler))
        return;
    if (ended.again)
        deliver_crank(scheduler, &ended.delivery);
    else
        after_crank(scheduler, !end->died);
}

/* ---- host failures ---- */

static void scheduler_on_pause_over(uv_timer_t *timer)
{
    struct scheduler *scheduler = timer->data;

    if (scheduler_has_stopped(scheduler))
        return;
    scheduler_handle_event(scheduler, SCHEDULER_EVENT_PAUSE_OVER);
    run_cranks(scheduler);
}

static void describe_work(const struct scheduler *scheduler, enum warehouse_work work, int64_t vat,
                          char *text, size_t size)
{
    const char *name = warehouse_name(scheduler->crank.warehouse, vat);

    if (work == WAREHOUSE_SNAPSHOT || work == WAREHOUSE_RESTART)
        snprintf(text, size, "vat %s, its snapshot", name);
    else if (scheduler->crank.delivering)
        snprintf(text, size, "vat %s, crank %" PRId64, name, scheduler->crank.delivery.crank_num);
    else
        snprintf(text, size, "vat %s, its start", name);
}

/* Commits the whole cranks before this one, unless new vats have not all started yet. */
static void fail_after_tries(struct scheduler *scheduler, const char *work, const char *reason,
                             unsigned tries)
{
    struct error error;

    error_set(&error, ERROR_SYSTEM, "%s: %s; failed after %u %s", work, reason, tries,
              tries == 1 ? "try" : "tries");
    if (scheduler->has_new_vats || scheduler_commit(scheduler) == 0)
        fail_scheduler(scheduler, &error);
}

/* The reason is for the operator, who decides what becomes of the vat. */
static int queue_quarantine(struct scheduler *scheduler, int64_t vat,
                            const struct warehouse_loss *loss, struct error *error)
{
    static const char *const failed[] = {
        [WAREHOUSE_DELIVERY] = "",
        [WAREHOUSE_START] = "it cannot be restored: ",
        [WAREHOUSE_SNAPSHOT] = "its snapshot cannot be written: ",
        [WAREHOUSE_RESTART] = "its snapshot cannot be restored: ",
    };
    struct buf reason = {0};
    int result = -1;

    buf_printf(&reason, "%s%s", failed[loss->work], loss->reason);
    if (buf_string(&reason) == NULL)
        error_memory(error, "a reason");
    else if (scheduler_open_transaction(scheduler, error) == 0)
        result = kernel_quarantine(scheduler->crank.kernel, vat, reason.data, error);
    buf_free(&reason);
    return result;
}

/* The quarantine is the next crank. What waited for the vat's worker continues without it. */
static void quarantine(struct scheduler *scheduler, int64_t vat, const struct warehouse_loss *loss)
{
    struct error error;

    scheduler->tries = 0;
    if (queue_quarantine(scheduler, vat, loss, &error) != 0) {
        fail_scheduler(scheduler, &error);
    } else if (scheduler->state == SCHEDULER_STARTING) {
        vat_arrived(scheduler, vat);
    } else if (scheduler->state == SCHEDULER_DELIVERING) {
        scheduler_handle_event(scheduler, SCHEDULER_EVENT_CRANK_ENDED);
        run_cranks(scheduler);
    } else {
        continue_after(scheduler, SCHEDULER_EVENT_RESTORED);
    }
}

static int drop_crank(struct scheduler *scheduler, const struct warehouse_loss *loss,
                      unsigned tries)
{
    struct error error;

    if (active_crank_drop(&scheduler->crank, loss->reason, tries, &error) != 0) {
        fail_scheduler(scheduler, &error);
        return -1;
    }
    scheduler->listener.undone(scheduler->listener.context);
    return 0;
}

/* In a row: of the crank or the snapshot; at the start, where many vats start, of the vat. */
static unsigned count_try(struct scheduler *scheduler, int64_t vat)
{
    return scheduler->state == SCHEDULER_STARTING ? startup_failed(&scheduler->startup, vat)
                                                  : ++scheduler->tries;
}

/* Restores from the snapshot before, if the vat's last one cannot be used. */
static bool falls_back(struct scheduler *scheduler, int64_t vat, const struct warehouse_loss *loss,
                       const char *work)
{
    if (loss->work != WAREHOUSE_START || !warehouse_fall_back(scheduler->crank.warehouse, vat))
        return false;
    log_line("%s: %s; tried again from the snapshot before", work, loss->reason);
    return true;
}

static void try_again(struct scheduler *scheduler, int64_t vat, bool in_crank, uint64_t pause_ms)
{
    if (in_crank) {
        scheduler_handle_event(scheduler, SCHEDULER_EVENT_CRANK_UNDONE);
        (void)uv_timer_start(&scheduler->pause, scheduler_on_pause_over, pause_ms, 0);
        return;
    }
    if (scheduler->state != SCHEDULER_STARTING)
        scheduler_handle_event(scheduler, SCHEDULER_EVENT_SNAPSHOT_LOST);
    warehouse_start(scheduler->crank.warehouse, vat);
}

static void retry_after_loss(struct scheduler *scheduler, int64_t vat,
                             const struct warehouse_loss *loss)
{
    const struct policy_loss given = {
        .in_crank = scheduler->crank.delivering,
        .kind = loss->kind,
        .tries = count_try(scheduler, vat),
        .retries = scheduler->options.retries,
    };
    const struct policy_decision retry = policy_after_loss(&given);
    char text[128];

    describe_work(scheduler, loss->work, vat, text, sizeof text);
    if (given.in_crank && drop_crank(scheduler, loss, given.tries) != 0)
        return;
    switch (retry.action) {
    case POLICY_QUARANTINE:
        if (falls_back(scheduler, vat, loss, text)) {
            try_again(scheduler, vat, given.in_crank, 0);
            return;
        }
        log_line("%s: %s; failed after %u %s: the vat is in quarantine, the others continue", text,
                 loss->reason, given.tries, given.tries == 1 ? "try" : "tries");
        quarantine(scheduler, vat, loss);
        return;
    case POLICY_GIVE_UP:
        fail_after_tries(scheduler, text, loss->reason, given.tries);
        return;
    case POLICY_AGAIN:
        log_line("%s: %s; tried again, %u of %" PRIu64, text, loss->reason, given.tries,
                 retry.retries);
        try_again(scheduler, vat, given.in_crank, retry.pause_ms);
        return;
    }
}

/* ---- the warehouse's events ---- */

/* A worker's limit is a guard only: exceeding the vat's limit is never a success. */
static bool is_over_compute_limit(const struct scheduler *scheduler, int64_t vat,
                                  const struct warehouse_answer *answer)
{
    const struct kernel_limits *limits = warehouse_limits(scheduler->crank.warehouse, vat);

    return limits != NULL && limits->compute > 0 &&
           answer->meter->compute > (uint64_t)limits->compute;
}

static struct delivery_limit limit_met(const struct scheduler *scheduler, int64_t vat,
                                       const char *reason)
{
    return policy_limit_met(warehouse_limits(scheduler->crank.warehouse, vat), reason);
}

static void scheduler_on_answered(struct scheduler *scheduler, int64_t vat,
                                  const struct warehouse_answer *answer)
{
    struct delivery_end end = {
        .returned = answer->come,
        .problem = answer->problem,
        .stack = answer->stack,
        .source = answer->source,
        .value = answer->value,
        .meter = answer->meter,
        .cpu_waits = answer->cpu_waits,
    };

    if (is_over_compute_limit(scheduler, vat, answer)) {
        end.died = true; /* the kernel ends the vat, and so its worker */
        end.problem = worker_over_compute;
        end.limit = limit_met(scheduler, vat, worker_over_compute);
    }
    finish_delivery(scheduler, &end);
}

static void scheduler_on_lost(struct scheduler *scheduler, int64_t vat,
                              const struct warehouse_loss *loss)
{
    const struct delivery_end end = {
        .returned = loss->come,
        .problem = loss->reason,
        .died = true,
        .meter = loss->used,
        .cpu_waits = CPU_WAITS_UNKNOWN,
        .limit = limit_met(scheduler, vat, loss->reason),
    };

    if (loss->kind != VAT_LOSS_ENDS_VAT)
        retry_after_loss(scheduler, vat, loss);
    else if (scheduler->crank.delivering)
        finish_delivery(scheduler, &end);
    else
        vat_arrived(scheduler, vat); /* its first delivery fails the same way and reports it */
}

static void scheduler_on_closed(struct scheduler *scheduler)
{
    scheduler_handle_event(scheduler, SCHEDULER_EVENT_CLOSED);
    scheduler->listener.closed(scheduler->listener.context);
}

static void take_crank_event(struct scheduler *scheduler, const struct warehouse_event *event)
{
    struct error error;

    if (event->kind == WAREHOUSE_EVENT_SENT)
        active_crank_sent(&scheduler->crank, event->at);
    else if (event->kind == WAREHOUSE_EVENT_CONSOLE)
        active_crank_console(&scheduler->crank, &event->request->console, event->at);
    else
        active_crank_syscall(&scheduler->crank, &event->request->syscall, event->at);
    if (active_crank_check(&scheduler->crank, &error) != 0)
        fail_scheduler(scheduler, &error);
}

static void take_warehouse_event(void *context, const struct warehouse_event *event)
{
    struct scheduler *scheduler = context;

    switch (event->kind) {
    case WAREHOUSE_EVENT_READY:
        scheduler_vat_is_ready(scheduler, event->vat);
        break;
    case WAREHOUSE_EVENT_SENT:
    case WAREHOUSE_EVENT_CONSOLE:
    case WAREHOUSE_EVENT_SYSCALL:
        take_crank_event(scheduler, event);
        break;
    case WAREHOUSE_EVENT_ANSWERED:
        scheduler_on_answered(scheduler, event->vat, event->answer);
        break;
    case WAREHOUSE_EVENT_LOST:
        if (!scheduler_has_stopped(scheduler))
            scheduler_on_lost(scheduler, event->vat, event->loss);
        break;
    case WAREHOUSE_EVENT_SAVED:
        if (!scheduler_has_stopped(scheduler))
            continue_after_save(scheduler, event->vat);
        break;
    case WAREHOUSE_EVENT_FAILED:
        fail_scheduler(scheduler, event->error);
        break;
    case WAREHOUSE_EVENT_CLOSED:
        scheduler_on_closed(scheduler);
        break;
    }
}

static void scheduler_on_warehouse_event(void *context, const struct warehouse_event *event)
{
    const struct scheduler *scheduler = context;

    if (scheduler->crank.speculation != NULL &&
        speculation_takes(scheduler->crank.speculation, event))
        return;
    take_warehouse_event(context, event);
}

/* ---- beginning and end ---- */

static int open_kernel(struct scheduler *scheduler, struct error *error)
{
    const struct scheduler_options *options = &scheduler->options;
    const struct kernel_options kernel = {
        .reap_interval = (int64_t)options->reap_interval,
        .reap_gc_references = KERNEL_REAP_GC_REFERENCES,
        .limits = options->limits,
        .listener = active_crank_kernel_listener(&scheduler->crank),
    };

    if (store_transaction_begin(options->store, error) != 0)
        return -1;
    scheduler->crank.kernel = kernel_open(options->store, &kernel, error);
    return scheduler->crank.kernel != NULL ? 0 : -1;
}

static int open_warehouse(struct scheduler *scheduler, struct error *error)
{
    const struct scheduler_options *options = &scheduler->options;
    const struct warehouse_options warehouse = {
        .loop = options->loop,
        .launcher = options->launcher,
        .store = options->store,
        .slog = options->slog,
        .fingerprint = options->fingerprint,
        .timeout_ms = options->timeout_ms,
        .jobs = options->jobs,
        .max_workers = options->max_workers,
    };
    const struct warehouse_listener listener = {
        .context = scheduler,
        .event = scheduler_on_warehouse_event,
    };

    scheduler->crank.warehouse = warehouse_new(&warehouse, &listener, error);
    return scheduler->crank.warehouse != NULL ? 0 : -1;
}

static int open_speculation(struct scheduler *scheduler, struct error *error)
{
    const struct speculation_options options = {
        .store = scheduler->options.store,
        .kernel = scheduler->crank.kernel,
        .warehouse = scheduler->crank.warehouse,
        .jobs = scheduler->options.jobs,
        .source = scheduler->options.upcoming,
        .context = scheduler,
        .event = take_warehouse_event,
        .stopped = scheduler_has_stopped,
    };

    if (scheduler->options.jobs <= 1)
        return 0;
    scheduler->crank.speculation = speculation_new(&options, error);
    return scheduler->crank.speculation != NULL ? 0 : -1;
}

static int open_parts(struct scheduler *scheduler, struct error *error)
{
    if (open_kernel(scheduler, error) != 0 || open_warehouse(scheduler, error) != 0 ||
        open_speculation(scheduler, error) != 0)
        return -1;
    (void)uv_timer_init(scheduler->options.loop,
                        &scheduler->pause); /* cannot fail in any libuv 1 */
    scheduler->pause.data = scheduler;
    return 0;
}

struct scheduler *scheduler_new(const struct scheduler_options *options,
                                const struct scheduler_listener *listener, struct error *error)
{
    struct scheduler *scheduler = calloc(1, sizeof *scheduler);

    if (scheduler == NULL) {
        error_memory(error, "the scheduler");
        return NULL;
    }
    scheduler->options = *options;
    scheduler->listener = *listener;
    scheduler->has_new_vats = true;
    active_crank_init(&scheduler->crank, options->slog);
    scheduler->crank.counted = options->launcher->counted;
    scheduler->crank.metered = options->launcher->metered;
    scheduler->crank.fingerprint = options->fingerprint;
    scheduler->crank.quiet = true; /* the owner reports vats that cannot be started */
    scheduler->startup = (struct startup){
        .crank = &scheduler->crank,
        .snapshots = &scheduler->options.snapshots,
        .few_workers = options->max_workers > 0,
        .at_once = options->slog != NULL ? options->jobs : 0,
    };
    scheduler->sync = (struct commit_sync){
        .loop = options->loop,
        .store = options->store,
        .slog = options->slog,
        .in_place = options->commits_in_place,
        .context = scheduler,
        .begins = scheduler_on_sync_begins,
        .over = scheduler_on_sync_over,
    };
    if (open_parts(scheduler, error) == 0)
        return scheduler;
    scheduler_free(scheduler);
    return NULL;
}

struct kernel *scheduler_kernel(const struct scheduler *scheduler)
{
    return scheduler->crank.kernel;
}

void scheduler_close(struct scheduler *scheduler, bool drop)
{
    const bool drops = scheduler->state == SCHEDULER_FAILED || scheduler->has_new_vats || drop;
    struct error error;

    if (scheduler->state >= SCHEDULER_CLOSING)
        return;
    scheduler_handle_event(scheduler, SCHEDULER_EVENT_CLOSE);
    uv_close((uv_handle_t *)&scheduler->pause, NULL);
    active_crank_close(&scheduler->crank);
    if (drops)
        store_transaction_rollback(scheduler->options.store);
    else if (commit_cranks(scheduler, &error) != 0)
        lose_cranks(scheduler, &error);
    commit_sync_close(&scheduler->sync);
    if (scheduler->loss.kind != ERROR_NONE)
        scheduler->listener.failed(scheduler->listener.context, &scheduler->loss);
    warehouse_close(scheduler->crank.warehouse);
}

void scheduler_shorten_timeout(struct scheduler *scheduler)
{
    warehouse_shorten_timeout(scheduler->crank.warehouse);
}

void scheduler_free(struct scheduler *scheduler)
{
    if (scheduler == NULL)
        return;
    speculation_free(scheduler->crank.speculation);
    startup_free(&scheduler->startup);
    warehouse_free(scheduler->crank.warehouse);
    kernel_close(scheduler->crank.kernel);
    active_crank_free(&scheduler->crank);
    free(scheduler);
}
