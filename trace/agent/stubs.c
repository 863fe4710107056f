/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trampolines call these with the slot of the return address in rdx, or an event in rax; they
 * change no register but for the zero flag of the first: set when the call is not to be traced.
 * The last gives the clock in edx:eax, as the instruction does that it stands for.
 */
#include "trace/agent/lane.h"

/* An unwinder never passes here, and gcc's IPA-RA relies on functions not to change even those
 * registers that a call may change. */
__asm__(".text\n"
        ".macro SAVE_REGISTERS\n"
        "push %rax; push %rcx; push %rdx; push %rsi; push %rdi\n"
        "push %r8; push %r9; push %r10; push %r11; push %rbp\n"
        "mov %rsp,%rbp\n"
        "and $-16,%rsp\n"
        "cld\n"
        ".endm\n"
        ".macro RESTORE_REGISTERS\n"
        "mov %rbp,%rsp\n"
        "pop %rbp; pop %r11; pop %r10; pop %r9; pop %r8\n"
        "pop %rdi; pop %rsi; pop %rdx; pop %rcx; pop %rax\n"
        "ret\n"
        ".endm\n"
        ".globl trace_stub_entry, trace_stub_exit, trace_stub_event, trace_stub_clock\n"
        ".hidden trace_stub_entry, trace_stub_exit, trace_stub_event, trace_stub_clock\n"
        ".type trace_stub_entry, @function\n"
        ".type trace_stub_exit, @function\n"
        ".type trace_stub_event, @function\n"
        ".type trace_stub_clock, @function\n"
        "trace_stub_entry:\n"
        "SAVE_REGISTERS\n"
        "mov %rdx,%rdi\n"
        "call lanes_slow_entry\n"
        "test %al,%al\n"
        "RESTORE_REGISTERS\n"
        "trace_stub_exit:\n"
        "SAVE_REGISTERS\n"
        "mov %rdx,%rdi\n"
        "call lanes_slow_exit\n"
        "RESTORE_REGISTERS\n"
        "trace_stub_event:\n"
        "SAVE_REGISTERS\n"
        "mov %rax,%rdi\n"
        "call lanes_slow_event\n"
        "RESTORE_REGISTERS\n"
        "trace_stub_clock:\n"
        "SAVE_REGISTERS\n"
        "call lanes_clock\n"
        "mov %rbp,%rsp\n"
        "mov %eax,%ecx\n"
        "mov %rcx,72(%rsp)\n" /* where rax and rdx were saved */
        "shr $32,%rax\n"
        "mov %rax,56(%rsp)\n"
        "RESTORE_REGISTERS\n");
