/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/wasm/compile/compiler.h"

/* ---- calls ---- */

/* Calls put arguments into their own slots, which become the callee's first slots. */

static void settle_arguments(struct wasm_compiler *compiler, uint32_t count)
{
    const uint32_t there = compiler->operand_count;

    wasm_settle(compiler, there > count ? there - count : 0);
}

static void compile_direct(struct wasm_compiler *compiler)
{
    const uint32_t index = wasm_read_u32(&compiler->reader);
    const struct wasm_function_type *type;
    struct wasm_cell *cell;

    wasm_charge(compiler, 1);
    if (index >= compiler->module->function_count) {
        wasm_compile_fail(compiler, "unknown function");
        return;
    }
    type = wasm_type_of_function(compiler->module, index);
    settle_arguments(compiler, type->parameters.length);
    wasm_pop_all(compiler, type->parameters);
    wasm_gas_end(compiler);
    cell = wasm_emit(compiler, index < compiler->module->imported_functions ? WASM_OP_CALL_IMPORT
                                                                            : WASM_OP_CALL);
    cell->aa = wasm_own_slot(compiler, compiler->operand_count);
    cell->k = (int32_t)index;
    wasm_push_all(compiler, type->results);
    wasm_gas_begin(compiler);
}

static bool read_indirect(struct wasm_compiler *compiler, uint32_t *type, uint32_t *table)
{
    const struct wasm_module *module = compiler->module;

    *type = wasm_read_u32(&compiler->reader);
    *table = wasm_read_u32(&compiler->reader);
    if (*type >= module->type_count)
        return wasm_compile_fail(compiler, "unknown type");
    if (*table >= module->table_count)
        return wasm_compile_fail(compiler, "unknown table");
    if (module->tables[*table].type != WASM_FUNCREF)
        return wasm_compile_fail(compiler, "type mismatch");
    return compiler->reader.fault == NULL;
}

static void compile_indirect(struct wasm_compiler *compiler)
{
    const struct wasm_function_type *type;
    struct wasm_operand index;
    struct wasm_cell *cell;
    uint32_t type_index;
    uint32_t table;
    uint16_t slot;

    wasm_charge(compiler, 1);
    if (!read_indirect(compiler, &type_index, &table))
        return;
    type = &compiler->module->types[type_index];
    index = wasm_pop(compiler, WASM_I32);
    slot = wasm_slot_of(compiler, index, compiler->operand_count);
    settle_arguments(compiler, type->parameters.length);
    wasm_pop_all(compiler, type->parameters);
    wasm_gas_end(compiler);
    cell = wasm_emit(compiler, WASM_OP_CALL_INDIRECT);
    cell->dd = slot;
    cell->aa = wasm_own_slot(compiler, compiler->operand_count);
    cell->k = (int32_t)type_index;
    wasm_emit_wide(compiler, table);
    wasm_push_all(compiler, type->results);
    wasm_gas_begin(compiler);
}

bool wasm_compile_call(struct wasm_compiler *compiler, uint8_t opcode)
{
    if (opcode == WASM_CALL)
        compile_direct(compiler);
    else if (opcode == WASM_CALL_INDIRECT)
        compile_indirect(compiler);
    else
        return false;
    return true;
}

/* ---- blocks and branches ---- */

/* Blocks and branches. */

/* A single instruction moves more operands than these. */
enum { MOVED_ONE_BY_ONE = 4 };

/* ---- jumps ---- */

/* The condition of a jump: an operation and its first two fields. */
struct condition {
    enum wasm_operation operation; /* JUMP_IF or a JUMP_compare */
    uint16_t dd, aa;
};

/* Returns the comparison with the opposite result, in the same form. */
static enum wasm_operation wasm_inverse_comparison(enum wasm_operation operation)
{
    /* EQ NE, LT_S GE_S, LT_U GE_U, GT_S LE_S, GT_U LE_U, by their order. */
    static const uint8_t inverse[] = {1, 0, 8, 9, 6, 7, 4, 5, 2, 3};
    enum { FORMS = 8 };
    const unsigned number = operation - WASM_OP_I32_EQ;

