/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/pass/placement.h"

#include <stdlib.h>

#include "base/array.h"
#include "meter/pass/charge.h"
#include "meter/pass/loops.h"
#include "meter/pass/module.h"

/* ---- for the profile ---- */

/* Builds code that attributes units to functions, lines and callers; it does not change the count.
 * Each activation keeps its node of the call tree in a local variable and passes it to the run-time
 * part before each call. So longjmp and exceptions leave nothing wrong. */

/* A line of the function and its record in the module. */
struct profile_line {
    const char *file; /* LLVM's own string: equal pointers are equal files; NULL: unknown */
    unsigned number;  /* 0: unknown */
    uint64_t units;   /* of the current block */
    LLVMValueRef record;
};

/* The profile of one function while it is metered. */
struct profile {
    const struct ir *ir;
    LLVMBuilderRef builder;
    LLVMValueRef function;
    LLVMValueRef record; /* of the function; NULL: nothing was built yet */
    LLVMValueRef node;   /* the local variable */
    struct profile_line *lines;
    size_t line_count;
    size_t line_capacity;
    size_t present; /* index of the last instruction's line */
};

/* Borrows the builder. Call profile_free() afterwards. */
static void profile_init(struct profile *profile, const struct ir *ir, LLVMBuilderRef builder,
                         LLVMValueRef function)
{
    *profile = (struct profile){.ir = ir, .builder = builder, .function = function};
}

static void profile_free(struct profile *profile)
{
    free(profile->lines);
    *profile = (struct profile){0};
}

/* ---- records in the format of meter/runtime/profile.h ------------------------------ */

static LLVMValueRef make_global(const struct ir *ir, LLVMValueRef initializer, const char *name)
{
    LLVMValueRef global = LLVMAddGlobal(ir->module, LLVMTypeOf(initializer), name);

    LLVMSetInitializer(global, initializer);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    return global;
}

/* Linkers merge equal texts. */
static LLVMValueRef make_text(const struct ir *ir, const char *text, size_t length)
{
    LLVMValueRef global = make_global(
        ir, LLVMConstStringInContext2(ir->context, text, length, false), "gasmeter.text");

    LLVMSetGlobalConstant(global, true);
    LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
    LLVMSetAlignment(global, 1);
    return global;
}

static const char *file_of_place(LLVMValueRef value, size_t *length)
{
    unsigned short_length = 0;
    const char *file = LLVMGetDebugLocFilename(value, &short_length);

    *length = short_length;
    return short_length > 0 ? file : NULL;
}

static LLVMValueRef make_file(const struct ir *ir, const char *file, size_t length)
{
    return file ? make_text(ir, file, length) : LLVMConstNull(ir->pointer);
}

static LLVMValueRef make_function_record(const struct profile *profile)
{
    const struct ir *ir = profile->ir;
    size_t name_length, file_length;
    const char *name = LLVMGetValueName2(profile->function, &name_length);
    const char *file = file_of_place(profile->function, &file_length);
    LLVMValueRef members[] = {
        make_text(ir, name, name_length),
        make_file(ir, file, file_length),
        ir_number(ir, LLVMGetDebugLocLine(profile->function)),
        ir_number(ir, 0),
    };

    return make_global(ir, LLVMConstStructInContext(ir->context, members, 4, false),
                       "gasmeter.function");
}

static LLVMValueRef make_line_record(const struct profile *profile, LLVMValueRef place,
                                     unsigned number)
{
    const struct ir *ir = profile->ir;
    size_t length;
    const char *file = file_of_place(place, &length);
    LLVMValueRef members[] = {
        profile->record,  make_file(ir, file, length), ir_number(ir, number),
        ir_number(ir, 0), LLVMConstNull(ir->pointer),
    };

    return make_global(ir, LLVMConstStructInContext(ir->context, members, 5, false),
                       "gasmeter.line");
}

