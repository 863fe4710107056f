/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/run_parts.h"

static int log_placement(struct run *run, const char *reason, struct stamp now, struct error *error)
{
    int processor = run->placement.here;

    if (run->slog == NULL)
        return 0;
    slog_line_begin(run->slog, "gaspipe-placement");
    slog_field_text(run->slog, "placement", processor >= 0 ? "together" : "apart");
    if (processor >= 0)
        slog_field_integer(run->slog, "processor", processor);
    else
        slog_field_null(run->slog, "processor");
    slog_field_text(run->slog, "reason", reason);
    return slog_line_end(run->slog, now, error);
}

int run_observe(struct run *run, const struct delivery_report *report, struct error *error)
{
    struct stamp now = stamp_now();
    struct placement_observation seen = {
        .now = now.mono,
        .waited = report->pipe,
        .frames = report->frames,
        /* Several jobs are most of the time: workers and gaspipe are moved to and fro for none. */
        .in_flight = run->options.jobs > 1 ? 2 : 1,
    };
    const char *reason;

    if (report->frames == 0 || report->pipe == REPORT_NONE)
        return 0;
    /* What a worker had to do and did not is waiting too. */
    if (report->processor != REPORT_NONE && report->worker > report->processor)
        seen.waited += report->worker - report->processor;
    if (!placement_observe(&run->placement, &seen, &reason))
        return 0;
    return log_placement(run, reason, now, error);
}
