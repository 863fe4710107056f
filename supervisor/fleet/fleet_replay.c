/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/fleet_replay.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "supervisor/common_options.h"
#include "supervisor/fleet/scratch_folder.h"
#include "supervisor/fleet/span/fleet_object.h"
#include "supervisor/process/child_process.h"
#include "supervisor/replay/output/replay_part.h"

/* ---- what the replay reads ---- */

static int get_object(const struct fleet_replay *replay, const char *hash, const char *what,
                      const char *name, struct error *error)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", replay->folder, name);
    return fleet_object_get(replay->transport, hash, what, path, error);
}

static void name_transcript(const struct fleet_job *job, char name[NAME_MAX])
{
    snprintf(name, NAME_MAX, "transcript.%s.%" PRId64 ".%" PRId64, fleet_job_text(job, "vatID"),
             fleet_job_number(job, "first"), fleet_job_number(job, "end"));
}

static int get_bundles(const struct fleet_replay *replay, const struct fleet_job *job,
                       struct error *error)
{
    const json_t *bundles = json_object_get(job->json, "bundles"), *bundle;
    char name[NAME_MAX];
    size_t index;

    json_array_foreach(bundles, index, bundle)
    {
        snprintf(name, sizeof name, "bundle-%zu", index);
        if (get_object(replay, json_string_value(json_object_get(bundle, "object")), "a bundle",
                       name, error) != 0)
            return -1;
    }
    return 0;
}

static int get_objects(const struct fleet_replay *replay, const struct fleet_job *job,
                       struct error *error)
{
    const char *snapshot = fleet_job_text(job, "snapshot");
    char name[NAME_MAX];

    name_transcript(job, name);
    if (get_object(replay, fleet_job_text(job, "transcript"), "the transcript", name, error) != 0)
        return -1;
    if (snapshot[0] != '\0' && get_object(replay, snapshot, "the snapshot", snapshot, error) != 0)
        return -1;
    return get_bundles(replay, job, error);
}

/* ---- the process ---- */

