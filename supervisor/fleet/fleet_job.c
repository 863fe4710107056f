/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/fleet_job.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json/json_text.h"
#include "base/json/json_value.h"
#include "base/lines.h"
#include "base/output/output_file.h"
#include "gas/gas_model_json.h"
#include "supervisor/fleet/fleet_object.h"
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

/* ---- results ---- */

static int hash_bytes(const char *bytes, size_t length, char hash[FLEET_HASH_SIZE],
                      struct error *error)
{
    const struct iovec text = {(void *)(uintptr_t)bytes, length};

    return fingerprint_hash_parts(&text, 1, hash, error);
}

int job_result_hash(const struct buf *output, char hash[FLEET_HASH_SIZE], struct error *error)
{
    return hash_bytes(output->length > 0 ? output->data : "", output->length, hash, error);
}

static bool has_text(const json_t *head, const char *member, const char *expected)
{
    const char *text = json_string_value(json_object_get(head, member));

    return text != NULL && strcmp(text, expected) == 0;
}

/* -1 with ERROR_INPUT: it is not the whole result of this job. */
static int check_result(const char *text, size_t length, const char *id, struct error *error)
{
    const char *end = length > 0 ? memchr(text, '\n', length) : NULL;
    const size_t line = end != NULL ? (size_t)(end - text) : 0;
    char hash[FLEET_HASH_SIZE];
    json_t *head;
    bool whole;

    if (hash_bytes(text + line + (end != NULL), end != NULL ? length - line - 1 : 0, hash, error) !=
        0)
        return -1;
    head = json_value_read(line > 0 ? text : "", line, 0, NULL);
    whole = has_text(head, "job", id) && has_text(head, "output", hash);
    json_decref(head);
    return whole ? 0
                 : error_set(error, ERROR_INPUT,
                             "its result, %s, is damaged or another job's; remove it and submit "
                             "the run again",
                             id);
}

int job_result_get(struct fleet_transport *transport, const char *id, struct buf *result,
                   struct error *error)
{
    const size_t before = result->length;

    if (transport->operations->get_result(transport, id, result, error) != 0)
        return -1;
    return check_result(result->length > 0 ? result->data + before : "", result->length - before,
                        id, error);
}

/* ---- checks ---- */

enum { FILE_NAME_MAX = 100 };

bool job_check_hash(const json_t *value)
{
    const char *text = json_string_value(value);

    return text != NULL && strlen(text) == FLEET_HASH_SIZE - 1 &&
           strspn(text, "0123456789abcdef") == FLEET_HASH_SIZE - 1;
}

bool job_check_vat_id(const json_t *value)
{
    const char *text = json_string_value(value);

    return text != NULL && text[0] == 'v' && strlen(text) < 32 &&
           strspn(text + 1, "0123456789") == strlen(text + 1);
}

bool job_check_none(const json_t *value)
{
    return json_is_string(value) && json_string_length(value) == 0;
}

/* No path, no hidden file, no option. */
static bool is_file_name(const json_t *value)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    const char *text = json_string_value(value);

    return text != NULL && text[0] != '\0' && strchr("-.", text[0]) == NULL &&
           strlen(text) <= FILE_NAME_MAX && strspn(text, allowed) == strlen(text);
}

bool job_check_files(const json_t *files)
{
    const json_t *file;
    size_t index;

    json_array_foreach(files, index, file)
    {
        if (!is_file_name(json_object_get(file, "name")) ||
            !job_check_hash(json_object_get(file, "object")) ||
            (json_object_get(file, "shared") != NULL &&
             !shared_path_is(json_object_get(file, "shared"))))
            return false;
    }
    return json_array_size(files) > 0;
}

static bool is_allowed(const char *argument, const char *const *allowed, size_t count)
{
    for (size_t i = 0; argument != NULL && i < count; i++)
        if (strncmp(argument, allowed[i], strlen(allowed[i])) == 0)
            return true;
    return false;
}

bool job_check_arguments(const json_t *arguments, const char *const *allowed, size_t count)
{
    const json_t *argument;
    size_t index;

    json_array_foreach(arguments, index, argument)
    {
        if (!is_allowed(json_string_value(argument), allowed, count))
            return false;
    }
    return json_is_array(arguments);
}

/* ---- gas models ---- */

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
    snprintf(path, sizeof path, "%s/%s", place->directory, file_name);
    result = output_file_write_whole(path, "a gas model", &text, error);
    buf_free(&text);
    return result;
}

void job_gas_add_argument(const struct fleet_job *job, struct command_line *line)
{
    if (json_object_get(job->json, "gas") != NULL)
        command_line_add(line, "--gas=%s", file_name);
}
