/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/native/host.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort/sort.h"
#include "worker/native/gascontract.h"
#include "worker/native/heap.h"

/* ---- thread-local variables ---- */

static uint8_t *locals;

void native_locals_set(uint8_t *start)
{
    locals = start;
}

static void *native_locals_address(const struct native_local_index *index)
{
    return locals + index->offset;
}

/* ---- symbols ---- */

static _Noreturn void end_call(const char *words)
{
    gascontract_abort(words, strlen(words));
}

static _Noreturn void end_by_abort(void)
{
    end_call("abort() was called");
}

static _Noreturn void end_by_assert(const char *condition, const char *file, unsigned line,
                                    const char *function)
{
    char words[512];

    snprintf(words, sizeof words, "%.100s:%u: %.100s: Assertion `%.200s' failed.", file, line,
             function != NULL ? function : "?", condition);
    end_call(words);
}

static _Noreturn void end_by_smashed_stack(void)
{
    end_call("a variable on the stack was overrun");
}

/* ---- with _FORTIFY_SOURCE, as by default on Ubuntu: `room` is the size of the target ---- */

static void need_room(size_t size, size_t room)
{
    if (size > room)
        end_call("a variable was overrun");
}

static void *copy_checked(void *to, const void *from, size_t size, size_t room)
{
    need_room(size, room);
    return memcpy(to, from, size);
}

static void *move_checked(void *to, const void *from, size_t size, size_t room)
{
    need_room(size, room);
    return memmove(to, from, size);
}

static void *set_checked(void *to, int byte, size_t size, size_t room)
{
    need_room(size, room);
    return memset(to, byte, size);
}

static char *copy_text_checked(char *to, const char *from, size_t room)
{
    return copy_checked(to, from, strlen(from) + 1, room);
}

static char *copy_text_to_end_checked(char *to, const char *from, size_t room)
{
    const size_t length = strlen(from);

    return (char *)copy_checked(to, from, length + 1, room) + length;
}

static char *copy_part_checked(char *to, const char *from, size_t size, size_t room)
{
    need_room(size, room);
    return strncpy(to, from, size);
}

static char *append_checked(char *to, const char *from, size_t room)
{
    const size_t before = strlen(to);

    need_room(before, room);
    (void)copy_text_checked(to + before, from, room - before);
    return to;
}

static char *append_part_checked(char *to, const char *from, size_t size, size_t room)
{
    const size_t before = strlen(to), length = strnlen(from, size);

    need_room(before + length + 1, room);
    memcpy(to + before, from, length);
    to[before + length] = '\0';
    return to;
}

static int print_list_checked(char *to, size_t size, int flags, size_t room, const char *format,
                              va_list arguments)
{
    (void)flags;
    need_room(size, room);
    return vsnprintf(to, size, format, arguments);
}

static int print_checked(char *to, size_t size, int flags, size_t room, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = print_list_checked(to, size, flags, room, format, arguments);
    va_end(arguments);
    return length;
}

/* ---- sorting ---- */

static void *take_or_end(size_t size)
{
    void *block = native_heap_take(size);

    if (block == NULL)
        end_call("the contract's heap is full");
    return block;
}

/* Uses the contract's heap, so that a comparison that ends the call leaves nothing allocated. */
static void *take_scratch(size_t count, size_t size)
{
    size_t bytes;

    return take_or_end(__builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes);
}

static void sort(void *items, size_t count, size_t size, sort_compare *compare)
{
    void *scratch = take_scratch(count, size);

    sort_stable(items, count, size, compare, scratch);
    native_heap_free(scratch);
}

static void sort_with(void *items, size_t count, size_t size, sort_compare_with *compare,
                      void *context)
{
    void *scratch = take_scratch(count, size);

    sort_stable_with(items, count, size, compare, context, scratch);
    native_heap_free(scratch);
}

/* ---- C++ ---- */

static void *take_aligned_or_end(size_t size, size_t alignment)
{
    void *block = native_heap_take_aligned(alignment, size);

    if (block == NULL)
        end_call("the contract's heap is full");
    return block;
}

static void release_sized(void *block, size_t size)
{
    (void)size;
    native_heap_free(block);
}

static void release_aligned(void *block, size_t size, size_t alignment)
{
    (void)size, (void)alignment;
    native_heap_free(block);
}

static _Noreturn void end_by_pure_virtual(void)
{
    end_call("a pure virtual function was called");
}

static _Noreturn void end_by_exception(const char *words)
{
    end_call(words != NULL ? words : "an exception");
}

static _Noreturn void end_by_bad_alloc(void)
{
    end_call("the contract's heap is full");
}

static _Noreturn void end_by_range(const char *format, ...)
{
    end_call(format);
}

/* Destructors never run: the call's end discards all objects. */
static int forget_destructor(void (*function)(void *), void *argument, void *object)
{
    (void)function, (void)argument, (void)object;
    return 0;
}

static void finalize(void *object)
{
    (void)object;
}

/* Contracts have one thread. */
static int acquire_guard(char *guard)
{
    return *guard == 0;
}

