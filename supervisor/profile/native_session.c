/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/profile/native_session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "supervisor/profile/compiled_profile.h"
#include "supervisor/profile/native_profile.h"

/* The file of a worker that has ended is closed after this many deliveries of others: a speculative
 * delivery of its own may still wait for its turn. */
enum { DELIVERIES_KEPT = 1000, READ_SIZE = 1 << 16 };

/* A worker that is profiled. */
struct profiled_worker {
    struct profiled_worker *next;
    int fd;     /* of the file in memory that its counter or its meter writes to */
    off_t read; /* how much of it was read */
    struct region_stream stream;
    struct cost_stream costs;
    unsigned passed; /* deliveries since it was found to have ended */
};

struct native_session {
    enum native_unit unit;
    struct profile_files files;
    struct native_code code;
    struct profiled_worker *workers;
    struct launcher_trace launcher;
};

/* ---- workers ---- */

static int open_profile_memory(struct error *error)
{
    int fd = memfd_create("gaspipe-profile", MFD_CLOEXEC);

    if (fd >= 0 && fcntl(fd, F_SETFL, O_APPEND) == 0)
        return fd;
    error_system(error, errno, "cannot make a file for the profile of a worker");
    if (fd >= 0)
        close(fd);
    return -1;
}

static int on_profiled_worker(void *context, const char *program, const char *name,
                              struct error *error)
{
    struct native_session *const session = context;
    struct profiled_worker *const worker = calloc(1, sizeof *worker);

    (void)program, (void)name;
    if (worker == NULL)
        return error_memory(error, "a profile");
    worker->fd = open_profile_memory(error);
    if (worker->fd < 0) {
        free(worker);
        return -1;
    }
    worker->next = session->workers;
    session->workers = worker;
    return worker->fd;
}

/* Frees the memory of what was read; if that fails, it is freed when the worker ends. */
static void free_read_bytes(const struct profiled_worker *worker)
{
    (void)fallocate(worker->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, worker->read);
}

static int feed_worker_stream(const struct native_session *session, struct profiled_worker *worker,
                              const char *bytes, size_t length, struct error *error)
{
    return session->unit == NATIVE_INSTRUCTIONS
               ? region_stream_feed(&worker->stream, bytes, length, error)
               : cost_stream_feed(&worker->costs, bytes, length, error);
}

static int read_worker(const struct native_session *session, struct profiled_worker *worker,
                       struct error *error)
{
    static char bytes[READ_SIZE]; /* used up within each turn */
    const off_t before = worker->read;
    ssize_t length;

    while ((length = pread(worker->fd, bytes, sizeof bytes, worker->read)) > 0 ||
           (length < 0 && errno == EINTR)) {
        if (length < 0)
            continue;
        worker->read += length;
        if (feed_worker_stream(session, worker, bytes, (size_t)length, error) != 0)
            return -1;
    }
    if (length < 0)
        return error_system(error, errno, "cannot read the profile of a worker");
    if (worker->read > before)
        free_read_bytes(worker);
    return 0;
}

static void drop_worker(struct profiled_worker **link)
{
    struct profiled_worker *const worker = *link;

    *link = worker->next;
    close(worker->fd);
    region_stream_free(&worker->stream);
    cost_stream_free(&worker->costs);
    free(worker);
}

static bool has_worker_ended(const struct profiled_worker *worker)
{
    const pid_t process =
        worker->stream.process > 0 ? worker->stream.process : worker->costs.process;

    return process > 1 && kill(process, 0) != 0 && errno == ESRCH;
}

static int read_workers(struct native_session *session, struct error *error)
{
    struct profiled_worker **link = &session->workers;

    while (*link != NULL) {
        if (has_worker_ended(*link))
            (*link)->passed++;
        if (read_worker(session, *link, error) != 0)
            return -1;
        if ((*link)->passed > DELIVERIES_KEPT)
            drop_worker(link);
        else
            link = &(*link)->next;
    }
    return 0;
}

/* ---- deliveries ---- */

/* The region of a delivery: of the counter, or of the meter. */
struct found {
    struct profiled_worker *worker; /* NULL: none */
    const struct region *region;
    struct cost_region *cost_region;
    int64_t slack; /* nanoseconds of the delivery before and after the region */
};

/* The moments of a delivery. */
struct moments {
    int64_t began, ended;
};

