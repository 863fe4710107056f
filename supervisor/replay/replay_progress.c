/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/replay_progress.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "base/text/format.h"
#include "slog/read/names.h"
#include "supervisor/replay/source/source.h"
#include "supervisor/transcript/recorded_delivery.h"

static const uint64_t INTERVAL_NANOSECONDS = 2000000000;

struct replay_progress {
    const struct replay_options *options;
    uint64_t began, shown; /* nanoseconds, uv_hrtime() */
    int64_t passed;        /* deliveries */
    uv_thread_t thread;
    bool counting;
    atomic_bool ends;
    atomic_llong total; /* deliveries; 0: not counted yet */
};

/* ---- the total ---- */

/* Only a file can be read twice. */
static bool can_be_counted(const struct replay_options *options)
{
    struct stat status;

    for (size_t i = 0; options->store == NULL && i < options->source_count; i++)
        if (stat(options->sources[i], &status) != 0 ||
            (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)))
            return false;
    return true;
}

/* The vats that the source has named so far. */
struct counted_vats {
    struct names ids;
    struct buf wanted; /* by number in `ids`: 1 or 0 */
};

/* 1 for a delivery that the replay passes, 0 for another event; -1: out of memory. */
static int count_event(struct counted_vats *vats, const struct source_event *event,
                       const struct source_selection *selection)
{
    uint32_t vat;

    if (event->vat_id.at == NULL)
        return 0;
    vat = names_intern(&vats->ids, event->vat_id.at, event->vat_id.length);
    if (vats->wanted.length < vats->ids.count)
        buf_append_byte(&vats->wanted, 0);
    if (vat == NAMES_NONE || buf_failed(&vats->wanted))
        return -1;
    if (source_event_is_wanted(event, selection))
        vats->wanted.data[vat] = 1;
    return event->kind == SOURCE_DELIVERY && vats->wanted.data[vat] != 0 &&
           (event->delivery_num == RECORDED_NONE || event->delivery_num <= selection->to);
}

/* Errors are met, and reported, by the replay itself. */
int64_t replay_progress_count(const struct replay_options *options, const atomic_bool *ends)
{
    struct counted_vats vats = {0};
    struct error error;
    struct replay_source *source = replay_source_open(options, &error);
    struct source_event event;
    int64_t total = 0;
    int result = source == NULL ? -1 : 1;

    while (result == 1 && !atomic_load(ends)) {
        int counted = 0;

        result = source->operations->next(source, &event, &error);
        if (result == 1)
            counted = count_event(&vats, &event, &options->selection);
        if (counted < 0)
            result = -1;
        total += counted > 0;
    }
    if (source != NULL)
        source->operations->close(source);
    names_free(&vats.ids);
    buf_free(&vats.wanted);
    return result == 0 ? total : -1;
}

static void run_count(void *context)
{
    struct replay_progress *progress = context;
    const int64_t total = replay_progress_count(progress->options, &progress->ends);

    if (total > 0)
        atomic_store(&progress->total, total);
}

/* ---- what is shown ---- */

struct replay_progress *replay_progress_new(const struct replay_options *options)
{
    struct replay_progress *progress;

    if (options->part > 0 || !isatty(STDERR_FILENO))
        return NULL;
    progress = calloc(1, sizeof *progress);
    if (progress == NULL)
        return NULL;
    progress->options = options;
    progress->began = progress->shown = uv_hrtime();
    progress->counting =
        can_be_counted(options) && uv_thread_create(&progress->thread, run_count, progress) == 0;
    return progress;
}

void replay_progress_describe(struct buf *text, int64_t passed, int64_t total, size_t vats,
                              double seconds)
{
    buf_printf(text, "%" PRId64, passed);
    if (total >= passed)
        buf_printf(text, " of %" PRId64, total);
    buf_printf(
        text, " %s, %zu %s, %.0f s",
        format_plural((uint64_t)(total >= passed ? total : passed), "delivery", "deliveries"), vats,
        format_plural(vats, "vat", "vats"), seconds);
    if (total >= passed)
        buf_printf(text, "; about %.0f s left",
                   seconds / (double)passed * (double)(total - passed));
}

void replay_progress_pass(struct replay_progress *progress, size_t vats)
{
    const uint64_t now = progress != NULL ? uv_hrtime() : 0;
    struct buf text = {0};

    if (progress == NULL)
        return;
    progress->passed++;
    if (now - progress->shown < INTERVAL_NANOSECONDS)
        return;
    progress->shown = now;
    replay_progress_describe(&text, progress->passed, atomic_load(&progress->total), vats,
                             (double)(now - progress->began) / 1e9);
    if (!buf_failed(&text))
        log_line("%.*s", (int)text.length, text.data);
    buf_free(&text);
}

void replay_progress_free(struct replay_progress *progress)
{
    if (progress == NULL)
        return;
    atomic_store(&progress->ends, true);
    if (progress->counting)
        (void)uv_thread_join(&progress->thread);
    free(progress);
}
