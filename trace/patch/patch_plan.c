/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/patch/patch_plan.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "trace/patch/trampoline.h"
#include "trace/patch/unwind.h"

/* The region of one module while it is filled. */
struct filling {
    struct patch_plan *plan;
    struct trace_head *head;
    uint8_t *memory;
    const struct trace_choice *choice;
    unsigned module;
    const struct module_code *code;
    const struct branches *branches;
    uint64_t base;
    uint64_t region;           /* in the process */
    uint64_t at;               /* in the file */
    uint64_t used, limit;      /* bytes of trampolines, from `at` on */
    uint64_t data, data_limit; /* bytes of cells after them, from `at` on */
};

static uint32_t patch_plan_patches_max(const struct trace_head *head)
{
    return (uint32_t)((head->calls_at - head->patches_at) / sizeof(struct trace_patch));
}

/* The sizes of the tables, from a head that the agent has not changed. */
static uint32_t patch_plan_calls_max(const struct trace_head *head)
{
    return (uint32_t)((head->chunks_at - head->calls_at) / sizeof(struct trace_call));
}

static bool matches(const struct option_list *patterns, const char *name)
{
    for (size_t i = 0; i < patterns->count; i++)
        if (fnmatch(patterns->items[i], name, 0) == 0)
            return true;
    return false;
}

static bool is_chosen(const struct trace_choice *choice, const char *name)
{
    return (choice->functions.count == 0 || matches(&choice->functions, name)) &&
           !matches(&choice->without, name);
}

/* By its place, too; the program's path is that of its module. */
static bool is_wanted(const struct filling *filling, const struct code_function *function)
{
    const struct trace_choice *const choice = filling->choice;

    return matches(&choice->values, function->name) ||
           (is_chosen(choice, function->name) &&
            (choice->is_wanted == NULL ||
             choice->is_wanted(choice->context, filling->plan->modules[filling->module],
                               function->address)));
}

static int add_planned_function(struct filling *filling, const struct planned_function *function,
                                const char *suffix, struct error *error)
{
    struct patch_plan *const plan = filling->plan;
    struct planned_function *const functions =
        array_reserve(plan->functions, &plan->capacity, plan->count + 1, sizeof *functions);
    char *name;

    if (functions == NULL || asprintf(&name, "%s%s", function->name, suffix) < 0)
        return error_memory(error, "the functions of a program");
    plan->functions = functions;
    functions[plan->count] = *function;
    functions[plan->count++].name = name;
    return 0;
}

/* The next trampoline's offset in the region; 0: no space is left. */
static uint64_t next_trampoline_place(const struct filling *filling)
{
    const uint64_t place =
        (filling->used + TRAMPOLINE_ALIGNMENT - 1) & ~(uint64_t)(TRAMPOLINE_ALIGNMENT - 1);

    return place + TRAMPOLINE_SIZE + RELOCATED_MAX <= filling->limit &&
                   filling->plan->count < TRACE_FUNCTIONS_MAX
               ? place
               : 0;
}

static void add_patch(struct filling *filling, const struct code_function *function, uint64_t place,
                      size_t length)
{
    struct trace_patch *const patches =
        (struct trace_patch *)(filling->memory + filling->head->patches_at);
    struct trace_patch *const patch = &patches[filling->head->patch_count++];
    const uint64_t address = filling->base + function->address;
    const int32_t distance = (int32_t)(filling->region + place - (address + TRACE_JUMP_SIZE));
    size_t available;
    const uint8_t *const bytes = module_code_bytes(filling->code, function->address, &available);

    *patch = (struct trace_patch){.address = address};
    filling->head->trampoline_length = (uint32_t)length;
    memcpy(patch->before, bytes, TRACE_JUMP_SIZE);
    patch->after[0] = 0xe9;
    memcpy(patch->after + 1, &distance, sizeof distance);
}

/* Its trampoline would take longer than the function. */
static bool is_short_leaf(const struct filling *filling, const struct code_function *function)
{
    return function->size < filling->choice->leaf_size &&
           !matches(&filling->choice->values, function->name) &&
           module_code_is_leaf(filling->code, function);
}

