/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/guest/follow.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "counter/program_file.h"
#include "counter/qemu/code/profile.h"
#include "counter/qemu/guest/guest_memory.h"
#include "counter/qemu/guest/present_program.h"

/* More than the kernel's own limits with the usual stack. */
#define STRINGS_MAX 65536
#define STRING_MAX  (128 * 1024)

/* argv or envp in the making; every string is owned. */
struct strings {
    char **string; /* ends with NULL */
    size_t count;
};

/* Takes over the string; false when it is NULL or there is no room. */
static bool strings_add(struct strings *strings, char *string)
{
    char **larger = NULL;

    if (string != NULL && strings->count < STRINGS_MAX)
        larger = realloc(strings->string, (strings->count + 2) * sizeof *larger);
    if (larger == NULL) {
        free(string);
        return false;
    }
    larger[strings->count++] = string;
    larger[strings->count] = NULL;
    strings->string = larger;
    return true;
}

static void strings_free(struct strings *strings)
{
    for (size_t i = 0; i < strings->count; i++)
        free(strings->string[i]);
    free(strings->string);
}

/* A new copy of a string of the guest, or NULL. */
static char *read_string(uint64_t address)
{
    size_t length = 0, room = 0;
    char *string = NULL;

    while (room <= STRING_MAX) {
        /* Not across a page: the next may not be there. */
        size_t chunk = 4096 - (address + length) % 4096;
        char *larger = realloc(string, room + chunk);

        if (larger == NULL)
            break;
        string = larger;
        room += chunk;
        if (!guest_memory_read(address + length, string + length, chunk))
            break;
        if (memchr(string + length, '\0', chunk) != NULL)
            return string;
        length += chunk;
    }
    free(string);
    return NULL;
}

/* A guest's argv or envp, from its `first` string on; NULL stands for none. */
static bool read_strings(struct strings *strings, uint64_t array, size_t first)
{
    uint64_t string;

    for (size_t i = first; array != 0; i++) {
        if (!guest_memory_read(array + i * sizeof string, &string, sizeof string))
            return false;
        if (string == 0)
            break;
        if (!strings_add(strings, read_string(string)))
            return false;
    }
    return true;
}

/* QEMU's own command line, up to and with "-0". */
static bool copy_options(struct strings *strings)
{
    FILE *file = fopen("/proc/self/cmdline", "re");
    char *option = NULL;
    size_t room = 0;
    bool found = false;

    while (file != NULL && !found && getdelim(&option, &room, '\0', file) > 0) {
        found = strcmp(option, "-0") == 0;
        if (!strings_add(strings, strdup(option)))
            break;
    }
    free(option);
    if (file != NULL)
        fclose(file);
    return found;
}

/* What follows "-0": the name, where the program is, and what the program gets. */
static bool add_program(struct strings *strings, const struct program_file *file,
                        const char *program, char *path, uint64_t arguments)
{
    uint64_t first = 0;

    if (file->words > 0) {
        if (!strings_add(strings, strdup(file->word[0])) || !strings_add(strings, strdup(program)))
            return false;
        for (size_t i = 1; i < file->words; i++)
            if (!strings_add(strings, strdup(file->word[i])))
                return false;
        if (!strings_add(strings, strdup(path)))
            return false;
    } else {
        if (arguments != 0)
            guest_memory_read(arguments, &first, sizeof first);
        if (!strings_add(strings, first != 0 ? read_string(first) : strdup(path)) ||
            !strings_add(strings, strdup(program)))
            return false;
    }
    return read_strings(strings, arguments, 1);
}

/* The N of "/proc/self/fd/N", or -1. */
static int descriptor_of(const char *program)
{
    static const char folder[] = "/proc/self/fd/";
    const char *digits = program + strlen(folder);

    if (strncmp(program, folder, strlen(folder)) != 0 || *digits < '0' || *digits > '9')
        return -1;
    return (int)strtol(digits, NULL, 10);
}

/*
 * Puts the new program's file where the present one's is, so that QEMU gets it
 * by the same path; unless the guest has made that descriptor something else.
 * -1, or a copy of the present one for the case that the execve fails.
 */
static int replace_descriptor(const char *program, int new_file)
{
    int descriptor = descriptor_of(program);
    int copy = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, 0);

    if (copy >= 0 && dup2(new_file, descriptor) < 0) {
        close(copy);
        return -1;
    }
    return copy;
}

static void run_under_qemu(struct program_file *file, char *path, uint64_t arguments,
                           uint64_t environment)
{
    struct strings command = {0}, variables = {0};
    char program[PATH_MAX], qemu[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", qemu, sizeof qemu - 1);
    int copy = -1;

    if (length > 0 && copy_options(&command) && present_program(program) &&
        add_program(&command, file, program, path, arguments) &&
        read_strings(&variables, environment, 0))
        copy = replace_descriptor(program, file->fd);
    if (copy >= 0) {
        static char *none[] = {NULL};

        qemu[length] = '\0';
        profile_write();
        execve(qemu, command.string, variables.string != NULL ? variables.string : none);
        dup2(copy, descriptor_of(program));
        close(copy);
    }
    strings_free(&command);
    strings_free(&variables);
}

void follow_execve(uint64_t path, uint64_t arguments, uint64_t environment)
{
    struct program_file file;
    char *name = read_string(path);

    if (name != NULL && program_file_open(name, &file) == 0) {
        run_under_qemu(&file, name, arguments, environment);
        close(file.fd);
    }
    free(name);
}
