/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/patch/leaf.h"

#include <Zydis/Zydis.h>

static bool goes_on_forwards(const ZydisDecodedInstruction *instruction, size_t next, size_t size)
{
    const int64_t distance = instruction->raw.imm[0].value.s;

    return instruction->raw.imm[0].is_relative && distance >= 0 && (uint64_t)distance < size - next;
}

/* `next`: where the instruction behind it begins. */
static bool is_light(const ZydisDecodedInstruction *instruction, size_t next, size_t size)
{
    switch (instruction->meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
    case ZYDIS_CATEGORY_UNCOND_BR:
        return goes_on_forwards(instruction, next, size);
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSTEM:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_STRINGOP:
    case ZYDIS_CATEGORY_IOSTRINGOP:
        return false;
    default:
        return true;
    }
}

bool leaf_is_light(const uint8_t *bytes, size_t size)
{
    ZydisDecodedInstruction instruction;
    ZydisDecoder decoder;
    size_t at = 0;

    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (int count = 0; at < size; count++) {
        if (count == LEAF_INSTRUCTIONS_MAX ||
            !ZYAN_SUCCESS(
                ZydisDecoderDecodeInstruction(&decoder, NULL, bytes + at, size - at, &instruction)))
            return false;
        at += instruction.length;
        if (!is_light(&instruction, at, size))
            return false;
    }
    return size > 0;
}
