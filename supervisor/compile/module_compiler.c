/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/compile/module_compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <string.h>
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

static int judge_end(const struct module_compiler *compiler, int status, struct error *error)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (WIFEXITED(status))
        return error_set(error, ERROR_INPUT, "the module cannot be compiled");
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

int module_compiler_run(const struct module_compiler *compiler, int module, int output,
                        struct error *error)
{
    const int fds[3] = {module, output, STDERR_FILENO};
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
        return judge_end(compiler, status, error);
    *error = limiting;
    return -1;
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
