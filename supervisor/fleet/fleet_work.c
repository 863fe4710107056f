/* SPDX-License-Identifier: Apache-2.0 */
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
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json/json_text.h"
#include "base/json/json_value.h"
#include "base/log.h"
#include "base/stamp.h"
#include "base/text/format.h"
#include "supervisor/common_options.h"
#include "supervisor/fleet/fleet.h"
#include "supervisor/fleet/fleet_job.h"
#include "supervisor/fleet/lease_renewal.h"
#include "supervisor/fleet/scratch_directory.h"
#include "supervisor/process/child_process.h"
#include "supervisor/process/guest.h"

/* Each kind checks its own members. */
static bool is_job(const json_t *json, const struct job_kind **kind)
{
    *kind = job_kind_find(json_string_value(json_object_get(json, "kind")));
    return *kind != NULL && job_check_hash(json_object_get(json, "fingerprint")) &&
           job_gas_is(json) && (*kind)->is_job(json);
}

/*
 * Reads a job that others have written, and checks it before anything of it is used. `name` is its
 * name in messages. -1 with ERROR_INPUT: not a job, another version, or another ID; NULL: any ID.
 * fleet_job_free() in any case.
 */
static int job_read(struct fleet_job *job, const char *name, const char *text, size_t length,
                    const char *id, struct error *error)
{
    const struct job_kind *kind;
    int64_t version;

    *job = (struct fleet_job){.json = json_value_read(text, length, 0, NULL)};
    if (buf_append(&job->text, text, length) != 0)
        return error_memory(error, "a job");
    if (fleet_job_take_id(job, error) != 0)
        return -1;
    version = fleet_job_number(job, "version");
    if (version > FLEET_JOB_VERSION)
        return error_set(error, ERROR_INPUT,
                         "%s: a job of version %" PRId64 "; this gaspipe knows version %d", name,
                         version, FLEET_JOB_VERSION);
    if (version < 1 || !is_job(job->json, &kind))
        return error_set(error, ERROR_INPUT, "%s: not a job of a fleet", name);
    job->kind = kind;
    if (id != NULL && strcmp(id, job->id) != 0)
        return error_set(error, ERROR_INPUT, "%s: the job's SHA-256 is %s", name, job->id);
    return 0;
}

enum job_outcome {
    JOB_DONE,   /* `output` is the result */
    JOB_FAILED, /* `words` say why */
    JOB_LOST,   /* the job is no longer this worker's */
};

/* A process, and the files in memory that its stdout and stderr go to. */
struct job_process {
    const struct job_place *place;
    const struct fleet_job *job;
    int output, words; /* words: -1: its stderr is this process's */
    pid_t pid;
};

static int spawn(struct job_process *process, const char *program, const struct command_line *line,
                 struct error *error)
{
    const int directory = open(process->place->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const int fds[] = {-1, process->output, process->words >= 0 ? process->words : STDERR_FILENO,
                       directory};
    const struct child_launch launch = {
        .path = program,
        .arguments = line->words,
        .environment = environ,
        .fds = fds,
        .fd_count = sizeof fds / sizeof *fds,
        .directory = process->place->directory,
    };
    int result;

    if (directory < 0)
        return error_system(error, errno, "cannot open %s", process->place->directory);
    result = child_process_spawn(&launch, &process->pid, error);
    close(directory);
    return result;
}

static int job_process_start(struct job_process *process, struct error *error)
{
    struct command_line line = {0};
    char program[PATH_MAX];
    int result = process->job->kind->command(process->place, process->job, program, &line, error);

    if (result == 0)
        result = command_line_check(&line, error);
    if (result == 0)
        result = spawn(process, program, &line, error);
    command_line_free(&line);
    return result;
}

/* Waits until it has ended. *lost: it was killed, because another worker has the job now. */
static int attend(const struct job_process *process, struct fleet_lease *lease, bool *lost,
                  struct error *error)
{
    struct fleet_transport *transport = process->place->transport;
    struct pollfd ended = {.fd = pidfd_open(process->pid, 0), .events = POLLIN};
    int result = 0, ready = 0;