/* -1 only if out of memory. */
static int plan_function(struct filling *filling, const struct code_function *function,
                         struct error *error)
{
    const uint64_t place = next_trampoline_place(filling);
    uint8_t *const out = filling->memory + filling->at + place;
    struct planned_function planned = {
        .name = function->name,
        .module = filling->module,
        .address = function->address,
        .size = function->size,
        .trampoline = filling->at + place,
    };
    enum trace_outcome outcome = TRACE_NO_SPACE;
    size_t moved;

    if (place != 0 && filling->head->patch_count < patch_plan_patches_max(filling->head)) {
        planned.length =
            trampoline_write(out, filling->head, place, (unsigned)filling->plan->count + 1,
                             matches(&filling->choice->values, function->name));
        outcome =
            relocate_entry(filling->code, filling->branches, function, filling->base,
                           filling->region + place + planned.length, out + planned.length, &moved);
    }
    if (outcome == TRACE_PATCHED && is_short_leaf(filling, function))
        outcome = TRACE_LEAF;
    filling->plan->outcomes[outcome]++;
    if (outcome != TRACE_PATCHED)
        return 0;
    if (add_planned_function(filling, &planned, "", error) != 0)
        return -1;
    filling->used = place + planned.length + moved;
    add_patch(filling, function, place, planned.length);
    return 0;
}

