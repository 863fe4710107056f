/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: counter_interpose. A call that comes while the function is being interposed
 * must work: the original has to be known before the replacement can be called. To
 * stop in the middle, the variable for the original lies on a page that cannot be
 * written to at first, and the call is made where that shows.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "counter/qemu/emulator/interpose.h"

#define PAGE 4096

typedef pid_t parent_function(void);

static parent_function **original; /* at the start of a page */
static pid_t parent, during;
static int replaced_calls;

static pid_t replacement(void)
{
    replaced_calls++;
    return (*original)();
}

/* The first write to the page: the call in the middle, then the write again. */
static void in_the_middle(int signal)
{
    (void)signal;
    during = getppid();
    if (mprotect(original, PAGE, PROT_READ | PROT_WRITE) < 0)
        _exit(EXIT_FAILURE);
}

int main(void)
{
    struct sigaction action = {.sa_handler = in_the_middle};

    /* cppcheck-suppress invalidFunctionArg */
    original = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (original == MAP_FAILED || sigaction(SIGSEGV, &action, NULL) != 0)
        return EXIT_FAILURE;
    parent = getppid();
    if (!interpose("getppid", (void *)replacement, (void **)original))
        return EXIT_FAILURE;
    printf("in the middle %d, calls %d\n", during == parent, replaced_calls);
    printf("afterwards %d", getppid() == parent);
    printf(", calls %d\n", replaced_calls);
    printf("no such function %d\n",
           interpose("counter_interpose_nothing", (void *)replacement, (void **)original));
    return EXIT_SUCCESS;
}