    return (enum wasm_operation)(WASM_OP_I32_EQ + inverse[number / FORMS] * FORMS + number % FORMS);
}

static bool is_comparison(enum wasm_operation operation)
{
    return operation >= WASM_OP_I32_EQ && operation <= WASM_OP_I64_GE_U_K;
}

/* Returns true if the comparison can be merged into the jump: its constant must fit. */
static bool can_join(enum wasm_operation operation, const struct wasm_cell *cell)
{
    if (operation == WASM_OP_I32_EQZ || operation == WASM_OP_I64_EQZ)
        return true;
    if (!is_comparison(operation))
        return false;
    return (operation - WASM_OP_I32_EQ) % 8 < 2 || cell->k == (int16_t)cell->k;
}

static struct condition fuse_comparison(enum wasm_operation operation, struct wasm_cell cell)
{
    if (operation == WASM_OP_I32_EQZ)
        return (struct condition){WASM_OP_JUMP_I32_EQ_K, cell.a, 0};
    if (operation == WASM_OP_I64_EQZ)
        return (struct condition){WASM_OP_JUMP_I64_EQ_K, cell.a, 0};
    operation += WASM_OP_JUMP_I32_EQ - WASM_OP_I32_EQ;
    if ((operation - WASM_OP_I32_EQ) % 8 >= 6)
        return (struct condition){operation, cell.aa, (uint16_t)cell.k};
    return (struct condition){operation, cell.a, cell.b};
}

/* Pops a condition. If the last instruction is the comparison that made it, removes that one. */
static struct condition pop_condition(struct wasm_compiler *compiler)
{
    const bool is_last = wasm_top_is_last(compiler);
    const struct wasm_operand operand = wasm_pop(compiler, WASM_I32);

    if (is_last && wasm_is_emitting(compiler) &&
        can_join(compiler->last_operation, &compiler->cells[compiler->cell_count - 1]))
        return fuse_comparison(compiler->last_operation, wasm_take_back(compiler));
    return (struct condition){WASM_OP_JUMP_IF, 0,
                              wasm_slot_of(compiler, operand, compiler->operand_count)};
}

/* Returns the number of the jump's cell; its target is filled in later. */
static uint32_t emit_jump(struct wasm_compiler *compiler, struct condition condition, bool when)
{
    enum wasm_operation operation = condition.operation;
    struct wasm_cell *cell;

    if (!when)
        operation =
            operation == WASM_OP_JUMP_IF ? WASM_OP_JUMP_UNLESS : wasm_inverse_comparison(operation);
    cell = wasm_emit(compiler, operation);
    cell->dd = condition.dd;
    cell->aa = condition.aa;
    return compiler->cell_count - 1;
}

/* Makes that cell jump to the next cell. */
static void land_here(struct wasm_compiler *compiler, uint32_t cell)
{
    compiler->cells[cell].k = (int32_t)(compiler->cell_count - cell);
}

/* Makes that cell jump to the label, now or when the label's end is known. */
static void aim(struct wasm_compiler *compiler, uint32_t cell, struct wasm_control *label)
{
    if (label->kind == WASM_CONTROL_LOOP) {
        compiler->cells[cell].k = (int32_t)(label->start - cell);
        return;
    }
    compiler->cells[cell].k = (int32_t)label->jumps;
    label->jumps = cell;
}

static void land_all(struct wasm_compiler *compiler, struct wasm_control *control)
{
    uint32_t cell = control->jumps;

    while (cell != WASM_NO_CELL) {
        const uint32_t next = (uint32_t)compiler->cells[cell].k;

        land_here(compiler, cell);
        cell = next;
    }
    control->jumps = WASM_NO_CELL;
}

/* ---- labels ---- */

/* Returns the block that a branch of that depth ends, or repeats if it is a loop. NULL: no such
 * block. */
