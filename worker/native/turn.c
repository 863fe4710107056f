/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/native/turn.h"

#include <immintrin.h>

#if defined(__SANITIZE_ADDRESS__)
#define TURN_IS_TOLD 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TURN_IS_TOLD 1
#endif
#endif

/*
 * Unlike swapcontext(3) it makes no system call, which would be counted in its caller's region.
 * What a function has to preserve stands on the old stack, to which native_turn_outer points.
 */
extern void native_turn_switch(void *top, void (*function)(void *argument), void *argument);
extern _Noreturn void native_turn_back(void);

__asm__(".pushsection .text\n"
        ".type native_turn_switch, @function\n"
        "native_turn_switch:\n"
        "    push %rbp\n"
        "    push %rbx\n"
        "    push %r12\n"
        "    push %r13\n"
        "    push %r14\n"
        "    push %r15\n"
        "    mov %rsp, native_turn_outer(%rip)\n"
        "    mov %rdi, %rsp\n"
        "    mov %rdx, %rdi\n"
        "    xor %ebp, %ebp\n"
        "    call *%rsi\n"
        ".type native_turn_back, @function\n"
        "native_turn_back:\n"
        "    mov native_turn_outer(%rip), %rsp\n"
        "    cld\n"
        "    pop %r15\n"
        "    pop %r14\n"
        "    pop %r13\n"
        "    pop %r12\n"
        "    pop %rbx\n"
        "    pop %rbp\n"
        "    ret\n"
        ".size native_turn_switch, . - native_turn_switch\n"
        ".popsection\n"
        ".pushsection .bss\n"
        ".balign 8\n"
        "native_turn_outer:\n"
        "    .zero 8\n"
        ".popsection\n");

static bool is_on, is_left;

/* AddressSanitizer wants to know which stack there is. */
#ifdef TURN_IS_TOLD
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

static const void *outer_stack;
static size_t outer_size;

static void tell_begin(void **fake, const void *stack, size_t size)
{
    /* A turn that was left has not tidied up. */
    ASAN_UNPOISON_MEMORY_REGION(stack, size);
    __sanitizer_start_switch_fiber(fake, stack, size);
}

static void tell_inside(void)
{
    __sanitizer_finish_switch_fiber(NULL, &outer_stack, &outer_size);
}

static void tell_end(void)
{
    __sanitizer_start_switch_fiber(NULL, outer_stack, outer_size);
}

static void tell_outside(void *fake)
{
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
}
#else
static void tell_begin(void **fake, const void *stack, size_t size)
{
    (void)fake, (void)stack, (void)size;
}

static void tell_inside(void)
{
}

static void tell_end(void)
{
}

static void tell_outside(void *fake)
{
    (void)fake;
}
#endif

struct turn {
    void (*function)(void *argument);
    void *argument;
};

static void begin(void *context)
{
    const struct turn *turn = context;

    tell_inside();
    turn->function(turn->argument);
    tell_end();
}

bool native_turn(void *stack, size_t size, void (*function)(void *argument), void *argument)
{
    struct turn turn = {function, argument};
    /* A contract may round otherwise; the worker does not. */
    const unsigned rounding = _mm_getcsr();
    void *fake = NULL;

    is_on = true;
    is_left = false;
    tell_begin(&fake, stack, size);
    native_turn_switch((char *)stack + size, begin, &turn);
    tell_outside(fake);
    _mm_setcsr(rounding);
    is_on = false;
    return !is_left;
}

bool native_turn_is_on(void)
{
    return is_on;
}

void native_turn_leave(void)
{
    is_left = true;
    tell_end();
    native_turn_back();
}
