/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count/count_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "counter/gasmark.h"
#include "counter/program_file.h"
#include "supervisor/process/child_process.h"

/* ---- the program, or the interpreter of a script ---- */

/* argv for a script's interpreter: what the script's line says, the script, the user's arguments.
 */
static const char **script_arguments(const struct program_file *file, const char *path,
                                     const char *const *arguments)
{
    size_t count = 0, filled = 0;
    const char **all;

    while (arguments[count] != NULL)
        count++;
    all = calloc(file->words + count + 1, sizeof *all);
    if (all == NULL)
        return NULL;
    while (filled < file->words) {
        all[filled] = file->word[filled];
        filled++;
    }
    all[filled++] = path;
    memcpy(all + filled, arguments + 1, (count - 1) * sizeof *all);
    return all;
}

static int open_counted_program(const char *name, char path[PATH_MAX], struct program_file *file,
                                struct error *error)
{
    int errnum;

    if (guest_find_program(name, path, error) != 0)
        return -1;
    errnum = program_file_open(path, file);
    if (errnum == ENOEXEC)
        return error_set(error, ERROR_INPUT,
                         "%s is neither an x86-64 ELF program nor a script for one", path);
    if (errnum != 0)
        return error_set(error, ERROR_INPUT, "cannot execute %s: %s", path, strerror(errnum));
    return 0;
}

/* ---- the report ---- */

/* A file in memory, for the counter to find as /proc/PID/fd/N. The descriptor, or -1. */
static int make_report(struct count_run *run, struct error *error)
{
    int fd = memfd_create("gaspipe-count", MFD_CLOEXEC);
    void *mapped;

    if (fd < 0 || ftruncate(fd, (off_t)REPORT_SIZE) < 0)
        goto failed;
    mapped = mmap(NULL, REPORT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED)
        goto failed;
    run->report = mapped;
    run->report->version = REPORT_VERSION;
    return fd;
failed:
    error_system(error, errno, "cannot make the memory for the counts");
    if (fd >= 0)
        close(fd);
    return -1;
}

const struct report_process *count_run_process(const struct count_run *run, size_t index)
{
    const char *records = (const char *)run->report + REPORT_HEAD_SIZE;

    return (const struct report_process *)(const void *)(records + index * REPORT_PAGE);
}

static void add_counted_process(struct count_total *total, const struct report_process *process)
{
    total->instructions += report_instructions(process);
    total->bytes_read += process->bytes_read;
    total->bytes_written += process->bytes_written;
    total->syscalls += process->syscalls;
    total->faults += process->faults;
    for (int kind = 0; kind < KIND_COUNT; kind++)
        total->kinds[kind] += report_kind(process, kind);
    for (size_t call = 0; call < REPORT_SYSCALLS; call++)
        total->calls[call] += process->by_number[call];
    total->exact &= process->faults == 0 || process->precision == GASMARK_INSTRUCTION;
    total->over_limit |= process->over_limit != 0;
}

static struct count_total sum_up_processes(const struct count_run *run)
{
    uint32_t processes = run->report->processes;
    struct count_total total = {.exact = true, .complete = processes <= REPORT_PROCESSES_MAX};

    total.processes = total.complete ? processes : REPORT_PROCESSES_MAX;
    for (size_t i = 0; i < total.processes; i++)
        add_counted_process(&total, count_run_process(run, i));
    return total;
}

size_t count_run_regions(const struct count_run *run)
{
    uint32_t regions = run->report->regions;

    return regions < REPORT_REGIONS_MAX ? regions : REPORT_REGIONS_MAX;
}

static bool totals_agree(const struct count_total *a, const struct count_total *b)
{
    return a->instructions == b->instructions && a->bytes_read == b->bytes_read &&
           a->bytes_written == b->bytes_written && a->syscalls == b->syscalls &&
           a->processes == b->processes && memcmp(a->kinds, b->kinds, sizeof a->kinds) == 0 &&
           memcmp(a->calls, b->calls, sizeof a->calls) == 0;
}

