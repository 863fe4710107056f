/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json/json_text.h"
#include "base/json/json_value.h"
#include "base/lines.h"
#include "supervisor/fleet/fleet_job.h"
#include "supervisor/process/fingerprint.h"

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

static void put_run_job(struct buf *out, const struct job_kind *kind,
                        const struct fleet_run_job *job)
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
        put_run_job(&text, run->kind, &run->jobs[i]);
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
            error_set(error, ERROR_INPUT, "the run %s has a line that is not a job", run->name);
    } else {
        memcpy(job.id, json_string_value(id), sizeof job.id);
        result = fleet_run_add(run, kind, &job, error);
    }
    json_decref(line);
    return result;
}

static int read_run_lines(struct fleet_run *run, struct fleet_transport *transport,
                          struct error *error)
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
        return read_run_lines(run, transport, error);
    }
    if (transport->operations->list_runs(transport, choose, &choice, error) != 0)
        return -1;
    if (choice.count == 1)
        return read_run_lines(run, transport, error);
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
