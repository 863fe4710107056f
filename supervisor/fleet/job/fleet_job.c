/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/job/fleet_job.h"

#include <stdlib.h>

#include "supervisor/process/fingerprint.h"

int fleet_job_take_id(struct fleet_job *job, struct error *error)
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
    return fleet_job_take_id(job, error);
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

void fleet_job_free(struct fleet_job *job)
{
    json_decref(job->json);
    buf_free(&job->text);
    *job = (struct fleet_job){0};
}