/* Functions that return twice, switch stacks, inspect their caller, or are not called normally. */
static bool is_left_alone(const char *name)
{
    static const char *const names[] = {
        "setjmp",
        "_setjmp",
        "sigsetjmp",
        "__sigsetjmp",
        "vfork",
        "getcontext",
        "setcontext",
        "swapcontext",
        "makecontext",
        "dlsym",
        "dlvsym",
        "dlopen",
        "dlmopen",
        "__tls_get_addr",
        "__libc_start_main",
        "__cxa_finalize",
        "__gmon_start__",
        "mcount",
        "_mcount",
        "__fentry__",
        "clone",
        "__cyg_profile_func_enter",
        "__cyg_profile_func_exit",
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return strlen(name) >= TRACE_NAME_SIZE;
}

static int plan_call(struct filling *filling, const struct code_call *call, struct error *error)
{
    static const uint8_t jump[] = {0xff, 0x25}; /* jmp *DISTANCE(%rip) */
    struct trace_call *const calls =
        (struct trace_call *)(filling->memory + filling->head->calls_at);
    const uint64_t place = next_trampoline_place(filling);
    struct planned_function planned = {
        .name = call->name, .module = filling->module, .trampoline = filling->at + place};
    uint8_t *const out = filling->memory + filling->at + place;
    struct trace_call *entry;
    int32_t distance;
    size_t length;

    if (place == 0 || filling->data + 8 > filling->data_limit ||
        filling->head->call_count >= patch_plan_calls_max(filling->head))
        return 0;
    length = trampoline_write(out, filling->head, place, (unsigned)filling->plan->count + 1,
                              matches(&filling->choice->values, call->name));
    planned.length = length;
    distance = (int32_t)(filling->data - (place + length + 6));
    memcpy(out + length, jump, sizeof jump);
    memcpy(out + length + sizeof jump, &distance, sizeof distance);
    if (add_planned_function(filling, &planned, "@plt", error) != 0)
        return -1;
    entry = &calls[filling->head->call_count++];
    *entry = (struct trace_call){
        .slot = filling->base + call->slot,
        .trampoline = filling->region + place,
        .cell = filling->region + filling->data,
        .text_begin = filling->base + filling->code->text_begin,
        .text_end = filling->base + filling->code->text_end,
        .read_only = call->read_only,
    };
    snprintf(entry->name, sizeof entry->name, "%s", call->name);
    filling->used = place + length + sizeof jump + sizeof distance;
    filling->data += 8;
    return 0;
}

/* A region: thunks, trampolines, eight bytes of zeros, the unwind table, cells. */
static void begin_region(struct filling *filling)
{
    const uint64_t size = filling->head->modules[filling->module].region_size;

    filling->limit = size / 4 * 3;
    filling->used = TRAMPOLINE_THUNKS;
    filling->data = filling->limit + 8 + UNWIND_TABLE_SIZE;
    filling->data_limit = size;
    trampoline_write_thunks(filling->memory + filling->at, filling->head);
    (void)unwind_table_write(filling->memory + filling->at + filling->limit + 8, filling->head,
                             filling->region, filling->limit, filling->region + filling->limit);
    filling->head->frames[filling->module] = filling->region + filling->limit + 8;
}

static int fill_region(struct filling *filling, struct error *error)
{
    const struct module_code *const code = filling->code;

    begin_region(filling);
    for (size_t i = 0; i < code->function_count; i++)
        if (is_wanted(filling, &code->functions[i]) &&
            plan_function(filling, &code->functions[i], error) != 0)
            return -1;
    for (size_t i = 0; i < code->call_count && filling->choice->calls; i++)
        if (!is_left_alone(code->calls[i].name) &&
            is_chosen(filling->choice, code->calls[i].name) &&
            plan_call(filling, &code->calls[i], error) != 0)
            return -1;
    return 0;
}

/* Finds the program's own count by its symbol. */
static void find_clock(const struct filling *filling, const struct module_code *code)
{
    const uint64_t address = filling->head->clock == TRACE_CLOCK_COMPUTRONS && filling->module == 0
                                 ? module_code_variable(code, "gastrace_computrons")
                                 : 0;

    if (address != 0)
        filling->head->computrons_at = filling->base + address;
}

static int plan_module(struct filling *filling, const char *path, struct error *error)
{
    struct module_code code;
    struct branches branches;
    int result;

    filling->plan->modules[filling->module] = strdup(path);
    if (filling->plan->modules[filling->module] == NULL)
        return error_memory(error, "the functions of a program");
    filling->plan->module_count = filling->module + 1;
    if (module_code_open(&code, path, error) != 0)
        return -1;
    memcpy(filling->plan->build_ids[filling->module], code.build_id, sizeof code.build_id);
    find_clock(filling, &code);
    result = branches_find(&branches, &code, error);
    if (result == 0) {
        filling->code = &code;
        filling->branches = &branches;
        result = fill_region(filling, error);
        filling->code = NULL;
        filling->branches = NULL;
        branches_free(&branches);
    }
    module_code_close(&code);
    return result;
}

/* Checks what the agent has written. */
static int check_agent_head(const struct trace_head *head, size_t size, struct error *error)
{
    uint64_t sum = head->regions_at;

    if (head->module_count == 0 || head->module_count > TRACE_MODULES_MAX)
        return error_set(error, ERROR_INPUT, "the traced process describes no program");
    for (uint32_t i = 0; i < head->module_count; i++) {
        const struct trace_module *const module = &head->modules[i];

        if (module->region_size % 16384 != 0 || module->region_size < 65536 ||
            module->region_size > size - sum ||
            memchr(module->path, '\0', sizeof module->path) == NULL)
            return error_set(error, ERROR_INPUT, "the traced process describes itself wrongly");
        sum += module->region_size;
    }
    return 0;
}

int patch_plan_make(struct patch_plan *plan, void *memory, size_t size, const char *program,
                    const struct trace_choice *choice, struct error *error)
{
    struct trace_head *const head = memory;
    struct filling filling = {
        .plan = plan, .head = head, .memory = memory, .choice = choice, .at = head->regions_at};

    *plan = (struct patch_plan){0};
    if (check_agent_head(head, size, error) != 0)
        return -1;
    head->patch_count = head->call_count = 0;
    head->computrons_at = 0;
    head->argument_count = choice->argument_count;
    for (uint32_t i = 0; i < head->module_count; i++) {
        const struct trace_module *const module = &head->modules[i];

        filling.module = i;
        filling.base = module->base;
        filling.region = module->region;
        if (module->region != 0 &&
            plan_module(&filling, module->path[0] == '\0' ? program : module->path, error) != 0)
            return -1;
        filling.at += module->region_size;
    }
    if (plan->count == 0)
        return error_set(error, ERROR_INPUT, "%s: no function can be traced", program);
    return 0;
}

void patch_plan_free(struct patch_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        free((char *)plan->functions[i].name);
    for (unsigned i = 0; i < plan->module_count; i++)
        free(plan->modules[i]);
    free(plan->functions);
    *plan = (struct patch_plan){0};
}
