/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls each function of the C library that an engine calls while it runs contracts, with small and
 * large arguments, under the filter that contracts run under; sandbox.bats compares its list with
 * what the engines link.
 * usage: libc_calls [--small] | libc_calls --list
 * With --small, which QEMU takes long enough for, no argument has more than 1 MiB.
 * Prints the name of each function before it is called: the last one is what ended the process.
 * Exit status: 0 all returned, 2 usage, or there is no filter.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/sort/sort.h"
#include "counter/gasmark.h"
#include "sandbox/contract_filter.h"

/* Around the sizes at which glibc does otherwise: on the stack, on the heap, in a mapping. */
static const size_t sizes[] = {1, 100, 1023, 1025, 65535, 65537, (1 << 20) + 1, (32 << 20) + 1};

enum { SIZES = sizeof sizes / sizeof *sizes, LARGEST = (32 << 20) + 1 };

static int sizes_used = SIZES;
static char *one, *other; /* of LARGEST bytes and a zero: letters */
static volatile double number;
static volatile uintptr_t used;

static void fill(char *bytes)
{
    memset(bytes, 'a', LARGEST);
    bytes[LARGEST] = '\0';
}

/* Runs a statement with `size` as each of the sizes, and texts of that length in one and other. */
#define EACH_SIZE(statement)                                                                       \
    do {                                                                                           \
        for (int i = 0; i < sizes_used; i++) {                                                     \
            const size_t size = sizes[i];                                                          \
                                                                                                   \
            memset(one, 'a', size);                                                                \
            one[size] = '\0';                                                                      \
            statement;                                                                             \
        }                                                                                          \
    } while (0)

#define CALL_EACH_SIZE(name, statement)                                                            \
    static void call_##name(void)                                                                  \
    {                                                                                              \
        EACH_SIZE(statement);                                                                      \
    }
#define CALL(name, statement)                                                                      \
    static void call_##name(void)                                                                  \
    {                                                                                              \
        statement;                                                                                 \
    }

static const double numbers[] = {0, -0.0, 0.5, 1, -3.75, 1e10, 1e300, 5e-324, INFINITY, NAN};

enum { NUMBERS = sizeof numbers / sizeof *numbers };

#define CALL_MATH(name)                                                                            \
    static void call_##name(void)                                                                  \
    {                                                                                              \
        for (int i = 0; i < NUMBERS; i++)                                                          \
            number = name(numbers[i]);                                                             \
    }
#define CALL_MATH_OF_TWO(name)                                                                     \
    static void call_##name(void)                                                                  \
    {                                                                                              \
        for (int i = 0; i < NUMBERS * NUMBERS; i++)                                                \
            number = name(numbers[i / NUMBERS], numbers[i % NUMBERS]);                             \
    }

CALL_MATH(acos)
CALL_MATH(acosh)
CALL_MATH(asin)
CALL_MATH(asinh)
CALL_MATH(atan)
CALL_MATH(atanh)
CALL_MATH(cbrt)
CALL_MATH(cos)
CALL_MATH(cosh)
CALL_MATH(exp)
CALL_MATH(expm1)
CALL_MATH(floor)
CALL_MATH(log)
CALL_MATH(log10)
CALL_MATH(log1p)
CALL_MATH(log2)
CALL_MATH(nearbyint)
CALL_MATH(round)
CALL_MATH(sin)
CALL_MATH(sinh)
CALL_MATH(sqrt)
CALL_MATH(tan)
CALL_MATH(tanh)
CALL_MATH(trunc)
CALL_MATH_OF_TWO(atan2)
CALL_MATH_OF_TWO(fmod)
CALL_MATH_OF_TWO(hypot)
CALL_MATH_OF_TWO(pow)

/* NOLINTBEGIN(clang-analyzer-security.insecureAPI.*,cert-msc30-c,cert-msc50-cpp): these are the
 * calls that engines make */

/* ---- bytes and texts ---- */

