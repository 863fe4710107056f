/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "counter/program_file.h"

#define STRING_OF(x)        STRING_OF_TOKENS(x)
#define STRING_OF_TOKENS(x) #x

#define QEMU_PROGRAM "qemu-x86_64"
#define PLUGIN_FILE  "libgascount.so"
#define BUILT_QEMU   "gaspipe-qemu"
#define HOW_TO_GET   "on Debian 12: apt-get install qemu-user; elsewhere: make qemu"

/* A program that takes plugins offers them the first function, from 9.0 on also the second. */
#define PLUGIN_FUNCTION       "qemu_plugin_register_vcpu_tb_trans_cb"
#define LATER_PLUGIN_FUNCTION "qemu_plugin_scoreboard_new"

#define STACK_SIZE 8388608

/* The reasons for each stand in docs/counting.md. */
static const char *const pinned_options[] = {
    "-cpu",  "Nehalem", /* x86-64-v2: all of its instructions exist in every QEMU, on every host */
    "-seed", "1",       /* what AT_RANDOM points to */
    "-s",    STRING_OF(STACK_SIZE), /* bytes */
    "-r",    "6.1.0",               /* what uname(2) says */
    "-L",    "/",                   /* no other root for libraries */
};

#define PINNED_OPTIONS (sizeof pinned_options / sizeof *pinned_options)

/*
 * If addresses are not random, Linux maps QEMU at 0x555555556000. A later QEMU would put the
 * program there, too; so the program's addresses begin this much further on in the host.
 */
static const char *const later_options[] = {"-B", "0x10000000"};

#define LATER_OPTIONS (sizeof later_options / sizeof *later_options)

/* Without a limit to the stack Linux lays out memory from below, as QEMU does. */
int guest_pin_layout(const struct guest_tools *tools, struct error *error)
{
    struct rlimit limit;

    if (personality(PER_LINUX | (tools->later ? ADDR_NO_RANDOMIZE : 0)) < 0)
        return error_system(error, errno, "cannot set the personality of processes");
    if (getrlimit(RLIMIT_STACK, &limit) != 0)
        return error_system(error, errno, "cannot read the stack's limit");
    limit.rlim_cur = limit.rlim_max < STACK_SIZE ? limit.rlim_max : STACK_SIZE;
    if (setrlimit(RLIMIT_STACK, &limit) != 0)
        return error_system(error, errno, "cannot set the stack's limit");
    return 0;
}

const char *const *guest_environment(void)
{
    static const char *const environment[] = {
        "PATH=/usr/local/bin:/usr/bin:/bin",
        "HOME=/",
        "LC_ALL=C",
        "TZ=UTC0",
        "PYTHONHASHSEED=0",
        NULL,
    };

    return environment;
}

static bool has_symbol_name(const void *bytes, size_t size, const char *name)
{
    return memmem(bytes, size, name, strlen(name)) != NULL;
}

/* 1 or 0, or -1 with errno. Looks for the functions' names in the file. */
static int takes_plugins(const char *path, bool *later)
{
    struct stat status;
    int takes = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *bytes;

    if (fd < 0)
        return -1;
    if (fstat(fd, &status) < 0)
        goto out;
    bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        goto out;
    takes = has_symbol_name(bytes, (size_t)status.st_size, PLUGIN_FUNCTION);
    *later = has_symbol_name(bytes, (size_t)status.st_size, LATER_PLUGIN_FUNCTION);
    munmap(bytes, (size_t)status.st_size);
out:
    close(fd);
    return takes;
}

/* Stores the next executable file of that name along `*rest` of PATH. False if there are no more.
 */
