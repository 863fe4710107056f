/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/code/blocks.h"

#include "counter/kind.h"
#include "counter/qemu/code/insn.h"
#include "counter/qemu/code/profile.h"
#include "counter/qemu/emulator/host.h"
#include "counter/qemu/tally.h"

#define GUEST_PAGE_SIZE 4096

/* A stretch in the making. */
struct open_stretch {
    struct qemu_plugin_insn *first; /* NULL: empty */
    struct stretch stretch;
};

static void extend_stretch(struct open_stretch *open, struct qemu_plugin_insn *insn,
                           const struct opcode *opcode, bool with_kinds)
{
    if (open->first == NULL) {
        open->first = insn;
        open->stretch.address = qemu_plugin_insn_vaddr(insn);
    }
    open->stretch.length++;
    if (with_kinds)
        stretch_add_kind(&open->stretch, kind_of(opcode));
}

static void close_stretch(struct open_stretch *open, enum tally_manner manner)
{
    if (open->first != NULL)
        tally_count_before(open->first, &open->stretch, manner);
    *open = (struct open_stretch){0};
}

/*
 * QEMU 7.2 ends a block before an instruction that reaches into the next page,
 * but has shown it to plugins as the block's last, cut at the end of the page.
 * What was arranged for the instruction itself it takes back.
 */
static bool may_be_taken_back(const struct qemu_plugin_tb *tb, size_t i)
{
    uint64_t address = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, i));
    uint64_t page_offset = address & (GUEST_PAGE_SIZE - 1);

    return i > 0 && i + 1 == qemu_plugin_tb_n_insns(tb) &&
           page_offset + INSTRUCTION_BYTES_MAX > GUEST_PAGE_SIZE;
}

static struct opcode read_opcode(const struct qemu_plugin_insn *insn)
{
    uint8_t bytes[INSTRUCTION_BYTES_MAX];

    return opcode_of(bytes, host_instruction_bytes(insn, bytes, sizeof bytes));
}

static enum tally_manner manner_of(const struct instruction *instruction,
                                   struct blocks_manner manner)
{
    if (instruction->repeats && manner.repeat_once)
        return TALLY_REPEATED;
    if (instruction->raises)
        return TALLY_RAISING;
    return instruction->atomic && manner.shared ? TALLY_ATOMIC : TALLY_PLAIN;
}

/*
 * With the precision of an instruction, a stretch ends with one that can fault:
 * when that one does, it is the only one of them that did not complete. With
 * the precision of a block, all of it is one stretch.
 */
void blocks_count(struct qemu_plugin_tb *tb, struct blocks_manner manner)
{
    size_t count = qemu_plugin_tb_n_insns(tb);
    struct open_stretch open = {0};

    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        struct opcode opcode = read_opcode(insn);
        struct instruction instruction = instruction_of(&opcode);
        enum tally_manner special = manner_of(&instruction, manner);

        if (special != TALLY_PLAIN || may_be_taken_back(tb, i))
            close_stretch(&open, TALLY_PLAIN);
        extend_stretch(&open, insn, &opcode, manner.kinds);
        profile_watch(insn, &opcode);
        if (special != TALLY_PLAIN ||
            (instruction.may_fault && manner.precision == GASMARK_INSTRUCTION))
            close_stretch(&open, special);
    }
    close_stretch(&open, TALLY_PLAIN);
}
