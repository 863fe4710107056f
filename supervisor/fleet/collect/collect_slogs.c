/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json/json_value.h"
#include "base/lines.h"
#include "base/output/output_file.h"
#include "supervisor/fleet/collect/collection.h"
#include "supervisor/fleet/job/job_check.h"
#include "supervisor/fleet/scratch_folder.h"
#include "supervisor/fleet/span/fleet_object.h"
#include "supervisor/process/child_process.h"
#include "supervisor/process/command_line.h"
#include "supervisor/process/locate.h"

enum { MERGED_PATH_MAX = PATH_MAX + 64 };

/* What slogreport made of each file, as files for `slogreport merge`: histograms, or for rows a
 * folder of tables. */
struct merging {
    const struct collection *collection;
    struct scratch_folder folder;
    struct command_line line;
    size_t count;
};

/* ---- histograms ---- */

static int take_histograms(void *context, const struct buf *result, struct error *error)
{
    struct merging *merging = context;
    const char *head = memchr(result->data, '\n', result->length);
    struct buf rest = {0};
    char path[MERGED_PATH_MAX];
    int status;

    if (head == NULL)
        return error_set(error, ERROR_INPUT, "a result is damaged");
    snprintf(path, sizeof path, "%s/%zu", merging->folder.path, merging->count);
    buf_append(&rest, head + 1, result->length - (size_t)(head + 1 - result->data));
    status = output_file_write_whole(path, "the histograms", &rest, error);
    buf_free(&rest);
    command_line_add(&merging->line, "%zu", merging->count++);
    return status;
}

/* ---- tables ---- */

static int take_table(struct merging *merging, const json_t *table, struct error *error)
{
    const char *name = json_string_value(json_object_get(table, "name"));
    const json_t *object = json_object_get(table, "object");
    char path[MERGED_PATH_MAX];

    /* Nothing that others have written becomes a path. */
    if (name == NULL || strspn(name, "abcdefghijklmnopqrstuvwxyz.") != strlen(name) ||
        name[0] == '.' || !job_check_hash(object))
        return error_set(error, ERROR_INPUT, "a result names no table");
    snprintf(path, sizeof path, "%s/%zu/%s", merging->folder.path, merging->count, name);
    return fleet_object_get(merging->collection->transport, json_string_value(object), name, path,
                            error);
}

static int take_tables(void *context, const struct buf *result, struct error *error)
{
    struct merging *merging = context;
    char path[MERGED_PATH_MAX];
    size_t place = 0, length;
    const char *line;

    snprintf(path, sizeof path, "%s/%zu", merging->folder.path, merging->count);
    if (mkdir(path, 0700) != 0)
        return error_system(error, errno, "cannot make %s", path);
    while (lines_next(result, &place, &line, &length)) {
        json_t *object = json_value_read(line, length, 0, NULL);
        const char *kind = json_string_value(json_object_get(object, "kind"));
        const int status =
            kind != NULL && strcmp(kind, "table") == 0 ? take_table(merging, object, error) : 0;

        json_decref(object);
        if (status != 0)
            return -1;
    }
    command_line_add(&merging->line, "%zu", merging->count++);
    return 0;
}

static void remove_tables(const struct merging *merging)
{
    char path[MERGED_PATH_MAX];

    for (size_t i = 0; i <= merging->count; i++) {
        snprintf(path, sizeof path, "%s/%zu", merging->folder.path, i);
        scratch_folder_clear(path);
        (void)rmdir(path); /* the last one may not be there */
    }
}

/* ---- slogreport ---- */

/* An absolute path, since slogreport runs in another folder. */
static int add_out(struct merging *merging, const char *out, struct error *error)
{
    char here[PATH_MAX];

    if (out[0] == '/') {
        command_line_add(&merging->line, "--out=%s", out);
        return 0;
    }
    if (getcwd(here, sizeof here) == NULL)
        return error_system(error, errno, "cannot find the present folder");
    command_line_add(&merging->line, "--out=%s/%s", here, out);
    return 0;
}

static int begin_line(struct merging *merging, struct error *error)
{
    const struct fleet_options *options = merging->collection->options;

    command_line_add(&merging->line, "slogreport");
    command_line_add(&merging->line, "merge");
    if (options->out != NULL)
        return add_out(merging, options->out, error);
    if (options->replay.json)
        command_line_add(&merging->line, "--json");
    if (options->by != NULL)
        command_line_add(&merging->line, "--by=%s", options->by);
    return 0;
}

/* Its exit status. */
static int merge_files(struct merging *merging, struct error *error)
{
    const int fds[] = {-1, STDOUT_FILENO, STDERR_FILENO};
    char program[PATH_MAX];
    struct child_launch launch = {
        .path = program,
        .environment = environ,
        .fds = fds,
        .fd_count = sizeof fds / sizeof *fds,
        .folder = merging->folder.path,
        .in_our_group = true,
    };
    int status;
    pid_t pid;

    if (command_line_check(&merging->line, error) != 0 || locate("slogreport", program, error) != 0)
        return -1;
    launch.arguments = merging->line.words;
    if (child_process_spawn(&launch, &pid, error) != 0 ||
        child_process_reap(pid, &status, error) != 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : ERROR_SYSTEM;
}

static int collect_slogs_merge(struct merging *merging, struct collection *collection,
                               struct error *error)
{
    const bool tables = collection->options->out != NULL;
    int status;

    if (begin_line(merging, error) != 0 ||
        collection_each(collection, tables ? take_tables : take_histograms, merging, error) != 0)
        return -1;
    if (merging->count == 0)
        return collection_status(collection);
    status = merge_files(merging, error);
    return status != 0 ? status : collection_status(collection);
}

int collect_slogs(struct collection *collection, struct error *error)
{
    struct merging merging = {.collection = collection, .folder = {.lock = -1}};
    int result = scratch_folder_open(&merging.folder, error);

    if (result == 0)
        result = collect_slogs_merge(&merging, collection, error);
    if (collection->options->out != NULL)
        remove_tables(&merging);
    scratch_folder_close(&merging.folder);
    command_line_free(&merging.line);
    return result;
}
