/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: start_times COUNT COMMAND... [-- COMMAND...]...
 * Starts each of the commands COUNT times, in turns, with descriptors 3 and 4 on /dev/null.
 * Prints for each the least and the median time from the start to the end, in microseconds, and the
 * CPU time that one start takes at the mean.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/stamp.h"

enum { COMMANDS_MAX = 16, COUNT_MAX = 100000 };

struct command {
    char **arguments;
    int64_t *times;    /* nanoseconds */
    int64_t processor; /* microseconds, of all its starts */
};

static _Noreturn void give_up(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

static int64_t microseconds(struct timeval time)
{
    return time.tv_sec * INT64_C(1000000) + time.tv_usec;
}

static void start(struct command *command, int64_t *took)
{
    const int64_t began = stamp_now().mono;
    struct rusage used;
    pid_t pid;

    if (command->arguments[0] == NULL)
        give_up("no command");
    if (posix_spawn(&pid, command->arguments[0], NULL, NULL, command->arguments, environ) != 0)
        give_up(command->arguments[0]);
    if (wait4(pid, NULL, 0, &used) != pid)
        give_up("wait4");
    *took = stamp_now().mono - began;
    command->processor += microseconds(used.ru_utime) + microseconds(used.ru_stime);
}

static int by_size(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

static void print(struct command *command, size_t count)
{
    qsort(command->times, count, sizeof *command->times, by_size);
    printf("%" PRId64 " %" PRId64 " %" PRId64 "\n", command->times[0] / 1000,
           command->times[count / 2] / 1000, command->processor / (int64_t)count);
}

/* Cuts the arguments at each "--". How many commands there are. */
static size_t read_commands(char **arguments, struct command *commands)
{
    size_t count = 0;

    while (*arguments != NULL && count < COMMANDS_MAX) {
        commands[count++].arguments = arguments;
        while (*arguments != NULL && strcmp(*arguments, "--") != 0)
            arguments++;
        if (*arguments != NULL)
            *arguments++ = NULL;
    }
    return count;
}

int main(int argc, char **argv)
{
    struct command commands[COMMANDS_MAX] = {0};
    const size_t count = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
    const size_t command_count = argc > 2 ? read_commands(argv + 2, commands) : 0;
    const int null = open("/dev/null", O_RDWR);

    if (count == 0 || count > COUNT_MAX || null < 0 || dup2(null, 3) < 0 || dup2(null, 4) < 0) {
        fputs("usage: start_times COUNT COMMAND... [-- COMMAND...]...\n", stderr);
        return EXIT_FAILURE;
    }
    for (size_t i = 0; i < command_count; i++)
        if ((commands[i].times = calloc(count, sizeof *commands[i].times)) == NULL)
            give_up("calloc");
    for (size_t round = 0; round < count; round++)
        for (size_t i = 0; i < command_count; i++)
            start(&commands[i], &commands[i].times[round]);
    for (size_t i = 0; i < command_count; i++)
        print(&commands[i], count);
    return EXIT_SUCCESS;
}
