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
#include <sys/sysmacros.h>
#include <unistd.h>

#include "counter/program_file.h"
#include "counter/qemu/code/profile.h"
#include "counter/qemu/guest/address_space.h"
#include "sandbox/guest_syscalls.h"

/* ---- system calls ---- */

static const unsigned char directions[] = {
    [GUEST_READ] = SYSCALL_READS,
    [GUEST_PREAD64] = SYSCALL_READS,
    [GUEST_READV] = SYSCALL_READS,
    [GUEST_PREADV] = SYSCALL_READS,
    [GUEST_PREADV2] = SYSCALL_READS,
    [GUEST_RECVFROM] = SYSCALL_READS,
    [GUEST_RECVMSG] = SYSCALL_READS,
    [GUEST_GETRANDOM] = SYSCALL_READS,
    [GUEST_GETDENTS64] = SYSCALL_READS,
    [GUEST_WRITE] = SYSCALL_WRITES,
    [GUEST_PWRITE64] = SYSCALL_WRITES,
    [GUEST_WRITEV] = SYSCALL_WRITES,
    [GUEST_PWRITEV] = SYSCALL_WRITES,
    [GUEST_PWRITEV2] = SYSCALL_WRITES,
    [GUEST_SENDTO] = SYSCALL_WRITES,
    [GUEST_SENDMSG] = SYSCALL_WRITES,
    [GUEST_SENDFILE] = SYSCALL_READS_AND_WRITES,
    [GUEST_COPY_FILE_RANGE] = SYSCALL_READS_AND_WRITES,
    [GUEST_SPLICE] = SYSCALL_READS_AND_WRITES,
    [GUEST_TEE] = SYSCALL_READS_AND_WRITES,
    [GUEST_VMSPLICE] = SYSCALL_WRITES,
};

enum syscall_direction syscall_direction(int64_t number)
{
    if (number < 0 || (size_t)number >= sizeof directions)
        return SYSCALL_CARRIES_NOTHING;
    return (enum syscall_direction)directions[number];
}

/* ---- QEMU's program ---- */

bool present_program(char path[PATH_MAX])
{
    FILE *file = fopen("/proc/self/cmdline", "re");
    char *word = NULL;
    size_t capacity = 0;
    ssize_t length = 0;
    int to_come = -1; /* words left up to the path, once "-0" was seen */

    while (file != NULL && to_come != 0 && (length = getdelim(&word, &capacity, '\0', file)) > 0) {
        if (to_come > 0)
            to_come--;
        else if (strcmp(word, "-0") == 0)
            to_come = 2;
    }
    if (file != NULL)
        fclose(file);
    if (to_come == 0 && length <= PATH_MAX)
        memcpy(path, word, (size_t)length);
    free(word);
    return to_come == 0 && length <= PATH_MAX;
}

/* ---- pinned randomness ---- */

/* The buffer that receives the random bytes of the current system call; 0: none. */
static __thread uint64_t guest_buffer;

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static uint64_t next_number(void)
{
    static uint64_t state;
    uint64_t z = __atomic_add_fetch(&state, 0x9e3779b97f4a7c15, __ATOMIC_RELAXED);

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* Returns true for the numbers in Linux's Documentation/admin-guide/devices.txt. */
static bool is_random_device(int fd)
{
    struct stat status;

    return fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) &&
           (status.st_rdev == makedev(1, 8) || status.st_rdev == makedev(1, 9));
}

void randomness_asked(int64_t number, uint64_t a1, uint64_t a2)
{
    guest_buffer = 0;
    if (number == GUEST_GETRANDOM)
        guest_buffer = a1;
    else if (number == GUEST_READ && is_random_device((int)a1))
        guest_buffer = a2;
}

void randomness_given(int64_t result)
{
    for (int64_t at = 0; guest_buffer != 0 && at < result; at += 8) {
        uint64_t number = next_number();
        size_t size = result - at < 8 ? (size_t)(result - at) : 8;

        guest_memory_write(guest_buffer + (uint64_t)at, &number, size);
    }
}

/* ---- programs that the guest becomes ---- */

/* Higher than Linux's own limits with the usual stack. */
#define STRINGS_MAX 65536
#define STRING_MAX  (128 * 1024)

/* An argv or envp under construction; owns every string. */
struct strings {
    char **string; /* ends with NULL */
    size_t count;
};

/* Takes over the string. Returns false if it is NULL or the list is full. */
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

/* Returns a new copy of a guest string, or NULL. */
static char *read_guest_string(uint64_t address)
{
    size_t length = 0, capacity = 0;
    char *string = NULL;

    while (capacity <= STRING_MAX) {
        /* Read up to the end of the page: the next one may not be mapped. */
        size_t chunk = 4096 - (address + length) % 4096;
        char *larger = realloc(string, capacity + chunk);

        if (larger == NULL)
            break;
        string = larger;
        capacity += chunk;
        if (!guest_memory_read(address + length, string + length, chunk))
            break;
        if (memchr(string + length, '\0', chunk) != NULL)
            return string;
        length += chunk;
    }
    free(string);
    return NULL;
}

/* Reads a guest's argv or envp from string `first` on; NULL means empty. */
static bool read_strings(struct strings *strings, uint64_t array, size_t first)
{
    uint64_t string;

    for (size_t i = first; array != 0; i++) {
        if (!guest_memory_read(array + i * sizeof string, &string, sizeof string))
            return false;
        if (string == 0)
            break;
        if (!strings_add(strings, read_guest_string(string)))
            return false;
    }
    return true;
}

/* Copies QEMU's own command line, up to "-0". */
static bool copy_options(struct strings *strings)
{
    FILE *file = fopen("/proc/self/cmdline", "re");
    char *option = NULL;
    size_t capacity = 0;
    bool found = false;

    while (file != NULL && !found && getdelim(&option, &capacity, '\0', file) > 0) {
        found = strcmp(option, "-0") == 0;
        if (!strings_add(strings, strdup(option)))
            break;
    }
    free(option);
    if (file != NULL)
        fclose(file);
    return found;
}

/* Adds what follows "-0": the name, the program's path, and its arguments. */
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
        if (!strings_add(strings, first != 0 ? read_guest_string(first) : strdup(path)) ||
            !strings_add(strings, strdup(program)))
            return false;
    }
    return read_strings(strings, arguments, 1);
}

/* Returns the N of "/proc/self/fd/N", or -1. */
static int descriptor_of(const char *program)
{
    static const char directory[] = "/proc/self/fd/";
    const char *digits = program + strlen(directory);

    if (strncmp(program, directory, strlen(directory)) != 0 || *digits < '0' || *digits > '9')
        return -1;
    return (int)strtol(digits, NULL, 10);
}

/* Replaces the current program's file by the new one on the same descriptor, so that QEMU finds it
 * under the same path. Does nothing if the guest reused that descriptor. Returns -1, or a copy of
 * the old descriptor in case the execve fails. */
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
    char *name = read_guest_string(path);

    if (name != NULL && program_file_open(name, &file) == 0) {
        run_under_qemu(&file, name, arguments, environment);
        close(file.fd);
    }
    free(name);
}