    if (ended.fd < 0)
        result = error_system(error, errno, "cannot watch a process");
    while (result == 0 && !*lost && ready <= 0) {
        ready = poll(&ended, 1, (int)transport->renewal_ms);
        if (ready < 0 && errno != EINTR)
            result = error_system(error, errno, "cannot wait for a process");
        if (ready == 0)
            result = transport->operations->extend(transport, lease, lost, error);
    }
    /* With the processes that it has started, which are in its group; it may just have ended. */
    if (result != 0 || *lost)
        (void)kill(-process->pid, SIGKILL);
    if (ended.fd >= 0)
        close(ended.fd);
    return result;
}

static int read_job_file(int fd, struct buf *out, struct error *error)
{
    char path[32];

    if (fd < 0)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return io_read_file(path, SIZE_MAX, out, error);
}

/* The job's outcome. */
static int job_process_judge(const struct job_process *process, int status, struct buf *output,
                             struct error *words, struct error *error)
{
    struct buf said = {0};
    const struct job_end end = {.status = status, .words = &said, .output = output};
    int result = JOB_DONE;

    if (WIFSIGNALED(status)) {
        error_set(words, ERROR_SYSTEM, "its %s was killed by signal %d", process->job->kind->name,
                  WTERMSIG(status));
        return JOB_FAILED;
    }
    if (read_job_file(process->output, output, error) != 0 ||
        read_job_file(process->words, &said, error) != 0)
        result = -1;
    else if (process->job->kind->judge(process->place, &end, words) != 0)
        result = JOB_FAILED;
    if (result == JOB_FAILED && words->kind != ERROR_INPUT) {
        *error = *words;
        result = -1;
    }
    buf_free(&said);
    return result;
}

/* The same, while its results are moved. */
static int judge(const struct job_process *process, struct fleet_lease *lease, int status,
                 struct buf *output, struct error *words, struct error *error)
{
    struct lease_renewal renewal;
    int result;

    if (lease_renewal_begin(&renewal, process->place->transport, lease, error) != 0)
        return -1;
    result = job_process_judge(process, status, output, words, error);
    lease_renewal_end(&renewal);
    return result;
}

static int run_job(struct job_process *process, struct fleet_lease *lease, struct buf *output,
                   struct error *words, struct error *error)
{
    struct error reaping;
    bool lost = false;
    int status = 0, result;

    if (job_process_start(process, error) != 0)
        return -1;
    result = attend(process, lease, &lost, error);
    if (child_process_reap(process->pid, &status, &reaping) != 0 && result == 0) {
        *error = reaping;
        result = -1;
    }
    if (result == 0)
        result = lost ? JOB_LOST : judge(process, lease, status, output, words, error);
    return result;
}

static int make_object_file(int *fd, struct error *error)
{
    *fd = memfd_create("gaspipe-fleet", MFD_CLOEXEC);
    return *fd >= 0 ? 0 : error_system(error, errno, "cannot make a file for a job");
}

static int fetched(const struct job_place *place, struct fleet_lease *lease,
                   const struct fleet_job *job, struct buf *output, struct error *words,
                   struct error *error)
{
    struct job_process process = {.place = place, .job = job, .output = -1, .words = -1};
    int result = make_object_file(&process.output, error);

    if (result == 0 && job->kind->takes_words)
        result = make_object_file(&process.words, error);
    if (result == 0)
        result = run_job(&process, lease, output, words, error);
    if (process.output >= 0)
        close(process.output);
    if (process.words >= 0)
        close(process.words);
    return result;
}

static int fetch_job_files(const struct job_place *place, struct fleet_lease *lease,
                           const struct fleet_job *job, struct error *error)
{
    struct lease_renewal renewal;
    int result;

    if (lease_renewal_begin(&renewal, place->transport, lease, error) != 0)
        return -1;
    result = job->kind->fetch(place, job, error);
    if (result == 0)
        result = job_gas_fetch(place, job, error);
    lease_renewal_end(&renewal);
    return result;
}

/*
 * Runs a job in a process of its own, and extends the lease meanwhile. Returns the outcome; -1 with
 * ERROR_SYSTEM: this machine failed, not the job.
 */
static int job_process_run(const struct job_place *place, struct fleet_lease *lease,
                           const struct fleet_job *job, struct buf *output, struct error *words,
                           struct error *error)
{
    int result;

