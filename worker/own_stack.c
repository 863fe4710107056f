/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/own_stack.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif

#ifdef IS_SANITIZED
#include <dlfcn.h>
#include <sanitizer/common_interface_defs.h>
#else
#define __sanitizer_start_switch_fiber(FAKE, STACK, SIZE)  ((void)(FAKE), (void)(SIZE))
#define __sanitizer_finish_switch_fiber(FAKE, STACK, SIZE) ((void)(FAKE), (void)(SIZE))
#endif

enum {
    MIB = 1 << 20,
#ifdef IS_SANITIZED
    STACK_SIZE = 1024 * MIB, /* frames are several times as large */
#else
    STACK_SIZE = 256 * MIB,
#endif
    KEPT_SIZE = MIB, /* below the caller's frame, where the next calls go */
};

static struct {
    int (*function)(void *argument);
    void *argument;
    int result;
    char *start; /* NULL: none yet */
    ucontext_t outer, inner;
    const void *outer_stack; /* for AddressSanitizer */
    size_t outer_size;
} own;

#ifdef IS_SANITIZED
/* AddressSanitizer's own swapcontext() prints a warning, which the calls below make needless. */
static int switch_stacks(ucontext_t *from, const ucontext_t *to)
{
    int (*libc_swapcontext)(ucontext_t *, const ucontext_t *) = NULL;
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

    if (libc != NULL)
        *(void **)&libc_swapcontext = dlsym(libc, "swapcontext");
    return libc_swapcontext != NULL ? libc_swapcontext(from, to) : swapcontext(from, to);
}
#else
static int switch_stacks(ucontext_t *from, const ucontext_t *to)
{
    return swapcontext(from, to);
}
#endif

static void run_on_mapped_stack(void)
{
    __sanitizer_finish_switch_fiber(NULL, &own.outer_stack, &own.outer_size);
    own.result = own.function(own.argument);
    __sanitizer_start_switch_fiber(NULL, own.outer_stack, own.outer_size);
}

/*
 * MAP_GROWSDOWN makes Linux keep a gap below the stack, so an unlimited recursion ends with
 * SIGSEGV. It also keeps the stack out of RLIMIT_DATA, like the initial stack. Huge pages
 * are refused because they would take memory that is never used.
 */
static int map_stack(struct error *error)
{
    void *stack =
        mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK | MAP_GROWSDOWN, -1, 0);

    if (stack == MAP_FAILED)
        return error_system(
            error, errno, "cannot map a stack of %d MiB; raise the limit of addresses (ulimit -v)",
            STACK_SIZE / MIB);
    (void)madvise(stack, STACK_SIZE, MADV_NOHUGEPAGE); /* a kernel without them does not know it */
    own.start = stack;
    return 0;
}

int own_stack_run(int (*function)(void *argument), void *argument, int *result, struct error *error)
{
    void *fake = NULL;

    if (map_stack(error) != 0)
        return -1;
    own.function = function;
    own.argument = argument;
    if (getcontext(&own.inner) != 0)
        return error_system(error, errno, "cannot switch stacks");
    own.inner.uc_stack = (stack_t){.ss_sp = own.start, .ss_size = STACK_SIZE};
    own.inner.uc_link = &own.outer;
    makecontext(&own.inner, run_on_mapped_stack, 0);
    __sanitizer_start_switch_fiber(&fake, own.start, STACK_SIZE);
    if (switch_stacks(&own.outer, &own.inner) != 0)
        return error_system(error, errno, "cannot switch stacks");
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
    *result = own.result;
    return 0;
}

void own_stack_give_back(void)
{
    const uintptr_t page = 4096, start = (uintptr_t)own.start;
    const uintptr_t end = ((uintptr_t)__builtin_frame_address(0) - KEPT_SIZE) / page * page;

    if (own.start != NULL && end > start && end - start < STACK_SIZE)
        (void)madvise(own.start, end - start, MADV_DONTNEED); /* else it stays, which is no fault */
}
