/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "supervisor/common_options.h"
#include "supervisor/fleet/job/job_check.h"
#include "supervisor/fleet/job/job_gas.h"
#include "supervisor/fleet/job/job_kind.h"
#include "supervisor/fleet/span/fleet_fingerprint.h"
#include "supervisor/fleet/span/fleet_object.h"
#include "supervisor/fleet/span/shared_span.h"
#include "supervisor/fleet/span/span_objects.h"
#include "supervisor/replay/output/replay_part.h"

/* ---- what it is ---- */

static bool are_bundles(const json_t *bundles)
{
    const json_t *bundle;
    size_t index;

    json_array_foreach(bundles, index, bundle)
    {
        const json_t *vat = json_object_get(bundle, "vat");

        if (!job_check_hash(json_object_get(bundle, "object")) ||
            (!job_check_none(vat) && !job_check_vat_id(vat)))
            return false;
    }
    return json_is_array(bundles);
}

static bool replay_kind_is_job(const json_t *json)
{
    static const char *const allowed[] = {
        "--tolerate=",         "--strict=",   "--counter=",          "--compute-limit=",
        "--max-instructions=", "--max-cost=", "--delivery-timeout=", "--deliveries"};
    const json_t *snapshot = json_object_get(json, "snapshot"),
                 *source = json_object_get(json, "source");

    return job_check_vat_id(json_object_get(json, "vatID")) &&
           json_is_integer(json_object_get(json, "first")) &&
           json_is_integer(json_object_get(json, "end")) &&
           job_check_hash(json_object_get(json, "transcript")) &&
           (job_check_none(snapshot) || job_check_hash(snapshot)) &&
           are_bundles(json_object_get(json, "bundles")) &&
           (source == NULL || shared_span_is(source)) &&
           job_check_arguments(json_object_get(json, "arguments"), allowed,
                               sizeof allowed / sizeof *allowed);
}

static void replay_kind_describe(const struct fleet_job *job, struct buf *out)
{
    buf_printf(out, "%s, deliveries %" PRId64 " to %" PRId64, fleet_job_text(job, "vatID"),
               fleet_job_number(job, "first"), fleet_job_number(job, "end") - 1);
}

/* ---- what it reads ---- */

/* Where the objects of a job are, and where they go. */
struct objects {
    const struct job_place *place;
    struct fleet_transport *from;
};

static int get_object(const struct objects *objects, const char *hash, const char *what,
                      const char *name, struct error *error)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", objects->place->folder, name);
    return fleet_object_get(objects->from, hash, what, path, error);
}

static void name_transcript(const struct fleet_job *job, char name[NAME_MAX])
{
    snprintf(name, NAME_MAX, "transcript.%s.%" PRId64 ".%" PRId64, fleet_job_text(job, "vatID"),
             fleet_job_number(job, "first"), fleet_job_number(job, "end"));
}

static int get_bundles(const struct objects *objects, const struct fleet_job *job,
                       struct error *error)
{
    const json_t *bundles = json_object_get(job->json, "bundles"), *bundle;
    char name[NAME_MAX];
    size_t index;

    json_array_foreach(bundles, index, bundle)
    {
        snprintf(name, sizeof name, "bundle-%zu", index);
        if (get_object(objects, json_string_value(json_object_get(bundle, "object")), "a bundle",
                       name, error) != 0)
            return -1;
    }
    return 0;
}

static int get_objects(const struct objects *objects, const struct fleet_job *job,
                       struct error *error)
{
    const char *snapshot = fleet_job_text(job, "snapshot");
    char name[NAME_MAX];

    name_transcript(job, name);
    if (get_object(objects, fleet_job_text(job, "transcript"), "the transcript", name, error) != 0)
        return -1;
    if (snapshot[0] != '\0' && get_object(objects, snapshot, "the snapshot", snapshot, error) != 0)
        return -1;
    return get_bundles(objects, job, error);
}

/* Out of a source that stays where it is. */
static int replay_kind_cut(const struct job_place *place, const struct fleet_job *job,
                           struct fleet_transport *objects, struct error *error)
{
    const struct shared_span span = {
        .source = json_object_get(job->json, "source"),
        .folder = place->shared,
        .vat_id = fleet_job_text(job, "vatID"),
        .first = fleet_job_number(job, "first"),
        .end = fleet_job_number(job, "end"),
        .transcript = fleet_job_text(job, "transcript"),
        .objects = objects,
    };

    return shared_span_cut(&span, error);
}

static int replay_kind_fetch(const struct job_place *place, const struct fleet_job *job,
                             struct error *error)
{
    struct objects objects = {.place = place, .from = place->transport};
    struct span_objects cut;

    if (json_object_get(job->json, "source") != NULL) {
        objects.from = span_objects_init(&cut, place->folder);
        if (replay_kind_cut(place, job, objects.from, error) != 0)
            return -1;
    }
    return get_objects(&objects, job, error);
}

/* ---- what it runs ---- */

static int replay_kind_command(const struct job_place *place, const struct fleet_job *job,
                               char program[PATH_MAX], struct command_line *line,
                               struct error *error)
{
    const json_t *given = json_object_get(job->json, "arguments"),
                 *bundles = json_object_get(job->json, "bundles"), *item;
    char transcript[NAME_MAX];
    size_t index;

    (void)error;
    snprintf(program, PATH_MAX, "/proc/self/exe");
    command_line_add(line, "gaspipe");
    command_line_add(line, "replay");
    command_line_add(line, "--json");
    command_line_add(line, "--part=0/1");
    command_line_add(line, "--snapshots=.");
    command_line_add(line, "--sandbox=%s", common_options_sandbox_levels[place->sandbox]);
    command_line_add(line, "--placement=%s", placement_names[place->placement]);
    if (place->seat != PLACEMENT_NO_SEAT)
        command_line_add(line, "--seat=%d", place->seat);
    if (place->worker != NULL)
        command_line_add(line, "--worker=%s", place->worker);
    json_array_foreach(given, index, item)
    {
        command_line_add(line, "%s", json_string_value(item));
    }
    job_gas_add_argument(job, line);
    json_array_foreach(bundles, index, item)
    {
        const char *vat = json_string_value(json_object_get(item, "vat"));

        command_line_add(line, "--bundle=%s%sbundle-%zu", vat, vat[0] != '\0' ? "=" : "", index);
    }
    name_transcript(job, transcript);
    command_line_add(line, "%s", transcript);
    return 0;
}

/* ---- what came of it ---- */

/* A difference is a result, too. */
static int replay_kind_judge(const struct job_place *place, const struct job_end *end,
                             struct error *error)
{
    struct replay_part part = {0};
    int result = replay_part_read(&part, end->output->data, end->output->length, true, error);

    (void)place;
    if (result == 0 && part.failed_line > 0)
        result = error_set(error, ERROR_INPUT, "%s", part.failure.text);
    else if (result == 0 && part.count == 0)
        result = error_set(error, ERROR_INPUT, "its replay gave no result");
    replay_part_free(&part);
    if (result != 0)
        error->kind = ERROR_INPUT;
    return result;
}

const struct job_kind job_kind_replay = {
    .name = "replay",
    .items = "spans",
    .unit = "deliveries",
    .member = "deliveries",
    .is_job = replay_kind_is_job,
    .fingerprint = fleet_fingerprint,
    .describe = replay_kind_describe,
    .fetch = replay_kind_fetch,
    .command = replay_kind_command,
    .judge = replay_kind_judge,
};
