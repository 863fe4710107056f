/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/json/json_value.h"
#include "base/number.h"
#include "supervisor/fleet/directory_files.h"
#include "supervisor/fleet/transport.h"

/* ---- markers ---- */

/* The name of a file that stands for a job that waits or is taken: WEIGHT-ID.F.L or
 * WEIGHT-ID.F.L.OWNER. */
enum { MARKER_SIZE = 320, MARKER_OWNER_SIZE = 96 };

struct marker {
    int64_t weight;
    char id[FLEET_HASH_SIZE];
    unsigned failures, losses;     /* so far */
    char owner[MARKER_OWNER_SIZE]; /* "": it waits */
};

/* A number and the character after it. */
static bool marker_take(const char **at, char after, uint64_t *number)
{
    return number_take(at, number) && *(*at)++ == after;
}

/* False: not a marker's name. */
static bool marker_read(struct marker *marker, const char *name)
{
    uint64_t weight, failures, losses;
    const char *at = name;

    *marker = (struct marker){0};
    if (!marker_take(&at, '-', &weight) || weight > INT64_MAX ||
        strspn(at, "0123456789abcdef") != FLEET_HASH_SIZE - 1)
        return false;
    memcpy(marker->id, at, FLEET_HASH_SIZE - 1);
    at += FLEET_HASH_SIZE - 1;
    if (*at++ != '.' || !marker_take(&at, '.', &failures) || failures > UINT32_MAX ||
        !number_take(&at, &losses) || losses > UINT32_MAX)
        return false;
    marker->weight = (int64_t)weight;
    marker->failures = (unsigned)failures;
    marker->losses = (unsigned)losses;
    if (*at == '.')
        return (size_t)snprintf(marker->owner, sizeof marker->owner, "%s", at + 1) <
               sizeof marker->owner;
    return *at == '\0';
}

/* DIRECTORY/NAME */
static void marker_path(const struct marker *marker, const char *directory, char path[MARKER_SIZE])
{
    snprintf(path, MARKER_SIZE, "%s/%010" PRId64 "-%s.%u.%u%s%s", directory, marker->weight,
             marker->id, marker->failures, marker->losses, marker->owner[0] != '\0' ? "." : "",
             marker->owner);
}

/* For qsort(3): the lightest first. */
static int marker_compare(const void *left, const void *right)
{
    const struct marker *a = left, *b = right;

    if (a->weight != b->weight)
        return a->weight < b->weight ? -1 : 1;
    return strcmp(a->id, b->id);
}

enum { FLEET_VERSION = 1 };

static const char *const directories[] = {"objects", "jobs",   "waiting",   "taken",
                                          "results", "words",  "failed",    "cancelled",
                                          "runs",    "clocks", "unfinished"};

struct directory_transport {
    struct fleet_transport transport;
    char *path; /* owned */
    struct directory_files files;
    char owner[MARKER_OWNER_SIZE];
    char clock[MARKER_OWNER_SIZE +
               16]; /* a file whose time is touched, to read the server's clock */
    uint64_t lease_ms;
    struct marker *waiting; /* seen when the directory was last read, lightest first */
    size_t waiting_count, waiting_capacity;
    json_t *states; /* of jobs that wait or are taken, when asked for; owned */
};

static struct directory_transport *directory_of(struct fleet_transport *transport)
{
    return (struct directory_transport *)transport;
}

static int directory_transport_fail(const struct directory_transport *directory, const char *what,
                                    const char *path, struct error *error)
{
    return error_system(error, errno, "cannot %s %s/%s", what, directory->path, path);
}

/* ---- small files ---- */

static int put_empty(struct directory_transport *directory, const char *path, struct error *error)
{
    const struct buf nothing = {0};
    bool added;

    return directory_files_add(&directory->files, path, &nothing, &added, error);
}

static int has(struct directory_transport *directory, const char *kind, const char *id,
               const char *end, bool *found, struct error *error)
{
    char path[MARKER_SIZE];

    snprintf(path, sizeof path, "%s/%s%s", kind, id, end);
    return directory_files_exist(&directory->files, path, found, error);
}

static int directory_drop(struct directory_transport *directory, const char *kind, const char *name,
                          struct error *error)
{
    char path[MARKER_SIZE];

