/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of libc that do much work in one call, each in a loop. usage: library NAME TURNS;
 * without arguments it prints the names. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <iconv.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

enum { LARGE = 8 << 20, WIDE = LARGE / sizeof(wchar_t) };

static char *text, *to; /* LARGE bytes of 'x' and a NUL; space for them */
static wchar_t *wide, *wide_to;
static int zero, null, pair[2];
static FILE *zeros, *nowhere;

static int never(const void *one, const void *other)
{
    return one == NULL || other == NULL;
}

static long by_pointer(void)
{
    size_t (*volatile length)(const char *) = strlen;

    return (long)length(text);
}

/* Arguments of a static table are pointers, too. */
static long by_table(void)
{
    static void *(*const volatile copies[])(void *, const void *, size_t) = {memcpy, memmove};

    return *(char *)copies[1](to, text, LARGE);
}

static long get_line(void)
{
    FILE *file = fmemopen(text, LARGE, "r");
    char *line = NULL;
    size_t size = 0;
    long length = file ? getline(&line, &size, file) : -1;

    free(line);
    if (file)
        fclose(file);
    return length;
}

static long get_some(void)
{
    FILE *file = fmemopen(text, LARGE, "r");
    long got = file && fgets(to, LARGE, file) != NULL;

    if (file)
        fclose(file);
    return got;
}

static long convert(void)
{
    static iconv_t conversion;
    char *from = text, *into = to;
    size_t left = LARGE, space = LARGE;

    if (!conversion)
        conversion = iconv_open("UTF-8", "ASCII");
    return (long)iconv(conversion, &from, &left, &into, &space);
}

static long split(char *(*next)(char **))
{
    char *rest;

    memset(to, ',', 16);
    rest = to;
    return next(&rest) != NULL;
}

static char *next_token(char **rest)
{
    return strtok_r(NULL, "y", rest);
}

static char *next_field(char **rest)
{
    return strsep(rest, "y");
}

static long vectors(void)
{
    struct iovec parts[] = {{text, LARGE / 2}, {to, LARGE / 2}};

    return writev(null, parts, 2);
}

static long send_one(void)
{
    char byte;

    return send(pair[0], text, 100000, 0) + recv(pair[1], to, 100000, MSG_WAITALL) +
           recv(pair[1], &byte, 1, MSG_DONTWAIT);
}

static long search_linearly(void)
{
    size_t count = 1;

    return lsearch(text, to, &count, LARGE, never) != NULL;
}

static long set_of_bytes(void)
{
    return (long)(strspn("abc", text) + strcspn("abc", text)) + (strpbrk("abc", text) != NULL);
}

#define CALL(name, expression)                                                                     \
    static long call_##name(void)                                                                  \
    {                                                                                              \
        return (long)(expression);                                                                 \
    }
