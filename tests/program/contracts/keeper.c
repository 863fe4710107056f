/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A contract for tests, in WebAssembly and in native code: keep("name WORD") and remember() store
 * the word, get() returns it twice, again() says so. null(), hog(), deep(), leave(), forge() and
 * room(), which returns how many MiB it can map, do what no contract may; in native code the better
 * one has none of these.
 */
#ifdef __wasm__
#include "examples/wasm/contract.h"
#else
#include <stdint.h>
#include <string.h>

#include "worker/native/gascontract.h"
#endif

enum { WORD_SIZE = 64 };

static char text[4096];

#ifdef __wasm__
static uint64_t take_input(void)
{
    uint64_t length;

    input(REGISTER);
    length = register_len(REGISTER);
    if (length >= sizeof text)
        fail("the input is too long");
    read_register(REGISTER, address(text));
    return length;
}

static void keep_word(const char *word, uint64_t length)
{
    storage_write(4, address("word"), length, address(word), REGISTER);
}

static uint64_t kept_word(char word[WORD_SIZE])
{
    if (storage_read(4, address("word"), REGISTER) == 0)
        return 0;
    read_register(REGISTER, address(word));
    return register_len(REGISTER);
}

static void answer(const char *bytes, uint64_t length)
{
    value_return(length, address(bytes));
}
#else
static void keep_word(const char *word, uint64_t length)
{
    gascontract_storage_write("word", 4, word, length);
}

static uint64_t kept_word(char word[WORD_SIZE])
{
    return gascontract_storage_read("word", 4, word, WORD_SIZE);
}

static void answer(const char *bytes, uint64_t length)
{
    gascontract_result(bytes, length);
}
#endif

/* The second word of the `length` bytes in `text`. */
static void keep_second(uint64_t length)
{
    uint64_t start = 5, end = start;

    while (end < length && text[end] != ' ' && end - start < WORD_SIZE)
        end++;
    keep_word(text + start, end - start);
    answer("1", 1);
}

static void report_words(const char *before)
{
    char word[WORD_SIZE], all[256] = "\"";
    const uint64_t length = kept_word(word);
    uint64_t end = 1;

    while (*before != '\0')
        all[end++] = *before++;
    memcpy(all + end, word, length);
    end += length;
    if (all[1] != 'a') {
        all[end++] = ' ';
        memcpy(all + end, word, length);
        end += length;
    }
    all[end++] = '"';
    answer(all, end);
}

static void write_at_null(void)
{
    /* cppcheck-suppress nullPointer */
    *(volatile int *)(uintptr_t)(text[0] == 1 ? 64 : 0) = 1;
#ifdef __wasm__
    __builtin_trap();
#endif
}

#ifndef __wasm__
enum { PART = 1 << 20 };

/* mmap, which no contract is given: private memory to read and to write. */
static char *map_part(void)
{
    register long flags __asm__("r10") = 0x22, file __asm__("r8") = -1, offset __asm__("r9") = 0;
    char *part;

    __asm__ volatile("syscall"
                     : "=a"(part)
                     : "0"(9L), "D"(0L), "S"((long)PART), "d"(3L), "r"(flags), "r"(file),
                       "r"(offset)
                     : "rcx", "r11", "memory");
    return part;
}

static void report_mapped_parts(void)
{
    char digits[] = "00000";
    int parts = 0;

    for (intptr_t part = 0; part >= 0; parts++)
        part = (intptr_t)map_part();
    for (int place = 4; place >= 0; place--, parts /= 10)
        digits[place] = (char)('0' + parts % 10);
    answer(digits, 5);
}
#endif

/* Writes to memory that cannot be had. */
static void take_memory(void)
{
#ifdef __wasm__
    while (__builtin_wasm_memory_grow(0, 1) != (__SIZE_TYPE__)-1)
        continue;
    *(volatile char *)(__builtin_wasm_memory_size(0) << 16) = 1;
#else
    char *part;

    do {
        part = map_part();
        memset(part, 1, PART);
    } while (part != NULL);
#endif
}

static int recurse(volatile int depth)
{
    return depth == 0 ? 0 : recurse(depth + 1) + depth;
}

#ifndef __wasm__
/* A system call with three arguments. */
static long call_system(long number, long first, const void *second, long third)
{
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(first), "S"(second), "d"(third)
                     : "rcx", "r11", "memory");
    return result;
}
#endif

#ifdef __wasm__
NEAR_EXPORT(keep)
{
    keep_second(take_input());
}

NEAR_EXPORT(remember)
{
    keep_second(take_input());
}

NEAR_EXPORT(get)
{
    report_words("");
}

#ifdef BETTER
NEAR_EXPORT(again)
{
    report_words("again ");
}
#endif

NEAR_EXPORT(null)
{
    write_at_null();
}

NEAR_EXPORT(hog)
{
    take_memory();
}

NEAR_EXPORT(deep)
{
    recurse(1);
}
#else
void gascontract_call(const char *method, const void *input, size_t length)
{
    memcpy(text, input, length < sizeof text ? length : sizeof text);
    if (strcmp(method, "keep") == 0 || strcmp(method, "remember") == 0)
        keep_second(length);
    else if (strcmp(method, "get") == 0)
        report_words("");
#ifdef BETTER
    else if (strcmp(method, "again") == 0)
        report_words("again ");
#else
    else if (strcmp(method, "null") == 0)
        write_at_null();
    else if (strcmp(method, "room") == 0)
        report_mapped_parts();
    else if (strcmp(method, "hog") == 0)
        take_memory();
    else if (strcmp(method, "deep") == 0)
        recurse(1);
    else if (strcmp(method, "leave") == 0)
        call_system(231, 7, NULL, 0); /* exit_group */
    else if (strcmp(method, "forge") == 0)
        call_system(1, 4, "9:nonsense,", 11); /* write, to the pipe */
#endif
    else
        gascontract_abort(method, strlen(method));
}
#endif