    if (fetch_job_files(place, lease, job, error) == 0) {
        result = fetched(place, lease, job, output, words, error);
    } else if (error->kind == ERROR_INPUT) {
        *words = *error;
        result = JOB_FAILED;
    } else {
        result = -1;
    }
    scratch_directory_clear(place->directory);
    return result;
}

enum { JOB_SIZE_MAX = 16 << 20, PAUSE_MS = 500 };

struct work {
    const struct fleet_options *options;
    struct job_place place;
    struct fleet_transport *transport;
    char wanted[FLEET_HASH_SIZE]; /* the one job; "": all */
    struct scratch_directory directory;
    char worker[PATH_MAX]; /* of the options, absolute */
    char host[64];
    const struct job_kind *kind; /* that `fingerprint` is of, */
    struct counters counters;    /* with these */
    char fingerprint[FLEET_HASH_SIZE];
    int64_t done, failed;

    struct buf refused; /* IDs of the jobs for other builds, FLEET_HASH_SIZE bytes each */
    char refused_for[FLEET_HASH_SIZE]; /* the build of the last one that was logged */
};

/* In addition to 0 and -1: a job that is left to others, again or for the first time. */
enum { WORK_REFUSED = 1, WORK_REFUSED_AGAIN };

/* ---- jobs for other builds of the worker ---- */

static int read_counters(const struct fleet_job *job, struct counters *counters,
                         struct error *error)
{
    static const char option[] = "--counter=";
    const json_t *arguments = json_object_get(job->json, "arguments"), *argument;
    size_t index;

