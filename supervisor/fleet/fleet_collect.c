/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/fleet_collect.h"

#include "supervisor/fleet/collect/collection.h"

static int collect(struct collection *collection, struct error *error)
{
    const struct fleet_options *options = collection->options;
    const struct job_kind *kind = collection->run.kind;

    if (kind == NULL)
        return error_set(error, ERROR_INPUT, "the run %s is empty", collection->run.name);
    if (kind == &job_kind_rows && options->out == NULL)
        return error_set(error, ERROR_USAGE, "the run %s has tables: --out DIR writes them there",
                         collection->run.name);
    if (kind != &job_kind_rows && options->out != NULL)
        return error_set(error, ERROR_USAGE, "the run %s has no tables for --out",
                         collection->run.name);
    if (kind != &job_kind_summary && options->by != NULL)
        return error_set(error, ERROR_USAGE, "the run %s has no groups for --by",
                         collection->run.name);
    if (kind == &job_kind_replay)
        return collect_spans(collection, error);
    if (kind == &job_kind_estimate)
        return collect_costs(collection, error);
    return collect_slogs(collection, error);
}

int fleet_collect(const struct fleet_options *options, struct fleet_transport *transport,
                  struct error *error)
{
    struct collection collection = {.options = options, .transport = transport};
    int result = fleet_run_get(&collection.run, options->run, transport, error);

    if (result == 0)
        result = collect(&collection, error);
    fleet_run_free(&collection.run);
    return result;
}