/* With several workers, the region of another's delivery may lie within this one's time: the region
 * that fits best is chosen. */
static void consider_region(struct found *found, const struct moments *delivery,
                            const struct moments *region, const struct found *candidate)
{
    const int64_t slack = region->began - delivery->began + (delivery->ended - region->ended);

    if (region->began < delivery->began || region->ended > delivery->ended ||
        (found->worker != NULL && slack >= found->slack))
        return;
    *found = *candidate;
    found->slack = slack;
}

static void find_counted(struct profiled_worker *worker, uint64_t instructions,
                         const struct moments *delivery, struct found *found)
{
    for (const struct region *region = worker->stream.regions; region != NULL;
         region = region->next)
        if (region->totals.instructions == instructions)
            consider_region(found, delivery,
                            &(struct moments){region->totals.began, region->totals.ended},
                            &(struct found){.worker = worker, .region = region});
}

static void find_metered(struct profiled_worker *worker, uint64_t cost,
                         const struct moments *delivery, struct found *found)
{
    for (struct cost_region *region = worker->costs.regions; region != NULL; region = region->next)
        if (region->cost == cost)
            consider_region(found, delivery, &(struct moments){region->began, region->ended},
                            &(struct found){.worker = worker, .cost_region = region});
}

static struct found find_region(const struct native_session *session,
                                const struct profiled_delivery *delivery,
                                const struct moments *moments)
{
    struct found found = {0};

    for (struct profiled_worker *worker = session->workers; worker != NULL; worker = worker->next)
        if (session->unit == NATIVE_INSTRUCTIONS)
            find_counted(worker, delivery->instructions, moments, &found);
        else
            find_metered(worker, delivery->block_cost, moments, &found);
    return found;
}

static int make_native_profile(struct native_session *session, const struct found *found,
                               struct profile *profile, struct error *error)
{
    return session->unit == NATIVE_INSTRUCTIONS
               ? native_profile_make(profile, &found->worker->stream, found->region, &session->code,
                                     error)
               : cost_stream_profile(profile, found->cost_region, error);
}

static void forget_found_region(const struct found *found)
{
    if (found->region != NULL)
        region_stream_forget(&found->worker->stream, found->region);
    else
        cost_stream_forget(&found->worker->costs, found->cost_region);
}

int native_session_add(struct native_session *session, const struct profiled_delivery *delivery,
                       int64_t began, int64_t ended, struct error *error)
{
    const bool known = session->unit == NATIVE_INSTRUCTIONS ? delivery->counted : delivery->costed;
    struct profile profile;
    struct found found;
    int result;

    if (!known)
        return 0;
    if (read_workers(session, error) != 0)
        return -1;
    found = find_region(session, delivery, &(struct moments){began, ended});
    if (found.worker == NULL) {
        log_line("vat %s, delivery %" PRId64 ": its worker left no native profile",
                 delivery->delivery.vat, delivery->delivery.delivery_num);
        return 0;
    }
    result = make_native_profile(session, &found, &profile, error);
    if (result == 0) {
        result = profile_files_put(&session->files, &profile, &delivery->delivery,
                                   session->unit == NATIVE_INSTRUCTIONS ? PROFILE_FRAME_MODULE
                                                                        : PROFILE_FRAME_METER,
                                   error);
        forget_found_region(&found);
    }
    profile_close(&profile);
    return result;
}

/* ---- the session ---- */

struct native_session *native_session_open(struct profile_paths paths, enum native_unit unit,
                                           struct error *error)
{
    struct native_session *const session = calloc(1, sizeof *session);
    struct error ignored;

    if (session == NULL) {
        error_memory(error, "a profile");
        return NULL;
    }
    session->unit = unit;
    session->launcher = (struct launcher_trace){.begin = on_profiled_worker, .context = session};
    if (profile_files_open(&session->files, paths, error) == 0)
        return session;
    (void)native_session_close(session, &ignored);
    return NULL;
}

const struct launcher_trace *native_session_launcher(struct native_session *session)
{
    return &session->launcher;
}

struct profile_files *native_session_files(struct native_session *session)
{
    return &session->files;
}

int native_session_close(struct native_session *session, struct error *error)
{
    int result;

    if (session == NULL)
        return 0;
    result = profile_files_close(&session->files, error);
    while (session->workers != NULL)
        drop_worker(&session->workers);
    native_code_free(&session->code);
    free(session);
    return result;
}