    *counters = (struct counters){0};
    json_array_foreach(arguments, index, argument)
    {
        const char *text = json_string_value(argument);
        char value[64];

        if (strncmp(text, option, sizeof option - 1) != 0)
            continue;
        snprintf(value, sizeof value, "%s", text + sizeof option - 1);
        if (common_options_take_counter(counters, "--counter", value, error) != 0)
            return -1;
    }
    return 0;
}

/* 0, or WORK_REFUSED with the error's words, or -1. */
static int check_fingerprint(struct work *work, const struct fleet_job *job, struct error *error)
{
    const char *wanted = fleet_job_text(job, "fingerprint");
    struct counters counters;
    struct buf span = {0};

    if (read_counters(job, &counters, error) != 0)
        return -1;
    if (work->kind != job->kind || counters.qemu != work->counters.qemu ||
        counters.compiled != work->counters.compiled) {
        work->kind = NULL;
        if (job->kind->fingerprint(work->place.worker, counters, work->fingerprint, error) != 0)
            return -1;
        work->kind = job->kind;
        work->counters = counters;
    }
    if (strcmp(wanted, work->fingerprint) == 0)
        return 0;
    job->kind->describe(job, &span);
    error_set(error, ERROR_INPUT,
              "%s: %s: submitted for another build of the worker or its runtimes (%.12s, here "
              "%.12s)",
              work->transport->name, buf_string(&span), wanted, work->fingerprint);
    buf_free(&span);
    return WORK_REFUSED;
}

static bool was_refused(const struct work *work, const char *id)
{
    for (size_t at = 0; at < work->refused.length; at += FLEET_HASH_SIZE)
        if (strcmp(work->refused.data + at, id) == 0)
            return true;
    return false;
}

/* Leaves a job to workers of its build; logs the first of each build. */
static int refuse(struct work *work, struct fleet_lease *lease, const struct fleet_job *job,
                  const struct error *why, struct error *error)
{
    const char *wanted = fleet_job_text(job, "fingerprint");
    const bool again = was_refused(work, lease->id);

    if (!again && strcmp(work->refused_for, wanted) != 0)
        log_line("%s; it is left to others", why->text);
    snprintf(work->refused_for, sizeof work->refused_for, "%s", wanted);
    if (!again && buf_append(&work->refused, lease->id, FLEET_HASH_SIZE) != 0)
        return error_memory(error, "a job");
    if (work->transport->operations->refuse(work->transport, lease, error) != 0)
        return -1;
    return again ? WORK_REFUSED_AGAIN : WORK_REFUSED;
}

/* ---- one job ---- */

/* Gives the job back if this machine failed. */
static int give_job_back(struct work *work, struct fleet_lease *lease)
{
    struct error ignored;

    /* If that fails, the job is free when its lease ends. */
    (void)work->transport->operations->release(work->transport, lease, &ignored);
    return -1;
}

static int put_result(struct work *work, struct fleet_lease *lease, const struct fleet_job *job,
                      int64_t began, const struct buf *output, struct error *error)
{
    const struct stamp now = stamp_now();
    char hash[FLEET_HASH_SIZE];
    struct buf result = {0};
    int status;

    if (job_result_hash(output, hash, error) != 0)
        return give_job_back(work, lease);
    buf_printf(&result, "{\"kind\":\"%s\",\"job\":\"%s\"",
               job->kind == &job_kind_replay ? "span" : "job", lease->id);
    if (job->kind == &job_kind_replay)
        buf_printf(&result,
                   ",\"vatID\":\"%s\",\"first\":%" PRId64 ",\"end\":%" PRId64
                   ",\"deliveries\":%" PRId64,
                   fleet_job_text(job, "vatID"), fleet_job_number(job, "first"),
                   fleet_job_number(job, "end"), fleet_job_number(job, "deliveries"));
    buf_append_string(&result, ",\"worker\":");
    json_text_string(&result, work->host, strlen(work->host));
    buf_printf(&result,
               ",\"fingerprint\":\"%s\",\"output\":\"%s\",\"seconds\":%.3f,\"finished\":%.3f}\n",
               work->fingerprint, hash, (double)(now.mono - began) / 1e9, (double)now.real / 1e6);
    buf_append(&result, output->data, output->length);
    status = work->transport->operations->finish(work->transport, lease, &result, error);
    buf_free(&result);
    work->done += status == 0;
    return status;
}

static int put_failure(struct work *work, struct fleet_lease *lease, const struct fleet_job *job,
                       const char *why, struct error *error)
{
    struct buf words = {0};
    int status;

    work->failed++;
    if (job->kind != NULL)
        job->kind->describe(job, &words);
    buf_printf(&words, "%s%s (on %s)", words.length > 0 ? ": " : "", why, work->host);
    if (buf_string(&words) == NULL)
        status = error_memory(error, "a message");
    else
        status = work->transport->operations->fail(work->transport, lease, words.data, error);
    if (status == 0)
        log_line("%s", words.data);
    buf_free(&words);
    return status;
}

static int read_taken(struct fleet_job *job, const struct fleet_lease *lease, struct error *error)
{
    if (lease->problem.kind == ERROR_NONE)
        return job_read(job, lease->id, lease->job.data, lease->job.length, lease->id, error);
    *error = lease->problem;
    return -1;
}

static int do_job(struct work *work, struct fleet_lease *lease, struct error *error)
{
    const int64_t began = stamp_now().mono;
    struct fleet_job job = {0};
    struct buf output = {0};
    struct error words;
    int result = read_taken(&job, lease, error);

    if (result != 0 && error->kind == ERROR_INPUT) {
        result = put_failure(work, lease, &job, error->text, error);
    } else if (result != 0 || (result = check_fingerprint(work, &job, &words)) != 0) {
        if (result < 0)
            *error = words;
        result = result > 0 ? refuse(work, lease, &job, &words, error) : give_job_back(work, lease);
    } else {
        result = job_process_run(&work->place, lease, &job, &output, &words, error);
        if (result == JOB_DONE)
            result = put_result(work, lease, &job, began, &output, error);
        else if (result == JOB_FAILED)
            result = put_failure(work, lease, &job, words.text, error);
        else
            result = result == JOB_LOST ? 0 : give_job_back(work, lease);
    }
    fleet_job_free(&job);
    buf_free(&output);
    return result;
}

/* ---- all of them ---- */

static void pause_work(void)
{
    const struct timespec time = {0, PAUSE_MS * 1000000L};

    (void)nanosleep(&time, NULL); /* a signal may cut it short */
}

/* Nothing but jobs for other builds is left, as far as this worker has seen. */
static int end_refused(const struct work *work, struct error *error)
{
    return error_set(error, ERROR_INPUT, "%s: %zu %s submitted for another build of the worker",
                     work->transport->name, work->refused.length / FLEET_HASH_SIZE,
                     format_plural(work->refused.length / FLEET_HASH_SIZE, "job was", "jobs were"));
}

/* *ends: there is nothing more to do. */
static int take_one(struct work *work, bool *ends, struct error *error)
{
    const char *wanted = work->wanted[0] != '\0' ? work->wanted : NULL;
    struct fleet_lease lease = {0};
    bool left = false, idle;
    const int taken =
        work->transport->operations->take(work->transport, wanted, &lease, &left, error);
    const int result = taken == 1 ? do_job(work, &lease, error) : taken;

    if (result < 0)
        return -1;
    idle = taken == 0 || result == WORK_REFUSED_AGAIN;
    *ends = wanted != NULL || (idle && !work->options->stay && (!left || taken == 1));
    if ((*ends || (idle && !work->options->stay)) && work->refused.length > 0)
        return end_refused(work, error);
    if (idle && !*ends)
        pause_work();
    return 0;
}

static int take_all_jobs(struct work *work, struct error *error)
{
    bool ends = false;

    while (!ends)
        if (take_one(work, &ends, error) != 0)
            return -1;
    return 0;
}

static int read_wanted(struct work *work, const char *path, struct error *error)
{
    struct fleet_job job = {0};
    struct buf text = {0};
    int result = io_read_file(path, JOB_SIZE_MAX, &text, error);

    if (result == 0)
        result = job_read(&job, path, text.data, text.length, NULL, error);
    memcpy(work->wanted, job.id, sizeof work->wanted);
    fleet_job_free(&job);
    buf_free(&text);
    return result;
}

int fleet_work(const struct fleet_options *options, struct fleet_transport *transport,
               struct error *error)
{
    struct work work = {
        .options = options,
        .transport = transport,
        .directory = {.lock = -1},
        .place = {.transport = transport,
                  .shared = options->shared,
                  .sandbox = options->replay.sandbox,
                  .placement = options->replay.placement,
                  .slot = options->is_slot ? (int)options->slot : PLACEMENT_NO_SLOT}};
    int result = 0;

