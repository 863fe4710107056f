/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/patch/relocate.h"

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* ---- branches ---- */

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

/* ---- entries ---- */

/*
 * The jump to a trampoline takes five bytes, so the instructions that begin in them execute
 * elsewhere. Three things can go wrong with that. A branch back into the five bytes would land in
 * the middle of the jump: such a function is not traced. An instruction that means something else
 * at another address (relative operands, calls) is rewritten, or the function is not traced. A
 * thread may stand between these instructions: whoever writes the patch has moved it
 * (trace/agent/agent.c).
 */
const char *trace_fate_words(enum trace_fate fate)
{
    static const char *const words[TRACE_FATES] = {
        [TRACE_PATCHED] = "traced",
        [TRACE_TOO_SHORT] = "too short",
        [TRACE_BRANCHED_INTO] = "with a branch into the first five bytes",
        [TRACE_UNMOVABLE] = "with an instruction that cannot be moved",
        [TRACE_NO_ROOM] = "too many",
    };

    return words[fate];
}

/* The piece that is being written. Addresses are those of the process. */
struct moving {
    const uint8_t *bytes; /* of the instruction */
    uint64_t from, next;  /* where it stands, and the one behind it */
    uint64_t begin;       /* of the function */
    uint8_t *out;
    uint64_t to; /* the address of out[0] */
    size_t length;
    bool ends; /* control does not reach what is behind */
};

static bool put_distance(uint8_t *place, int64_t distance)
{
    const int32_t short_distance = (int32_t)distance;

    memcpy(place, &short_distance, sizeof short_distance);
    return short_distance == distance;
}

static uint64_t here(const struct moving *moving)
{
    return moving->to + moving->length;
}

static bool put_jump(struct moving *moving, const char *opcode, size_t size, uint64_t target)
{
    uint8_t *const out = moving->out + moving->length;

    memcpy(out, opcode, size);
    moving->length += size + 4;
    return put_distance(out + size, (int64_t)(target - here(moving)));
}

/*
 * The callee returns to where the call stood, and is found there by unwinders too: the address
 * behind the call is pushed, and jumped to is the callee.
 */
static bool put_call(struct moving *moving, uint64_t target)
{
    const uint32_t low = (uint32_t)moving->next, high = (uint32_t)(moving->next >> 32);
    uint8_t *const out = moving->out + moving->length;
    static const uint8_t store[] = {0xc7, 0x44, 0x24, 0x04}; /* movl high, 4(%rsp) */

    out[0] = 0x68; /* push, sign-extended */
    memcpy(out + 1, &low, 4);
    memcpy(out + 5, store, sizeof store);
    memcpy(out + 9, &high, 4);
    moving->length += 13;
    moving->ends = true;
    return put_jump(moving, "\xe9", 1, target);
}

static bool move_branch(struct moving *moving, const ZydisDecodedInstruction *instruction)
{
    const uint64_t target = moving->next + (uint64_t)instruction->raw.imm[0].value.s;
    const uint8_t *const bytes = moving->bytes;

    /* A loop back to the entry would come into the middle of the jump. */
    if (target > moving->begin && target < moving->begin + TRACE_JUMP_SIZE)
        return false;
    if (instruction->meta.category == ZYDIS_CATEGORY_COND_BR) {
        char opcode[2] = {'\x0f', 0};

        if ((bytes[0] & 0xf0) == 0x70)
            opcode[1] = (char)(0x80 | (bytes[0] & 15));
        else if (bytes[0] == 0x0f)
            opcode[1] = (char)bytes[1];
        else
            return false; /* jrcxz, loop */
        return put_jump(moving, opcode, 2, target);
    }
    if (bytes[0] == 0xeb || bytes[0] == 0xe9) {
        moving->ends = true;
        return put_jump(moving, "\xe9", 1, target);
    }
    return bytes[0] == 0xe8 && put_call(moving, target);
}

static bool is_last(const ZydisDecodedInstruction *instruction)
{
    return instruction->meta.category == ZYDIS_CATEGORY_RET ||
           instruction->mnemonic == ZYDIS_MNEMONIC_JMP ||
           instruction->mnemonic == ZYDIS_MNEMONIC_UD2 ||
           instruction->mnemonic == ZYDIS_MNEMONIC_HLT;
}

static bool move_other(struct moving *moving, const ZydisDecodedInstruction *instruction)
{
    uint8_t *const out = moving->out + moving->length;

    /* A call through memory would leave a return address in the copy. */
    if (instruction->meta.category == ZYDIS_CATEGORY_CALL)
        return false;
    memcpy(out, moving->bytes, instruction->length);
    moving->length += instruction->length;
    moving->ends = is_last(instruction);
    if (instruction->raw.modrm.offset == 0 || instruction->raw.modrm.mod != 0 ||
        instruction->raw.modrm.rm != 5)
        return true;
    /* relative to the instruction's end */
    return put_distance(
        out + instruction->raw.disp.offset,
        (int64_t)(moving->next + (uint64_t)instruction->raw.disp.value - here(moving)));
}

static bool move_one(struct moving *moving, const ZydisDecodedInstruction *instruction)
{
    return instruction->raw.imm[0].is_relative ? move_branch(moving, instruction)
                                               : move_other(moving, instruction);
}

/* A function that is over before five bytes are: what follows up to the next is never executed,
 * unless it is branched to. */
static bool is_padded(const struct branches *branches, const struct code_function *function,
                      uint64_t used)
{
    return function->address + TRACE_JUMP_SIZE <= function->room &&
           !branches_lead_into(branches, function->address + used,
                               function->address + TRACE_JUMP_SIZE);
}

enum trace_fate relocate_entry(const struct module_code *code, const struct branches *branches,
                               const struct code_function *function, uint64_t base, uint64_t at,
                               uint8_t out[RELOCATED_MAX], size_t *length)
{
    struct moving moving = {.begin = base + function->address, .out = out, .to = at};
    ZydisDecodedInstruction instruction;
    ZydisDecoder decoder;
    size_t available = 0;
    uint64_t used = 0;
    const uint8_t *const bytes = module_code_bytes(code, function->address, &available);

    if (bytes == NULL || available < function->size)
        return TRACE_UNMOVABLE;
    if (branches_lead_into(branches, function->address + 1, function->address + TRACE_JUMP_SIZE))
        return TRACE_BRANCHED_INTO;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    while (used < TRACE_JUMP_SIZE && !moving.ends && used < function->size) {
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes + used,
                                                        function->size - used, &instruction)))
            return TRACE_UNMOVABLE;
        moving.bytes = bytes + used;
        moving.from = moving.begin + used;
        used += instruction.length;
        moving.next = moving.begin + used;
        if (!move_one(&moving, &instruction))
            return TRACE_UNMOVABLE;
    }
    if (used < TRACE_JUMP_SIZE && !(moving.ends && is_padded(branches, function, used)))
        return TRACE_TOO_SHORT;
    if (!moving.ends && !put_jump(&moving, "\xe9", 1, moving.next))
        return TRACE_UNMOVABLE;
    *length = moving.length;
    return TRACE_PATCHED;
}
