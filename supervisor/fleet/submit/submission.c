/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/submit/submission.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "supervisor/fleet/job/job_gas.h"
#include "supervisor/fleet/span/fleet_object.h"
#include "supervisor/fleet/span/shared_path.h"
#include "supervisor/process/fingerprint.h"

void submission_add_argument(struct submission *submission, const char *format, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    if (text == NULL || json_array_append_new(submission->arguments, json_string(text)) != 0) {
        json_decref(submission->arguments);
        submission->arguments = NULL;
    }
    free(text);
}

static int make_job(struct submission *submission, json_t *members, struct fleet_job *job,
                    struct error *error)
{
    const struct replay_options *options = &submission->options->replay;
    /* A program that does not know these members must not do the job without them. */
    const int version = options->priced || json_object_get(members, "source") != NULL ? 2 : 1;

    if (members == NULL || (options->priced && job_gas_set(members, &options->gas) != 0) ||
        json_object_set_new(members, "version", json_integer(version)) != 0 ||
        json_object_set_new(members, "kind", json_string(submission->kind->name)) != 0 ||
        json_object_set(members, "arguments", submission->arguments) != 0 ||
        json_object_set_new(members, "fingerprint", json_string(submission->fingerprint)) != 0) {
        json_decref(members);
        return error_memory(error, "a job");
    }
    return fleet_job_make(job, members, error);
}

int submission_put(struct submission *submission, json_t *members,
                   const struct fleet_run_job *entry, struct error *error)
{
    struct fleet_transport *transport = submission->transport;
    struct fleet_run_job line = *entry;
    struct fleet_job job = {0};
    bool added = false;
    int result = make_job(submission, members, &job, error);

    if (result == 0)
        result = transport->operations->put_job(transport, job.id, &job.text, entry->amount, &added,
                                                error);
    memcpy(line.id, job.id, sizeof line.id);
    if (result == 0)
        result = fleet_run_add(&submission->run, submission->kind, &line, error);
    submission->added += added;
    submission->amount += entry->amount;
    fleet_job_free(&job);
    return result;
}

/* ---- files ---- */

static int add_file(json_t *files, const char *name, const char *object, struct error *error)
{
    json_t *file = json_pack("{s:s,s:s}", "name", name, "object", object);

    return file != NULL && json_array_append_new(files, file) == 0 ? 0
                                                                   : error_memory(error, "a job");
}

int submission_name_file(struct submission *submission, json_t *files, const char *path,
                         const char *name, int64_t *size, struct error *error)
{
    json_t *below = shared_path_below(submission->options->shared, path, error), *file;
    char hash[FLEET_HASH_SIZE];
    struct stat status;
    int result = -1;

    if (below == NULL)
        return -1;
    if (stat(path, &status) != 0)
        error_set(error, ERROR_INPUT, "%s: %s", path, strerror(errno));
    else if (fingerprint_hash(path, hash, error) != 0)
        error->kind = ERROR_INPUT;
    else
        result = add_file(files, name, hash, error);
    file = json_array_get(files, json_array_size(files) - 1);
    if (result == 0 && json_object_set(file, "shared", below) != 0)
        result = error_memory(error, "a job");
    *size = result == 0 ? status.st_size : 0;
    json_decref(below);
    return result;
}

int submission_put_bytes(struct submission *submission, json_t *files, const void *bytes,
                         size_t length, const char *name, struct error *error)
{
    char object[FLEET_HASH_SIZE];

    if (fleet_object_put(submission->transport, bytes, length, object, error) != 0)
        return -1;
    return add_file(files, name, object, error);
}

int submission_put_file(struct submission *submission, json_t *files, const char *path,
                        const char *name, int64_t *size, struct error *error)
{
    char object[FLEET_HASH_SIZE];

    if (fleet_object_put_file(submission->transport, path, object, size, error) != 0)
        return -1;
    return add_file(files, name, object, error);
}
