/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: measure COMMAND [ARG...]
 * Runs a command and prints on stderr the seconds that it took, its CPU
 * time, and its peak memory in MB. A small program does this because a process's
 * peak includes what it had before exec(2).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    double start = now();
    struct rusage usage;
    int status = 0;
    pid_t child;

    if (argc < 2) {
        fprintf(stderr, "usage: measure COMMAND [ARG...]\n");
        return 2;
    }
    child = fork();
    if (child == 0) {
        execvp(argv[1], argv + 1);
        fprintf(stderr, "measure: %s: %s\n", argv[1], strerror(errno));
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) != child) {
        fprintf(stderr, "measure: %s: %s\n", argv[1], strerror(errno));
        return 4;
    }
    fprintf(stderr, "%.6f %.6f %.3f\n", now() - start,
            seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
            (double)usage.ru_maxrss / 1000);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
