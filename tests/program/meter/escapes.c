/* SPDX-License-Identifier: Apache-2.0 */
/* Ways around a budget: code that is entered by more than its beginning, that is charged at once,
 * or that runs before main(). usage: escapes WAY TURNS */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <wchar.h>

enum { LARGE = 16 << 20 };

static volatile long turns;
static long last;

static void jump(void)
{
    static jmp_buf place;

    setjmp(place);
    if (++turns < last)
        longjmp(place, 1);
}

static void jump_with_signals(void)
{
    static sigjmp_buf place;

    sigsetjmp(place, 1);
    if (++turns < last)
        siglongjmp(place, 1);
}

#ifdef __x86_64__ /* clang has it for no other machine of gaspipe's */
static void *builtin_place[5];

/* clang allows no jump within one function. */
__attribute__((noinline)) static void jump_builtin(void)
{
    __builtin_longjmp(builtin_place, 1);
}

static void set_builtin(void)
{
    __builtin_setjmp(builtin_place);
    if (++turns < last)
        jump_builtin();
}
#else
static void set_builtin(void)
{
}
#endif

static void set_context(void)
{
    static ucontext_t context;

    getcontext(&context);
    if (++turns < last)
        setcontext(&context);
}

static void swap_context(void)
{
    static ucontext_t context;

    swapcontext(&context, &context);
    if (++turns < last)
        setcontext(&context);
}

static void spend_some(int signal)
{
    (void)signal;
    for (int i = 0; i < 1000; i++)
        turns++;
}

/* Handlers spend much, what they interrupt little. */
static void handle(void)
{
    signal(SIGUSR1, spend_some);
    while (turns < last)
        raise(SIGUSR1);
}

/* The interrupted code spends nothing. */
static void handle_faults(void)
{
    static char *volatile nowhere;

    signal(SIGSEGV, spend_some);
    *nowhere = 1;
}

static void copy(char *to, const char *from, size_t length)
{
    while (++turns < last)
        memcpy(to, from, length);
}

static void copy_constant(char *to, const char *from)
{
    while (++turns < last)
        memmove(to, from, LARGE);
}

static void measure(const char *text)
{
    while (++turns < last)
        last += strlen(text) == 0;
}

/* libc also searches and fills memory by these names. */
static void search(char *to, const char *text, size_t length)
{
    while (++turns < last) {
        last += memmem(text, length, "\1\2", 2) || memrchr(text + 1, 3, length - 2);
        explicit_bzero(to, length);
        wmemset((wchar_t *)to, L'x', length / sizeof(wchar_t));
    }
}

/* Reads or writes a long string by the function that a name says. */
static long scan(const char *name, char *to, char *text)
{
    if (strcmp(name, "strcat") == 0)
        return *strcat(text, "");
    if (strcmp(name, "strncat") == 0)
        return *to = '\0', *strncat(to, text, LARGE);
    if (strcmp(name, "stpcpy") == 0)
        return *stpcpy(to, text);
    if (strcmp(name, "strchr") == 0)
        return strchr(text, 'y') != NULL;
    if (strcmp(name, "strpbrk") == 0)
        return strpbrk(text, "yz") != NULL;
    if (strcmp(name, "strcspn") == 0)
        return (long)strcspn(text, "yz") & 1;
    if (strcmp(name, "strcasecmp") == 0)
        return strcasecmp(text, to);
    if (strcmp(name, "strncasecmp") == 0)
        return strncasecmp(text, to, LARGE);
    text = strcmp(name, "strdup") == 0 ? strdup(text) : strndup(text, LARGE);
    free(text);
    return text == NULL;
}

static void scan_often(const char *name, char *to, char *text)
{
    memset(to, 'X', LARGE);
    to[LARGE] = '\0';
    while (++turns < last)
        turns += scan(name, to, text) & 1;
}

/* The child spends all of its budget. */
static void fork_child(void)
{
    if (vfork() == 0) {
        while (++turns < last)
            ;
        _exit(0);
    }
    wait(NULL);
    turns = 0;
    while (++turns < last)
        ;
}

__attribute__((constructor)) static void construct(void)
{
    const char *text = getenv("ESCAPES_CONSTRUCTOR");

    for (long left = text ? atol(text) : 0; left > 0; left--)
        turns++;
    turns = 0;
}

int main(int argc, char **argv)
{
    const char *way = argc > 2 ? argv[1] : "";
    char *from = malloc(LARGE + 1), *to = malloc(LARGE + 1);

    if (!from || !to)
        return 1;
    last = argc > 2 ? atol(argv[2]) : 0;
    memset(from, 'x', LARGE);
    from[LARGE] = '\0';
    if (strcmp(way, "jump") == 0)
        jump();
    if (strcmp(way, "signals") == 0)
        jump_with_signals();
    if (strcmp(way, "builtin") == 0)
        set_builtin();
    if (strcmp(way, "context") == 0)
        set_context();
    if (strcmp(way, "swap") == 0)
        swap_context();
    if (strcmp(way, "handlers") == 0)
        handle();
    if (strcmp(way, "faults") == 0)
        handle_faults();
    if (strcmp(way, "copy") == 0)
        copy(to, from, LARGE);
    if (strcmp(way, "constant") == 0)
        copy_constant(to, from);
    if (strcmp(way, "measure") == 0)
        measure(from);
    if (strcmp(way, "search") == 0)
        search(to, from, LARGE);
    if (strncmp(way, "st", 2) == 0)
        scan_often(way, to, from);
    if (strcmp(way, "vfork") == 0)
        fork_child();
    free(to);
    free(from);
    return 0;
}
