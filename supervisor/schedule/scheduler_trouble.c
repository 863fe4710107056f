/* SPDX-License-Identifier: Apache-2.0 */
/* Trouble that is the host's: workers that are killed, hang, cannot be started. */
#include <inttypes.h>

#include "base/log.h"
#include "supervisor/schedule/delivery_log_slog.h"
#include "supervisor/schedule/scheduler_parts.h"

/* Before a crank's second try; twice as long before each further one: what a host lacks may
 * come back. */
enum { FIRST_PAUSE_MS = 50 };

static void pause_over(uv_timer_t *timer)
{
    scheduler_go(timer->data);
}

void scheduler_init_trouble(struct scheduler *scheduler)
{
    (void)uv_timer_init(scheduler->options.loop,
                        &scheduler->pause); /* cannot fail in any libuv 1 */
    scheduler->pause.data = scheduler;
}

void scheduler_close_trouble(struct scheduler *scheduler)
{
    uv_close((uv_handle_t *)&scheduler->pause, NULL);
}

/* What is under way, for people. */
static void name_work(const struct scheduler *scheduler, int64_t vat, char *words, size_t size)
{
    const char *name = warehouse_name(scheduler->warehouse, vat);

    if (scheduler->delivering)
        snprintf(words, size, "vat %s, crank %" PRId64, name, scheduler->log.delivery.crank_num);
    else if (scheduler->saving)
        snprintf(words, size, "vat %s, its snapshot", name);
    else
        snprintf(words, size, "vat %s, its start", name);
}

/* Whole cranks before this one are kept, where vats have started at all. */
static void give_up(struct scheduler *scheduler, const struct error *error)
{
    if (scheduler->beginning || scheduler_commit(scheduler) == 0)
        scheduler_fail(scheduler, error);
}

static void try_again(struct scheduler *scheduler, int64_t vat, bool crank)
{
    if (crank)
        (void)uv_timer_start(&scheduler->pause, pause_over,
                             (uint64_t)FIRST_PAUSE_MS << (scheduler->tries - 1), 0);
    else
        warehouse_bring(scheduler->warehouse, vat);
}

/* The crank is dropped, and its vat is again as it was before. */
static int drop_crank(struct scheduler *scheduler, int64_t vat, const char *reason,
                      struct error *error)
{
    scheduler->delivering = false;
    scheduler_let_taken_go(scheduler);
    kernel_abandon_crank(scheduler->kernel);
    if (delivery_log_slog_trouble(&scheduler->log, reason, scheduler->tries, error) != 0)
        return -1;
    return scheduler_stop_vat(scheduler, vat, error);
}

void scheduler_meet_trouble(struct scheduler *scheduler, int64_t vat, const char *reason)
{
    const uint64_t retries = scheduler->options.retries;
    const bool crank = scheduler->delivering;
    struct error given_up, error;
    char work[128];

    scheduler->tries++;
    name_work(scheduler, vat, work, sizeof work);
    error_set(&given_up, ERROR_SYSTEM, "%s: %s; given up after %u %s", work, reason,
              scheduler->tries, scheduler->tries == 1 ? "try" : "tries");
    if (crank && drop_crank(scheduler, vat, reason, &error) != 0) {
        scheduler_fail(scheduler, &error);
    } else if (scheduler->tries > retries) {
        give_up(scheduler, &given_up);
    } else {
        log_line("%s: %s; tried again, %u of %" PRIu64, work, reason, scheduler->tries, retries);
        try_again(scheduler, vat, crank);
    }
}
