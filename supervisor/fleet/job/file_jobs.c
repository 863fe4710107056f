/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/job/file_jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/fleet/job/job_check.h"
#include "supervisor/fleet/job/job_gas.h"
#include "supervisor/fleet/span/fleet_object.h"
#include "supervisor/fleet/span/shared_path.h"
#include "supervisor/process/fingerprint.h"

bool file_jobs_are(const json_t *json)
{
    return json_is_string(json_object_get(json, "name")) &&
           job_check_files(json_object_get(json, "files")) &&
           json_is_array(json_object_get(json, "arguments"));
}

void file_jobs_describe(const struct fleet_job *job, struct buf *out)
{
    buf_append_string(out, fleet_job_text(job, "name"));
}

/* A link to a file of the shared folder, whose hash is checked. */
static int link_shared(const struct job_place *place, const json_t *file, const char *link,
                       struct error *error)
{
    const char *below = json_string_value(json_object_get(file, "shared"));
    char path[PATH_MAX], hash[FLEET_HASH_SIZE];

    if (shared_path_find(place->shared, below, path, error) != 0)
        return -1;
    if (fingerprint_hash(path, hash, error) != 0) {
        error->kind = ERROR_INPUT;
        return -1;
    }
    if (strcmp(hash, json_string_value(json_object_get(file, "object"))) != 0)
        return error_set(error, ERROR_INPUT, "%s: it is not what was submitted any more", path);
    if (symlink(path, link) != 0)
        return error_system(error, errno, "cannot make the link %s", link);
    return 0;
}

static int fetch_file(const struct job_place *place, const json_t *file, struct error *error)
{
    const char *name = json_string_value(json_object_get(file, "name"));
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", place->folder, name);
    if (json_object_get(file, "shared") != NULL)
        return link_shared(place, file, path, error);
    return fleet_object_get(place->transport, json_string_value(json_object_get(file, "object")),
                            name, path, error);
}

int file_jobs_fetch(const struct job_place *place, const struct fleet_job *job, struct error *error)
{
    const json_t *files = json_object_get(job->json, "files"), *file;
    size_t index;

    json_array_foreach(files, index, file)
    {
        if (fetch_file(place, file, error) != 0)
            return -1;
    }
    return 0;
}

void file_jobs_add_arguments(const struct fleet_job *job, struct command_line *line)
{
    const json_t *arguments = json_object_get(job->json, "arguments"), *argument;
    size_t index;

    json_array_foreach(arguments, index, argument)
    {
        command_line_add(line, "%s", json_string_value(argument));
    }
    job_gas_add_argument(job, line);
}

/* Without the name of the program, which every line of words begins with. */
static int tell_words(const struct buf *words, struct error *error)
{
    size_t end = words->length;
    const char *begin, *colon;

    while (end > 0 && words->data[end - 1] == '\n')
        end--;
    if (end == 0)
        return error_set(error, ERROR_INPUT, "its program failed, and did not say why");
    begin = memrchr(words->data, '\n', end);
    begin = begin != NULL ? begin + 1 : words->data;
    colon = memchr(begin, ':', end - (size_t)(begin - words->data));
    if (colon != NULL && colon + 2 < words->data + end && colon[1] == ' ' &&
        memchr(begin, ' ', (size_t)(colon - begin)) == NULL)
        begin = colon + 2;
    return error_set(error, ERROR_INPUT, "%.*s", (int)(words->data + end - begin), begin);
}

int file_jobs_check_end(const struct job_end *end, struct error *error)
{
    if (WIFEXITED(end->status) && WEXITSTATUS(end->status) == 0)
        return 0;
    return tell_words(end->words, error);
}