    snprintf(path, sizeof path, "%s/%s", kind, name);
    return directory_files_remove(&directory->files, path, error);
}

static int directory_missing(const struct directory_transport *directory, const char *path,
                             struct error *error)
{
    return error_set(error, ERROR_INPUT, "%s/%s is missing", directory->path, path);
}

static int directory_get(struct directory_transport *directory, const char *path,
                         struct buf *content, struct error *error)
{
    bool found;

    if (directory_files_read(&directory->files, path, content, &found, error) != 0)
        return -1;
    return found ? 0 : directory_missing(directory, path, error);
}

/* ---- objects ---- */

static int directory_has_object(struct fleet_transport *transport, const char *hash, bool *found,
                                struct error *error)
{
    return has(directory_of(transport), "objects", hash, ".zst", found, error);
}

static int directory_put_object(struct fleet_transport *transport, const char *hash, int packed,
                                struct error *error)
{
    char path[MARKER_SIZE];
    bool added;

    snprintf(path, sizeof path, "objects/%s.zst", hash);
    return directory_files_add_copy(&directory_of(transport)->files, path, packed, &added, error);
}

static int directory_get_object(struct fleet_transport *transport, const char *hash, int *packed,
                                struct error *error)
{
    struct directory_transport *directory = directory_of(transport);
    char path[MARKER_SIZE];

    snprintf(path, sizeof path, "objects/%s.zst", hash);
    if (directory_files_open(&directory->files, path, packed, error) != 0)
        return -1;
    return *packed >= 0 ? 0 : directory_missing(directory, path, error);
}

/* ---- jobs that are submitted ---- */

static int directory_note_state(void *context, const char *name, struct error *error)
{
    struct directory_transport *directory = context;
    struct marker marker;

    if (!marker_read(&marker, name))
        return 0;
    return json_object_set_new(
               directory->states, marker.id,
               json_integer(marker.owner[0] != '\0' ? FLEET_TAKEN : FLEET_WAITING)) == 0
               ? 0
               : error_memory(error, "the state of a fleet");
}

/* Lists the places in the order in which jobs move, so that it misses none. */
static int read_states(struct directory_transport *directory, struct error *error)
{
    if (directory->states != NULL)
        return 0;
    directory->states = json_object();
    if (directory_files_list(&directory->files, "waiting", directory_note_state, directory,
                             error) != 0)
        return -1;
    return directory_files_list(&directory->files, "taken", directory_note_state, directory, error);
}

static int directory_job_state(struct fleet_transport *transport, const char *id,
                               enum fleet_state *state, struct error *error)
{
    struct directory_transport *directory = directory_of(transport);
    bool done, failed, cancelled;

    if (read_states(directory, error) != 0 ||
        has(directory, "results", id, ".jsonl", &done, error) != 0 ||
        has(directory, "failed", id, "", &failed, error) != 0 ||
        has(directory, "cancelled", id, "", &cancelled, error) != 0)
        return -1;
    if (done)
        *state = FLEET_DONE;
    else if (cancelled)
        *state = FLEET_CANCELLED;
    else if (failed)
        *state = FLEET_FAILED;
    else
        *state = (enum fleet_state)json_integer_value(json_object_get(directory->states, id));
    return 0;
}

static int directory_put_job(struct fleet_transport *transport, const char *id,
                             const struct buf *job, int64_t weight, bool *added,
                             struct error *error)
{
    struct directory_transport *directory = directory_of(transport);
    struct marker marker = {.weight = weight};
    char path[MARKER_SIZE];
    enum fleet_state state;
    bool is_new;

    if (directory_job_state(transport, id, &state, error) != 0)
        return -1;
    *added = fleet_state_takes_job(state);
    if (!*added)
        return 0;
    snprintf(path, sizeof path, "jobs/%s.json", id);
    snprintf(marker.id, sizeof marker.id, "%s", id);
    if (directory_files_add(&directory->files, path, job, &is_new, error) != 0 ||
        directory_drop(directory, "cancelled", id, error) != 0 ||
        directory_drop(directory, "failed", id, error) != 0 ||
        directory_drop(directory, "words", id, error) != 0)
        return -1;
    (void)json_object_set_new(directory->states, id, json_integer(FLEET_WAITING));
    marker_path(&marker, "waiting", path);
    return put_empty(directory, path, error);
}