/* Returns the index of the line of an instruction or function. */
static size_t find_profile_line(struct profile *profile, LLVMValueRef place)
{
    size_t length;
    const char *file = file_of_place(place, &length);
    unsigned number = LLVMGetDebugLocLine(place);
    struct profile_line *lines;

    for (size_t i = profile->line_count; i-- > 0;)
        if (profile->lines[i].number == number && profile->lines[i].file == file)
            return i;
    lines = array_reserve(profile->lines, &profile->line_capacity, profile->line_count + 1,
                          sizeof *lines);
    if (!lines)
        exit(4);
    profile->lines = lines;
    lines[profile->line_count] = (struct profile_line){
        .file = file, .number = number, .record = make_line_record(profile, place, number)};
    return profile->line_count++;
}

/* An instruction without a line belongs to the previous line. */
static void profile_take_line(struct profile *profile, LLVMValueRef instruction)
{
    if (LLVMGetDebugLocLine(instruction) > 0)
        profile->present = find_profile_line(profile, instruction);
}

/* ---- calls of the run-time part -------------------------------------------------- */

static LLVMValueRef build_call(const struct profile *profile, const char *name, LLVMTypeRef result,
                               LLVMValueRef *arguments, unsigned count)
{
    const struct ir *ir = profile->ir;
    LLVMValueRef function = LLVMGetNamedFunction(ir->module, name);
    LLVMTypeRef parameters[3];
    LLVMTypeRef type;

    for (unsigned i = 0; i < count; i++)
        parameters[i] = LLVMTypeOf(arguments[i]);
    type = LLVMFunctionType(result, parameters, count, false);
    if (!function) {
        function = LLVMAddFunction(ir->module, name, type);
        LLVMAddAttributeAtIndex(
            function, LLVMAttributeFunctionIndex,
            LLVMCreateEnumAttribute(ir->context, ir_attribute_kind("nounwind"), 0));
    }
    return LLVMBuildCall2(profile->builder, type, function, arguments, count, "");
}

static LLVMValueRef load_node(const struct profile *profile)
{
    return LLVMBuildLoad2(profile->builder, profile->ir->pointer, profile->node, "");
}

static void build_add(const struct profile *profile, LLVMValueRef line, LLVMValueRef units)
{
    LLVMValueRef arguments[] = {load_node(profile), line, units};

    (void)build_call(profile, "gasmeter_profile_add", profile->ir->none, arguments, 3);
}

static void build_entry(struct profile *profile)
{
    LLVMValueRef node;

    profile->node = LLVMBuildAlloca(profile->builder, profile->ir->pointer, "gasmeter.node");
    node = build_call(profile, "gasmeter_profile_enter", profile->ir->pointer, &profile->record, 1);
    LLVMBuildStore(profile->builder, node, profile->node);
}

static void sum_up(struct profile *profile, const struct charge *charge, LLVMValueRef first)
{
    if (!profile->record) {
        profile->record = make_function_record(profile);
        profile->present = find_profile_line(profile, profile->function);
    }
    for (size_t i = 0; i < profile->line_count; i++)
        profile->lines[i].units = 0;
    for (LLVMValueRef instruction = first; instruction;
         instruction = LLVMGetNextInstruction(instruction)) {
        profile_take_line(profile, instruction);
        profile->lines[profile->present].units += charge_fixed(charge, instruction);
        if (ir_returns_again(instruction))
            break;
    }
}

/* Adds the fixed units of a part of a block to its lines, at the part's beginning `first`. Call it
 * before anything else is built in the part, and for the function's first block first. */
static void profile_part(struct profile *profile, const struct charge *charge, LLVMValueRef first)
{
    sum_up(profile, charge, first);
    LLVMPositionBuilderBefore(profile->builder, first);
    if (!profile->node)
        build_entry(profile);
    for (size_t i = 0; i < profile->line_count; i++)
        if (profile->lines[i].units > 0)
            build_add(profile, profile->lines[i].record,
                      ir_number(profile->ir, profile->lines[i].units));
}

