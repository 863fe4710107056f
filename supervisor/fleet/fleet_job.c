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

enum { CHOSEN_NAME_LENGTH = 12 };

int fleet_run_check_name(const char *name, struct error *error)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    const size_t length = strlen(name);

    if (length > 0 && length < FLEET_RUN_NAME_SIZE && strspn(name, allowed) == length)
        return 0;
    return error_set(error, ERROR_USAGE,
                     "--run %s: a name is of letters, digits, - and _, 64 at most", name);
}

int fleet_run_add(struct fleet_run *run, const struct job_kind *kind,
                  const struct fleet_run_job *job, struct error *error)
{
    struct fleet_run_job *jobs =
        array_reserve(run->jobs, &run->capacity, run->count + 1, sizeof *jobs);

    if (jobs == NULL)
        return error_memory(error, "a run");
    run->jobs = jobs;
    if (run->count > 0 && kind != run->kind)
        return error_set(error, ERROR_INPUT, "the run %s has jobs of several kinds", run->name);
    run->kind = kind;
    jobs[run->count] = *job;
    jobs[run->count].name = strdup(job->name);
    return jobs[run->count++].name != NULL ? 0 : error_memory(error, "a run");
}

static int compare_spans(const void *left, const void *right)
{
    const struct fleet_run_job *a = left, *b = right;
    const int vats = strverscmp(a->name, b->name);

    if (vats != 0)
        return vats;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return strcmp(a->id, b->id);
}

static void put_job(struct buf *out, const struct job_kind *kind, const struct fleet_run_job *job)
{
    buf_printf(out, "{\"id\":\"%s\",", job->id);
    if (kind == &job_kind_replay) {
        buf_printf(out, "\"vatID\":\"%s\"", job->name);
    } else {
        buf_printf(out, "\"kind\":\"%s\",\"name\":", kind->name);
        json_text_string(out, job->name, strlen(job->name));
    }
    buf_printf(out, ",\"first\":%" PRId64 ",\"end\":%" PRId64 ",\"%s\":%" PRId64 "}\n", job->first,
               job->end, kind->member, job->amount);
}

static int choose_name(struct fleet_run *run, const char *name, const struct buf *text,
                       struct error *error)
{
    const struct iovec piece = {text->data, text->length};
    char hash[FLEET_HASH_SIZE];

    if (name != NULL) {
        snprintf(run->name, sizeof run->name, "%s", name);
        return fleet_run_check_name(name, error);
    }
    if (fingerprint_hash_parts(&piece, 1, hash, error) != 0)
        return -1;
    snprintf(run->name, sizeof run->name, "%.*s", CHOSEN_NAME_LENGTH, hash);
    return 0;
}

int fleet_run_put(struct fleet_run *run, const char *name, struct fleet_transport *transport,
                  struct error *error)
{
    struct buf text = {0};
    int result;

    if (run->kind == &job_kind_replay)
        qsort(run->jobs, run->count, sizeof *run->jobs, compare_spans);
    for (size_t i = 0; i < run->count; i++)
        put_job(&text, run->kind, &run->jobs[i]);
    result = choose_name(run, name, &text, error);
    if (result == 0)
        result = transport->operations->put_run(transport, run->name, &text, error);
    buf_free(&text);
    return result;
}

/* ---- reading ---- */

/* Replays have no kind, and are named after their vat. */
static const struct job_kind *kind_of_line(const json_t *line)
{
    const json_t *kind = json_object_get(line, "kind");

    return kind != NULL ? job_kind_find(json_string_value(kind)) : &job_kind_replay;
}

static int fleet_run_take_line(struct fleet_run *run, const char *text, size_t length,
                               struct error *error)
{
    json_t *line = json_value_read(text, length, 0, NULL);
    const struct job_kind *kind = kind_of_line(line);
    const json_t *id = json_object_get(line, "id"),
                 *name = json_object_get(line, kind == &job_kind_replay ? "vatID" : "name");
    struct fleet_run_job job = {
        .name = (char *)(uintptr_t)json_string_value(name),
        .first = json_integer_value(json_object_get(line, "first")),
        .end = json_integer_value(json_object_get(line, "end")),
        .amount = kind != NULL ? json_integer_value(json_object_get(line, kind->member)) : 0,
    };
    int result;

    if (kind == NULL || job.name == NULL || !job_check_hash(id) ||
        (kind == &job_kind_replay && !job_check_vat_id(name))) {
        result =
            error_set(error, ERROR_INPUT, "the run %s has a line that is none of a run", run->name);
    } else {
        memcpy(job.id, json_string_value(id), sizeof job.id);
        result = fleet_run_add(run, kind, &job, error);
    }
    json_decref(line);
    return result;
}

static int read_lines(struct fleet_run *run, struct fleet_transport *transport, struct error *error)
{
    struct buf text = {0};
    size_t place = 0, length;
    const char *line;
    int result = transport->operations->get_run(transport, run->name, &text, error);

    while (result == 0 && lines_next(&text, &place, &line, &length))
        result = fleet_run_take_line(run, line, length, error);
    buf_free(&text);
    return result;
}

struct choice {
    struct fleet_run *run;
    size_t count;
};

static int choose(void *context, const char *name, struct error *error)
{
    struct choice *choice = context;

    (void)error;
    snprintf(choice->run->name, sizeof choice->run->name, "%s", name);
    choice->count++;
    return 0;
}

int fleet_run_get(struct fleet_run *run, const char *name, struct fleet_transport *transport,
                  struct error *error)
{
    struct choice choice = {.run = run};

    if (name != NULL) {
        if (fleet_run_check_name(name, error) != 0)
            return -1;
        snprintf(run->name, sizeof run->name, "%s", name);
        return read_lines(run, transport, error);
    }
    if (transport->operations->list_runs(transport, choose, &choice, error) != 0)
        return -1;
    if (choice.count == 1)
        return read_lines(run, transport, error);
    return error_set(error, ERROR_USAGE, "%s: there %s in it%s", transport->name,
                     choice.count == 0 ? "is no run" : "are several runs",
                     choice.count == 0 ? "" : ": give one with --run (gaspipe fleet status)");
}

void fleet_run_free(struct fleet_run *run)
{
    for (size_t i = 0; i < run->count; i++)
        free(run->jobs[i].name);
    free(run->jobs);
    *run = (struct fleet_run){0};
}