static int directory_get_job(struct fleet_transport *transport, const char *id, struct buf *job,
                             struct error *error)
{
    char path[MARKER_SIZE];

    snprintf(path, sizeof path, "jobs/%s.json", id);
    return directory_get(directory_of(transport), path, job, error);
}

/* ---- leases ---- */

/* The time of the file server, whose clock sets the files' times. */
static int server_time(struct directory_transport *directory, int64_t *ms, struct error *error)
{
    struct stat status;

    if (utimensat(directory->files.fd, directory->clock, NULL, 0) != 0 ||
        fstatat(directory->files.fd, directory->clock, &status, 0) != 0)
        return directory_transport_fail(directory, "touch", directory->clock, error);
    *ms = (int64_t)status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1000000;
    return 0;
}

static int directory_mark_failed(struct directory_transport *directory, const struct marker *marker,
                                 struct error *error)
{
    char path[MARKER_SIZE];

    snprintf(path, sizeof path, "failed/%s", marker->id);
    return put_empty(directory, path, error);
}

static int directory_add_words(struct directory_transport *directory, const char *id,
                               const char *words, struct error *error)
{
    char path[MARKER_SIZE];
    struct buf line = {0};
    int fd, result;

    snprintf(path, sizeof path, "words/%s", id);
    buf_printf(&line, "%s\n", words);
    fd = openat(directory->files.fd, path,
                O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0666);
    result = fd >= 0 && !buf_failed(&line) && write(fd, line.data, line.length) >= 0 ? 0 : -1;
    if (result != 0)
        directory_transport_fail(directory, "write", path, error);
    if (fd >= 0)
        close(fd);
    buf_free(&line);
    return result;
}

/* Moves a job from one place to another; *moved is false if another worker was first. */
static int directory_move(struct directory_transport *directory, const char *from, const char *to,
                          bool *moved, struct error *error)
{
    *moved = renameat(directory->files.fd, from, directory->files.fd, to) == 0;
    return *moved || errno == ENOENT ? 0
                                     : directory_transport_fail(directory, "rename", from, error);
}

struct search {
    struct directory_transport *directory;
    int64_t now;
    bool left; /* another worker has a job */
};

/* A job whose worker has been silent for too long waits again. */
static int directory_take_back(void *context, const char *name, struct error *error)
{
    struct search *search = context;
    struct directory_transport *directory = search->directory;
    char from[MARKER_SIZE], to[MARKER_SIZE];
    struct marker marker;
    struct stat status;
    bool moved;

    if (!marker_read(&marker, name))
        return 0;
    search->left = true;
    marker_path(&marker, "taken", from);
    if (fstatat(directory->files.fd, from, &status, 0) != 0)
        return 0;
    if (search->now - ((int64_t)status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1000000) <=
        (int64_t)directory->lease_ms)
        return 0;
    marker.owner[0] = '\0';
    marker.losses++;
    marker_path(&marker, "waiting", to);
    if (directory_move(directory, from, to, &moved, error) != 0)
        return -1;
    if (!moved || marker.losses < FLEET_LOSSES_MAX)
        return 0;
    if (directory_add_words(directory, marker.id, "too many of its workers were lost", error) !=
            0 ||
        directory_mark_failed(directory, &marker, error) != 0)
        return -1;
    return directory_files_remove(&directory->files, to, error);
}

static int add_waiting(void *context, const char *name, struct error *error)
{
    struct directory_transport *directory = ((struct search *)context)->directory;
    struct marker *markers = array_reserve(directory->waiting, &directory->waiting_capacity,
                                           directory->waiting_count + 1, sizeof *markers);

    if (markers == NULL)
        return error_memory(error, "the jobs of a fleet");
    directory->waiting = markers;
    directory->waiting_count += marker_read(&markers[directory->waiting_count], name);
    return 0;
}

