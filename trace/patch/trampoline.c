/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/patch/trampoline.h"

#include <string.h>

/*
 * The template. What stands as HOLE is filled in: T_id, T_ev and T_sp are the places behind a
 * hole for the number, and for the two variables of the thread.
 *
 * A signal's handler may come between any two instructions and call traced functions itself.
 * Therefore a place for an event is taken with one instruction before it is written, and a frame
 * is written (its slot for handlers to compare with), taken, and written again.
 */
#define HOLE "0x11223344"

/* As long as a call, which replaces it where the clock is another. */
#define READ_CLOCK "rdtsc\n.byte 0x0f,0x1f,0\n"

/* TRACE_TIMED_BITS, in the second byte of a place's address. */
#define TIMED "0x0e"
_Static_assert(TRACE_TIMED_BITS == 0x0e00, "as in the template");

__asm__(".section .rodata\n"
        ".balign 16\n"
        "trampoline_begin:\n"
        ".byte 0x0f,0x1f,0x44,0,0\n" /* replaced by a jump to the body to switch it off */
        "push %rax\n"
        "push %rdx\n"
        "push %rcx\n"
        "mov %fs:" HOLE ",%rcx\n"
        "trampoline_sp1:\n"
        "lea 24(%rsp),%rdx\n"
        "cmp %rdx,-16(%rcx)\n"
        "jbe 7f\n"
        "1: mov 24(%rsp),%rax\n"
        "mov %rdx,8(%rcx)\n"
        "addq $24,%fs:" HOLE "\n"
        ".set trampoline_sp2, . - 1\n" /* an operand of one byte follows */
        "mov %rax,(%rcx)\n"
        "mov %rdx,8(%rcx)\n"
        "movq $" HOLE ",16(%rcx)\n"
        "trampoline_number:\n"
        "mov %fs:" HOLE ",%eax\n"
        "trampoline_ev3:\n"
        "not %eax\n"
        "test $0,%ah\n"
        "trampoline_seldom1:\n"
        "mov $" HOLE ",%eax\n"
        "trampoline_entered1:\n"
        "jnz 10f\n" READ_CLOCK "trampoline_clock1:\n"
        "shl $48,%rdx\n"
        "shl $16,%rax\n"
        "lea " HOLE "(%rax,%rdx),%rax\n"
        "trampoline_entered2:\n"
        "10: mov $8,%ecx\n"
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
        "push %rcx\n"
        "mov %fs:" HOLE ",%eax\n"
        "trampoline_ev4:\n"
        "not %eax\n"
        "test $0,%ah\n"
        "trampoline_seldom2:\n"
        "mov $" HOLE ",%eax\n"
        "trampoline_left1:\n"
        "jnz 11f\n" READ_CLOCK "trampoline_clock2:\n"
        "shl $48,%rdx\n"
        "shl $16,%rax\n"
        "lea " HOLE "(%rax,%rdx),%rax\n"
        "trampoline_left2:\n"
        "11: mov %fs:" HOLE ",%rcx\n"
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
        "6: .byte 0xe8; .long 0\n" /* the event of the exit has no room */
        "trampoline_event2:\n"
        "jmp 4b\n"
        "7: .byte 0xe8; .long 0\n" /* the frame on top may be stale */
        "trampoline_entry:\n"
        "jz 5f\n"
        "mov %fs:" HOLE ",%rcx\n"
        "trampoline_sp5:\n"
        "jmp 1b\n"
        "8: .byte 0xe8; .long 0\n" /* the event of the entry has no room */
        "trampoline_event1:\n"
        "jmp 2b\n"
        "9: .byte 0xe8; .long 0\n" /* the frame on top is another's */
        "trampoline_exit:\n"
        "mov %fs:" HOLE ",%rcx\n"
        "trampoline_sp6:\n"
        "jmp 3b\n"
        "5: pop %rcx\n" /* not to be traced */
        "pop %rdx\n"
        "pop %rax\n"
        "trampoline_end:\n" /* the body */
        ".previous\n");

/*
 * The same for a function that is over at once: one event without a time stands for its entry and
 * its exit, and there is no frame. It is that of an exit, since no frame of the function is there
 * either. Where times are to be read, it goes to the other, which may stand in front of it.
 */