static struct wasm_control *label_of(struct wasm_compiler *compiler, uint32_t depth)
{
    if (depth < compiler->control_count)
        return &compiler->controls[compiler->control_count - 1 - depth];
    wasm_compile_fail(compiler, "unknown label");
    return NULL;
}

static struct wasm_bytes label_types(const struct wasm_control *label)
{
    return label->kind == WASM_CONTROL_LOOP ? label->parameters : label->results;
}

/* Returns true if a branch must move operands first. */
static bool must_move(const struct wasm_compiler *compiler, const struct wasm_control *label)
{
    const uint32_t count = label_types(label).length;
    const uint32_t from = compiler->operand_count - count;

    if (count == 0)
        return false;
    if (from != label->height)
        return true;
    for (uint32_t i = from; i < compiler->operand_count; i++)
        if (compiler->operands[i].place != WASM_PLACE_SLOT)
            return true;
    return false;
}

static void move_branch_operand(struct wasm_compiler *compiler, uint32_t to, uint32_t from)
{
    const struct wasm_operand *operand = &compiler->operands[from];
    const uint16_t slot = wasm_own_slot(compiler, to);

    if (operand->place == WASM_PLACE_CONSTANT)
        wasm_emit_constant(compiler, slot, operand->bits);
    else if (operand->place == WASM_PLACE_LOCAL)
        wasm_emit_copy(compiler, slot, (uint16_t)operand->local);
    else
        wasm_emit_copy(compiler, slot, wasm_own_slot(compiler, from));
}

/* Settles many operands before any jump, so that one instruction moves them. */
static void prepare_move(struct wasm_compiler *compiler, const struct wasm_control *label)
{
    if (label_types(label).length > MOVED_ONE_BY_ONE)
        wasm_settle(compiler, 0);
}

/* Moves upwards, because each target lies below the operands still to be moved. */
static void move_branch_operands(struct wasm_compiler *compiler, const struct wasm_control *label)
{
    const uint32_t count = label_types(label).length;
    const uint32_t from = compiler->operand_count - count;
    struct wasm_cell *cell;

    if (!wasm_is_emitting(compiler))
        return;
    if (count <= MOVED_ONE_BY_ONE) {
        for (uint32_t i = 0; i < count; i++)
            move_branch_operand(compiler, label->height + i, from + i);
        return;
    }
    cell = wasm_emit(compiler, WASM_OP_COPY_RANGE);
    cell->d = wasm_own_slot(compiler, label->height);
    cell->a = wasm_own_slot(compiler, from);
    cell->b = (uint16_t)count;
}

/* After an unconditional branch. */
static void set_unreachable(struct wasm_compiler *compiler)
{
    wasm_cut(compiler, wasm_top_control(compiler)->height);
    wasm_top_control(compiler)->is_unreachable = true;
}

/* ---- branches ---- */

/* Emits a return of that slot, or of several slots from there. */
static void emit_return(struct wasm_compiler *compiler, uint16_t slot)
{
    const uint32_t count = compiler->type->results.length;
    struct wasm_cell *cell;

    if (count == 1) {
        wasm_emit(compiler, WASM_OP_RETURN_ONE)->aa = slot;
        return;
    }
    if (count > 1) {
        cell = wasm_emit(compiler, WASM_OP_COPY_RANGE);
        cell->a = slot;
        cell->b = (uint16_t)count;
    }
    wasm_emit(compiler, WASM_OP_RETURN);
}

/* A branch out of a function with at most one result returns directly. */
static void emit_leave(struct wasm_compiler *compiler)
{
    const uint32_t top = compiler->operand_count - 1;

    emit_return(compiler, compiler->type->results.length == 0
                              ? 0
                              : wasm_slot_of(compiler, compiler->operands[top], top));
}