static int directory_search(struct directory_transport *directory, bool *left, struct error *error)
{
    struct search search = {.directory = directory};

    directory->waiting_count = 0;
    if (server_time(directory, &search.now, error) != 0 ||
        directory_files_list(&directory->files, "taken", directory_take_back, &search, error) !=
            0 ||
        directory_files_list(&directory->files, "waiting", add_waiting, &search, error) != 0)
        return -1;
    if (directory->waiting_count > 0)
        qsort(directory->waiting, directory->waiting_count, sizeof *directory->waiting,
              marker_compare);
    *left = search.left;
    return 0;
}

/* 1: this worker has the job; 0: another was first, or the job needs no work. */
static int claim(struct directory_transport *directory, const struct marker *marker,
                 struct fleet_lease *lease, struct error *error)
{
    char from[MARKER_SIZE], to[MARKER_SIZE];
    struct marker taken = *marker;
    bool moved, done, cancelled;

    snprintf(taken.owner, sizeof taken.owner, "%s", directory->owner);
    marker_path(marker, "waiting", from);
    marker_path(&taken, "taken", to);
    /* Otherwise the lease would begin at the job's submission. */
    if (utimensat(directory->files.fd, from, NULL, 0) != 0 && errno != ENOENT)
        return directory_transport_fail(directory, "touch", from, error);
    if (directory_move(directory, from, to, &moved, error) != 0)
        return -1;
    if (!moved)
        return 0;
    if (has(directory, "results", marker->id, ".jsonl", &done, error) != 0 ||
        has(directory, "cancelled", marker->id, "", &cancelled, error) != 0)
        return -1;
    if (done || cancelled)
        return directory_files_remove(&directory->files, to, error);
    *lease = (struct fleet_lease){.hold = malloc(sizeof taken)};
    if (lease->hold == NULL)
        return error_memory(error, "a job");
    memcpy(lease->hold, &taken, sizeof taken);
    memcpy(lease->id, marker->id, sizeof lease->id);
    if (directory_get_job(&directory->transport, marker->id, &lease->job, error) == 0)
        return 1;
    lease->problem = *error;
    return error->kind == ERROR_INPUT ? 1 : -1;
}

/* 1, 0 or -1 as claim(). */
static int claim_next(struct directory_transport *directory, const char *id,
                      struct fleet_lease *lease, struct error *error)
{
    int claimed = 0;

    while (claimed == 0 && directory->waiting_count > 0) {
        const struct marker *marker = &directory->waiting[--directory->waiting_count];

        if (id == NULL || strcmp(id, marker->id) == 0)
            claimed = claim(directory, marker, lease, error);
    }
    return claimed;
}

static int directory_transport_take(struct fleet_transport *transport, const char *id,
                                    struct fleet_lease *lease, bool *left, struct error *error)
{
    struct directory_transport *directory = directory_of(transport);
    int claimed = claim_next(directory, id, lease, error);

    if (claimed != 0)
        return claimed;
    if (directory_search(directory, left, error) != 0)
        return -1;
    return claim_next(directory, id, lease, error);
}

static int directory_extend(struct fleet_transport *transport, struct fleet_lease *lease,
                            bool *lost, struct error *error)
{
    struct directory_transport *directory = directory_of(transport);
    char path[MARKER_SIZE];

    if (has(directory, "cancelled", lease->id, "", lost, error) != 0)
        return -1;
    if (*lost)
        return 0;
    marker_path(lease->hold, "taken", path);
    *lost = utimensat(directory->files.fd, path, NULL, 0) != 0;
    return !*lost || errno == ENOENT ? 0
                                     : directory_transport_fail(directory, "touch", path, error);
}

static void directory_free_lease(struct fleet_lease *lease)
{
    buf_free(&lease->job);
    free(lease->hold);
    *lease = (struct fleet_lease){0};
}

static int directory_transport_finish(struct fleet_transport *transport, struct fleet_lease *lease,
                                      const struct buf *result, struct error *error)
{
    struct directory_transport *directory = directory_of(transport);
    char path[MARKER_SIZE];
    int status = -1;
    bool added;

    snprintf(path, sizeof path, "results/%s.jsonl", lease->id);
    if (directory_files_add(&directory->files, path, result, &added, error) == 0) {
        marker_path(lease->hold, "taken", path);
        status = directory_files_remove(&directory->files, path, error);
    }
    directory_free_lease(lease);
    return status;
}