__asm__(".section .rodata\n"
        ".balign 16\n"
        "light_begin:\n"
        ".byte 0x0f,0x1f,0x44,0,0\n"
        "light_ways:\n"
        "push %rax\n"
        "push %rcx\n"
        "mov %fs:" HOLE ",%ecx\n"
        "light_ev2:\n"
        "not %ecx\n"
        "test $" TIMED ",%ch\n"
        "jz 9f\n"
        "light_timed:\n"
        "mov %fs:" HOLE ",%rcx\n"
        "light_sp1:\n"
        "lea 16(%rsp),%rax\n"
        "cmp %rax,-16(%rcx)\n"
        "jbe 7f\n"
        "1: mov $8,%ecx\n"
        "xadd %rcx,%fs:" HOLE "\n"
        "light_ev1:\n"
        "test $0xff0,%ecx\n"
        "jz 8f\n"
        "movq $" HOLE ",(%rcx)\n"
        "light_left1:\n"
        "jmp 5f\n"
        "9: pop %rcx\n"
        "pop %rax\n"
        ".byte 0xe9; .long 0\n"
        "light_whole:\n"
        "7: push %rdx\n"
        "mov %rax,%rdx\n"
        ".byte 0xe8; .long 0\n"
        "light_entry:\n"
        "pop %rdx\n"
        "jnz 1b\n"
        "jmp 5f\n"
        "8: movq $" HOLE ",%rax\n"
        "light_left2:\n"
        ".byte 0xe8; .long 0\n"
        "light_event1:\n"
        "5: pop %rcx\n"
        "pop %rax\n"
        "light_end:\n"
        ".previous\n");

extern const uint8_t light_begin[], light_ways[], light_timed[], light_whole[], light_end[],
    light_left1[], light_left2[], light_sp1[], light_ev1[], light_ev2[], light_entry[],
    light_event1[];

extern const uint8_t trampoline_begin[], trampoline_end[], trampoline_number[],
    trampoline_entered1[], trampoline_entered2[], trampoline_left1[], trampoline_left2[],
    trampoline_called[], trampoline_sp1[], trampoline_sp2[], trampoline_sp3[], trampoline_sp4[],
    trampoline_sp5[], trampoline_sp6[], trampoline_ev1[], trampoline_ev2[], trampoline_ev3[],
    trampoline_ev4[], trampoline_seldom1[], trampoline_seldom2[], trampoline_clock1[],
    trampoline_clock2[], trampoline_entry[], trampoline_exit[], trampoline_event1[],
    trampoline_event2[];

enum { ENTRY_THUNK = 0, EXIT_THUNK = 16, EVENT_THUNK = 32, CLOCK_THUNK = 48, JUMP_SIZE = 5 };

/* A trampoline that is being written: places are those behind a hole in the template. */
struct writing {
    uint8_t *out;
    const uint8_t *begin; /* of the template */
    int64_t thunks;       /* from out[0] on */
};

static void fill(const struct writing *writing, const uint8_t *behind, int64_t value)
{
    const int32_t word = (int32_t)value;

    memcpy(writing->out + (behind - writing->begin) - sizeof word, &word, sizeof word);
}

static void fill_call(const struct writing *writing, const uint8_t *behind, int64_t target)
{
    fill(writing, behind, target - (behind - writing->begin));
}

static void call_clock(const struct writing *writing, const uint8_t *behind)
{
    /* cppcheck-suppress comparePointers ; labels of one piece of assembly */
    writing->out[behind - writing->begin - 5] = 0xe8;
    fill_call(writing, behind, writing->thunks + CLOCK_THUNK);
}

static size_t timed_length(void)
{
    /* cppcheck-suppress comparePointers ; labels of one piece of assembly */
    return (size_t)(trampoline_end - trampoline_begin);
}

/* A jump over so many bytes behind it. */
static void write_jump(uint8_t out[JUMP_SIZE], size_t over)
{
    const int32_t distance = (int32_t)over;

    out[0] = 0xe9;
    memcpy(out + 1, &distance, sizeof distance);
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
}

static void write_timed(uint8_t *out, const struct trace_head *head, uint64_t offset,
                        unsigned number, size_t length)
{
    const uint8_t *const tops[] = {trampoline_sp1, trampoline_sp2, trampoline_sp3,
                                   trampoline_sp4, trampoline_sp5, trampoline_sp6};
    const uint8_t *const events[] = {trampoline_ev1, trampoline_ev2, trampoline_ev3,
                                     trampoline_ev4};
    const struct writing writing = {out, trampoline_begin, -(int64_t)offset};

    memcpy(out, trampoline_begin, timed_length());
    for (size_t i = 0; i < sizeof tops / sizeof *tops; i++)
        fill(&writing, tops[i], head->top_offset);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        fill(&writing, events[i], head->event_offset);
    fill(&writing, trampoline_number, number);
    fill(&writing, trampoline_entered1, (int64_t)number << 1);
    fill(&writing, trampoline_entered2, (int64_t)number << 1);
    fill(&writing, trampoline_left1, (int64_t)number << 1 | 1);
    fill(&writing, trampoline_left2, (int64_t)number << 1 | 1);
    fill_call(&writing, trampoline_called, (int64_t)length);
    fill_call(&writing, trampoline_entry, writing.thunks + ENTRY_THUNK);
    fill_call(&writing, trampoline_exit, writing.thunks + EXIT_THUNK);
    fill_call(&writing, trampoline_event1, writing.thunks + EVENT_THUNK);
    fill_call(&writing, trampoline_event2, writing.thunks + EVENT_THUNK);
    if (head->clock != TRACE_CLOCK_TSC) {
        call_clock(&writing, trampoline_clock1);
        call_clock(&writing, trampoline_clock2);
    }
}