static void branch(struct wasm_compiler *compiler, uint32_t depth)
{
    struct wasm_control *label = label_of(compiler, depth);

    wasm_charge(compiler, 1);
    if (label == NULL)
        return;
    wasm_check_all(compiler, label_types(label), true);
    if (wasm_is_emitting(compiler)) {
        prepare_move(compiler, label);
        wasm_gas_end(compiler);
        if (label == compiler->controls && label->results.length <= 1) {
            emit_leave(compiler);
        } else {
            move_branch_operands(compiler, label);
            wasm_emit(compiler, WASM_OP_JUMP);
            aim(compiler, compiler->cell_count - 1, label);
        }
    }
    set_unreachable(compiler);
}

static void branch_if(struct wasm_compiler *compiler)
{
    struct wasm_control *label = label_of(compiler, wasm_read_u32(&compiler->reader));
    struct condition condition;
    uint32_t skip;

    wasm_charge(compiler, 1);
    condition = pop_condition(compiler);
    if (label == NULL)
        return;
    wasm_check_all(compiler, label_types(label), true);
    if (!wasm_is_emitting(compiler))
        return;
    prepare_move(compiler, label);
    wasm_gas_end(compiler);
    if (!must_move(compiler, label)) {
        aim(compiler, emit_jump(compiler, condition, true), label);
    } else {
        skip = emit_jump(compiler, condition, false);
        move_branch_operands(compiler, label);
        wasm_emit(compiler, WASM_OP_JUMP);
        aim(compiler, compiler->cell_count - 1, label);
        land_here(compiler, skip);
    }
    wasm_gas_begin(compiler);
}

/* ---- br_table ---- */

/* Reads the labels twice: first to check them, then to emit the jumps. */
static void check_table(struct wasm_compiler *compiler, uint32_t count)
{
    uint32_t arity = 0;

    for (uint32_t i = 0; i <= count && compiler->reader.fault == NULL; i++) {
        struct wasm_control *label = label_of(compiler, wasm_read_u32(&compiler->reader));

        if (label == NULL)
            return;
        if (i > 0 && label_types(label).length != arity)
            wasm_compile_fail(compiler, "type mismatch");
        arity = label_types(label).length;
        label->stub = WASM_NO_CELL;
        wasm_check_all(compiler, label_types(label), i == count);
        wasm_emit(compiler, WASM_OP_JUMP);
    }
}

/* Branches to the same label share the cells that move operands. */
static void emit_stub(struct wasm_compiler *compiler, struct wasm_control *label, uint32_t cell)
{
    if (label->stub != WASM_NO_CELL) {
        compiler->cells[cell].k = (int32_t)(label->stub - cell);
        return;
    }
    label->stub = compiler->cell_count;
    land_here(compiler, cell);
    move_branch_operands(compiler, label);
    wasm_emit(compiler, WASM_OP_JUMP);
    aim(compiler, compiler->cell_count - 1, label);
}

static void aim_table(struct wasm_compiler *compiler, struct wasm_reader labels, uint32_t first,
                      uint32_t count)
{
    for (uint32_t i = 0; i <= count && wasm_is_emitting(compiler); i++) {
        struct wasm_control *label = label_of(compiler, wasm_read_u32(&labels));
        const uint32_t cell = i < count ? first + 1 + i : first; /* the default comes first */

        if (must_move(compiler, label))
            emit_stub(compiler, label, cell);
        else
            aim(compiler, cell, label);
    }
}

static void branch_table(struct wasm_compiler *compiler)
{
    const uint32_t count = wasm_read_count(&compiler->reader);
    const struct wasm_reader labels = compiler->reader;
    const struct wasm_operand index = wasm_pop(compiler, WASM_I32);
    const uint16_t slot = wasm_slot_of(compiler, index, compiler->operand_count);
    struct wasm_cell *cell;
    uint32_t first;

    wasm_charge(compiler, 1);
    wasm_settle(compiler, 0);
    wasm_gas_end(compiler);
    cell = wasm_emit(compiler, WASM_OP_JUMP_TABLE);
    cell->aa = slot;
    cell->k = (int32_t)count;
    first = compiler->cell_count;
    check_table(compiler, count);
    aim_table(compiler, labels, first, count);
    set_unreachable(compiler);
}

/* ---- blocks ---- */

