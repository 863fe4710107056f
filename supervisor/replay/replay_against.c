/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/replay_against.h"

#include <stdlib.h>
#include <string.h>

#include "supervisor/replay/replay_delivery.h"
#include "supervisor/replay/replay_load.h"

int replay_against_open(struct replay_against *against, const struct replay_options *options,
                        const struct replay_context *first, struct error *error)
{
    if (options->against == NULL)
        return 0;
    against->context = *first;
    against->context.runtime = &against->runtime;
    against->context.notes = &against->notes;
    against->context.probes = NULL;
    against->context.host.launcher = &against->launcher;
    against->context.host.runtimes = &against->runtime.runtimes;
    against->context.host.warm = &against->runtime.warm;
    against->runtime.warm = (struct warm_starts){
        .loop = first->host.loop,
        .launcher = &against->launcher,
        .timeout_ms = options->timeout_ms,
    };
    against->notes.json = options->json;
    if (launcher_open_foreign(&against->launcher, options->against, options->compute_limit,
                              error) != 0)
        return -1;
    against->is_open = true;
    against->launcher.confinement = first->host.launcher->confinement;
    against->launcher.placement = first->host.launcher->placement;
    return replay_load_runtime(&against->runtime, options, error);
}

int replay_against_join(struct replay_against *against, struct replay_vat *vat, struct error *error)
{
    const struct scan_span id = {vat->result.id, strlen(vat->result.id)};

    if (!against->is_open)
        return 0;
    vat->made = calloc(1, sizeof *vat->made);
    if (vat->made == NULL)
        return error_memory(error, "a vat");
    vat->against = replay_vat_new(id, &against->context, error);
    return vat->against != NULL ? 0 : -1;
}

/* What became of the second worker is the vat's result, too. */
static int replay_against_judge(struct replay_vat *vat, struct error *error)
{
    struct replay_result *result = &vat->result, *second = &vat->against->result;

    result->counts.tolerated += second->counts.tolerated;
    second->counts.tolerated = 0;
    if (second->status == REPLAY_SKIPPED)
        return replay_vat_skip(vat, "in the second worker: %.200s", second->why);
    if (second->status != REPLAY_DIFFERS)
        return 0;
    result->difference = second->difference;
    second->difference = (struct difference){0};
    result->is_against = true;
    return replay_vat_differ(vat, error);
}

/* Whether there is a second worker, and something to compare it with. */
static bool goes_on(struct replay_vat *vat)
{
    if (vat->against != NULL && vat->result.status != REPLAY_SAME)
        replay_vat_close(vat->against);
    return vat->against != NULL && vat->result.status == REPLAY_SAME;
}

int replay_against_take(struct replay_vat *vat, const struct source_event *event,
                        struct error *error)
{
    if (replay_vat_take(vat, event, error) != 0)
        return -1;
    if (!goes_on(vat))
        return 0;
    return replay_vat_take(vat->against, event, error) == 0 ? replay_against_judge(vat, error) : -1;
}

int replay_against_deliver(struct replay_vat *vat, const struct source_event *event,
                           struct error *error)
{
    const int64_t before = vat->result.counts.deliveries;
    struct source_event made = *event;
    int64_t same;

    if (replay_delivery(vat, event, error) != 0)
        return -1;
    if (!goes_on(vat))
        return 0;
    if (vat->result.counts.deliveries == before) {
        /* Not finished in the recording: the second worker has nobody to ask either. */
        replay_vat_start_afresh(vat->against);
        return 0;
    }
    made.delivery = vat->made;
    same = vat->against->result.counts.deliveries;
    if (replay_delivery(vat->against, &made, error) != 0)
        return -1;
    vat->result.counts.against += vat->against->result.counts.deliveries - same;
    return replay_against_judge(vat, error);
}

void replay_against_close(struct replay_against *against)
{
    vat_runtimes_free(&against->runtime.runtimes);
    warm_starts_free(&against->runtime.warm);
    buf_free(&against->runtime.ids);
    buf_free(&against->notes.lines);
    if (against->is_open)
        launcher_close(&against->launcher);
}