static void fleet_replay_add(char **arguments, size_t *count, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void fleet_replay_add(char **arguments, size_t *count, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (vasprintf(&arguments[*count], format, args) < 0)
        arguments[*count] = NULL;
    va_end(args);
    (*count)++;
}

/* For free_arguments(). NULL when memory ran out. */
static char **make_arguments(const struct fleet_replay *replay, const struct fleet_job *job,
                             size_t *count)
{
    const json_t *given = json_object_get(job->json, "arguments"),
                 *bundles = json_object_get(job->json, "bundles"), *item;
    char **arguments =
        calloc(json_array_size(given) + json_array_size(bundles) + 12, sizeof(char *));
    char transcript[NAME_MAX];
    size_t index;

    *count = 0;
    if (arguments == NULL)
        return NULL;
    fleet_replay_add(arguments, count, "gaspipe");
    fleet_replay_add(arguments, count, "replay");
    fleet_replay_add(arguments, count, "--json");
    fleet_replay_add(arguments, count, "--part=0/1");
    fleet_replay_add(arguments, count, "--snapshots=.");
    fleet_replay_add(arguments, count, "--sandbox=%s",
                     common_options_sandbox_levels[replay->options->replay.sandbox]);
    if (replay->options->replay.worker != NULL)
        fleet_replay_add(arguments, count, "--worker=%s", replay->options->replay.worker);
    json_array_foreach(given, index, item)
    {
        fleet_replay_add(arguments, count, "%s", json_string_value(item));
    }
    json_array_foreach(bundles, index, item)
    {
        const char *vat = json_string_value(json_object_get(item, "vat"));

        fleet_replay_add(arguments, count, "--bundle=%s%sbundle-%zu", vat,
                         vat[0] != '\0' ? "=" : "", index);
    }
    name_transcript(job, transcript);
    fleet_replay_add(arguments, count, "%s", transcript);
    return arguments;
}

static void free_arguments(char **arguments, size_t count)
{
    for (size_t i = 0; arguments != NULL && i < count; i++)
        free(arguments[i]);
    free(arguments);
}

static int fleet_replay_start(const struct fleet_replay *replay, const struct fleet_job *job,
                              int output, pid_t *pid, struct error *error)
{
    const int folder = open(replay->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const int fds[] = {-1, output, STDERR_FILENO, folder};
    size_t count = 0;
    char **arguments = make_arguments(replay, job, &count);
    const struct child_launch launch = {
        .path = "/proc/self/exe",
        .arguments = arguments,
        .environment = environ,
        .fds = fds,
        .fd_count = sizeof fds / sizeof *fds,
        .folder = replay->folder,
    };
    int result = 0;

    for (size_t i = 0; arguments != NULL && i < count; i++)
        if (arguments[i] == NULL)
            result = -1;
    if (arguments == NULL || result != 0)
        result = error_memory(error, "a command line");
    else if (folder < 0)
        result = error_system(error, errno, "cannot open %s", replay->folder);
    else
        result = child_process_spawn(&launch, pid, error);
    if (folder >= 0)
        close(folder);
    free_arguments(arguments, count);
    return result;
}

/* Until it has ended; *lost: it was ended, because the job is another worker's now. */
static int attend(const struct fleet_replay *replay, struct fleet_lease *lease, pid_t pid,
                  bool *lost, struct error *error)
{
    struct fleet_transport *transport = replay->transport;
    struct pollfd ended = {.fd = pidfd_open(pid, 0), .events = POLLIN};
    int result = 0, ready = 0;

    if (ended.fd < 0)
        result = error_system(error, errno, "cannot watch a process");
    while (result == 0 && !*lost && ready <= 0) {
        ready = poll(&ended, 1, (int)transport->beat_ms);
        if (ready < 0 && errno != EINTR)
            result = error_system(error, errno, "cannot wait for a process");
        if (ready == 0)
            result = transport->operations->extend(transport, lease, lost, error);
    }
    if (result != 0 || *lost)
        (void)kill(pid, SIGKILL); /* it may just have ended */
    if (ended.fd >= 0)
        close(ended.fd);
    return result;
}

static int read_output(int fd, struct buf *output, struct error *error)
{
    char path[32];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return io_read_file(path, SIZE_MAX, output, error);
}

/* Whether it came to a result, the same or not. */
static int fleet_replay_judge(int status, const struct buf *output, struct error *words,
                              struct error *error)
{
    struct replay_part part = {0};
    int result = FLEET_REPLAYED;

    if (WIFSIGNALED(status)) {
        error_set(words, ERROR_SYSTEM, "its replay was ended by signal %d", WTERMSIG(status));
        return FLEET_FAILED;
    }
    if (replay_part_read(&part, output->data, output->length, true, words) != 0) {
        result = FLEET_FAILED;
    } else if (part.failed_line > 0 || part.count == 0) {
        error_set(words, ERROR_INPUT, "%s",
                  part.failed_line > 0 ? part.failure.text : "its replay gave no result");
        result = FLEET_FAILED;
    }
    (void)error;
    replay_part_free(&part);
    return result;
}

static int fleet_replay_run(const struct fleet_replay *replay, struct fleet_lease *lease,
                            const struct fleet_job *job, struct buf *output, struct error *words,
                            struct error *error)
{
    const int fd = memfd_create("gaspipe-fleet", MFD_CLOEXEC);
    bool lost = false;
    int status = 0, result;
    pid_t pid;

    if (fd < 0)
        return error_system(error, errno, "cannot make a file for a replay");
    result = fleet_replay_start(replay, job, fd, &pid, error);
    if (result == 0) {
        struct error reaping;

        result = attend(replay, lease, pid, &lost, error);
        if (child_process_reap(pid, &status, &reaping) != 0 && result == 0) {
            *error = reaping;
            result = -1;
        }
    }
    if (result == 0 && lost)
        result = FLEET_LOST;
    else if (result == 0 && read_output(fd, output, error) == 0)
        result = fleet_replay_judge(status, output, words, error);
    else
        result = -1;
    close(fd);
    return result;
}

int fleet_replay(const struct fleet_replay *replay, struct fleet_lease *lease,
                 const struct fleet_job *job, struct buf *output, struct error *words,
                 struct error *error)
{
    int result;

    if (get_objects(replay, job, error) == 0) {
        result = fleet_replay_run(replay, lease, job, output, words, error);
    } else if (error->kind == ERROR_INPUT) {
        *words = *error;
        result = FLEET_FAILED;
    } else {
        result = -1;
    }
    scratch_folder_clear(replay->folder);
    return result;
}