    (void)gethostname(work.host, sizeof work.host - 1);
    if (options->replay.worker != NULL) {
        if (realpath(options->replay.worker, work.worker) == NULL)
            return error_set(error, ERROR_INPUT, "%s: %s", options->replay.worker, strerror(errno));
        work.place.worker = work.worker;
    }
    if (options->job != NULL)
        result = read_wanted(&work, options->job, error);
    if (result == 0)
        result = scratch_directory_open(&work.directory, error);
    work.place.directory = work.directory.path;
    if (result == 0)
        result = take_all_jobs(&work, error);
    scratch_directory_close(&work.directory);
    buf_free(&work.refused);
    if (work.done + work.failed > 0)
        log_line("%" PRId64 " %s done, %" PRId64 " failed", work.done,
                 format_plural((uint64_t)work.done, "job", "jobs"), work.failed);
    return result;
}

/* ---- several slots ---- */

static int start_slot(size_t slot, int argc, char **argv, pid_t *pid, struct error *error)
{
    const int fds[] = {-1, STDOUT_FILENO, STDERR_FILENO};
    struct command_line line = {0};
    struct child_launch launch = {
        .path = "/proc/self/exe",
        .environment = environ,
        .fds = fds,
        .fd_count = 3,
        .in_same_group = true,
    };
    int result;

    command_line_add(&line, "gaspipe");
    command_line_add(&line, "fleet");
    command_line_add(&line, "work");
    command_line_add(&line, "--slot=%zu", slot);
    for (int i = 1; i < argc; i++)
        command_line_add(&line, "%s", argv[i]);
    result = command_line_check(&line, error);
    launch.arguments = line.words;
    if (result == 0)
        result = child_process_spawn(&launch, pid, error);
    command_line_free(&line);
    return result;
}

int fleet_work_slots(const struct fleet_options *options, int argc, char **argv,
                     struct error *error)
{
    pid_t *pids = calloc(options->slots, sizeof *pids);
    size_t started = 0;
    int result = pids != NULL ? 0 : error_memory(error, "the slots");

    while (result == 0 && started < options->slots)
        if ((result = start_slot(started, argc, argv, &pids[started], error)) == 0)
            started++;
    for (size_t i = 0; i < started; i++) {
        struct error reaping;
        int status = 0;

        if (result < 0)
            (void)kill(pids[i], SIGTERM); /* it may just have ended */
        if (child_process_reap(pids[i], &status, &reaping) != 0 && result >= 0) {
            *error = reaping;
            result = -1;
        }
        if (result >= 0 && WIFEXITED(status) && WEXITSTATUS(status) > result)
            result = WEXITSTATUS(status);
        else if (result >= 0 && !WIFEXITED(status))
            result = ERROR_SYSTEM;
    }
    free(pids);
    return result;
}

void fleet_work_join(void)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
}
