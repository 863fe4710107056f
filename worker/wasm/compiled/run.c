/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>

#include "worker/wasm/compile/compiler.h"
#include "worker/wasm/compiled/compiled.h"

#ifdef COMPILED_IS_POSSIBLE

/* A call in progress. */
struct runner {
    struct compiled_code *code;
    struct wasm_machine *machine;
    struct wasm_instance *instance;
    const char *stack; /* where it began */
    sigjmp_buf give_up;
};

static struct runner *current; /* for the handler of signals; NULL: no call */

static struct compiled_context *context_below(uint8_t *base)
{
    return (struct compiled_context *)(void *)(base - COMPILED_CONTEXT_SIZE);
}

_Noreturn static void give_up(struct runner *runner)
{
    siglongjmp(runner->give_up, 1);
}

/* ---- faults ---- */

/*
 * Compiled code faults at an address outside of the memory, at an invalid instruction where it
 * abandons the call, and at the end of the stack. A fault anywhere else is the worker's own:
 * repeated with the default action, it ends the process.
 */
static void on_fault(int number, siginfo_t *info, void *place)
{
    const ucontext_t *registers = place;
    const uintptr_t at = (uintptr_t)registers->uc_mcontext.gregs[REG_RIP];

    (void)info;
    if (current != NULL && at - (uintptr_t)current->code->image < current->code->size)
        give_up(current);
    (void)signal(number, SIG_DFL);
}

int compiled_catch_faults(struct error *error)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    static char stack[1 << 16]; /* compiled code may have used up its own */
    const stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = on_fault,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};

    if (sigaltstack(&alternative, NULL) != 0)
        return error_system(error, errno, "no stack for signals");
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (sigaction(signals[i], &action, NULL) != 0)
            return error_system(error, errno, "cannot catch a signal");
    return 0;
}

/* ---- what compiled code calls ---- */

/*
 * A function of the worker must not reach the end of the stack, where it could not be left. So it
 * does not begin where more is used than the interpreter's limit on the stack explains.
 */
static void check_stack(struct runner *runner)
{
    enum { STACK_MOST = 4 << 20 };

    if (runner->stack - (const char *)__builtin_frame_address(0) > STACK_MOST)
        give_up(runner);
}

/* Whether operations are left is tested before the host acts, so that it only does what the
 * interpreter would do, too. */
static void call_host(uint8_t *base, uint32_t import)
{
    struct compiled_context *context = context_below(base);
    struct runner *runner = context->runner;
    const struct wasm_imported_function *function = &runner->instance->functions[import];

    check_stack(runner);
    if (context->left < 0 || function->call == NULL)
        give_up(runner);
    runner->machine->left = context->left;
    if (function->call(function->context, runner->machine, runner->instance, context->values) !=
        WASM_TRAP_NONE)
        give_up(runner);
    context->left = runner->machine->left;
}

static uint64_t grow_memory(struct runner *runner, struct compiled_context *context, uint32_t pages)
{
    const uint32_t before = wasm_memory_grow(runner->instance->memory, pages);

    context->pages = wasm_memory_pages(runner->instance->memory);
    return before;
}

static uint64_t table_element(struct runner *runner, uint32_t operation, uint32_t table,
                              uint64_t index, uint64_t value)
{
    struct wasm_table *place = runner->instance->tables[table];

    if (index >= place->count)
        give_up(runner);
    if (operation == WASM_TABLE_SET)
        place->elements[index] = value;
    return place->elements[index];
}

/* Operations on many bytes or elements. */
static enum wasm_trap operate_bulk(struct wasm_instance *instance, uint32_t operation,
                                   const uint64_t operands[3], uint64_t items)
{
    const uint32_t to = (uint32_t)operands[0], from = (uint32_t)operands[1],
                   count = (uint32_t)operands[2], first = (uint32_t)items,
                   second = (uint32_t)(items >> 32);

    switch (operation) {
    case COMPILED_PREFIXED | WASM_MEMORY_COPY:
        return wasm_memory_copy(instance->memory, to, from, count);
    case COMPILED_PREFIXED | WASM_MEMORY_FILL:
        return wasm_memory_fill(instance->memory, to, from, count);
    case COMPILED_PREFIXED | WASM_MEMORY_INIT:
        return wasm_memory_init(instance, first, to, from, count);
    case COMPILED_PREFIXED | WASM_TABLE_INIT:
        return wasm_table_init(instance, second, first, to, from, count);
    case COMPILED_PREFIXED | WASM_TABLE_COPY:
        return wasm_table_copy(instance->tables[first], instance->tables[second], to, from, count);
    default:
        return wasm_table_fill(instance->tables[first], to, operands[1], count);
    }
}

