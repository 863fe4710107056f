/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/job/job_beat.h"

#include "base/stamp.h"

int job_beat(void *context, struct error *error)
{
    struct job_beat *beat = context;
    struct fleet_transport *transport = beat->place->transport;
    const int64_t now = stamp_now().mono;
    bool ignored;

    if (beat->last == 0)
        beat->last = now;
    if (now - beat->last < (int64_t)transport->beat_ms * 1000000)
        return 0;
    beat->last = now;
    return transport->operations->extend(transport, beat->place->lease, &ignored, error);
}
