/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/code/short_adds.h"

#include <stdbool.h>
#include <string.h>

/* The processor's encodings: a prefix for 64 bits, with the high bits of register numbers. */
#define REX_W       0x48
#define REX_HIGH(r) ((r) >> 3)
#define LOW(r)      ((r)&7)

#define LEA_SIZE      7
#define SHORT_SIZE    8
#define NOP_SIZE      8
#define SEQUENCE_MAX  19
#define SEQUENCE_MIN  16
#define IMMEDIATE_MAX 127 /* of one byte */

struct addition {
    const uint64_t *word;
    uint64_t number;
};

/* Of the block that is being translated. */
#define EXPECTED_MAX 16
static struct addition expected[EXPECTED_MAX];
static size_t expected_count;
static bool refused;

static struct short_adds_tally tally;

struct short_adds_tally short_adds_tally(void)
{
    return tally;
}

void short_adds_new_block(void)
{
    expected_count = 0;
    refused = false;
}

void short_adds_expect(const uint64_t *word, uint64_t number)
{
    tally.expected++;
    for (size_t i = 0; i < expected_count; i++)
        refused |= expected[i].word == word;
    refused |= expected_count == EXPECTED_MAX;
    if (!refused)
        expected[expected_count++] = (struct addition){word, number};
}

/* From behind an instruction at `end` to the word, as the instruction has it. */
static bool distance_to(const uint64_t *word, const uint8_t *end, int32_t *distance)
{
    intptr_t bytes = (intptr_t)word - (intptr_t)end;

    *distance = (int32_t)bytes;
    return bytes == *distance;
}

/* An instruction with a register and the memory that another one points to. */
static uint8_t *put_access(uint8_t *to, uint8_t opcode, unsigned reg, unsigned base)
{
    *to++ = (uint8_t)(REX_W | REX_HIGH(reg) << 2 | REX_HIGH(base));
    *to++ = opcode;
    *to++ = (uint8_t)(LOW(reg) << 3 | LOW(base));
    if (LOW(base) == 4)
        *to++ = 0x24; /* %rsp and %r12 want a byte more, */
    if (LOW(base) == 5) {
        to[-1] |= 0x40; /* %rbp and %r13 a distance */
        *to++ = 0;
    }
    return to;
}

static uint8_t *put_add(uint8_t *to, unsigned reg, uint8_t number)
{
    *to++ = (uint8_t)(REX_W | REX_HIGH(reg));
    *to++ = number == 1 ? 0xff : 0x83;
    *to++ = (uint8_t)(0xc0 | LOW(reg));
    if (number != 1)
        *to++ = number;
    return to;
}

/* What QEMU writes at `at`, with these registers; returns how long it is. */
static size_t put_sequence(uint8_t sequence[SEQUENCE_MAX], unsigned a, unsigned b,
                           int32_t lea_distance, uint8_t number)
{
    uint8_t *to = sequence;

    *to++ = (uint8_t)(REX_W | REX_HIGH(a) << 2);
    *to++ = 0x8d;
    *to++ = (uint8_t)(LOW(a) << 3 | 5);
    memcpy(to, &lea_distance, sizeof lea_distance);
    to = put_access(to + sizeof lea_distance, 0x8b, b, a);
    to = put_add(to, b, number);
    to = put_access(to, 0x89, b, a);
    return (size_t)(to - sequence);
}

/* The registers that a lea at `code` and a load behind it would name. */
static unsigned lea_register(const uint8_t *code)
{
    return (code[2] >> 3 & 7u) | (code[0] & 4u) << 1;
}

/* The length of the sequence that stands at `code`, in full; 0: it does not. */
static size_t match(const uint8_t *code, size_t size, const struct addition *addition)
{
    uint8_t sequence[SEQUENCE_MAX];
    int32_t distance;
    size_t length;

    if (!distance_to(addition->word, code + LEA_SIZE, &distance))
        return 0;
    length = put_sequence(sequence, lea_register(code), lea_register(code + LEA_SIZE), distance,
                          (uint8_t)addition->number);
    return length <= size && memcmp(code, sequence, length) == 0 ? length : 0;
}

static bool rewrite(uint8_t *code, size_t length, const struct addition *addition)
{
    static const uint8_t nop[NOP_SIZE] = {0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0};
    int32_t distance;

    if (!distance_to(addition->word, code + SHORT_SIZE, &distance))
        return false;
    *code++ = REX_W;
    *code++ = 0x83;
    *code++ = 5;
    memcpy(code, &distance, sizeof distance);
    code += sizeof distance;
    *code++ = (uint8_t)addition->number;
    /* Prefixes make a nop longer. */
    memset(code, 0x66, length - SHORT_SIZE - NOP_SIZE);
    memcpy(code + length - SHORT_SIZE - NOP_SIZE, nop, NOP_SIZE);
    return true;
}

/* Returns how many bytes of the code are done with: all where there is no such addition. */
static size_t shorten(uint8_t *code, size_t size, const struct addition *addition)
{
    for (size_t at = 0; at + SEQUENCE_MIN <= size; at++) {
        size_t length = match(code + at, size - at, addition);

        if (length > 0) {
            tally.made += rewrite(code + at, length, addition);
            return at + length;
        }
    }
    return size;
}

void short_adds_make(uint8_t *code, size_t size)
{
    size_t done = 0;

    for (size_t i = 0; i < expected_count && !refused; i++)
        if (expected[i].number <= IMMEDIATE_MAX)
            done += shorten(code + done, size - done, &expected[i]);
    short_adds_new_block();
}