/* Adds units that are known only at run time to the instruction's line, at the builder. */
static void profile_units(struct profile *profile, LLVMValueRef instruction, LLVMValueRef units)
{
    profile_take_line(profile, instruction);
    build_add(profile, profile->lines[profile->present].record, units);
}

/* Called before an instruction in which other code can run, and before the function ends. */
static void profile_call(struct profile *profile)
{
    LLVMValueRef node = load_node(profile);

    (void)build_call(profile, "gasmeter_profile_call", profile->ir->none, &node, 1);
}

static void profile_return(struct profile *profile)
{
    LLVMValueRef node = load_node(profile);

    (void)build_call(profile, "gasmeter_profile_return", profile->ir->none, &node, 1);
}

/* ---- counts ---- */

/* One function while it is metered. */
struct placement {
    const struct support *support;
    struct charge charge;
    LLVMBuilderRef builder;
    LLVMValueRef pending; /* the local variable; NULL: the naive way */
    bool bounded;         /* a bounded function: its units go to the carry */
    bool profiled;
    struct profile profile;
};

/* The state within a part of a block. Most blocks are one part. But longjmp() can reach the
 * instruction after a call like setjmp() again, so such a call ends a part, and each run of the
 * next part is charged. */
struct progress {
    uint64_t fixed; /* units of the part that are not charged yet */
    bool empty;     /* the pending variable is 0, on every path to here */
};

static LLVMValueRef load_pending(struct placement *placement)
{
    return LLVMBuildLoad2(placement->builder, placement->support->ir->i64, placement->pending, "");
}

static void add_pending(struct placement *placement, LLVMValueRef units)
{
    LLVMValueRef sum = LLVMBuildAdd(placement->builder, load_pending(placement), units, "");

    LLVMBuildStore(placement->builder, sum, placement->pending);
}

/* Adds units that may be many at once, and checks the budget first. */
static void add_many(struct placement *placement, LLVMValueRef units)
{
    const struct support *support = placement->support;

    add_pending(placement, units);
    if (support->budgets && !placement->bounded)
        LLVMBuildStore(placement->builder,
                       support_build_look(support, placement->builder, load_pending(placement)),
                       placement->pending);
}

static void charge_now(struct placement *placement, LLVMValueRef units)
{
    if (placement->pending)
        add_many(placement, units);
    else
        support_build_block(placement->support, placement->builder, units);
}

/* Writes units to memory: to a bank, or to the carry for the caller. */
static void bring(struct placement *placement, LLVMValueRef units)
{
    LLVMBuilderRef builder = placement->builder;

    if (placement->bounded)
        support_build_carry(placement->support, builder, units);
    else
        support_build_flush(placement->support, builder, units);
}

/* Returns the pending units and resets them. */
static LLVMValueRef take_pending(struct placement *placement, struct progress *progress)
{
    const struct ir *ir = placement->support->ir;
    LLVMValueRef units = ir_number(ir, progress->fixed);

    if (!progress->empty)
        units = LLVMBuildAdd(placement->builder, load_pending(placement), units, "");
    LLVMBuildStore(placement->builder, ir_number(ir, 0), placement->pending);
    *progress = (struct progress){.empty = true};
    return units;
}

static void flush(struct placement *placement, struct progress *progress)
{
    if (!progress->empty || progress->fixed > 0)
        bring(placement, take_pending(placement, progress));
}

/* Before a call of other code: passes pending units to a local callee, otherwise flushes them. */
static void leave(struct placement *placement, struct progress *progress, LLVMValueRef call)
{
    const struct support *support = placement->support;

    if (local_callees_calls(support->local_callees, call))
        support_build_carry(support, placement->builder, take_pending(placement, progress));
    else
        flush(placement, progress);
}

/* Computed gotos and large switches flush too. So nothing is pending after an interpreter's
 * dispatch, and the pending units need no register in the interpreter's loop. */
