/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/patch/branches.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>

#include "base/array.h"

static int add_target(struct branches *branches, uint64_t target, struct error *error)
{
    uint64_t *const targets =
        array_reserve(branches->targets, &branches->capacity, branches->count + 1, sizeof *targets);

    if (targets == NULL)
        return error_memory(error, "the branches of a program");
    branches->targets = targets;
    targets[branches->count++] = target;
    return 0;
}

static bool is_branch(const ZydisDecodedInstruction *instruction)
{
    return (instruction->meta.category == ZYDIS_CATEGORY_COND_BR ||
            instruction->meta.category == ZYDIS_CATEGORY_UNCOND_BR) &&
           instruction->raw.imm[0].is_relative;
}

/* What cannot be decoded, such as a table among the code, is passed byte by byte. */
static int scan_function(struct branches *branches, const ZydisDecoder *decoder,
                         const struct code_function *function, const uint8_t *bytes,
                         struct error *error)
{
    ZydisDecodedInstruction instruction;
    uint64_t at = 0;

    while (at < function->size) {
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, NULL, bytes + at,
                                                        function->size - at, &instruction))) {
            at++;
            continue;
        }
        at += instruction.length;
        if (is_branch(&instruction) &&
            add_target(branches, function->address + at + (uint64_t)instruction.raw.imm[0].value.s,
                       error) != 0)
            return -1;
    }
    return 0;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

int branches_find(struct branches *branches, const struct module_code *code, struct error *error)
{
    ZydisDecoder decoder;

    *branches = (struct branches){0};
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (size_t i = 0; i < code->function_count; i++) {
        const struct code_function *const function = &code->functions[i];
        size_t length = 0;
        const uint8_t *const bytes = module_code_bytes(code, function->address, &length);

        if (bytes == NULL || length < function->size)
            continue;
        if (scan_function(branches, &decoder, function, bytes, error) != 0) {
            branches_free(branches);
            return -1;
        }
    }
    if (branches->count > 0)
        qsort(branches->targets, branches->count, sizeof *branches->targets, by_value);
    return 0;
}

void branches_free(struct branches *branches)
{
    free(branches->targets);
    *branches = (struct branches){0};
}

bool branches_lead_into(const struct branches *branches, uint64_t begin, uint64_t end)
{
    size_t low = 0, high = branches->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (branches->targets[middle] < begin)
            low = middle + 1;
        else
            high = middle;
    }
    return low < branches->count && branches->targets[low] < end;
}
