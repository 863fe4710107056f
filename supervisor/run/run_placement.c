/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/run_placement.h"

static int log_placement(struct slog_writer *slog, int processor, const char *reason,
                         struct stamp now, struct error *error)
{
    if (slog == NULL)
        return 0;
    slog_line_begin(slog, "gaspipe-placement");
    slog_field_text(slog, "placement", processor >= 0 ? "together" : "apart");
    if (processor >= 0)
        slog_field_integer(slog, "processor", processor);
    else
        slog_field_null(slog, "processor");
    slog_field_text(slog, "reason", reason);
    return slog_line_end(slog, now, error);
}

int run_placement_observe(struct placement *placement, struct slog_writer *slog, bool overlap,
                          const struct delivery_report *report, struct error *error)
{
    struct stamp now = stamp_now();
    struct placement_observation seen = {
        .now = now.mono,
        .waited = placement_waited(report->pipe, report->worker, report->processor),
        .frames = report->frames,
        /* Moving whenever deliveries that are made ahead do not overlap would gain nothing. */
        .in_flight = overlap ? 2 : 1,
    };
    const char *reason;

    if (report->frames == 0 || seen.waited < 0)
        return 0;
    if (!placement_observe(placement, &seen, &reason))
        return 0;
    return log_placement(slog, placement->here, reason, now, error);
}
