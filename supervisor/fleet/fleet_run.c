/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/fleet_run.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json/json_value.h"
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

int fleet_run_add(struct fleet_run *run, const struct fleet_run_job *job, struct error *error)
{
    struct fleet_run_job *jobs =
        array_reserve(run->jobs, &run->capacity, run->count + 1, sizeof *jobs);

    if (jobs == NULL)
        return error_memory(error, "a run");
    run->jobs = jobs;
    jobs[run->count] = *job;
    jobs[run->count].vat_id = strdup(job->vat_id);
    return jobs[run->count++].vat_id != NULL ? 0 : error_memory(error, "a run");
}

static int fleet_run_compare(const void *left, const void *right)
{
    const struct fleet_run_job *a = left, *b = right;
    const int vats = strverscmp(a->vat_id, b->vat_id);

    if (vats != 0)
        return vats;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return strcmp(a->id, b->id);
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

    if (run->count > 0) /* qsort(3) may not be given NULL */
        qsort(run->jobs, run->count, sizeof *run->jobs, fleet_run_compare);
    for (size_t i = 0; i < run->count; i++)
        buf_printf(&text,
                   "{\"id\":\"%s\",\"vatID\":\"%s\",\"first\":%" PRId64 ",\"end\":%" PRId64
                   ",\"deliveries\":%" PRId64 "}\n",
                   run->jobs[i].id, run->jobs[i].vat_id, run->jobs[i].first, run->jobs[i].end,
                   run->jobs[i].deliveries);
    result = choose_name(run, name, &text, error);
    if (result == 0)
        result = transport->operations->put_run(transport, run->name, &text, error);
    buf_free(&text);
    return result;
}

/* ---- reading ---- */

static int fleet_run_take_line(struct fleet_run *run, const char *text, size_t length,
                               struct error *error)
{
    json_t *line = json_value_read(text, length, 0, NULL);
    const char *id = json_string_value(json_object_get(line, "id")),
               *vat_id = json_string_value(json_object_get(line, "vatID"));
    struct fleet_run_job job = {
        .vat_id = (char *)(uintptr_t)vat_id,
        .first = json_integer_value(json_object_get(line, "first")),
        .end = json_integer_value(json_object_get(line, "end")),
        .deliveries = json_integer_value(json_object_get(line, "deliveries")),
    };
    int result;

    if (id == NULL || vat_id == NULL || vat_id[0] != 'v' || strlen(id) != FLEET_HASH_SIZE - 1 ||
        strspn(id, "0123456789abcdef") != FLEET_HASH_SIZE - 1) {
        result =
            error_set(error, ERROR_INPUT, "the run %s has a line that is none of a run", run->name);
    } else {
        memcpy(job.id, id, sizeof job.id);
        result = fleet_run_add(run, &job, error);
    }
    json_decref(line);
    return result;
}

static int read_lines(struct fleet_run *run, struct fleet_transport *transport, struct error *error)
{
    struct buf text = {0};
    size_t place = 0;
    int result = transport->operations->get_run(transport, run->name, &text, error);

    while (result == 0 && place < text.length) {
        const char *end = memchr(text.data + place, '\n', text.length - place);
        const size_t length = (end != NULL ? (size_t)(end - text.data) : text.length) - place;

        result = fleet_run_take_line(run, text.data + place, length, error);
        place += length + 1;
    }
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
        free(run->jobs[i].vat_id);
    free(run->jobs);
    *run = (struct fleet_run){0};
}
