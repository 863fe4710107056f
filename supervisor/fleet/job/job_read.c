/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/job/job_read.h"

#include <inttypes.h>
#include <string.h>

#include "base/json/json_value.h"
#include "supervisor/fleet/job/job_check.h"
#include "supervisor/fleet/job/job_gas.h"
#include "supervisor/fleet/job/job_kind.h"

/* What its members have to be depends on its kind. */
static bool is_job(const json_t *json, const struct job_kind **kind)
{
    *kind = job_kind_find(json_string_value(json_object_get(json, "kind")));
    return *kind != NULL && job_check_hash(json_object_get(json, "fingerprint")) &&
           job_gas_is(json) && (*kind)->is_job(json);
}

int job_read(struct fleet_job *job, const char *name, const char *text, size_t length,
             const char *id, struct error *error)
{
    const struct job_kind *kind;
    int64_t version;

    *job = (struct fleet_job){.json = json_value_read(text, length, 0, NULL)};
    if (buf_append(&job->text, text, length) != 0)
        return error_memory(error, "a job");
    if (fleet_job_take_id(job, error) != 0)
        return -1;
    version = fleet_job_number(job, "version");
    if (version > FLEET_JOB_VERSION)
        return error_set(error, ERROR_INPUT,
                         "%s: a job of version %" PRId64 "; this gaspipe knows version %d", name,
                         version, FLEET_JOB_VERSION);
    if (version < 1 || !is_job(job->json, &kind))
        return error_set(error, ERROR_INPUT, "%s: it is no job of a fleet", name);
    job->kind = kind;
    if (id != NULL && strcmp(id, job->id) != 0)
        return error_set(error, ERROR_INPUT, "%s: the job's SHA-256 is %s", name, job->id);
    return 0;
}
