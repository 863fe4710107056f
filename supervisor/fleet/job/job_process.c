/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/job/job_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "supervisor/fleet/job/job_beat.h"
#include "supervisor/fleet/job/job_gas.h"
#include "supervisor/fleet/scratch_folder.h"
#include "supervisor/process/child_process.h"

/* A process, and the files in memory that its stdout and stderr go to. */
struct job_process {
    const struct job_place *place;
    const struct fleet_job *job;
    int output, words; /* words: -1 where its stderr is ours */
    pid_t pid;
};

static int spawn(struct job_process *process, const char *program, const struct command_line *line,
                 struct error *error)
{
    const int folder = open(process->place->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const int fds[] = {-1, process->output, process->words >= 0 ? process->words : STDERR_FILENO,
                       folder};
    const struct child_launch launch = {
        .path = program,
        .arguments = line->words,
        .environment = environ,
        .fds = fds,
        .fd_count = sizeof fds / sizeof *fds,
        .folder = process->place->folder,
    };
    int result;

    if (folder < 0)
        return error_system(error, errno, "cannot open %s", process->place->folder);
    result = child_process_spawn(&launch, &process->pid, error);
    close(folder);
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

/* Until it has ended; *lost: it was ended, because the job is another worker's now. */
static int attend(const struct job_process *process, struct fleet_lease *lease, bool *lost,
                  struct error *error)
{
    struct fleet_transport *transport = process->place->transport;
    struct pollfd ended = {.fd = pidfd_open(process->pid, 0), .events = POLLIN};
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
    /* With the processes that it has started, which are in its group; it may just have ended. */
    if (result != 0 || *lost)
        (void)kill(-process->pid, SIGKILL);
    if (ended.fd >= 0)
        close(ended.fd);
    return result;
}

static int read_file(int fd, struct buf *out, struct error *error)
{
    char path[32];

    if (fd < 0)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return io_read_file(path, SIZE_MAX, out, error);
}

/* Whether it came to a result. */
static int job_process_judge(const struct job_process *process, int status, struct buf *output,
                             struct error *words, struct error *error)
{
    struct buf said = {0};
    const struct job_end end = {.status = status, .words = &said, .output = output};
    int result = JOB_DONE;

    if (WIFSIGNALED(status)) {
        error_set(words, ERROR_SYSTEM, "its %s was ended by signal %d", process->job->kind->name,
                  WTERMSIG(status));
        return JOB_FAILED;
    }
    if (read_file(process->output, output, error) != 0 ||
        read_file(process->words, &said, error) != 0)
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

/* The same, while what it has made is moved. */
static int judge(const struct job_process *process, struct fleet_lease *lease, int status,
                 struct buf *output, struct error *words, struct error *error)
{
    struct job_beat beat;
    int result;

    if (job_beat_begin(&beat, process->place->transport, lease, error) != 0)
        return -1;
    result = job_process_judge(process, status, output, words, error);
    job_beat_end(&beat);
    return result;
}

static int run(struct job_process *process, struct fleet_lease *lease, struct buf *output,
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

static int memory_file(int *fd, struct error *error)
{
    *fd = memfd_create("gaspipe-fleet", MFD_CLOEXEC);
    return *fd >= 0 ? 0 : error_system(error, errno, "cannot make a file for a job");
}

static int fetched(const struct job_place *place, struct fleet_lease *lease,
                   const struct fleet_job *job, struct buf *output, struct error *words,
                   struct error *error)
{
    struct job_process process = {.place = place, .job = job, .output = -1, .words = -1};
    int result = memory_file(&process.output, error);

    if (result == 0 && job->kind->takes_words)
        result = memory_file(&process.words, error);
    if (result == 0)
        result = run(&process, lease, output, words, error);
    if (process.output >= 0)
        close(process.output);
    if (process.words >= 0)
        close(process.words);
    return result;
}

static int fetch(const struct job_place *place, struct fleet_lease *lease,
                 const struct fleet_job *job, struct error *error)
{
    struct job_beat beat;
    int result;

    if (job_beat_begin(&beat, place->transport, lease, error) != 0)
        return -1;
    result = job->kind->fetch(place, job, error);
    if (result == 0)
        result = job_gas_fetch(place, job, error);
    job_beat_end(&beat);
    return result;
}

int job_process_run(const struct job_place *place, struct fleet_lease *lease,
                    const struct fleet_job *job, struct buf *output, struct error *words,
                    struct error *error)
{
    int result;

    if (fetch(place, lease, job, error) == 0) {
        result = fetched(place, lease, job, output, words, error);
    } else if (error->kind == ERROR_INPUT) {
        *words = *error;
        result = JOB_FAILED;
    } else {
        result = -1;
    }
    scratch_folder_clear(place->folder);
    return result;
}