/* Moves the job of the lease. */
static int hand_back(struct directory_transport *directory, struct fleet_lease *lease,
                     const struct marker *back, struct error *error)
{
    char from[MARKER_SIZE], to[MARKER_SIZE];
    bool moved;

    marker_path(lease->hold, "taken", from);
    marker_path(back, "waiting", to);
    return directory_move(directory, from, to, &moved, error);
}

static int directory_fail_job(struct fleet_transport *transport, struct fleet_lease *lease,
                              const char *words, struct error *error)
{
    struct directory_transport *directory = directory_of(transport);
    struct marker back = *(struct marker *)lease->hold;
    char path[MARKER_SIZE];
    int status = directory_add_words(directory, lease->id, words, error);

    back.owner[0] = '\0';
    back.failures++;
    back.weight = 0; /* after the others, which may not have been tried */
    if (status == 0 && back.failures < FLEET_FAILURES_MAX) {
        status = hand_back(directory, lease, &back, error);
    } else if (status == 0) {
        marker_path(lease->hold, "taken", path);
        status = directory_mark_failed(directory, &back, error);
        if (status == 0)
            status = directory_files_remove(&directory->files, path, error);
    }
    directory_free_lease(lease);
    return status;
}

static int directory_release(struct fleet_transport *transport, struct fleet_lease *lease,
                             struct error *error)
{
    struct marker back = *(struct marker *)lease->hold;
    int status;

    back.owner[0] = '\0';
    status = hand_back(directory_of(transport), lease, &back, error);
    directory_free_lease(lease);
    return status;
}

/* ---- results, runs ---- */

static int directory_get_result(struct fleet_transport *transport, const char *id,
                                struct buf *result, struct error *error)
{
    char path[MARKER_SIZE];

    snprintf(path, sizeof path, "results/%s.jsonl", id);
    return directory_get(directory_of(transport), path, result, error);
}

static int directory_get_words(struct fleet_transport *transport, const char *id, struct buf *words,
                               struct error *error)
{
    char path[MARKER_SIZE];
    bool found;

    snprintf(path, sizeof path, "words/%s", id);
    return directory_files_read(&directory_of(transport)->files, path, words, &found, error);
}

static int directory_cancel(struct fleet_transport *transport, const char *id, struct error *error)
{
    char path[MARKER_SIZE];
    enum fleet_state state;

    if (directory_job_state(transport, id, &state, error) != 0)
        return -1;
    if (state != FLEET_WAITING && state != FLEET_TAKEN)
        return 0;
    snprintf(path, sizeof path, "cancelled/%s", id);
    return put_empty(directory_of(transport), path, error);
}

static int directory_put_run(struct fleet_transport *transport, const char *name,
                             const struct buf *jobs, struct error *error)
{
    char path[MARKER_SIZE];
    bool added;

    snprintf(path, sizeof path, "runs/%s.jsonl", name);
    return directory_files_add(&directory_of(transport)->files, path, jobs, &added, error);
}

static int directory_get_run(struct fleet_transport *transport, const char *name, struct buf *jobs,
                             struct error *error)
{
    char path[MARKER_SIZE];

    snprintf(path, sizeof path, "runs/%s.jsonl", name);
    return directory_get(directory_of(transport), path, jobs, error);
}

struct naming {
    fleet_each *each;
    void *context;
};

static int directory_name_run(void *context, const char *file, struct error *error)
{
    const struct naming *naming = context;
    char name[MARKER_SIZE];

    snprintf(name, sizeof name, "%.*s", (int)strcspn(file, "."), file);
    return naming->each(naming->context, name, error);
}

static int directory_list_runs(struct fleet_transport *transport, fleet_each *each, void *context,
                               struct error *error)
{
    struct naming naming = {each, context};

    return directory_files_list(&directory_of(transport)->files, "runs", directory_name_run,
                                &naming, error);
}

/* ---- opening ---- */

static void close_directory(struct fleet_transport *transport)
{
    struct directory_transport *directory = directory_of(transport);

    if (directory->files.fd >= 0) {
        (void)unlinkat(directory->files.fd, directory->clock, 0); /* it is of no use to others */
        close(directory->files.fd);
    }
    free(directory->waiting);
    free(directory->path);
    json_decref(directory->states);
    free(directory);
}

