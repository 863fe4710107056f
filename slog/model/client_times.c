/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/model/client_times.h"

/* Nanoseconds by which the clocks of lines and frames may differ: a process's clock is not set
 * again when the system's is corrected. */
enum { DRIFT = 5000000 };

/*
 * The moments of both in their order: the client sends, the worker receives, sends, the client
 * receives, and so on; the last frame goes to the client.
 */
static bool in_order(const int64_t *client, const int64_t *worker, size_t count)
{
    for (size_t i = 0; i + 1 < count; i += 2) {
        if (client[i] > worker[i] || worker[i] > worker[i + 1] || worker[i + 1] > client[i + 1])
            return false;
        if (i > 0 && client[i - 1] > client[i])
            return false;
    }
    return true;
}

static bool fit(const struct outcome *outcome, const struct moments *moments)
{
    size_t count = outcome->client_monotimes.count;

    return count == 2 + 2 * moments->event_count && count == outcome->client_timestamps.count &&
           count == outcome->monotimes.count &&
           in_order(outcome->client_monotimes.at, outcome->monotimes.at, count);
}

bool client_times_use(struct outcome *outcome, struct model_event *events, struct moments *moments)
{
    const int64_t *client = outcome->client_monotimes.at;
    int64_t *worker = outcome->monotimes.at, shift;
    size_t last = outcome->client_monotimes.count - 1;

    if (moments->steady || !fit(outcome, moments))
        return false;
    shift = outcome->client_timestamps.at[0] - client[0];
    if (client[0] + shift < moments->sent - DRIFT ||
        client[last] + shift > moments->returned + DRIFT)
        return false;
    for (size_t i = 0; i <= last; i++)
        worker[i] += shift;
    for (size_t i = 0; i < moments->event_count; i++) {
        events[i].arrived = client[1 + 2 * i] + shift;
        events[i].answered = client[2 + 2 * i] + shift;
    }
    moments->stamps = worker;
    moments->frame_sent = client[0] + shift;
    moments->frame_returned = client[last] + shift;
    if (moments->frame_sent < moments->sent)
        moments->frame_sent = moments->sent;
    if (moments->frame_returned > moments->returned)
        moments->frame_returned = moments->returned;
    return true;
}
