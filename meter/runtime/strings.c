/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The lengths that libc functions are charged by if no argument has them. */

uint64_t gasmeter_string_bytes(const char *string);
uint64_t gasmeter_common_bytes(const char *one, const char *other, uint64_t most);

uint64_t gasmeter_string_bytes(const char *string)
{
    return strlen(string);
}

/* Reading past a string's end is safe within the same page. */
static bool is_word_in_page(const char *word)
{
    enum { PAGE = 4096 };

    return (uintptr_t)word % PAGE <= PAGE - sizeof(uint64_t);
}

/* Returns true if 8 bytes of both are equal and none is 0. Also false if that would read another
 * page. */
static bool words_are_same(const char *one, const char *other)
{
    const uint64_t ones = 0x0101010101010101, highest = 0x8080808080808080;
    uint64_t first, second;

    if (!is_word_in_page(one) || !is_word_in_page(other))
        return false;
    memcpy(&first, one, sizeof first);
    memcpy(&second, other, sizeof second);
    return first == second && ((first - ones) & ~first & highest) == 0;
}

/* The work of libc's comparison grows with this number, although it may read more at once. A loop
 * over bytes would take five times as long as that comparison. */
uint64_t gasmeter_common_bytes(const char *one, const char *other, uint64_t most)
{
    uint64_t same = 0;

    for (;;) {
        if (most - same >= sizeof(uint64_t) && words_are_same(one + same, other + same))
            same += sizeof(uint64_t);
        else if (same < most && one[same] == other[same] && one[same] != '\0')
            same++;
        else
            return same;
    }
}