static void flush_dispatch(struct placement *placement, struct progress *progress,
                           LLVMValueRef jump)
{
    const struct ir *ir = placement->support->ir;
    LLVMValueRef units = LLVMBuildAdd(placement->builder, load_pending(placement),
                                      ir_number(ir, progress->fixed), "");

    LLVMBuildStore(placement->builder, ir_number(ir, 0), placement->pending);
    support_build_dispatch(placement->support, placement->builder, units, jump);
    *progress = (struct progress){.empty = true};
}

/* A musttail call and its return must stay adjacent. */
static bool follows_tail_call(LLVMValueRef instruction)
{
    LLVMValueRef before = LLVMGetPreviousInstruction(instruction);

    return before && LLVMIsACallInst(before) &&
           LLVMGetTailCallKind(before) == LLVMTailCallKindMustTail;
}

static bool ends_function(LLVMValueRef instruction)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);

    return opcode == LLVMRet || opcode == LLVMResume;
}

static void charge_more(struct placement *placement, struct progress *progress,
                        LLVMValueRef instruction, LLVMValueRef units)
{
    if (!units)
        return;
    if (placement->profiled)
        profile_units(&placement->profile, instruction, units);
    charge_now(placement, units);
    progress->empty = false;
}

static void note_profile_call(struct placement *placement, LLVMValueRef instruction)
{
    if (charge_leaves(&placement->charge, instruction))
        profile_call(&placement->profile);
    else if (ends_function(instruction) && !follows_tail_call(instruction))
        profile_return(&placement->profile);
}

/* Charges a block without a flush at its end. */
static void charge_rest(struct placement *placement, uint64_t units)
{
    LLVMValueRef number = ir_number(placement->support->ir, units);

    if (units > SUPPORT_BLOCK_MAX)
        add_many(placement, number);
    else
        add_pending(placement, number);
}

/* Charges an instruction's fixed units, and flushes before it if other code needs the count. */
static void charge_fixed_units(struct placement *placement, struct progress *progress,
                               LLVMValueRef instruction)
{
    LLVMValueRef next = LLVMGetNextInstruction(instruction);

    if (charge_leaves(&placement->charge, instruction))
        leave(placement, progress, instruction);
    else if (LLVMIsAIndirectBrInst(instruction))
        flush_dispatch(placement, progress, instruction);
    else if (charge_dispatches(instruction) ||
             (ends_function(instruction) && !follows_tail_call(instruction)))
        flush(placement, progress);
    else if (!next && progress->fixed > 0)
        charge_rest(placement, progress->fixed);
    if (charge_carries(&placement->charge, instruction)) {
        LLVMPositionBuilderBefore(placement->builder, next);
        add_pending(placement, support_build_take(placement->support, placement->builder));
        progress->empty = false;
    }
}

static void meter_instruction(struct placement *placement, struct progress *progress,
                              LLVMValueRef instruction)
{
    charge_more(placement, progress, instruction,
                charge_before(&placement->charge, placement->builder, instruction));
    LLVMPositionBuilderBefore(placement->builder, instruction);
    if (placement->profiled)
        note_profile_call(placement, instruction);
    if (placement->pending)
        charge_fixed_units(placement, progress, instruction);
    charge_more(placement, progress, instruction,
                charge_after(&placement->charge, placement->builder, instruction));
}

/* Returns the units of the part that begins with this instruction. */
static uint64_t units_of_part(const struct placement *placement, LLVMValueRef instruction)
{
    uint64_t units = 0;

    for (; instruction; instruction = LLVMGetNextInstruction(instruction)) {
        units += charge_fixed(&placement->charge, instruction);
        if (ir_returns_again(instruction))
            break;
    }
    return units;
}

static void begin_part(struct placement *placement, struct progress *progress, LLVMValueRef first)
{
    progress->fixed = units_of_part(placement, first);
    if (placement->profiled)
        profile_part(&placement->profile, &placement->charge, first);
    if (!placement->pending && progress->fixed > 0) {
        LLVMPositionBuilderBefore(placement->builder, first);
        charge_now(placement, ir_number(placement->support->ir, progress->fixed));
    }
}