/* Reads a block type given by index. */
static void read_indexed_type(struct wasm_compiler *compiler, struct wasm_control *control)
{
    const int64_t index = wasm_read_s33(&compiler->reader);

    if (index < 0 || index >= compiler->module->type_count) {
        wasm_compile_fail(compiler, "unknown type");
        return;
    }
    if (compiler->module->limits->no_multi_value) {
        wasm_compile_fail(compiler, "a block's type by index is not allowed");
        return;
    }
    control->parameters = compiler->module->types[index].parameters;
    control->results = compiler->module->types[index].results;
}

static void read_block_type(struct wasm_compiler *compiler, struct wasm_control *control)
{
    struct wasm_reader *reader = &compiler->reader;

    if (wasm_reader_left(reader) == 0) {
        (void)wasm_read_byte(reader);
    } else if (*reader->at == WASM_EMPTY_BLOCK) {
        reader->at++;
    } else if (wasm_is_type(*reader->at)) {
        control->results = (struct wasm_bytes){.data = reader->at++, .length = 1};
    } else {
        read_indexed_type(compiler, control);
    }
}

static void count_block(struct wasm_compiler *compiler)
{
    const struct wasm_limits *limits = compiler->module->limits;

    if (++compiler->block_count > limits->function_blocks ||
        ++compiler->module->block_count > limits->module_blocks)
        wasm_compile_stop(compiler, WASM_FAULT_BLOCKS, "more blocks than are allowed");
}

static void control_enter(struct wasm_compiler *compiler, struct wasm_control control)
{
    if (control.kind != WASM_CONTROL_LOOP)
        control.start = 0;
    control.jumps = WASM_NO_CELL;
    if (compiler->control_count != 0) {
        control.is_dead = !wasm_is_emitting(compiler);
        wasm_pop_all(compiler, control.parameters);
    }
    control.height = compiler->operand_count;
    if (!wasm_compile_reserve(compiler, &compiler->controls, compiler->control_count,
                              &compiler->control_capacity, sizeof *compiler->controls))
        return;
    compiler->controls[compiler->control_count++] = control;
    wasm_push_all(compiler, control.parameters);
}

void wasm_enter_function(struct wasm_compiler *compiler)
{
    control_enter(compiler, (struct wasm_control){.kind = WASM_CONTROL_BLOCK,
                                                  .results = compiler->type->results});
    if (compiler->control_count != 0)
        wasm_gas_begin(compiler);
}

static void enter_block(struct wasm_compiler *compiler, enum wasm_control_kind kind)
{
    struct wasm_control control = {.kind = kind};
    struct condition condition = {0};

    count_block(compiler);
    if (kind == WASM_CONTROL_IF) {
        wasm_charge(compiler, 1);
        condition = pop_condition(compiler);
    }
    read_block_type(compiler, &control);
    wasm_settle(compiler, 0);
    if (kind != WASM_CONTROL_BLOCK)
        wasm_gas_end(compiler);
    if (kind == WASM_CONTROL_IF)
        control.else_jump = emit_jump(compiler, condition, false);
    control.start = compiler->cell_count;
    control_enter(compiler, control);
    if (kind != WASM_CONTROL_BLOCK)
        wasm_gas_begin(compiler);
    /* Each round of a loop pays for the loop instruction, which a branch executes again. */
    if (kind == WASM_CONTROL_LOOP)
        wasm_charge(compiler, 1);
}

/* Checks the results, and settles them in their own slots. */
static void control_leave(struct wasm_compiler *compiler)
{
    const struct wasm_control *control = wasm_top_control(compiler);

    wasm_settle(compiler, control->height);
    wasm_pop_all(compiler, control->results);
    if (compiler->operand_count != control->height)
        wasm_compile_fail(compiler, "type mismatch");
}