#define CALLS                                                                                      \
    CALL(read, read(zero, to, LARGE))                                                              \
    CALL(pread, pread(zero, to, LARGE, 0))                                                         \
    CALL(write, write(null, text, LARGE))                                                          \
    CALL(fread, fread(to, 1, LARGE, zeros))                                                        \
    CALL(fread_items, fread(to, LARGE, 1, zeros))                                                  \
    CALL(fwrite, fwrite(text, 1, LARGE, nowhere))                                                  \
    CALL(fputs, fputs(text, nowhere))                                                              \
    CALL(fprintf, fprintf(nowhere, "%s\n", text))                                                  \
    CALL(sprintf, sprintf(to, "%s", text))                                                         \
    CALL(snprintf, snprintf(NULL, 0, "%s", text))                                                  \
    CALL(snprintf_width, snprintf(NULL, 0, "%*d", LARGE, 1))                                       \
    CALL(snprintf_format, snprintf(to, 10, text))                                                  \
    CALL(dprintf, dprintf(null, "%s", text))                                                       \
    CALL(sscanf, sscanf(text, "%*d"))                                                              \
    CALL(strtol, strtol(digits(), NULL, 10))                                                       \
    CALL(strtod, strtod(digits(), NULL))                                                           \
    CALL(atoi, atoi(digits()))                                                                     \
    CALL(strtok, strtok(copied(), "y") != NULL)                                                    \
    CALL(strtok_r, split(next_token))                                                              \
    CALL(strsep, split(next_field))                                                                \
    CALL(strstr_needle, strstr("abc", text) != NULL)                                               \
    CALL(strspn_set, set_of_bytes())                                                               \
    CALL(strverscmp, strverscmp(text, copied()))                                                   \
    CALL(strxfrm, strxfrm(NULL, text, 0))                                                          \
    CALL(getline, get_line())                                                                      \
    CALL(fgets, get_some())                                                                        \
    CALL(calloc, fresh(calloc(LARGE, 1)))                                                          \
    CALL(reallocarray, fresh(reallocarray(NULL, LARGE, 1)))                                        \
    CALL(qsort, (qsort(to, 2, LARGE / 2, never), 0))                                               \
    CALL(lsearch, search_linearly())                                                               \
    CALL(iconv, convert())                                                                         \
    CALL(writev, vectors())                                                                        \
    CALL(send, send_one())                                                                         \
    CALL(getentropy, getentropy(to, 256))                                                          \
    CALL(wcscpy, *wcscpy(wide_to, wide))                                                           \
    CALL(wcscat, (*wide_to = 0, *wcscat(wide_to, wide)))                                           \
    CALL(wcschr, wcschr(wide, 'y') != NULL)                                                        \
    CALL(wcscmp, wcscmp(wide, wcscpy(wide_to, wide)))                                              \
    CALL(wcsstr, wcsstr(wide, L"y") != NULL)                                                       \
    CALL(wcsspn, wcsspn(wide, L"x"))                                                               \
    CALL(wcsdup, fresh(wcsdup(wide)))                                                              \
    CALL(wmemmove, *wmemmove(wide_to, wide, WIDE))                                                 \
    CALL(wcstol, wcstol(wide, NULL, 10))                                                           \
    CALL(swprintf, swprintf(wide_to, WIDE + 1, L"%ls", wide))                                      \
    CALL(mbstowcs, mbstowcs(wide_to, text, WIDE))                                                  \
    CALL(wcstombs, wcstombs(to, wide, LARGE))                                                      \
    CALL(pointer, by_pointer())                                                                    \
    CALL(table, by_table())

static char *digits(void)
{
    memset(to, ' ', LARGE);
    return to;
}

static char *copied(void)
{
    return memcpy(to, text, LARGE + 1);
}

static long fresh(void *memory)
{
    if (memory)
        *(volatile char *)memory = 1;
    free(memory);
    return memory != NULL;
}

/* cppcheck-suppress strtokCalled */
CALLS

static const struct {
    const char *name;
    long (*call)(void);
} calls[] = {
#undef CALL
#define CALL(name, expression) {#name, call_##name},
    CALLS};

enum { COUNT = sizeof calls / sizeof *calls };

static int prepare(void)
{
    text = malloc(LARGE + 1);
    to = malloc(LARGE + 1);
    wide = malloc((WIDE + 1) * sizeof *wide);
    wide_to = malloc((WIDE + 1) * sizeof *wide);
    zero = open("/dev/zero", O_RDONLY);
    null = open("/dev/null", O_WRONLY);
    zeros = fopen("/dev/zero", "r");
    nowhere = fopen("/dev/null", "w");
    if (!text || !to || !wide || !wide_to || zero < 0 || null < 0 || !zeros || !nowhere ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        return -1;
    memset(text, 'x', LARGE);
    memset(to, 'x', LARGE);
    text[LARGE] = to[LARGE] = '\0';
    wmemset(wide, L'x', WIDE);
    wide[WIDE] = L'\0';
    return 0;
}

int main(int argc, char **argv)
{
    static volatile long sum;

    if (prepare())
        return 1;
    for (int i = 0; i < COUNT; i++) {
        if (argc < 3)
            puts(calls[i].name);
        else if (strcmp(calls[i].name, argv[1]) == 0)
            for (long left = atol(argv[2]); left > 0; left--)
                sum += calls[i].call();
    }
    return 0;
}