/* Whichever process and thread it was in. */
static bool regions_agree(const struct report_region *a, const struct report_region *b)
{
    return a->instructions == b->instructions && a->bytes_read == b->bytes_read &&
           a->bytes_written == b->bytes_written &&
           memcmp(a->kinds, b->kinds, sizeof a->kinds) == 0 &&
           memcmp(a->by_number, b->by_number, sizeof a->by_number) == 0;
}

bool count_run_agrees(const struct count_run *run, const struct count_run *other)
{
    size_t regions = count_run_regions(run);

    if (!totals_agree(&run->total, &other->total) || regions != count_run_regions(other))
        return false;
    for (size_t i = 0; i < regions; i++)
        if (!regions_agree(&run->report->region[i], &other->report->region[i]))
            return false;
    return true;
}

/* ---- the process ---- */

/* A descriptor that is open here, or -1. */
static int if_open(int fd)
{
    return fcntl(fd, F_GETFD) < 0 ? -1 : fd;
}

int count_run_wait(pid_t child, int *status, struct error *error)
{
    void (*interrupt)(int) = signal(SIGINT, SIG_IGN);
    void (*quit)(int) = signal(SIGQUIT, SIG_IGN);
    int result = child_process_reap(child, status, error);

    signal(SIGINT, interrupt);
    signal(SIGQUIT, quit);
    return result;
}

/* As a shell would start it, but with no descriptors besides 0, 1, 2 and the program's. */
static int run_counted_command(struct count_run *run, const char *qemu,
                               const struct command_line *line, const struct count_program *program,
                               int program_fd, struct error *error)
{
    const int fds[GUEST_PROGRAM_FD + 1] = {if_open(0), if_open(1), if_open(2), -1, -1, program_fd};
    const struct child_launch launch = {
        .path = qemu,
        .arguments = line->words,
        .environment = (char *const *)(uintptr_t)program->environment,
        .fds = fds,
        .fd_count = GUEST_PROGRAM_FD + 1,
        .directory = program->directory,
        .in_same_group = true,
    };
    pid_t child;

    if (child_process_spawn(&launch, &child, error) != 0 ||
        count_run_wait(child, &run->status, error) != 0)
        return -1;
    run->total = sum_up_processes(run);
    if (run->report->processes == 0)
        return error_set(error, ERROR_SYSTEM, "%s did not start the counter", qemu);
    return 0;
}

int count_run(struct count_run *run, const struct guest_tools *tools,
              const struct count_program *program, struct error *error)
{
    struct guest_program guest = {.arguments = program->arguments};
    struct command_line line = {0};
    struct buf options = {0};
    struct program_file file;
    const char **scripted = NULL;
    char path[PATH_MAX];
    int report_fd, result = -1;

    *run = (struct count_run){0};
    if (open_counted_program(program->arguments[0], path, &file, error) != 0)
        return -1;
    report_fd = make_report(run, error);
    if (report_fd < 0)
        goto out_program;
    buf_printf(&options, "follow=exec,report=/proc/%d/fd/%d%s%s", (int)getpid(), report_fd,
               program->plugin_options[0] != '\0' ? "," : "", program->plugin_options);
    if (program->profile_fd >= 0)
        buf_printf(&options, ",profile=/proc/%d/fd/%d", (int)getpid(), program->profile_fd);
    guest.plugin_options = buf_string(&options);
    if (file.words > 0)
        guest.arguments = scripted = script_arguments(&file, path, program->arguments);
    if (guest.plugin_options == NULL || guest.arguments == NULL)
        error_memory(error, "the command line");
    else if (guest_command_line(&line, tools, &guest, error) == 0)
        result = run_counted_command(run, tools->qemu, &line, program, file.fd, error);
    command_line_free(&line);
    free(scripted);
    buf_free(&options);
    close(report_fd);
out_program:
    close(file.fd);
    if (result != 0)
        count_run_free(run);
    return result;
}

void count_run_free(struct count_run *run)
{
    if (run->report != NULL)
        munmap(run->report, REPORT_SIZE);
    *run = (struct count_run){0};
}
