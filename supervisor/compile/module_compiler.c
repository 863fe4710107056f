/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/compile/module_compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/number.h"
#include "supervisor/process/child_process.h"
#include "supervisor/process/guest.h"

static const char program_name[] = "gaspipe-wasm-compiler";

int module_compiler_find(struct module_compiler *compiler, const struct confinement *confinement,
                         struct error *error)
{
    *compiler = (struct module_compiler){.confinement = confinement,
                                         .seconds = MODULE_COMPILER_SECONDS,
                                         .memory = MODULE_COMPILER_MEMORY};
    if (locate(program_name, compiler->path, error) == 0)
        return 0;
    return error_set(error, ERROR_SYSTEM,
                     "gaspipe-wasm-compiler, which compiles WebAssembly, is not next to gaspipe: "
                     "make metered builds it");
}

/* ---- the process ---- */

static int limit(pid_t pid, int resource, uint64_t most, struct error *error)
{
    const struct rlimit limits = {.rlim_cur = most, .rlim_max = most};

    /* It may have ended already. */
    if (prlimit(pid, resource, &limits, NULL) == 0 || errno == ESRCH)
        return 0;
    return error_system(error, errno, "cannot limit %s", program_name);
}

/* Reads the first line that the process wrote on stderr, without the program's name. */
static void read_complaint(int file, char *words, size_t size)
{
    static const char prefix[] = "gaspipe-wasm-compiler: ";
    const ssize_t length = pread(file, words, size - 1, 0);

    words[length > 0 ? length : 0] = '\0';
    words[strcspn(words, "\n")] = '\0';
    if (strncmp(words, prefix, sizeof prefix - 1) == 0)
        memmove(words, words + sizeof prefix - 1, strlen(words + sizeof prefix - 1) + 1);
}

static int judge_end(const struct module_compiler *compiler, int status, int complaints,
                     struct error *error)
{
    char words[ERROR_TEXT_SIZE / 2];

    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    read_complaint(complaints, words, sizeof words);
    if (WIFEXITED(status))
        return error_set(error, ERROR_INPUT, "the module cannot be compiled: %s", words);
    if (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL)
        return error_set(error, ERROR_INPUT, "compiling takes more than %" PRIu64 " s of CPU time",
                         compiler->seconds);
    return error_set(error, ERROR_INPUT,
                     "compiling ended by signal %d (%s); it may use %" PRId64 " MiB of memory",
                     WTERMSIG(status), strsignal(WTERMSIG(status)), compiler->memory >> 20);
}

static int spawn(const struct module_compiler *compiler, const int fds[3], pid_t *pid,
                 struct error *error)
{
    char name[sizeof program_name];
    char *arguments[] = {name, NULL};
    const char *const programs[] = {compiler->path, NULL};
    const struct confinement_terms terms = {.programs = programs};
    struct command_line line = {0};
    struct child_launch launch = {
        .path = compiler->path,
        .arguments = arguments,
        .environment = (char *const *)guest_environment(),
        .fds = fds,
        .fd_count = 3,
        .in_same_group = true,
    };
    int result = 0;

    memcpy(name, program_name, sizeof name);
    if (compiler->confinement->level != CONFINEMENT_OFF) {
        confinement_wrap(&line, compiler->confinement, compiler->path, arguments, &terms);
        launch.path = compiler->confinement->launcher;
        launch.arguments = line.words;
        result = command_line_check(&line, error);
    }
    if (result == 0)
        result = child_process_spawn(&launch, pid, error);
    command_line_free(&line);
    return result;
}

static int run_process(const struct module_compiler *compiler, const int fds[3],
                       struct error *error)
{
    struct error limiting;
    int status, limited;
    pid_t pid;

    if (spawn(compiler, fds, &pid, error) != 0)
        return -1;
    limited = limit(pid, RLIMIT_CPU, compiler->seconds, &limiting);
    if (limited == 0)
        limited = limit(pid, RLIMIT_DATA, (uint64_t)compiler->memory, &limiting);
    if (limited != 0)
        (void)kill(pid, SIGKILL);
    if (child_process_reap(pid, &status, error) != 0)
        return -1;
    if (limited == 0)
        return judge_end(compiler, status, fds[2], error);
    *error = limiting;
    return -1;
}

int module_compiler_run(const struct module_compiler *compiler, int module, int output,
                        struct error *error)
{
    /* Read once the process has ended, as a pipe could not be. */
    const int complaints = memfd_create("gaspipe-complaints", MFD_CLOEXEC);
    const int fds[3] = {module, output, complaints};
    int result;

    if (complaints < 0)
        return error_system(error, errno, "cannot start %s", program_name);
    result = run_process(compiler, fds, error);
    (void)close(complaints); /* only the process has written to it */
    return result;
}

/* ---- which compiler it is ---- */

int module_compiler_identity(const struct module_compiler *compiler, struct buf *identity,
                             struct error *error)
{
    enum { PROGRAM_MOST = 256 << 20, HASH_SIZE = 32, DIGITS = 32 };
    unsigned char hash[HASH_SIZE];
    char text[2 * HASH_SIZE + 1];
    struct buf program = {0};
    int result = io_read_file(compiler->path, PROGRAM_MOST, &program, error);

    if (result == 0 &&
        EVP_Digest(program.data, program.length, hash, NULL, EVP_sha256(), NULL) != 1)
        result = error_memory(error, "a hash");
    buf_free(&program);
    if (result != 0)
        return -1;
    hex_write(text, hash, sizeof hash);
    buf_append(identity, text, DIGITS);
    return buf_failed(identity) ? error_memory(error, "a hash") : 0;
}
