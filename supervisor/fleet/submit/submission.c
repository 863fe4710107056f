/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/submit/submission.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "supervisor/fleet/span/fleet_object.h"
#include "supervisor/process/fingerprint.h"

enum { PIECE = 1 << 20 };

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
    if (members == NULL || json_object_set_new(members, "version", json_integer(1)) != 0 ||
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

/* Where it is below the shared folder, to be freed; NULL: nowhere. */
static char *path_below(const char *folder, const char *path, struct error *error)
{
    char real_folder[PATH_MAX], real[PATH_MAX];
    size_t length;
    char *below;

    if (realpath(folder, real_folder) == NULL || realpath(path, real) == NULL) {
        error_set(error, ERROR_INPUT, "%s: %s", path, strerror(errno));
        return NULL;
    }
    length = strlen(real_folder);
    if (strncmp(real, real_folder, length) != 0 || real[length] != '/') {
        error_set(error, ERROR_INPUT, "%s: it is not in the folder --shared %s", path, folder);
        return NULL;
    }
    below = strdup(real + length + 1);
    if (below == NULL)
        error_memory(error, "a path");
    return below;
}

/* The last of the files is to be read there. */
static int add_path(json_t *files, const char *path, const char *below, struct error *error)
{
    json_t *file = json_array_get(files, json_array_size(files) - 1), *shared = json_string(below);

    if (shared == NULL)
        return error_set(error, ERROR_INPUT, "%s: its path is not UTF-8, which --shared needs",
                         path);
    return json_object_set_new(file, "shared", shared) == 0 ? 0 : error_memory(error, "a job");
}

int submission_name_file(struct submission *submission, json_t *files, const char *path,
                         const char *name, int64_t *size, struct error *error)
{
    char *below = path_below(submission->options->shared, path, error);
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
    if (result == 0) {
        *size = status.st_size;
        result = add_path(files, path, below, error);
    }
    free(below);
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

static int copy_file(struct object_writer *writer, int fd, const char *path, int64_t *size,
                     struct error *error)
{
    char *piece = malloc(PIECE);
    int result = piece != NULL ? 0 : error_memory(error, "a file");
    ssize_t got = 1;

    *size = 0;
    while (result == 0 && got != 0) {
        got = read(fd, piece, PIECE);
        if (got < 0 && errno != EINTR)
            result = error_set(error, ERROR_INPUT, "%s: %s", path, strerror(errno));
        else if (got > 0)
            result = object_writer_add(writer, piece, (size_t)got, error);
        *size += got > 0 ? got : 0;
    }
    free(piece);
    return result;
}

int submission_put_file(struct submission *submission, json_t *files, const char *path,
                        const char *name, int64_t *size, struct error *error)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct object_writer writer = {0};
    char object[FLEET_HASH_SIZE];
    int result;

    if (fd < 0)
        return error_set(error, ERROR_INPUT, "%s: %s", path, strerror(errno));
    result = object_writer_open(&writer, error);
    if (result == 0)
        result = copy_file(&writer, fd, path, size, error);
    if (result == 0)
        result = object_writer_put(&writer, submission->transport, object, error);
    if (result == 0)
        result = add_file(files, name, object, error);
    object_writer_free(&writer);
    close(fd);
    return result;
}
