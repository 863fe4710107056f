/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/skip.h"

#include <stddef.h>
#include <stdint.h>

#include "base/json/scan.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

enum { BLOCK = 64 };

_Static_assert((int)SCAN_PADDING >= (int)BLOCK, "a block may begin at the last byte of the text");

/* The positions of special bytes in a block of 64: bit N for byte N. */
struct block {
    uint64_t quotes;
    uint64_t backslashes;
    uint64_t opens;  /* { and [ */
    uint64_t closes; /* } and ] */
};

typedef struct block load_block(const char *at);
typedef const char *skip(const char *at, const char *end);

/* ---- the loads ---------------------------------------------------------- */

static inline struct block load_portable(const char *at)
{
    struct block block = {0};

    for (int i = 0; i < BLOCK; i++) {
        uint64_t bit = (uint64_t)1 << i;

        block.quotes |= at[i] == '"' ? bit : 0;
        block.backslashes |= at[i] == '\\' ? bit : 0;
        block.opens |= at[i] == '{' || at[i] == '[' ? bit : 0;
        block.closes |= at[i] == '}' || at[i] == ']' ? bit : 0;
    }
    return block;
}

#ifdef __SSE2__

/* One bit distinguishes [ from { and ] from }, and no other character becomes one of them. */
enum { BRACKET_BIT = 0x20 };

static inline uint64_t find_sse2(__m128i bytes, char wanted)
{
    return (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(wanted)));
}

static inline struct block load_sse2(const char *at)
{
    struct block block = {0};

    for (int i = 0; i < BLOCK; i += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(at + i));
        __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(BRACKET_BIT));

        block.quotes |= find_sse2(bytes, '"') << i;
        block.backslashes |= find_sse2(bytes, '\\') << i;
        block.opens |= find_sse2(folded, '{') << i;
        block.closes |= find_sse2(folded, '}') << i;
    }
    return block;
}

/* AVX-512 is no faster: bodies are too short. */
#define AVX2 __attribute__((target("avx2,bmi")))

AVX2 static inline uint64_t find_avx2(__m256i bytes, char wanted)
{
    return (uint64_t)(uint32_t)_mm256_movemask_epi8(
        _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(wanted)));
}

AVX2 static inline struct block load_avx2(const char *at)
{
    struct block block = {0};

    for (int i = 0; i < BLOCK; i += 32) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(at + i));
        __m256i folded = _mm256_or_si256(bytes, _mm256_set1_epi8(BRACKET_BIT));

        block.quotes |= find_avx2(bytes, '"') << i;
        block.backslashes |= find_avx2(bytes, '\\') << i;
        block.opens |= find_avx2(folded, '{') << i;
        block.closes |= find_avx2(folded, '}') << i;
    }
    return block;
}

#endif

/* ---- the search, for each kind of load --------------------------------------------- */

/* Inlined into one function per kind of load, so that the load is inlined too. */
#define INTO_EACH static inline __attribute__((always_inline))

/* Returns the bytes that a backslash escapes. *carry: on entry, whether the previous block escapes
 * the first byte; on return, the same for the next block. */
INTO_EACH uint64_t escaped_bytes(uint64_t backslashes, uint64_t *carry)
{
    uint64_t escaped = *carry;

    backslashes &= ~*carry;
    *carry = 0;
    while (backslashes != 0) {
        uint64_t lowest = backslashes & -backslashes;

        *carry = lowest >> 63;
        escaped |= lowest << 1;
        backslashes &= ~(lowest | lowest << 1);
    }
    return escaped;
}

/* Bit N of the result is the parity of the number of set bits 0 to N. */
INTO_EACH uint64_t parity_up_to(uint64_t bits)
{
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    bits ^= bits << 32;
    return bits;
}

INTO_EACH const char *skip_string_by(load_block *load, const char *at, const char *end)
{
    uint64_t carry = 0;

    for (; at < end; at += BLOCK) {
        struct block block = load(at);
        uint64_t quotes = block.quotes & ~escaped_bytes(block.backslashes, &carry);

        if (quotes != 0) {
            at += __builtin_ctzll(quotes);
            return at < end ? at + 1 : NULL;
        }
    }
    return NULL;
}

/* Returns the bit of the bracket at which `depth` becomes 0; *depth is 0 then. */
INTO_EACH unsigned find_close(uint64_t opens, uint64_t closes, uint64_t *depth)
{
    uint64_t brackets = opens | closes;

    while (brackets != 0) {
        uint64_t lowest = brackets & -brackets;

        *depth += (opens & lowest) != 0 ? 1 : (uint64_t)-1;
        if (*depth == 0)
            return (unsigned)__builtin_ctzll(lowest);
        brackets &= ~lowest;
    }
    return BLOCK;
}

INTO_EACH const char *skip_nested_by(load_block *load, const char *at, const char *end)
{
    uint64_t carry = 0, inside = 0, depth = 1;

    for (at++; at < end; at += BLOCK) {
        struct block block = load(at);
        uint64_t quotes = block.quotes & ~escaped_bytes(block.backslashes, &carry);
        uint64_t strings = parity_up_to(quotes) ^ inside;
        uint64_t opens = block.opens & ~strings, closes = block.closes & ~strings;
        unsigned bit;

        inside = (uint64_t)0 - (strings >> 63);
        bit = find_close(opens, closes, &depth);
        if (depth == 0)
            return at + bit < end ? at + bit + 1 : NULL;
    }
    return NULL;
}

/* ---- one function per kind of load ----------------------------------------------------------- */

static const char *string_portable(const char *at, const char *end)
{
    return skip_string_by(load_portable, at, end);
}

static const char *nested_portable(const char *at, const char *end)
{
    return skip_nested_by(load_portable, at, end);
}

#ifdef __SSE2__

static const char *string_sse2(const char *at, const char *end)
{
    return skip_string_by(load_sse2, at, end);
}

static const char *nested_sse2(const char *at, const char *end)
{
    return skip_nested_by(load_sse2, at, end);
}

AVX2 static const char *string_avx2(const char *at, const char *end)
{
    return skip_string_by(load_avx2, at, end);
}

AVX2 static const char *nested_avx2(const char *at, const char *end)
{
    return skip_nested_by(load_avx2, at, end);
}

#endif

static const struct {
    skip *string, *nested;
} ways[SKIP_WAYS] = {
    [SKIP_PORTABLE] = {string_portable, nested_portable},
#ifdef __SSE2__
    [SKIP_SSE2] = {string_sse2, nested_sse2},
    [SKIP_AVX2] = {string_avx2, nested_avx2},
#endif
};

skip *skip_nested = nested_portable, *skip_long_string = string_portable;

static bool is_there(enum skip_way way)
{
#ifdef __SSE2__
    __builtin_cpu_init();
    if (way == SKIP_AVX2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi");
#endif
    return ways[way].nested != NULL;
}

bool skip_choose(enum skip_way way)
{
    if (!is_there(way))
        return false;
    skip_nested = ways[way].nested;
    skip_long_string = ways[way].string;
    return true;
}

/* Runs before main(), so that no thread sees a half-made choice. */
__attribute__((constructor)) static void choose_best(void)
{
    enum skip_way way = SKIP_WAYS - 1;

    while (!skip_choose(way))
        way--;
}
