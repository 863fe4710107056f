/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What GASMARK_KEEP and GASMARK_RESTORE of gasmark.h promise.
 *
 *     counter_keep CHECK
 *
 * Prints what it finds; the test that runs it judges. What it knows lies in the memory that is
 * restored, too: what it prints leaves it at once, and between the two marks it remembers nothing.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counter/gasmark.h"

enum { PAGE = 4096, MAPPED = 5 * PAGE, MANY = 300000 };

/* As restore() leaves it where it has done nothing, and it had been kept empty. */
static volatile struct gasmark_left left;
static volatile unsigned state = 1;
static volatile char zeros[MANY]; /* memory that nobody has written to */

static void restore(void)
{
    gasmark_call(GASMARK_RESTORE, (void *)&left, sizeof left);
}

static void fill(volatile char *bytes, size_t count, char with)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = with;
}

static bool is_filled(const volatile char *bytes, size_t count, char with)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != with)
            return false;
    return true;
}

static char *map(size_t size)
{
    char *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (mapped == MAP_FAILED)
        abort();
    return mapped;
}

/* What restore() said, and whether it has changed anything. */
static void say_left(void)
{
    printf("errno %" PRIu64 " state %u\n", left.errnum, state);
}

/* ---- what is there again ---- */

static __attribute__((noinline)) uint64_t counted(void)
{
    gasmark_start();
    fill(zeros, 1000, 0);
    return gasmark_stop();
}

/* The heap, the stack, variables and mappings, at one end and at the other. */
static void everything(void)
{
    char *const heap = malloc(MANY), *const mapped = map(MANY);
    volatile char stack[MANY];
    const uint64_t before = counted();

    if (heap == NULL)
        abort();
    fill(heap, MANY, 'h');
    fill(mapped, MANY, 'm');
    fill(stack, MANY, 's');
    printf("kept %" PRIu64 "\n", gasmark_keep());
    fill(heap, MANY, '1');
    fill(mapped, MANY, '2');
    fill(stack, MANY, '3');
    fill(zeros, MANY, '4');
    state = 2;
    restore();
    say_left();
    printf("heap %d mapped %d stack %d zeros %d\n", is_filled(heap, MANY, 'h'),
           is_filled(mapped, MANY, 'm'), is_filled(stack, MANY, 's'), is_filled(zeros, MANY, 0));
    printf("counts %d\n", counted() == before);
}

static void not_kept(void)
{
    state = 2;
    restore();
    say_left();
}

static void twice(void)
{
    (void)gasmark_keep();
    restore();
    state = 2;
    restore();
    say_left();
}

/* The later one holds. */
static void kept_again(void)
{
    (void)gasmark_keep();
    state = 2;
    (void)gasmark_keep();
    state = 3;
    restore();
    say_left();
}

/* ---- what was mapped and unmapped ---- */

/* The next mapping goes where it went. */
static void mapped_since(void)
{
    static char *mapped, *before;
    static int ends[2]; /* what lies in a pipe is not forgotten */

    if (pipe(ends) != 0)
        abort();
    (void)gasmark_keep();
    state = 2;
    mapped = map(MAPPED);
    mapped[PAGE] = 1;
    restore();
    say_left();
    printf("it %d\n", left.start == (uintptr_t)mapped && left.size == MAPPED);
    if (write(ends[1], &mapped, sizeof mapped) < 0 || munmap(mapped, MAPPED) != 0)
        abort();
    restore();
    say_left();
    printf("forgotten %d\n", mapped == NULL);
    mapped = map(MAPPED);
    if (read(ends[0], &before, sizeof before) < 0)
        abort();
    printf("there %d zeros %d\n", mapped == before, is_filled(mapped, MAPPED, 0));
}

static void unmapped_since(void)
{
    static char *mapped, *other;

    mapped = map(MAPPED);
    (void)gasmark_keep();
    state = 2;
    munmap(mapped + PAGE, PAGE);
    restore();
    say_left();
    /* In its place there is another one. */
    other = mmap(mapped + PAGE, PAGE, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (other != mapped + PAGE)
        abort();
    mapped[PAGE] = 3;
    restore();
    say_left();
    printf("zeros %d\n", is_filled(mapped, MAPPED, 0));
}

static void protected_since(void)
{
    static char *mapped;

    mapped = map(MAPPED);
    (void)gasmark_keep();
    state = 2;
    if (mprotect(mapped + PAGE, PAGE, PROT_READ) != 0)
        abort();
    restore();
    say_left();
}

/* Twice as large where it is, or elsewhere. */
static void grown_since(void)
{
    static char *mapped, *grown;

    mapped = map(MAPPED);
    (void)gasmark_keep();
    state = 2;
    grown = mremap(mapped, MAPPED, (size_t)2 * MAPPED, MREMAP_MAYMOVE);
    if (grown == MAP_FAILED)
        abort();
    restore();
    say_left();
}

static void heap_grown_since(void)
{
    (void)gasmark_keep();
    state = 2;
    fill(sbrk(MANY), MANY, 'x');
    restore();
    say_left();
    sbrk(-MANY);
    restore();
    say_left();
    printf("zeros %d\n", is_filled(sbrk(MANY), MANY, 0));
}

/* ---- who cannot ---- */

static void *wait_for_end(void *nothing)
{
    for (;;)
        pause();
    return nothing;
}

static void threads(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, wait_for_end, NULL) != 0)
        abort();
    printf("kept %" PRIu64 "\n", gasmark_keep());
    restore();
    say_left();
}

static void shared(void)
{
    static void *mapped;

    mapped = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        abort();
    printf("kept %" PRIu64 "\n", gasmark_keep());
}

/* Each restores its own. */
static void forked(void)
{
    const pid_t self = getpid();
    int status = 0;

    (void)gasmark_keep();
    state = 2;
    if (fork() == 0)
        state = 3;
    if (getpid() != self) {
        restore();
        _exit(state == 1 ? 7 : 8);
    }
    if (wait(&status) < 0)
        abort();
    printf("state %u child %d\n", state, WEXITSTATUS(status));
}

static void forked_parent(void)
{
    const pid_t self = getpid();

    (void)gasmark_keep();
    state = 2;
    if (fork() == 0)
        _exit(0);
    if (getpid() != self || wait(NULL) < 0)
        abort();
    restore();
    say_left();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } checks[] = {
        {"everything", everything},
        {"not-kept", not_kept},
        {"twice", twice},
        {"kept-again", kept_again},
        {"mapped", mapped_since},
        {"unmapped", unmapped_since},
        {"protected", protected_since},
        {"grown", grown_since},
        {"heap-grown", heap_grown_since},
        {"threads", threads},
        {"shared", shared},
        {"forked", forked},
        {"forked-parent", forked_parent},
    };

    static char line[BUFSIZ];

    /* Without a buffer from the heap, which would grow. */
    if (setvbuf(stdout, line, _IOLBF, sizeof line) != 0)
        abort();
    for (size_t i = 0; argc == 2 && i < sizeof checks / sizeof *checks; i++)
        if (strcmp(argv[1], checks[i].name) == 0) {
            checks[i].run();
            return 0;
        }
    fprintf(stderr, "usage: counter_keep CHECK\n");
    return 2;
}