static void meter_block(struct placement *placement, LLVMValueRef first)
{
    struct progress progress = {0};
    LLVMValueRef next;

    begin_part(placement, &progress, first);
    for (LLVMValueRef instruction = first; instruction; instruction = next) {
        next = LLVMGetNextInstruction(instruction);
        meter_instruction(placement, &progress, instruction);
        if (next && ir_returns_again(instruction))
            begin_part(placement, &progress, next);
    }
}

static void placement_begin(struct placement *placement, const struct support *support,
                            LLVMValueRef function)
{
    *placement = (struct placement){.support = support, .profiled = support->profile};
    placement->builder = LLVMCreateBuilderInContext(support->ir->context);
    profile_init(&placement->profile, support->ir, placement->builder, function);
    charge_init(&placement->charge, support->ir, &support->bounded->functions, function);
    placement->bounded = pointer_set_find(&support->bounded->functions, function, NULL);
    if (!placement->bounded)
        dead_stores_mark(support->ir, function);
}

static void placement_end(struct placement *placement)
{
    charge_free(&placement->charge);
    profile_free(&placement->profile);
    LLVMDisposeBuilder(placement->builder);
}

/* Blocks that loops_cut() adds are not in the graph and cost nothing. */
static void meter_blocks(struct placement *placement, const struct graph *graph,
                         const LLVMValueRef *firsts)
{
    for (size_t i = 0; i < graph->count; i++)
        meter_block(placement, firsts[i]);
}

/* Finds the beginning of each block's own code, before anything is inserted. */
static LLVMValueRef *find_firsts(const struct graph *graph)
{
    LLVMValueRef *firsts = pass_allocate(graph->count, sizeof *firsts);

    for (size_t i = 0; i < graph->count; i++)
        firsts[i] = ir_first_in_block(graph->blocks[i].block);
    return firsts;
}

static void make_pending(struct placement *placement, LLVMValueRef function, LLVMValueRef first)
{
    const struct support *support = placement->support;
    LLVMBuilderRef builder = placement->builder;
    LLVMValueRef units = ir_number(support->ir, 0);

    LLVMPositionBuilderBefore(builder, first);
    placement->pending = LLVMBuildAlloca(builder, support->ir->i64, "gasmeter.pending");
    if (pointer_set_find(support->local_callees, function, NULL))
        units = support_build_take(support, builder);
    LLVMBuildStore(builder, units, placement->pending);
}

void placement_outer(const struct support *support, LLVMValueRef function)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(support->ir->context);

    LLVMPositionBuilderBefore(builder,
                              LLVMGetBasicBlockTerminator(LLVMGetEntryBasicBlock(function)));
    support_build_flush(support, builder, support_build_take(support, builder));
    LLVMDisposeBuilder(builder);
}

void placement_fast(const struct support *support, LLVMValueRef function)
{
    struct placement placement;
    struct graph graph;
    LLVMValueRef *firsts;

    placement_begin(&placement, support, function);
    graph_find(&graph, function, &placement.charge);
    firsts = find_firsts(&graph);
    make_pending(&placement, function, firsts[0]);
    meter_blocks(&placement, &graph, firsts);
    if (support->budgets)
        loops_cut(support, &graph, placement.pending);
    free(firsts);
    graph_free(&graph);
    placement_end(&placement);
}

void placement_naive(const struct support *support, LLVMValueRef function)
{
    struct placement placement;
    struct graph graph;
    LLVMValueRef *firsts;

    placement_begin(&placement, support, function);
    graph_find(&graph, function, &placement.charge);
    firsts = find_firsts(&graph);
    meter_blocks(&placement, &graph, firsts);
    free(firsts);
    graph_free(&graph);
    placement_end(&placement);
}
