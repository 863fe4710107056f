/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/estimate/measure.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/visible.h"
#include "supervisor/common_options.h"
#include "supervisor/process/child_process.h"
#include "supervisor/process/command_line.h"
#include "supervisor/process/fingerprint.h"
#include "supervisor/process/launcher.h"

/* Without snapshots: a worker that goes on from one has another heap, and other counts. */
static void add_words(struct command_line *words, const struct estimate_options *options,
                      const struct suite *suite)
{
    command_line_add(words, "gaspipe");
    command_line_add(words, "run");
    command_line_add(words, "--json");
    command_line_add(words, "--snapshot-interval=0");
    command_line_add(words, "--compute-limit=0");
    command_line_add(words, "--counter=%s", common_options_counter_name(options->counters));
    command_line_add(words, "--sandbox=%s", common_options_sandbox_levels[options->sandbox]);
    if (options->near_protocol > 0)
        command_line_add(words, "--near-protocol=%" PRIu64, options->near_protocol);
    for (size_t i = 0; i < suite->contract_count; i++)
        command_line_add(words, "--vat=%s=%s", suite->contracts[i].name, suite->contracts[i].path);
    command_line_add(words, "-");
}

/* A file in memory that holds the bytes, to be read from its beginning. -1 with the error. */
static int memory_file(const struct buf *content, struct error *error)
{
    const int fd = memfd_create("gaspipe-estimate", MFD_CLOEXEC);

    if (fd >= 0 && io_write_all(fd, content->data, content->length) == 0 &&
        lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    error_system(error, errno, "cannot make a file in memory");
    if (fd >= 0)
        close(fd);
    return -1;
}

/* The descriptors of a run: files in memory, -1 while not open. */
struct measure_files {
    int fds[3]; /* its stdin, stdout and stderr */
};

static int open_files(struct measure_files *files, const struct buf *deliveries,
                      struct error *error)
{
    static const struct buf nothing;

    for (int i = 0; i < 3; i++) {
        files->fds[i] = memory_file(i == STDIN_FILENO ? deliveries : &nothing, error);
        if (files->fds[i] < 0)
            return -1;
    }
    return 0;
}

static void close_files(const struct measure_files *files)
{
    for (int i = 0; i < 3; i++)
        if (files->fds[i] >= 0)
            close(files->fds[i]);
}

static int read_output(int fd, struct buf *output, struct error *error)
{
    char path[32];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return io_read_file(path, SIZE_MAX, output, error);
}

/* What a run complained of is of interest where it came to nothing: else it is mostly logs of
 * contracts. Who cannot read it has the error yet. */
static void show_complaints(const struct measure_files *files)
{
    struct buf text = {0};
    struct error ignored;

    if (read_output(files->fds[STDERR_FILENO], &text, &ignored) == 0)
        (void)visible_write(STDERR_FILENO, text.data, text.length);
    buf_free(&text);
}

static int judge_status(const struct measure_files *files, int status, struct error *error)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) <= ERROR_DELIVERY)
        return 0;
    show_complaints(files);
    if (WIFSIGNALED(status))
        return error_set(error, ERROR_SYSTEM, "gaspipe run was ended by signal %d",
                         WTERMSIG(status));
    return error_set(error, WEXITSTATUS(status) == ERROR_INPUT ? ERROR_INPUT : ERROR_SYSTEM,
                     "gaspipe run ended with status %d", WEXITSTATUS(status));
}

static int run_child(char *const *arguments, const struct measure_files *files, struct error *error)
{
    const struct child_launch launch = {
        .path = "/proc/self/exe",
        .arguments = arguments,
        .environment = environ,
        .fds = files->fds,
        .fd_count = 3,
        .in_our_group = true,
    };
    int status;
    pid_t pid;

    if (child_process_spawn(&launch, &pid, error) != 0 ||
        child_process_reap(pid, &status, error) != 0)
        return -1;
    return judge_status(files, status, error);
}

int measure_deliveries(const struct estimate_options *options, const struct suite *suite,
                       const struct buf *deliveries, struct buf *lines, struct error *error)
{
    struct command_line words = {0};
    struct measure_files files = {{-1, -1, -1}};
    int result = -1;

    add_words(&words, options, suite);
    if (command_line_check(&words, error) == 0 && open_files(&files, deliveries, error) == 0 &&
        run_child(words.words, &files, error) == 0)
        result = read_output(files.fds[STDOUT_FILENO], lines, error);
    close_files(&files);
    command_line_free(&words);
    return result;
}

/* ---- what counts ---- */

static int hash_workers(const struct launcher *launcher, char *hex, struct error *error)
{
    const struct launcher wasm = launcher_for(launcher, LAUNCHER_WASM);
    struct fingerprint one = {.count = 0}, other = {.count = 0};
    int result = fingerprint_take_launcher(&one, launcher, error);

    if (result == 0 && wasm.worker[0] != '\0')
        result = fingerprint_take_launcher(&other, &wasm, error);
    if (result == 0) {
        const struct iovec parts[] = {{one.hash, strlen(one.hash)},
                                      {other.hash, strlen(other.hash)}};

        result = fingerprint_hash_parts(parts, sizeof parts / sizeof *parts, hex, error);
    }
    fingerprint_free(&one);
    fingerprint_free(&other);
    return result;
}

int measure_fingerprint(const struct estimate_options *options, char *hex, struct error *error)
{
    struct launcher launcher;
    int result;

    hex[0] = '\0';
    if (!options->counters.qemu)
        return 0;
    if (launcher_open(&launcher, options->counters, 0, error) != 0)
        return -1;
    result = hash_workers(&launcher, hex, error);
    launcher_close(&launcher);
    return result;
}