/* HOST-PID-RANDOM, of characters that file names may have. */
static int name_owner(struct directory_transport *directory, struct error *error)
{
    char host[64] = "host";
    uint32_t chance;

    (void)gethostname(host, sizeof host - 1);
    for (char *at = host; *at != '\0'; at++)
        if (strchr("./ ", *at) != NULL)
            *at = '_';
    if (getrandom(&chance, sizeof chance, 0) != (ssize_t)sizeof chance)
        return error_system(error, errno, "cannot get random bytes");
    snprintf(directory->owner, sizeof directory->owner, "%s-%d-%08" PRIx32, host, (int)getpid(),
             chance);
    snprintf(directory->clock, sizeof directory->clock, "clocks/%s", directory->owner);
    return 0;
}

static int make_directories(struct directory_transport *directory, struct error *error)
{
    struct buf version = {0};
    int result = 0;
    bool added;

    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
        if (mkdirat(directory->files.fd, directories[i], 0777) != 0 && errno != EEXIST)
            return directory_transport_fail(directory, "make", directories[i], error);
    buf_printf(&version, "{\"version\":%d}\n", FLEET_VERSION);
    result = directory_files_add(&directory->files, "fleet.json", &version, &added, error);
    buf_free(&version);
    return result;
}

static int directory_check_version(struct directory_transport *directory, bool *found,
                                   struct error *error)
{
    struct buf text = {0};
    int64_t version = 0;
    int result = directory_files_read(&directory->files, "fleet.json", &text, found, error);

    if (result == 0 && *found) {
        json_t *json = json_value_read(text.data, text.length, 0, NULL);

        version = json_integer_value(json_object_get(json, "version"));
        json_decref(json);
        if (version != FLEET_VERSION)
            result = error_set(error, ERROR_INPUT,
                               "%s: the directory of a fleet of version %" PRId64
                               "; this gaspipe knows version %d",
                               directory->path, version, FLEET_VERSION);
    }
    buf_free(&text);
    return result;
}

static int open_directory(struct directory_transport *directory, bool make, struct error *error)
{
    bool found;

    if (make && mkdir(directory->path, 0777) != 0 && errno != EEXIST)
        return error_system(error, errno, "cannot make %s", directory->path);
    directory->files.fd = open(directory->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory->files.fd < 0)
        return error_set(error, ERROR_INPUT, "%s: %s", directory->path, strerror(errno));
    if (directory_check_version(directory, &found, error) != 0)
        return -1;
    if (!found && !make)
        return error_set(error, ERROR_INPUT,
                         "%s: not a fleet's directory; gaspipe fleet submit makes one",
                         directory->path);
    if (make && make_directories(directory, error) != 0)
        return -1;
    return put_empty(directory, directory->clock, error);
}

struct fleet_transport *directory_transport_open(const char *path, bool make, uint64_t lease_ms,
                                                 struct error *error)
{
    static const struct fleet_operations operations = {
        .has_object = directory_has_object,
        .put_object = directory_put_object,
        .get_object = directory_get_object,
        .put_job = directory_put_job,
        .take = directory_transport_take,
        .extend = directory_extend,
        .finish = directory_transport_finish,
        .fail = directory_fail_job,
        .release = directory_release,
        .refuse = directory_release, /* another worker is as likely to take it next */
        .state = directory_job_state,
        .get_result = directory_get_result,
        .get_words = directory_get_words,
        .cancel = directory_cancel,
        .put_run = directory_put_run,
        .get_run = directory_get_run,
        .list_runs = directory_list_runs,
        .close = close_directory,
    };
    struct directory_transport *directory = calloc(1, sizeof *directory);

    if (directory == NULL || (directory->path = strdup(path)) == NULL) {
        free(directory);
        error_memory(error, "a fleet's directory");
        return NULL;
    }
    directory->transport = (struct fleet_transport){
        .operations = &operations, .name = directory->path, .renewal_ms = lease_ms / 4 + 1};
    directory->lease_ms = lease_ms;
    directory->files =
        (struct directory_files){.fd = -1, .name = directory->path, .owner = directory->owner};
    if (name_owner(directory, error) == 0 && open_directory(directory, make, error) == 0)
        return &directory->transport;
    close_directory(&directory->transport);
    return NULL;
}
