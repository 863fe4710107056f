/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/patch/trampoline.h"

#include <string.h>

/*
 * The template. A number is the label of the slow path:
 *
 *   save registers; has the thread no lane, or is the top frame
 *   stale (its slot below this)?                                   7: agent; 5: not traced
 *   push a frame: return address, slot, function
 *   put the entry's event                                          8: agent, if chunk full
 *   restore registers; call the body
 *   save registers; is the top frame this one?                     9: agent, if not
 *   put the exit's event                                           6: agent, if chunk full
 *   pop the frame, restore the return address, return
 *
 * The body is a copy of the function's first five bytes, after the template; it
 * jumps back into the function.
 *
 * For other clocks, or to record arguments, a call replaces rdtsc; lanes_values() finds the event
 * in the third instruction after it.
 *
 * Each HOLE is filled with the function's number or the offset of one of the
 * thread's two variables; the label after it says which.
 *
 * The hazard: a signal handler may interrupt between any two instructions and
 * call traced functions itself. So one xadd reserves the place of an event, which
 * is written afterwards. A frame is written first, so that handlers can compare
 * its slot. Then its place is reserved, and the frame is written again,
 * because a handler in between may have used that place.
 */
#define HOLE "0x11223344"

/* As long as a call, which replaces it for other clocks. */
#define READ_CLOCK "rdtsc\n.byte 0x0f,0x1f,0\n"

__asm__(".section .rodata\n"
        ".balign 16\n"
        "trampoline_begin:\n"
        ".byte 0x0f,0x1f,0x44,0,0\n" /* trampoline_switch_off() replaces it by a jump to the body */
        "push %rax\n"
        "push %rdx\n"
        "push %rcx\n"
        "mov %fs:" HOLE ",%rcx\n"
        "trampoline_sp1:\n"
        "lea 24(%rsp),%rdx\n"
        "test %rcx,%rcx\n"
        "jz 7f\n"
        "cmp %rdx,-16(%rcx)\n"
        "jbe 7f\n"
        "1: mov 24(%rsp),%rax\n"
        "mov %rdx,8(%rcx)\n"
        "addq $24,%fs:" HOLE "\n"
        ".set trampoline_sp2, . - 1\n" /* an operand of one byte follows */
        "mov %rax,(%rcx)\n"
        "mov %rdx,8(%rcx)\n"
        "movq $" HOLE ",16(%rcx)\n"
        "trampoline_number:\n" READ_CLOCK "trampoline_clock1:\n"
        "shl $48,%rdx\n"
        "shl $16,%rax\n"
        "lea " HOLE "(%rax,%rdx),%rax\n"
        "trampoline_entered:\n"
        "mov $8,%ecx\n"
        "xadd %rcx,%fs:" HOLE "\n"
        "trampoline_ev1:\n"
        "test $0xff0,%ecx\n"
        "jz 8f\n"
        "mov %rax,(%rcx)\n"
        "2: pop %rcx\n"
        "pop %rdx\n"
        "pop %rax\n"
        "lea 8(%rsp),%rsp\n"
        ".byte 0xe8; .long 0\n"
        "trampoline_called:\n"
        "lea -8(%rsp),%rsp\n"
        "push %rax\n"
        "push %rdx\n"
        "push %rcx\n" READ_CLOCK "trampoline_clock2:\n"
        "shl $48,%rdx\n"
        "shl $16,%rax\n"
        "lea " HOLE "(%rax,%rdx),%rax\n"
        "trampoline_left:\n"
        "mov %fs:" HOLE ",%rcx\n"
        "trampoline_sp3:\n"
        "lea 24(%rsp),%rdx\n"
        "cmp %rdx,-16(%rcx)\n"
        "jne 9f\n"
        "3: mov $8,%edx\n"
        "xadd %rdx,%fs:" HOLE "\n"
        "trampoline_ev2:\n"
        "test $0xff0,%edx\n"
        "jz 6f\n"
        "mov %rax,(%rdx)\n"
        "4: mov -24(%rcx),%rax\n"
        "subq $24,%fs:" HOLE "\n"
        ".set trampoline_sp4, . - 1\n" /* an operand of one byte follows */
        "mov %rax,24(%rsp)\n"
        "pop %rcx\n"
        "pop %rdx\n"
        "pop %rax\n"
        "ret\n"
        "6: .byte 0xe8; .long 0\n" /* no space for the event of the exit */
        "trampoline_event2:\n"
        "jmp 4b\n"
        "7: .byte 0xe8; .long 0\n" /* the frame on top may be stale */
        "trampoline_entry:\n"
        "jz 5f\n"
        "mov %fs:" HOLE ",%rcx\n"
        "trampoline_sp5:\n"
        "jmp 1b\n"
        "8: .byte 0xe8; .long 0\n" /* no space for the event of the entry */
        "trampoline_event1:\n"
        "jmp 2b\n"
        "9: .byte 0xe8; .long 0\n" /* the frame on top is another function's */
        "trampoline_exit:\n"
        "mov %fs:" HOLE ",%rcx\n"
        "trampoline_sp6:\n"
        "jmp 3b\n"
        "5: pop %rcx\n" /* not to be traced */
        "pop %rdx\n"
        "pop %rax\n"
        "trampoline_end:\n" /* the body */
        ".previous\n");

