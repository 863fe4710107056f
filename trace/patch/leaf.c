/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/patch/leaf.h"

#include <Zydis/Zydis.h>

enum { STEPS_MAX = 1000 };

/* The ways through a function, one after the other. */
struct walk {
    const uint8_t *bytes;
    size_t size;
    ZydisDecoder decoder;
    int steps;
    size_t way[LEAF_INSTRUCTIONS_MAX]; /* places that the way here led through, as place_of() */
    size_t length;
};

/* After a call a place is another one: what returns from there is no leaf. */
static size_t place_of(size_t at, bool called)
{
    return at << 1 | called;
}

static bool is_on_way(const struct walk *walk, size_t place)
{
    for (size_t i = 0; i < walk->length; i++)
        if (walk->way[i] == place)
            return true;
    return false;
}

static bool walk_from(struct walk *walk, size_t at, bool called);

static bool is_inside(const struct walk *walk, uint64_t target)
{
    return target < walk->size;
}

/* A jump elsewhere ends the function: what it leads to has a trampoline of its own, if it is one.
 */
static bool walk_branch(struct walk *walk, const ZydisDecodedInstruction *instruction, size_t next,
                        bool called)
{
    const uint64_t target = next + (uint64_t)instruction->raw.imm[0].value.s;
    const size_t length = walk->length;
    bool light = true;

    if (!instruction->raw.imm[0].is_relative)
        return false;
    if (is_inside(walk, target))
        light = walk_from(walk, (size_t)target, called);
    walk->length = length;
    if (instruction->meta.category == ZYDIS_CATEGORY_UNCOND_BR)
        return light;
    return light && walk_from(walk, next, called);
}

static bool takes_long(const ZydisDecodedInstruction *instruction)
{
    switch (instruction->meta.category) {
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSTEM:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_STRINGOP:
    case ZYDIS_CATEGORY_IOSTRINGOP:
        return true;
    default:
        return false;
    }
}

static bool walk_from(struct walk *walk, size_t at, bool called)
{
    ZydisDecodedInstruction instruction;

    /* Behind a call that never returns the function may be at its end. */
    while (at < walk->size || !called) {
        if (is_on_way(walk, place_of(at, called)))
            return called; /* a loop */
        if (walk->length == LEAF_INSTRUCTIONS_MAX || walk->steps++ == STEPS_MAX ||
            at >= walk->size ||
            !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&walk->decoder, NULL, walk->bytes + at,
                                                        walk->size - at, &instruction)) ||
            takes_long(&instruction))
            return false;
        walk->way[walk->length++] = place_of(at, called);
        at += instruction.length;
        if (instruction.meta.category == ZYDIS_CATEGORY_RET)
            return !called;
        if (instruction.meta.category == ZYDIS_CATEGORY_COND_BR ||
            instruction.meta.category == ZYDIS_CATEGORY_UNCOND_BR)
            return walk_branch(walk, &instruction, at, called);
        called |= instruction.meta.category == ZYDIS_CATEGORY_CALL;
    }
    return true;
}

bool leaf_is_light(const uint8_t *bytes, size_t size)
{
    struct walk walk = {.bytes = bytes, .size = size};

    ZydisDecoderInit(&walk.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return walk_from(&walk, 0, false);
}
