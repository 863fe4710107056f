/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_SHORT_ADDS_H
#define GASPIPE_COUNTER_SHORT_ADDS_H

#include <stddef.h>
#include <stdint.h>

/*
 * QEMU 7.2 on an x86-64 host adds to a fixed word that is near its code with four
 * instructions (tcg/i386/tcg-target.c.inc, and gen_empty_inline_cb() in
 * accel/tcg/plugin-gen.c for why these four):
 *
 *     lea  word(%rip), %a
 *     mov  (%a), %b
 *     add  $number, %b        inc %b where the number is 1
 *     mov  %b, (%a)
 *
 * One does the same, and costs a third of it in short blocks:
 *
 *     add  $number, word(%rip)
 *     nop                     as long as the rest
 *
 * What has been expected while a block was translated is looked for in the code
 * that QEMU has made of it, and rewritten where every byte is as above. All else
 * (another version, another host, a word too far away, registers that were spilled in
 * between) stays as it is, and counts the same.
 *
 * Nothing needs what the four leave behind. The flags are dead behind each of
 * QEMU's operations. %b is QEMU's temporary variable for the sum, free after the
 * store. %a holds a constant, which QEMU would use again where the same address
 * is used again in the block; so blocks that add to a word twice stay as they are.
 * No guest's code has the address of a word that was never mapped for the guest.
 *
 * Translating threads take turns: QEMU holds a lock.
 */

/* Forgets what is expected: another block is being translated. */
void short_adds_new_block(void);

/* The block will add so many to the word; additions come in the order of these calls. */
void short_adds_expect(const uint64_t *word, uint64_t number);

/* Rewrites, in the block's code, which nobody must have executed yet. */
void short_adds_make(uint8_t *code, size_t size);

/* How many additions were rewritten, and how many were looked for. */
struct short_adds_tally {
    uint64_t made, expected;
};
struct short_adds_tally short_adds_tally(void);

#endif
