/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/runtime/strings.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <wchar.h>

uint64_t gasmeter_string_bytes(const char *string)
{
    return string ? strlen(string) : 0;
}

uint64_t gasmeter_text_bytes(const char *string, uint64_t most)
{
    return string ? strnlen(string, most) : 0;
}

uint64_t gasmeter_reach_bytes(const char *from, const char *to)
{
    return to ? (uint64_t)(to - from) : gasmeter_string_bytes(from);
}

/* Nothing is done if the product overflows or the number of items is negative. */
uint64_t gasmeter_product_bytes(uint64_t one, uint64_t other)
{
    uint64_t bytes;

    return __builtin_mul_overflow(one, other, &bytes) || (int64_t)bytes < 0 ? 0 : bytes;
}

uint64_t gasmeter_count_bytes(int64_t count)
{
    return count > 0 ? (uint64_t)count : 0;
}

static bool is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* Letters are digits of large bases, and in names of numbers. */
static bool is_of_number(char byte)
{
    return (byte >= '0' && byte <= '9') || ((byte | 32) >= 'a' && (byte | 32) <= 'z') ||
           strchr("+-._()", byte);
}

uint64_t gasmeter_number_bytes(const char *text)
{
    const char *end = text;

    while (is_space(*end))
        end++;
    while (*end && is_of_number(*end))
        end++;
    return (uint64_t)(end - text);
}

uint64_t gasmeter_token_bytes(const char *text, const char *separators, char *const *rest)
{
    const char *from = text ? text : *rest;
    size_t skipped = from ? strspn(from, separators) : 0;

    return from ? strlen(separators) + skipped + strcspn(from + skipped, separators) : 0;
}

uint64_t gasmeter_place(const char *const *place)
{
    return place ? (uintptr_t)*place : 0;
}

uint64_t gasmeter_moved_bytes(const char *const *place, uint64_t before)
{
    return gasmeter_place(place) - before;
}

uint64_t gasmeter_wide_length(const wchar_t *string)
{
    return string ? wcslen(string) : 0;
}

uint64_t gasmeter_wide_text_length(const wchar_t *string, uint64_t most)
{
    return string ? wcsnlen(string, most) : 0;
}

uint64_t gasmeter_wide_product(const wchar_t *one, const wchar_t *other)
{
    return wcslen(one) * (1 + wcslen(other));
}

uint64_t gasmeter_wide_reach(const wchar_t *from, const wchar_t *to)
{
    return to ? (uint64_t)(to - from) : wcslen(from);
}

typedef uint8_t bytes16 __attribute__((vector_size(16)));

enum { WORD = sizeof(uint64_t), STEP = sizeof(bytes16), LINE = 4 * STEP };

/* Reading past a string's end is safe within the same page. */
static inline bool are_readable(const char *one, const char *other, size_t bytes)
{
    enum { PAGE = 4096 };

    return (uintptr_t)one % PAGE <= PAGE - bytes && (uintptr_t)other % PAGE <= PAGE - bytes;
}

/* Returns true if 8 bytes of both are equal and none is 0. Also false if that would read another
 * page. */
static inline bool words_are_same(const char *one, const char *other)
{
    const uint64_t ones = 0x0101010101010101, highest = 0x8080808080808080;
    uint64_t first, second;

    if (!are_readable(one, other, WORD))
        return false;
    memcpy(&first, one, sizeof first);
    memcpy(&second, other, sizeof second);
    return first == second && ((first - ones) & ~first & highest) == 0;
}

/* Each byte that is the same in both and not 0 becomes 255. */
static inline bytes16 same_bytes(const char *one, const char *other)
{
    bytes16 first, second;

    memcpy(&first, one, sizeof first);
    memcpy(&second, other, sizeof second);
    return (bytes16)(first == second) & (bytes16)(first != 0);
}

/* words_are_same() for 64 bytes. */
static inline bool lines_are_same(const char *one, const char *other)
{
    bytes16 same;
    uint64_t halves[2];

    if (!are_readable(one, other, LINE))
        return false;
    same = same_bytes(one, other);
    for (size_t i = STEP; i < LINE; i += STEP)
        same &= same_bytes(one + i, other + i);
    memcpy(halves, &same, sizeof halves);
    return (halves[0] & halves[1]) == UINT64_MAX;
}

/* Returns the length of the equal part. The metered call makes libc compare from there on, so that
 * long strings are read once. Most strings are short, and are compared by words. */
uint64_t gasmeter_common_bytes(const char *one, const char *other, uint64_t most)
{
    uint64_t same = 0;

    for (;;) {
        if (same >= LINE && most - same >= LINE && lines_are_same(one + same, other + same))
            same += LINE;
        else if (most - same >= WORD && words_are_same(one + same, other + same))
            same += WORD;
        else if (same < most && one[same] == other[same] && one[same] != '\0')
            same++;
        else
            return same;
    }
}
