/* SPDX-License-Identifier: Apache-2.0 */
/* Trouble that is the host's: workers that are killed, hang, cannot be started. */
#include <inttypes.h>

#include "base/log.h"
#include "supervisor/conductor_parts.h"
#include "supervisor/journal_slog.h"

/* Before a crank's second try; twice as long before each further one: what a host lacks may
 * come back. */
enum { FIRST_PAUSE_MS = 50 };

static void pause_over(uv_timer_t *timer)
{
    conductor_go(timer->data);
}

void conductor_init_trouble(struct conductor *conductor)
{
    (void)uv_timer_init(conductor->options.loop,
                        &conductor->pause); /* cannot fail in any libuv 1 */
    conductor->pause.data = conductor;
}

void conductor_close_trouble(struct conductor *conductor)
{
    uv_close((uv_handle_t *)&conductor->pause, NULL);
}

/* What is under way, for people. */
static void name_work(const struct conductor *conductor, int64_t vat, char *words, size_t size)
{
    const char *name = warehouse_name(conductor->warehouse, vat);

    if (conductor->delivering)
        snprintf(words, size, "vat %s, crank %" PRId64, name,
                 conductor->journal.delivery.crank_num);
    else if (conductor->saving)
        snprintf(words, size, "vat %s, its snapshot", name);
    else
        snprintf(words, size, "vat %s, its start", name);
}

/* Whole cranks before this one are kept, where vats have started at all. */
static void give_up(struct conductor *conductor, const struct error *error)
{
    if (conductor->beginning || conductor_commit(conductor) == 0)
        conductor_fail(conductor, error);
}

static void try_again(struct conductor *conductor, int64_t vat, bool crank)
{
    if (crank)
        (void)uv_timer_start(&conductor->pause, pause_over,
                             (uint64_t)FIRST_PAUSE_MS << (conductor->tries - 1), 0);
    else
        warehouse_bring(conductor->warehouse, vat);
}

/* The crank is dropped, and its vat is again as it was before. */
static int drop_crank(struct conductor *conductor, int64_t vat, const char *reason,
                      struct error *error)
{
    conductor->delivering = false;
    conductor_let_taken_go(conductor);
    kernel_abandon_crank(conductor->kernel);
    if (journal_slog_trouble(&conductor->journal, reason, conductor->tries, error) != 0)
        return -1;
    return conductor_stop_vat(conductor, vat, error);
}

void conductor_meet_trouble(struct conductor *conductor, int64_t vat, const char *reason)
{
    const uint64_t retries = conductor->options.retries;
    const bool crank = conductor->delivering;
    struct error given_up, error;
    char work[128];

    conductor->tries++;
    name_work(conductor, vat, work, sizeof work);
    error_set(&given_up, ERROR_SYSTEM, "%s: %s; given up after %u %s", work, reason,
              conductor->tries, conductor->tries == 1 ? "try" : "tries");
    if (crank && drop_crank(conductor, vat, reason, &error) != 0) {
        conductor_fail(conductor, &error);
    } else if (conductor->tries > retries) {
        give_up(conductor, &given_up);
    } else {
        log_line("%s: %s; tried again, %u of %" PRIu64, work, reason, conductor->tries, retries);
        try_again(conductor, vat, crank);
    }
}
