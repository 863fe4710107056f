/* SPDX-License-Identifier: Apache-2.0 */
/* Ways out of the middle of code: longjmp, signals, threads, forks, other programs. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static jmp_buf place;
static volatile sig_atomic_t signals;

static int deep(int depth)
{
    if (depth == 0)
        longjmp(place, 1);
    return deep(depth - 1) + 1;
}

static int jumps(void)
{
    volatile int sum = 0;

    for (volatile int i = 0; i < 1000; i++) {
        if (setjmp(place) == 0)
            sum += deep(i % 20);
        else
            sum += i;
    }
    return sum;
}

static void count_signal(int number)
{
    signals += number > 0;
}

/* Raised where no timer decides, so that the count is one number. */
static int raised(void)
{
    signal(SIGUSR1, count_signal);
    for (int i = 0; i < 500; i++)
        raise(SIGUSR1);
    return signals;
}

__attribute__((noinline)) static long add(long sum, long number)
{
    return sum + number;
}

/* A handler at any moment, also between a load of a bank and its store. What the loop does does
 * not depend on how often; the handler's own part is counted separately. */
static long interrupted(void)
{
    long sum = 0;

    signal(SIGALRM, count_signal);
    ualarm(300, 300);
    for (long i = 0; i < 20000000; i++)
        sum = add(sum, i);
    ualarm(0, 0);
    return sum;
}

static void *work(void *argument)
{
    long sum = 0;

    for (long i = 0; i < *(long *)argument; i++)
        sum = add(sum, i);
    *(long *)argument = sum;
    return NULL;
}

static long threads(void)
{
    pthread_t ids[8];
    long sums[8];
    long sum = 0;

    for (int i = 0; i < 8; i++) {
        sums[i] = 1000 * (i + 1);
        if (pthread_create(&ids[i], NULL, work, &sums[i]))
            abort();
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(ids[i], NULL);
        sum += sums[i];
    }
    return sum;
}

static int forked(void)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        raised();
        _exit(7);
    }
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

/* A program that is not there, by each kind of call that the run-time part makes itself. */
static void not_replaced(char *const *arguments, char *const *environment)
{
    execv("/nonexistent", arguments);
    execvpe("nonexistent", arguments, environment);
    fexecve(-1, arguments, environment);
    execveat(AT_FDCWD, "/nonexistent", arguments, environment, 0);
}

/* This program again, in each way. */
static void replaced(const char *self, const char *how)
{
    char *const arguments[] = {(char *)self, (char *)"exit", NULL};
    char *const environment[] = {getenv("GASMETER_OUT") - strlen("GASMETER_OUT="), NULL};

    if (strcmp(how, "failed") == 0)
        not_replaced(arguments, environment);
    if (strcmp(how, "execv") == 0)
        execv(self, arguments);
    if (strcmp(how, "execvp") == 0)
        execvp(self, arguments);
    if (strcmp(how, "execvpe") == 0)
        execvpe(self, arguments, environment);
    if (strcmp(how, "execve") == 0)
        execve(self, arguments, environment);
    if (strcmp(how, "execveat") == 0)
        execveat(AT_FDCWD, self, arguments, environment, 0);
    if (strcmp(how, "fexecve") == 0)
        fexecve(open(self, O_RDONLY | O_CLOEXEC), arguments, environment);
    if (strcmp(how, "execl") == 0)
        execl(self, self, "exit", (char *)NULL);
    if (strcmp(how, "execlp") == 0)
        execlp(self, self, "exit", (char *)NULL);
    if (strcmp(how, "execle") == 0)
        execle(self, self, "exit", (char *)NULL, environment);
    if (strcmp(how, "vfork") == 0 && vfork() == 0) {
        execv(self, arguments);
        _exit(1);
    }
    wait(NULL);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    long result = 0;

    if (strcmp(how, "jumps") == 0)
        result = jumps();
    if (strcmp(how, "raised") == 0)
        result = raised();
    if (strcmp(how, "interrupted") == 0)
        result = interrupted();
    if (strcmp(how, "threads") == 0)
        result = threads();
    if (strcmp(how, "forked") == 0)
        result = forked();
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "crash") == 0)
        *(volatile int *)(argc - 2) = 1;
    if (strcmp(how, "kill") == 0)
        raise(SIGTERM);
    if (strcmp(how, "exit") == 0)
        exit(5);
    if (strcmp(how, "_exit") == 0)
        _exit(6);
    if (strcmp(how, "replaced") == 0 && argc > 2)
        replaced(argv[0], argv[2]);
    printf("%ld\n", result);
    return 0;
}