static void enter_else(struct wasm_compiler *compiler)
{
    struct wasm_control *control = wasm_top_control(compiler);

    if (control->kind != WASM_CONTROL_IF) {
        wasm_compile_fail(compiler, "else without if");
        return;
    }
    control_leave(compiler);
    if (wasm_is_emitting(compiler)) {
        wasm_gas_end(compiler);
        wasm_emit(compiler, WASM_OP_JUMP);
        aim(compiler, compiler->cell_count - 1, control);
    }
    wasm_cut(compiler, control->height);
    control->kind = WASM_CONTROL_ELSE;
    control->is_unreachable = false;
    if (wasm_is_emitting(compiler))
        land_here(compiler, control->else_jump);
    wasm_push_all(compiler, control->parameters);
    wasm_gas_begin(compiler);
}

/* Ends the function; branches left its results in their own slots. */
static void end_function(struct wasm_compiler *compiler, struct wasm_control *control)
{
    const bool is_reached = wasm_is_emitting(compiler) || control->jumps != WASM_NO_CELL;

    wasm_gas_end(compiler);
    if (is_reached) {
        control->is_unreachable = false;
        if (wasm_is_emitting(compiler))
            land_all(compiler, control);
        emit_return(compiler, wasm_own_slot(compiler, 0));
    }
    compiler->control_count = 0;
}

static bool same_types(struct wasm_bytes left, struct wasm_bytes right)
{
    if (left.length != right.length)
        return false;
    for (uint32_t i = 0; i < left.length; i++)
        if (left.data[i] != right.data[i])
            return false;
    return true;
}

/* Ends a block. Returns true if no branch targets its end: then its gas block continues. */
static bool block_continues(struct wasm_compiler *compiler, const struct wasm_control *control)
{
    return wasm_is_emitting(compiler) && control->jumps == WASM_NO_CELL &&
           (control->kind == WASM_CONTROL_BLOCK || control->kind == WASM_CONTROL_LOOP);
}

static void compile_end_of_block(struct wasm_compiler *compiler)
{
    struct wasm_control *control = wasm_top_control(compiler);
    const struct wasm_bytes results = control->results;
    bool is_continued;

    control_leave(compiler);
    if (control->kind == WASM_CONTROL_IF && !same_types(control->parameters, results))
        wasm_compile_fail(compiler, "type mismatch");
    if (compiler->control_count == 1) {
        end_function(compiler, control);
        return;
    }
    is_continued = block_continues(compiler, control);
    if (!is_continued)
        wasm_gas_end(compiler);
    control->is_unreachable = false;
    if (wasm_is_emitting(compiler)) {
        if (control->kind == WASM_CONTROL_IF)
            land_here(compiler, control->else_jump);
        land_all(compiler, control);
    }
    compiler->control_count--;
    wasm_push_all(compiler, results);
    if (!is_continued)
        wasm_gas_begin(compiler);
}

static void trap_here(struct wasm_compiler *compiler)
{
    wasm_charge(compiler, 1);
    wasm_mark_trap(compiler);
    wasm_emit(compiler, WASM_OP_UNREACHABLE);
    wasm_gas_end(compiler);
    set_unreachable(compiler);
}

bool wasm_compile_control(struct wasm_compiler *compiler, uint8_t opcode)
{
    switch (opcode) {
    case WASM_UNREACHABLE:
        trap_here(compiler);
        return true;
    case WASM_NOP:
        wasm_charge(compiler, 1);
        return true;
    case WASM_BLOCK:
        enter_block(compiler, WASM_CONTROL_BLOCK);
        return true;
    case WASM_LOOP:
        enter_block(compiler, WASM_CONTROL_LOOP);
        return true;
    case WASM_IF:
        enter_block(compiler, WASM_CONTROL_IF);
        return true;
    case WASM_ELSE:
        enter_else(compiler);
        return true;
    case WASM_END:
        compile_end_of_block(compiler);
        return true;
    case WASM_BR:
        branch(compiler, wasm_read_u32(&compiler->reader));
        return true;
    case WASM_BR_IF:
        branch_if(compiler);
        return true;
    case WASM_BR_TABLE:
        branch_table(compiler);
        return true;
    case WASM_RETURN:
        branch(compiler, compiler->control_count - 1);
        return true;
    default:
        return false;
    }
}