static bool next_along_path(const char **rest, const char *name, char path[PATH_MAX])
{
    while (*rest != NULL && **rest != '\0') {
        int length = (int)strcspn(*rest, ":");
        int written = snprintf(path, PATH_MAX, "%.*s/%s", length, *rest, name);

        *rest += length;
        *rest += **rest == ':';
        if (length > 0 && written < PATH_MAX && access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/* A QEMU without plugins hides no other: Debian's static builds have none. The one that
 * scripts/build-qemu built comes last. */
static int find_qemu(struct guest_tools *tools, struct error *error)
{
    char unfit[PATH_MAX] = "";
    const char *rest = getenv("PATH");
    struct error none;

    while (next_along_path(&rest, QEMU_PROGRAM, tools->qemu)) {
        switch (takes_plugins(tools->qemu, &tools->later)) {
        case -1:
            return error_system(error, errno, "cannot read %s", tools->qemu);
        case 0:
            if (unfit[0] == '\0')
                memcpy(unfit, tools->qemu, sizeof unfit);
            break;
        default:
            return 0;
        }
    }
    if (locate(BUILT_QEMU, tools->qemu, &none) == 0 &&
        takes_plugins(tools->qemu, &tools->later) == 1)
        return 0;
    if (unfit[0] != '\0')
        return error_set(error, ERROR_SYSTEM,
                         "%s takes no plugins, as Debian's static builds after version 12 do not; "
                         "the counter needs a dynamic QEMU of version 7.2 to 10 (%s)",
                         unfit, HOW_TO_GET);
    return error_set(error, ERROR_SYSTEM,
                     QEMU_PROGRAM " is not in PATH; instructions are counted under it (%s)",
                     HOW_TO_GET);
}

int guest_find_tools(struct guest_tools *tools, struct error *error)
{
    if (find_qemu(tools, error) < 0)
        return -1;
    return locate(PLUGIN_FILE, tools->plugin, error);
}

/* A comma within the plugin's path is written twice. */
static void add_plugin(struct command_line *line, const char *path, const char *options)
{
    struct buf value = {0};

    for (const char *c = path; *c != '\0'; c++) {
        buf_append_byte(&value, *c);
        if (*c == ',')
            buf_append_byte(&value, ',');
    }
    if (options != NULL && *options != '\0')
        buf_printf(&value, ",%s", options);
    if (buf_string(&value) == NULL)
        line->failed = true;
    command_line_add(line, "-plugin");
    command_line_add(line, "%s", buf_failed(&value) ? "" : value.data);
    buf_free(&value);
}

int guest_command_line(struct command_line *line, const struct guest_tools *tools,
                       const struct guest_program *program, struct error *error)
{
    command_line_add(line, "%s", program->name != NULL ? program->name : QEMU_PROGRAM);
    for (size_t i = 0; i < PINNED_OPTIONS; i++)
        command_line_add(line, "%s", pinned_options[i]);
    for (size_t i = 0; tools->later && i < LATER_OPTIONS; i++)
        command_line_add(line, "%s", later_options[i]);
    add_plugin(line, tools->plugin, program->plugin_options);
    command_line_add(line, "-0");
    command_line_add(line, "%s", program->arguments[0]);
    command_line_add(line, "/proc/self/fd/%d", GUEST_PROGRAM_FD);
    for (size_t i = 1; program->arguments[i] != NULL; i++)
        command_line_add(line, "%s", program->arguments[i]);
    return command_line_check(line, error);
}

int guest_find_program(const char *name, char path[PATH_MAX], struct error *error)
{
    const char *rest = getenv("PATH");

    if (strchr(name, '/') == NULL) {
        if (next_along_path(&rest, name, path))
            return 0;
        return error_set(error, ERROR_INPUT, "there is no program '%s' in PATH", name);
    }
    if (snprintf(path, PATH_MAX, "%s", name) >= PATH_MAX)
        return error_set(error, ERROR_INPUT, "the path of the program is too long");
    return 0;
}

int guest_open_program(const char *path, struct error *error)
{
    struct program_file file;
    int errnum = program_file_open(path, &file);

    if (errnum == 0 && file.words == 0)
        return file.fd;
    if (errnum == 0)
        close(file.fd);
    if (errnum == 0 || errnum == ENOEXEC)
        return error_set(error, ERROR_INPUT, "%s is not an x86-64 ELF program", path);
    return error_set(error, ERROR_INPUT, "cannot execute %s: %s", path, strerror(errnum));
}

static int locate_in(const char *installed, const char *name, char path[PATH_MAX],
                     struct error *error)
{
    const char *const places[] = {"", installed};
    char directory[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", directory, sizeof directory - 1);

    if (length < 0)
        return error_set(error, ERROR_SYSTEM, "cannot read /proc/self/exe: %s; mount /proc",
                         strerror(errno));
    directory[length] = '\0';
    *strrchr(directory, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int written = snprintf(path, PATH_MAX, "%s/%s%s", directory, places[i], name);

        if (written < PATH_MAX && access(path, R_OK) == 0)
            return 0;
    }
    return error_set(error, ERROR_SYSTEM, "%s is neither in %s nor in %s/%.*s", name, directory,
                     directory, (int)strlen(installed) - 1, installed);
}

int locate(const char *name, char path[PATH_MAX], struct error *error)
{
    return locate_in("../lib/gaspipe/", name, path, error);
}

int locate_data(const char *name, char path[PATH_MAX], struct error *error)
{
    return locate_in("../share/gaspipe/", name, path, error);
}

void command_line_add(struct command_line *line, const char *format, ...)
{
    char **words =
        array_reserve(line->words, &line->capacity, line->count + 2, sizeof *line->words);
    va_list args;

    if (words == NULL) {
        line->failed = true;
        return;
    }
    line->words = words;
    words[line->count] = NULL;
    va_start(args, format);
    if (vasprintf(&words[line->count], format, args) < 0) {
        line->failed = true;
        words[line->count] = NULL;
    } else {
        words[++line->count] = NULL;
    }
    va_end(args);
}

int command_line_check(const struct command_line *line, struct error *error)
{
    return line->failed ? error_memory(error, "a command line") : 0;
}

void command_line_free(struct command_line *line)
{
    for (size_t i = 0; i < line->count; i++)
        free(line->words[i]);
    free(line->words);
    *line = (struct command_line){0};
}

static const char preload_name[] = "LD_PRELOAD=";

static bool is_agent_variable(const char *variable)
{
    return strncmp(variable, preload_name, strlen(preload_name)) == 0 ||
           strncmp(variable, "GASPIPE_TRACE=", strlen("GASPIPE_TRACE=")) == 0;
}

void agent_environment(struct command_line *line, const char *agent, int fd,
                       char *const *environment)
{
    const char *before = "";

    for (char *const *variable = environment; *variable != NULL; variable++)
        if (strncmp(*variable, preload_name, strlen(preload_name)) == 0)
            before = *variable + strlen(preload_name);
    command_line_add(line, "GASPIPE_TRACE=%d", fd);
    if (agent != NULL)
        command_line_add(line, "%s%s%s%s", preload_name, agent, before[0] != '\0' ? ":" : "",
                         before);
    for (char *const *variable = environment; *variable != NULL; variable++)
        if (!is_agent_variable(*variable))
            command_line_add(line, "%s", *variable);
}