/* All but its beginning, where another has one, is copied by the caller. */
static void fill_light(const struct writing *writing, const struct trace_head *head,
                       unsigned number)
{
    const int64_t whole = (int64_t)(TRACE_TIME_WHOLE << TRACE_TIME_SHIFT | number << 1 | 1);

    fill(writing, light_sp1, head->top_offset);
    fill(writing, light_ev1, head->event_offset);
    fill(writing, light_ev2, head->event_offset);
    fill(writing, light_left1, whole);
    fill(writing, light_left2, whole);
    fill_call(writing, light_entry, writing->thunks + ENTRY_THUNK);
    fill_call(writing, light_event1, writing->thunks + EVENT_THUNK);
}

size_t trampoline_write(uint8_t *out, const struct trace_head *head, uint64_t offset,
                        unsigned number)
{
    write_timed(out, head, offset, number, timed_length());
    return timed_length();
}

size_t trampoline_write_light(uint8_t *out, const struct trace_head *head, uint64_t offset,
                              unsigned number)
{
    static const uint8_t nothing[] = {0x66, 0x90}; /* where the times would be read */
    const struct writing writing = {out, light_begin, -(int64_t)offset};
    /* cppcheck-suppress comparePointers ; labels of one piece of assembly */
    const size_t length = (size_t)(light_end - light_begin);

    memcpy(out, light_begin, length);
    fill_light(&writing, head, number);
    /* cppcheck-suppress comparePointers ; labels of one piece of assembly */
    memcpy(out + (light_timed - light_begin) - sizeof nothing, nothing, sizeof nothing);
    return length;
}

size_t trampoline_write_leaf(uint8_t *out, const struct trace_head *head, uint64_t offset,
                             unsigned number, size_t *light)
{
    /* cppcheck-suppress comparePointers ; labels of one piece of assembly */
    const size_t ways = (size_t)(light_end - light_ways);
    const size_t at = timed_length() + JUMP_SIZE;
    const size_t length = at + ways;
    const struct writing writing = {out + at - JUMP_SIZE, light_begin,
                                    -(int64_t)(offset + at - JUMP_SIZE)};

    write_timed(out, head, offset, number, length);
    write_jump(out + timed_length(), ways);
    memcpy(out + at, light_ways, ways);
    fill_light(&writing, head, number);
    fill_call(&writing, light_whole, (int64_t)(2 * JUMP_SIZE) - (int64_t)at);
    *light = at;
    return length;
}

/* Eight bytes at once, at an address that is a multiple of eight: no thread meets half of it. */
static void write_beginning(uint8_t *trampoline, const uint8_t beginning[JUMP_SIZE])
{
    uint64_t word;

    memcpy(&word, trampoline, sizeof word);
    memcpy(&word, beginning, JUMP_SIZE);
    __atomic_store_n((uint64_t *)trampoline, word, __ATOMIC_RELEASE);
}

static void lead_to(uint8_t *trampoline, size_t place)
{
    uint8_t jump[JUMP_SIZE];

    write_jump(jump, place - JUMP_SIZE);
    write_beginning(trampoline, jump);
}

void trampoline_switch(uint8_t *trampoline, size_t length, bool on)
{
    if (on)
        write_beginning(trampoline, trampoline_begin);
    else
        lead_to(trampoline, length);
}

void trampoline_time_seldom(uint8_t *trampoline, size_t light, bool seldom)
{
    const uint8_t bits = seldom ? TRACE_TIMED_BITS >> 8 : 0;

    if (light != 0 && seldom) {
        lead_to(trampoline, light);
    } else if (light != 0) {
        write_beginning(trampoline, trampoline_begin);
    } else {
        /* cppcheck-suppress comparePointers ; labels of one piece of assembly */
        __atomic_store_n(trampoline + (trampoline_seldom1 - trampoline_begin) - 1, bits,
                         __ATOMIC_RELEASE);
        /* cppcheck-suppress comparePointers ; labels of one piece of assembly */
        __atomic_store_n(trampoline + (trampoline_seldom2 - trampoline_begin) - 1, bits,
                         __ATOMIC_RELEASE);
    }
}
