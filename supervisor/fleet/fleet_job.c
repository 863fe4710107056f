/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/fleet_job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_value.h"
#include "supervisor/process/fingerprint.h"

enum { JOB_VERSION = 1 };

static int take_id(struct fleet_job *job, struct error *error)
{
    const struct iovec text = {job->text.data, job->text.length};

    return fingerprint_hash_parts(&text, 1, job->id, error);
}

int fleet_job_make(struct fleet_job *job, json_t *json, struct error *error)
{
    char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);

    *job = (struct fleet_job){.json = json};
    if (text == NULL || buf_append_string(&job->text, text) != 0) {
        free(text);
        return error_memory(error, "a job");
    }
    free(text);
    return take_id(job, error);
}

const char *fleet_job_text(const struct fleet_job *job, const char *member)
{
    const char *text = json_string_value(json_object_get(job->json, member));

    return text != NULL ? text : "";
}

int64_t fleet_job_number(const struct fleet_job *job, const char *member)
{
    return json_integer_value(json_object_get(job->json, member));
}

/* ---- checks ---- */

/* A hash becomes part of a path. */
static bool is_hash(const json_t *value)
{
    const char *text = json_string_value(value);

    return text != NULL && strlen(text) == FLEET_HASH_SIZE - 1 &&
           strspn(text, "0123456789abcdef") == FLEET_HASH_SIZE - 1;
}

static bool is_vat_id(const json_t *value)
{
    const char *text = json_string_value(value);

    return text != NULL && text[0] == 'v' && strlen(text) < 32 &&
           strspn(text + 1, "0123456789") == strlen(text + 1);
}

static bool is_none(const json_t *value)
{
    return json_is_string(value) && json_string_length(value) == 0;
}

static bool are_bundles(const json_t *bundles)
{
    const json_t *bundle;
    size_t index;

    json_array_foreach(bundles, index, bundle)
    {
        const json_t *vat = json_object_get(bundle, "vat");

        if (!is_hash(json_object_get(bundle, "object")) || (!is_none(vat) && !is_vat_id(vat)))
            return false;
    }
    return json_is_array(bundles);
}

/* Whoever may add jobs may not choose programs or files of the worker's machine. */
static bool is_allowed(const char *argument)
{
    static const char *const allowed[] = {
        "--tolerate=",         "--strict=",   "--counter=",          "--compute-limit=",
        "--max-instructions=", "--max-cost=", "--delivery-timeout=", "--deliveries"};

    for (size_t i = 0; argument != NULL && i < sizeof allowed / sizeof *allowed; i++)
        if (strncmp(argument, allowed[i], strlen(allowed[i])) == 0)
            return true;
    return false;
}

static bool are_arguments(const json_t *arguments)
{
    const json_t *argument;
    size_t index;

    json_array_foreach(arguments, index, argument)
    {
        if (!is_allowed(json_string_value(argument)))
            return false;
    }
    return json_is_array(arguments);
}

static bool is_job(const json_t *json)
{
    const json_t *kind = json_object_get(json, "kind"),
                 *snapshot = json_object_get(json, "snapshot");

    return json_is_string(kind) && strcmp(json_string_value(kind), "replay") == 0 &&
           is_vat_id(json_object_get(json, "vatID")) &&
           json_is_integer(json_object_get(json, "first")) &&
           json_is_integer(json_object_get(json, "end")) &&
           is_hash(json_object_get(json, "transcript")) &&
           (is_none(snapshot) || is_hash(snapshot)) &&
           is_hash(json_object_get(json, "fingerprint")) &&
           are_bundles(json_object_get(json, "bundles")) &&
           are_arguments(json_object_get(json, "arguments"));
}

int fleet_job_read(struct fleet_job *job, const char *name, const char *text, size_t length,
                   const char *id, struct error *error)
{
    int64_t version;

    *job = (struct fleet_job){.json = json_value_read(text, length, 0, NULL)};
    if (buf_append(&job->text, text, length) != 0)
        return error_memory(error, "a job");
    if (take_id(job, error) != 0)
        return -1;
    version = fleet_job_number(job, "version");
    if (version > JOB_VERSION)
        return error_set(error, ERROR_INPUT,
                         "%s: a job of version %" PRId64 "; this gaspipe knows version %d", name,
                         version, JOB_VERSION);
    if (version != JOB_VERSION || !is_job(job->json))
        return error_set(error, ERROR_INPUT, "%s: it is no job of a fleet", name);
    if (id != NULL && strcmp(id, job->id) != 0)
        return error_set(error, ERROR_INPUT, "%s: the job's SHA-256 is %s", name, job->id);
    return 0;
}

void fleet_job_describe(const struct fleet_job *job, struct buf *out)
{
    buf_printf(out, "%s, deliveries %" PRId64 " to %" PRId64, fleet_job_text(job, "vatID"),
               fleet_job_number(job, "first"), fleet_job_number(job, "end") - 1);
}

void fleet_job_free(struct fleet_job *job)
{
    json_decref(job->json);
    buf_free(&job->text);
    *job = (struct fleet_job){0};
}