static uint64_t operate(uint8_t *base, uint32_t operation, uint64_t first, uint64_t second,
                        uint64_t third, uint64_t items)
{
    struct compiled_context *context = context_below(base);
    struct runner *runner = context->runner;
    struct wasm_instance *instance = runner->instance;
    const uint64_t operands[3] = {first, second, third};

    check_stack(runner);
    switch (operation) {
    case WASM_MEMORY_GROW:
        return grow_memory(runner, context, (uint32_t)first);
    case WASM_TABLE_GET:
    case WASM_TABLE_SET:
        return table_element(runner, operation, (uint32_t)items, first, second);
    case COMPILED_PREFIXED | WASM_DATA_DROP:
        instance->dropped_data[(uint32_t)items] = true;
        return 0;
    case COMPILED_PREFIXED | WASM_ELEM_DROP:
        instance->dropped_elements[(uint32_t)items] = true;
        return 0;
    case COMPILED_PREFIXED | WASM_TABLE_GROW:
        return wasm_table_grow(instance->tables[(uint32_t)items], first, (uint32_t)second);
    case COMPILED_PREFIXED | WASM_TABLE_SIZE:
        return instance->tables[(uint32_t)items]->count;
    default:
        if (operate_bulk(instance, operation, operands, items) != WASM_TRAP_NONE)
            give_up(runner);
        return 0;
    }
}

/* ---- calls ---- */

static void fill_context(struct runner *runner)
{
    const struct wasm_instance *instance = runner->instance;
    struct compiled_context *context = runner->code->context;

    *context = (struct compiled_context){
        .left = runner->machine->left,
        .stack_left = (int64_t)runner->machine->stack_left,
        .linear_base = instance->module->limits->linear_base,
        .linear_unit = instance->module->limits->linear_unit,
        .pages = instance->memory != NULL ? wasm_memory_pages(instance->memory) : 0,
        .tables = instance->own_tables,
        .host = call_host,
        .operate = operate,
        .runner = runner,
    };
    if (instance->module->global_count != 0)
        memcpy((uint8_t *)context + COMPILED_GLOBALS_AT, instance->globals,
               instance->module->global_count * sizeof *instance->globals);
}

/* Returns false if it gave up. */
static bool enter(struct runner *runner, compiled_entry *entry, uint64_t *values)
{
    bool has_ended = false;

    runner->stack = __builtin_frame_address(0);
    if (sigsetjmp(runner->give_up, 0) == 0) {
        current = runner;
        entry(runner->code->base, values);
        has_ended = true;
    }
    current = NULL;
    return has_ended && runner->code->context->left >= 0;
}

bool compiled_call(struct compiled_code *code, struct wasm_machine *machine,
                   struct wasm_instance *instance, uint32_t function, uint64_t *values)
{
    struct runner runner = {.code = code, .machine = machine, .instance = instance};
    const int32_t distance = code->entries[function];
    compiled_entry *entry;

    if (distance == 0 || machine->left < 0 || machine->stack_left < COMPILED_LEAF_STACK)
        return false;
    *(const void **)&entry = (const uint8_t *)code->entries + distance;
    fill_context(&runner);
    if (!enter(&runner, entry, values))
        return false;
    machine->left = code->context->left;
    if (instance->module->global_count != 0)
        memcpy(instance->globals, (uint8_t *)code->context + COMPILED_GLOBALS_AT,
               instance->module->global_count * sizeof *instance->globals);
    return true;
}

bool compiled_start(struct compiled_code *code, struct wasm_machine *machine,
                    struct wasm_instance *instance)
{
    if (wasm_instance_copy_segments(instance) != WASM_TRAP_NONE)
        return false;
    return !instance->module->has_start ||
           compiled_call(code, machine, instance, instance->module->start, NULL);
}

#else

bool compiled_start(struct compiled_code *code, struct wasm_machine *machine,
                    struct wasm_instance *instance)
{
    (void)code;
    (void)machine;
    (void)instance;
    return false;
}

bool compiled_call(struct compiled_code *code, struct wasm_machine *machine,
                   struct wasm_instance *instance, uint32_t function, uint64_t *values)
{
    (void)code;
    (void)machine;
    (void)instance;
    (void)function;
    (void)values;
    return false;
}

#endif
