/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/job/job_gas.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/output/output_file.h"
#include "gas/gas_model_json.h"

static const char file_name[] = "gas.json";

static int set_weight(json_t *weights, const char *name, double weight)
{
    return weight > 0 ? json_object_set_new(weights, name, json_real(weight)) : 0;
}

int job_gas_set(json_t *members, const struct gas_model *model)
{
    json_t *weights = json_object();

    if (weights == NULL || set_weight(weights, "instruction", model->instruction) != 0 ||
        set_weight(weights, "byteRead", model->byte_read) != 0 ||
        set_weight(weights, "byteWritten", model->byte_written) != 0 ||
        set_weight(weights, "syscall", model->syscall) != 0 ||
        set_weight(weights, "blockCost", model->block_cost) != 0 ||
        set_weight(weights, "computron", model->computron) != 0) {
        json_decref(weights);
        return -1;
    }
    return json_object_set_new(members, "gas", weights);
}

bool job_gas_is(const json_t *job)
{
    const json_t *weights = json_object_get(job, "gas");
    struct gas_model model;
    struct error ignored;

    return weights == NULL || gas_model_take(&model, weights, "", &ignored) == 0;
}

int job_gas_fetch(const struct job_place *place, const struct fleet_job *job, struct error *error)
{
    const json_t *weights = json_object_get(job->json, "gas");
    struct buf text = {0};
    char path[PATH_MAX], *dumped;
    int result;

    if (weights == NULL)
        return 0;
    dumped = json_dumps(weights, JSON_COMPACT);
    if (dumped == NULL)
        return error_memory(error, "a gas model");
    buf_append_string(&text, dumped);
    free(dumped);
    snprintf(path, sizeof path, "%s/%s", place->folder, file_name);
    result = output_file_write_whole(path, "a gas model", &text, error);
    buf_free(&text);
    return result;
}

void job_gas_add_argument(const struct fleet_job *job, struct command_line *line)
{
    if (json_object_get(job->json, "gas") != NULL)
        command_line_add(line, "--gas=%s", file_name);
}