extern const uint8_t trampoline_begin[], trampoline_end[], trampoline_number[],
    trampoline_entered[], trampoline_left[], trampoline_called[], trampoline_sp1[],
    trampoline_sp2[], trampoline_sp3[], trampoline_sp4[], trampoline_sp5[], trampoline_sp6[],
    trampoline_ev1[], trampoline_ev2[], trampoline_clock1[], trampoline_clock2[],
    trampoline_entry[], trampoline_exit[], trampoline_event1[], trampoline_event2[];

enum {
    ENTRY_THUNK = 0,
    EXIT_THUNK = 16,
    EVENT_THUNK = 32,
    CLOCK_THUNK = 48,
    VALUES_THUNK = 64,
    JUMP_SIZE = 5
};

/* A trampoline that is being written; `after` is the label after a hole of the template. */
struct writing {
    uint8_t *out;
    const uint8_t *begin; /* of the template */
    int64_t thunks;       /* from out[0] on */
};

static void fill(const struct writing *writing, const uint8_t *after, int64_t value)
{
    const int32_t word = (int32_t)value;

    memcpy(writing->out + (after - writing->begin) - sizeof word, &word, sizeof word);
}

static void fill_call(const struct writing *writing, const uint8_t *after, int64_t target)
{
    fill(writing, after, target - (after - writing->begin));
}

static void call_clock(const struct writing *writing, const uint8_t *after, int thunk)
{
    /* cppcheck-suppress comparePointers ; labels of one piece of assembly */
    writing->out[after - writing->begin - 5] = 0xe8;
    fill_call(writing, after, writing->thunks + thunk);
}

static size_t template_length(void)
{
    /* cppcheck-suppress comparePointers ; labels of one piece of assembly */
    return (size_t)(trampoline_end - trampoline_begin);
}

static void write_thunk(uint8_t *thunk, uint64_t target)
{
    static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *0(%rip) */

    memcpy(thunk, jump, sizeof jump);
    memcpy(thunk + sizeof jump, &target, sizeof target);
}

void trampoline_write_thunks(uint8_t thunks[TRAMPOLINE_THUNKS], const struct trace_head *head)
{
    write_thunk(thunks + ENTRY_THUNK, head->slow_entry);
    write_thunk(thunks + EXIT_THUNK, head->slow_exit);
    write_thunk(thunks + EVENT_THUNK, head->slow_event);
    write_thunk(thunks + CLOCK_THUNK, head->slow_clock);
    write_thunk(thunks + VALUES_THUNK, head->slow_values);
}

size_t trampoline_write(uint8_t *out, const struct trace_head *head, uint64_t offset,
                        unsigned number, bool values)
{
    const uint8_t *const tops[] = {trampoline_sp1, trampoline_sp2, trampoline_sp3,
                                   trampoline_sp4, trampoline_sp5, trampoline_sp6};
    const struct writing writing = {out, trampoline_begin, -(int64_t)offset};
    const int thunk = values ? VALUES_THUNK : CLOCK_THUNK;

    memcpy(out, trampoline_begin, template_length());
    for (size_t i = 0; i < sizeof tops / sizeof *tops; i++)
        fill(&writing, tops[i], head->top_offset);
    fill(&writing, trampoline_ev1, head->event_offset);
    fill(&writing, trampoline_ev2, head->event_offset);
    fill(&writing, trampoline_number, number);
    fill(&writing, trampoline_entered, (int64_t)number << 1);
    fill(&writing, trampoline_left, (int64_t)number << 1 | 1);
    fill_call(&writing, trampoline_called, (int64_t)template_length());
    fill_call(&writing, trampoline_entry, writing.thunks + ENTRY_THUNK);
    fill_call(&writing, trampoline_exit, writing.thunks + EXIT_THUNK);
    fill_call(&writing, trampoline_event1, writing.thunks + EVENT_THUNK);
    fill_call(&writing, trampoline_event2, writing.thunks + EVENT_THUNK);
    if (values || head->clock != TRACE_CLOCK_TSC) {
        call_clock(&writing, trampoline_clock1, thunk);
        call_clock(&writing, trampoline_clock2, thunk);
    }
    return template_length();
}

/* Stores eight aligned bytes at once, so that no thread executes half of a jump. */
void trampoline_switch_off(uint8_t *trampoline, size_t length)
{
    const int32_t distance = (int32_t)(length - JUMP_SIZE);
    uint8_t jump[JUMP_SIZE] = {0xe9};
    uint64_t word;

    memcpy(jump + 1, &distance, sizeof distance);
    memcpy(&word, trampoline, sizeof word);
    memcpy(&word, jump, sizeof jump);
    __atomic_store_n((uint64_t *)trampoline, word, __ATOMIC_RELEASE);
}
