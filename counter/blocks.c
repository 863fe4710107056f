/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/blocks.h"

#include "counter/instruction.h"
#include "counter/tally.h"

#define GUEST_PAGE_SIZE 4096

/* Instructions in a row that are counted together, when the first of them begins. */
struct stretch {
    struct qemu_plugin_insn *first; /* NULL: empty */
    uint64_t length;
};

static void stretch_add(struct stretch *stretch, struct qemu_plugin_insn *insn)
{
    if (stretch->first == NULL)
        stretch->first = insn;
    stretch->length++;
}

static void stretch_close(struct stretch *stretch)
{
    if (stretch->first != NULL)
        tally_count_before(stretch->first, stretch->length);
    *stretch = (struct stretch){0};
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

/*
 * With the precision of an instruction, a stretch ends with one that can fault:
 * when that one does, it is the only one of them that did not complete. With
 * the precision of a block, all of it is one stretch.
 */
void blocks_count(struct qemu_plugin_tb *tb, struct blocks_manner manner)
{
    size_t count = qemu_plugin_tb_n_insns(tb);
    struct stretch stretch = {0};

    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        struct instruction instruction =
            instruction_of(qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn));
        bool repeats_once = instruction.repeats && manner.repeat_once;

        if (repeats_once || instruction.raises || may_be_taken_back(tb, i))
            stretch_close(&stretch);
        if (repeats_once)
            tally_count_repeated(insn);
        else if (instruction.raises)
            tally_count_raising(insn);
        else
            stretch_add(&stretch, insn);
        if (instruction.may_fault && manner.precision == GASMARK_INSTRUCTION)
            stretch_close(&stretch);
    }
    stretch_close(&stretch);
}