CALL_EACH_SIZE(memcpy, memcpy(other, one, size))
CALL_EACH_SIZE(memmove, memmove(one + 1, one, size - 1))
CALL_EACH_SIZE(memset, memset(one, 'b', size))
CALL_EACH_SIZE(memcmp, used += (uintptr_t)memcmp(one, other, size))
CALL_EACH_SIZE(bcmp, used += (uintptr_t)bcmp(one, other, size))
CALL_EACH_SIZE(memchr, used += (uintptr_t)memchr(one, 'z', size))
CALL_EACH_SIZE(memrchr, used += (uintptr_t)memrchr(one, 'z', size))
CALL_EACH_SIZE(memmem,
               used += (uintptr_t)memmem(one, size, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaz", 34))
CALL_EACH_SIZE(strlen, used += strlen(one))
CALL_EACH_SIZE(strnlen, used += strnlen(one, size / 2))
CALL_EACH_SIZE(strcmp, used += (uintptr_t)strcmp(one, other))
CALL_EACH_SIZE(strncmp, used += (uintptr_t)strncmp(one, other, size))
CALL_EACH_SIZE(strcpy, strcpy(other, one))
CALL_EACH_SIZE(stpcpy, used += (uintptr_t)stpcpy(other, one))
CALL_EACH_SIZE(strncpy, strncpy(other, one, size))
CALL_EACH_SIZE(strcat, (*other = '\0', strcat(other, one)))
CALL_EACH_SIZE(strncat, (*other = '\0', strncat(other, one, size / 2)))
CALL_EACH_SIZE(strchr, used += (uintptr_t)strchr(one, 'z'))
CALL_EACH_SIZE(strrchr, used += (uintptr_t)strrchr(one, 'z'))
CALL_EACH_SIZE(strstr, used += (uintptr_t)strstr(one, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaz"))
CALL_EACH_SIZE(strspn, used += strspn(one, "abc"))
CALL_EACH_SIZE(strcspn, used += strcspn(one, "xyz"))
CALL_EACH_SIZE(strpbrk, used += (uintptr_t)strpbrk(one, "xyz"))

static void call_strtok_r(void)
{
    char *state = NULL;

    EACH_SIZE(used += (uintptr_t)strtok_r(one, "xyz", &state));
}

/* Numbers of so many digits. */
#define CALL_NUMBER(name, statement) CALL_EACH_SIZE(name, (memset(one, '7', size), statement))
CALL_NUMBER(strtol, used += (uintptr_t)strtol(one, NULL, 10))
CALL_NUMBER(strtoul, used += strtoul(one, NULL, 16))
CALL_NUMBER(strtoll, used += (uintptr_t)strtoll(one, NULL, 0))
CALL_NUMBER(strtoull, used += strtoull(one, NULL, 8))
CALL_NUMBER(strtod, number = strtod(one, NULL))

CALL(__ctype_b_loc, used += (uintptr_t)*__ctype_b_loc())
CALL(__ctype_tolower_loc, used += (uintptr_t)*__ctype_tolower_loc())
CALL(__ctype_toupper_loc, used += (uintptr_t)*__ctype_toupper_loc())
CALL(tolower, for (int c = -1; c < 256; c++) used += (uintptr_t)tolower(c))
CALL(toupper, for (int c = -1; c < 256; c++) used += (uintptr_t)toupper(c))

static void format(char *to, size_t size, const char *words, ...)
{
    va_list arguments;

    va_start(arguments, words);
    used += (uintptr_t)vsnprintf(to, size, words, arguments);
    va_end(arguments);
}

/* glibc formats in memory that it allocates where a width or a precision is large. */
#define CALL_FORMAT(name, function)                                                                \
    static void call_##name(void)                                                                  \
    {                                                                                              \
        EACH_SIZE((function(other, size, "%s %d %zu %p %.17g", one, -1, size, one, 0.1),           \
                   function(other, size, "%*d %.*f", (int)size, 7, (int)size, 1e300),              \
                   function(other, size, "%.*Lf %ls", (int)size, 1e300L, L"wide")));               \
    }
CALL_FORMAT(snprintf, snprintf)
CALL_FORMAT(vsnprintf, format)

/* ---- sorting ---- */

static int compare_bytes(const void *left, const void *right)
{
    return *(const signed char *)left - *(const signed char *)right;
}

CALL_EACH_SIZE(qsort, sort_stable(one, size, 1, compare_bytes, other))
CALL_EACH_SIZE(bsearch, used += (uintptr_t)bsearch("z", one, size, 1, compare_bytes))

/* ---- memory ---- */

CALL_EACH_SIZE(malloc, free(memset(malloc(size), 1, size)))
CALL_EACH_SIZE(calloc, free(calloc(size, 1)))
CALL_EACH_SIZE(realloc, free(realloc(realloc(realloc(NULL, size), 2 * size), size / 2 + 1)))

/* Also in such an order that what is free at the end of the heap is given back. */
static void call_free(void)
{
    void *blocks[1000];

    free(NULL);
    for (int i = 0; i < 1000; i++)
        blocks[i] = malloc(4000);
    for (int i = 999; i >= 0; i--)
        free(blocks[i]);
}

static void call_mmap(void)
{
    EACH_SIZE(char *bytes =
                  mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              *bytes = 1; munmap(bytes, size));
}

CALL(munmap, munmap(mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1))

static void call_mprotect(void)
{
    char *bytes = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    used += (uintptr_t)mprotect(bytes, 1 << 20, PROT_READ | PROT_WRITE);
    memset(bytes, 1, 1 << 20);
}

CALL(getpagesize, used += (uintptr_t)getpagesize())

/* ---- time ---- */

static const time_t times[] = {0, 1, 1700000000, 253402300800, -62167219200, INT64_MAX};

static void call_localtime(void)
{
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        used += (uintptr_t)localtime(&times[i]);
}

static void call_mktime(void)
{
    for (int year = -70; year < 8000; year += 70) {
        struct tm parts = {.tm_year = year, .tm_mon = year, .tm_mday = 1, .tm_isdst = -1};

        used += (uintptr_t)mktime(&parts);
    }
}

static void call_gettimeofday(void)
{
    struct timeval now;

    used += (uintptr_t)gettimeofday(&now, NULL);
}

/* ---- files, which cannot be opened ---- */

CALL(fopen, used += (uintptr_t)fopen("/etc/passwd", "r"))

static void call_realpath(void)
{
    static const char *const paths[] = {"/etc/passwd", "a.js", "./a.js", "../a/../b.js", ""};
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        used += (uintptr_t)realpath(paths[i], path);
}

CALL_EACH_SIZE(printf, printf("%.*s", (int)(size & 3), one))
CALL_EACH_SIZE(fprintf, fprintf(stderr, "%.*s", (int)(size & 3), one))
CALL(fputc, fputc('\n', stderr))
CALL(fwrite, fwrite("\n", 1, 1, stderr))
CALL(fgetc, fgetc(stdin))
CALL(fclose, fclose(stdin))
CALL(read, read(-1, one, 1) < 0 ? used++ : 0)
CALL(write, write(STDERR_FILENO, "\n", 1) < 0 ? used++ : 0)
CALL(close, close(-1))
CALL(fcntl, fcntl(STDERR_FILENO, F_GETFL))

/* ---- the rest ---- */

CALL(__errno_location, *__errno_location() = 0)

static void call__setjmp(void)
{
    jmp_buf place;

    if (_setjmp(place) == 0)
        longjmp(place, 1);
}

CALL(dladdr, Dl_info info; used += (uintptr_t)dladdr((void *)call__setjmp, &info))
CALL(getenv, used += (uintptr_t)getenv("XSBUG_HOST"))
CALL(rand, used += (uintptr_t)rand())
/* NOLINTEND(clang-analyzer-security.insecureAPI.*,cert-msc30-c,cert-msc50-cpp) */
CALL(stderr, used += (uintptr_t)stderr)
CALL(pthread_self, used += (uintptr_t)pthread_self())

static void call_pthread_attr_getstack(void)
{
    pthread_attr_t attributes;
    void *stack = NULL;
    size_t size = 0;

    pthread_attr_init(&attributes);
    used += (uintptr_t)pthread_attr_getstack(&attributes, &stack, &size);
    pthread_attr_destroy(&attributes);
}

static void call_pthread_mutex_lock(void)
{
    pthread_mutex_t mutex;

    pthread_mutex_init(&mutex, NULL);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_mutex_destroy(&mutex);
}

static void call_pthread_cond_timedwait(void)
{
    const struct timespec past = {0, 0};
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition;

    pthread_cond_init(&condition, NULL);
    pthread_cond_signal(&condition);
    pthread_mutex_lock(&mutex);
    pthread_cond_timedwait(&condition, &mutex, &past);
    pthread_mutex_unlock(&mutex);
    pthread_cond_destroy(&condition);
}

#define ITEM(name)                                                                                 \
    {                                                                                              \
#name, call_##name                                                                         \
    }
/* Called by another's function above. */
#define WITHIN(name, caller)                                                                       \
    {                                                                                              \
#name, call_##caller                                                                       \
    }

static const struct {
    const char *name;
    void (*call)(void);
} items[] = {
    ITEM(acos),
    ITEM(acosh),
    ITEM(asin),
    ITEM(asinh),
    ITEM(atan),
    ITEM(atanh),
    ITEM(cbrt),
    ITEM(cos),
    ITEM(cosh),
    ITEM(exp),
    ITEM(expm1),
    ITEM(floor),
    ITEM(log),
    ITEM(log10),
    ITEM(log1p),
    ITEM(log2),
    ITEM(nearbyint),
    ITEM(round),
    ITEM(sin),
    ITEM(sinh),
    ITEM(sqrt),
    ITEM(tan),
    ITEM(tanh),
    ITEM(trunc),
    ITEM(atan2),
    ITEM(fmod),
    ITEM(hypot),
    ITEM(pow),
    ITEM(memcpy),
    ITEM(memmove),
    ITEM(memset),
    ITEM(memcmp),
    ITEM(bcmp),
    ITEM(memchr),
    ITEM(memrchr),
    ITEM(memmem),
    ITEM(strlen),
    ITEM(strnlen),
    ITEM(strcmp),
    ITEM(strncmp),
    ITEM(strcpy),
    ITEM(stpcpy),
    ITEM(strncpy),
    ITEM(strcat),
    ITEM(strncat),
    ITEM(strchr),
    ITEM(strrchr),
    ITEM(strstr),
    ITEM(strspn),
    ITEM(strcspn),
    ITEM(strpbrk),
    ITEM(strtok_r),
    ITEM(strtol),
    ITEM(strtoul),
    ITEM(strtoll),
    ITEM(strtoull),
    ITEM(strtod),
    ITEM(__ctype_b_loc),
    ITEM(__ctype_tolower_loc),
    ITEM(__ctype_toupper_loc),
    ITEM(tolower),
    ITEM(toupper),
    ITEM(snprintf),
    ITEM(vsnprintf),
    ITEM(qsort),
    ITEM(bsearch),
    ITEM(malloc),
    ITEM(calloc),
    ITEM(realloc),
    ITEM(free),
    ITEM(mmap),
    ITEM(munmap),
    ITEM(mprotect),
    ITEM(getpagesize),
    ITEM(localtime),
    ITEM(mktime),
    ITEM(gettimeofday),
    ITEM(fopen),
    ITEM(realpath),
    ITEM(printf),
    ITEM(fprintf),
    ITEM(fputc),
    ITEM(fwrite),
    ITEM(fgetc),
    ITEM(fclose),
    ITEM(read),
    ITEM(write),
    ITEM(close),
    ITEM(fcntl),
    ITEM(__errno_location),
    ITEM(_setjmp),
    WITHIN(longjmp, _setjmp),
    ITEM(dladdr),
    ITEM(getenv),
    ITEM(rand),
    ITEM(stderr),
    ITEM(pthread_self),
    ITEM(pthread_attr_getstack),
    WITHIN(pthread_attr_init, pthread_attr_getstack),
    WITHIN(pthread_attr_destroy, pthread_attr_getstack),
    ITEM(pthread_mutex_lock),
    WITHIN(pthread_mutex_init, pthread_mutex_lock),
    WITHIN(pthread_mutex_unlock, pthread_mutex_lock),
    WITHIN(pthread_mutex_destroy, pthread_mutex_lock),
    ITEM(pthread_cond_timedwait),
    WITHIN(pthread_cond_init, pthread_cond_timedwait),
    WITHIN(pthread_cond_signal, pthread_cond_timedwait),
    WITHIN(pthread_cond_destroy, pthread_cond_timedwait),
};

enum { ITEMS = sizeof items / sizeof *items };

static int confine(void)
{
    const uint64_t answer = gasmark_confine();

    return answer == GASMARK_NONE ? sandbox_enter_contract_filter(false) : (int)answer;
}

int main(int argc, char **argv)
{
    int errnum;

    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (int i = 0; i < ITEMS; i++)
            puts(items[i].name);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--small") == 0)
        sizes_used = SIZES - 2;
    else if (argc != 1) {
        fputs("usage: libc_calls [--small] | libc_calls --list\n", stderr);
        return 2;
    }
    errnum = confine();
    if (errnum != 0) {
        fprintf(stderr, "libc_calls: %s\n", strerror(errnum));
        return 2;
    }
    one = malloc((size_t)LARGEST + 1);
    other = malloc((size_t)2 * LARGEST + 1);
    if (one == NULL || other == NULL)
        return 2;
    fill(one);
    fill(other);
    for (int i = 0; i < ITEMS; i++) {
        printf("\n%s\n", items[i].name);
        fflush(stdout);
        items[i].call();
    }
    return 0;
}