static void release_guard(char *guard)
{
    *guard = 1;
}

/* ---- the table ---- */

#define AS(name, function)                                                                         \
    {                                                                                              \
        name, (uintptr_t)(function)                                                                \
    }
#define SAME(function) AS(#function, function)

static const struct native_symbol table[] = {
    SAME(gascontract_storage_read),
    SAME(gascontract_storage_has),
    SAME(gascontract_storage_write),
    SAME(gascontract_storage_remove),
    SAME(gascontract_result),
    SAME(gascontract_log),
    SAME(gascontract_abort),
    SAME(gascontract_self),
    SAME(gascontract_caller),
    SAME(gascontract_signer),
    SAME(gascontract_deposit),
    SAME(gascontract_balance),
    SAME(gascontract_is_view),
    SAME(gascontract_block_height),
    SAME(gascontract_block_timestamp),
    SAME(gascontract_send),
    SAME(gascontract_then),
    SAME(gascontract_return_promise),
    SAME(gascontract_promise_results),
    SAME(gascontract_promise_result),
    /* bytes and texts */
    SAME(memcpy),
    SAME(memmove),
    SAME(memset),
    SAME(memcmp),
    SAME(bcmp),
    SAME(memchr),
    SAME(memrchr),
    SAME(memmem),
    SAME(strlen),
    SAME(strnlen),
    SAME(strcmp),
    SAME(strncmp),
    SAME(strcpy),
    SAME(stpcpy),
    SAME(strncpy),
    SAME(strcat),
    SAME(strncat),
    SAME(strchr),
    SAME(strrchr),
    SAME(strstr),
    SAME(strspn),
    SAME(strcspn),
    SAME(strpbrk),
    SAME(strtok_r),
    SAME(strtol),
    SAME(strtoul),
    SAME(strtoll),
    SAME(strtoull),
    SAME(snprintf),
    SAME(vsnprintf),
    AS("__memcpy_chk", copy_checked),
    AS("__memmove_chk", move_checked),
    AS("__memset_chk", set_checked),
    AS("__strcpy_chk", copy_text_checked),
    AS("__stpcpy_chk", copy_text_to_end_checked),
    AS("__strncpy_chk", copy_part_checked),
    AS("__strcat_chk", append_checked),
    AS("__strncat_chk", append_part_checked),
    AS("__snprintf_chk", print_checked),
    AS("__vsnprintf_chk", print_list_checked),
    SAME(__ctype_b_loc),
    SAME(__ctype_tolower_loc),
    SAME(__ctype_toupper_loc),
    SAME(tolower),
    SAME(toupper),
    AS("qsort", sort),
    AS("qsort_r", sort_with),
    SAME(bsearch),
    /* memory */
    AS("malloc", native_heap_take),
    AS("free", native_heap_free),
    AS("calloc", native_heap_take_zeros),
    AS("realloc", native_heap_resize),
    AS("aligned_alloc", native_heap_take_aligned),
    AS("__tls_get_addr", native_locals_address),
    /* the end */
    AS("abort", end_by_abort),
    AS("__assert_fail", end_by_assert),
    AS("__stack_chk_fail", end_by_smashed_stack),
    AS("__cxa_finalize", finalize),
    AS("__cxa_atexit", forget_destructor),
    /* C++: operators new and delete, and what the library's headers call */
    AS("_Znwm", take_or_end),
    AS("_Znam", take_or_end),
    AS("_ZnwmSt11align_val_t", take_aligned_or_end),
    AS("_ZnamSt11align_val_t", take_aligned_or_end),
    AS("_ZdlPv", native_heap_free),
    AS("_ZdaPv", native_heap_free),
    AS("_ZdlPvm", release_sized),
    AS("_ZdaPvm", release_sized),
    AS("_ZdlPvmSt11align_val_t", release_aligned),
    AS("_ZdaPvmSt11align_val_t", release_aligned),
    AS("__cxa_pure_virtual", end_by_pure_virtual),
    AS("__cxa_guard_acquire", acquire_guard),
    AS("__cxa_guard_release", release_guard),
    AS("_ZSt9terminatev", end_by_abort),
    AS("_ZSt17__throw_bad_allocv", end_by_bad_alloc),
    AS("_ZSt28__throw_bad_array_new_lengthv", end_by_bad_alloc),
    AS("_ZSt20__throw_length_errorPKc", end_by_exception),
    AS("_ZSt19__throw_logic_errorPKc", end_by_exception),
    AS("_ZSt20__throw_out_of_rangePKc", end_by_exception),
    AS("_ZSt24__throw_out_of_range_fmtPKcz", end_by_range),
    AS("_ZSt24__throw_invalid_argumentPKc", end_by_exception),
    {NULL, 0},
};

uintptr_t native_symbol_in(const struct native_symbol *list, const char *name)
{
    for (; list != NULL && list->name != NULL; list++)
        if (strcmp(list->name, name) == 0)
            return list->address;
    return 0;
}

uintptr_t native_symbol_find(const char *name)
{
    return native_symbol_in(table, name);
}
