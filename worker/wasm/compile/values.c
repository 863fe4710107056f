/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/wasm/compile/compiler.h"

/* ---- numbers ---- */

/* Instructions with one or two operands and one result. */

struct numeric {
    uint16_t operation;
    uint8_t operand; /* type of each operand */
    uint8_t result;
    bool is_binary;
    bool takes_constant; /* the form with _K follows */
    bool commutes;
    bool traps;
};

enum { K_FORM = WASM_OP_I32_ADD_K - WASM_OP_I32_ADD };

#define UNARY(name, from, to)                                                                      \
    {                                                                                              \
        .operation = WASM_OP_##name, .operand = WASM_##from, .result = WASM_##to                   \
    }
#define TRUNCATION(name, from, to)                                                                 \
    {                                                                                              \
        .operation = WASM_OP_##name, .operand = WASM_##from, .result = WASM_##to, .traps = true    \
    }
#define BINARY(type, name, ...)                                                                    \
    {                                                                                              \
        .operation = WASM_OP_##type##_##name, .operand = WASM_##type, .result = WASM_##type,       \
        .is_binary = true, ##__VA_ARGS__                                                           \
    }
#define COMPARISON(type, name, ...)                                                                \
    {                                                                                              \
        .operation = WASM_OP_##type##_##name, .operand = WASM_##type, .result = WASM_I32,          \
        .is_binary = true, ##__VA_ARGS__                                                           \
    }
#define K        .takes_constant = true
#define K_EITHER .takes_constant = true, .commutes = true
#define TRAPS    .traps = true

#define INTEGER_COMPARISONS(type)                                                                  \
    COMPARISON(type, EQ, K_EITHER), COMPARISON(type, NE, K_EITHER), COMPARISON(type, LT_S, K),     \
        COMPARISON(type, LT_U, K), COMPARISON(type, GT_S, K), COMPARISON(type, GT_U, K),           \
        COMPARISON(type, LE_S, K), COMPARISON(type, LE_U, K), COMPARISON(type, GE_S, K),           \
        COMPARISON(type, GE_U, K)
#define FLOAT_COMPARISONS(type)                                                                    \
    COMPARISON(type, EQ), COMPARISON(type, NE), COMPARISON(type, LT), COMPARISON(type, GT),        \
        COMPARISON(type, LE), COMPARISON(type, GE)
#define INTEGER_ARITHMETIC(type)                                                                   \
    UNARY(type##_CLZ, type, type), UNARY(type##_CTZ, type, type),                                  \
        UNARY(type##_POPCNT, type, type), BINARY(type, ADD, K_EITHER), BINARY(type, SUB, K),       \
        BINARY(type, MUL, K_EITHER), BINARY(type, DIV_S, TRAPS), BINARY(type, DIV_U, TRAPS),       \
        BINARY(type, REM_S, TRAPS), BINARY(type, REM_U, TRAPS), BINARY(type, AND, K_EITHER),       \
        BINARY(type, OR, K_EITHER), BINARY(type, XOR, K_EITHER), BINARY(type, SHL, K),             \
        BINARY(type, SHR_S, K), BINARY(type, SHR_U, K), BINARY(type, ROTL, K),                     \
        BINARY(type, ROTR, K)
#define FLOAT_ARITHMETIC(type)                                                                     \
    UNARY(type##_ABS, type, type), UNARY(type##_NEG, type, type), UNARY(type##_CEIL, type, type),  \
        UNARY(type##_FLOOR, type, type), UNARY(type##_TRUNC, type, type),                          \
        UNARY(type##_NEAREST, type, type), UNARY(type##_SQRT, type, type), BINARY(type, ADD),      \
        BINARY(type, SUB), BINARY(type, MUL), BINARY(type, DIV), BINARY(type, MIN),                \
        BINARY(type, MAX), BINARY(type, COPYSIGN)

/* From WASM_FIRST_NUMERIC to WASM_LAST_NUMERIC. */
static const struct numeric numerics[] = {
    UNARY(I32_EQZ, I32, I32),
    INTEGER_COMPARISONS(I32),
    UNARY(I64_EQZ, I64, I32),
    INTEGER_COMPARISONS(I64),
    FLOAT_COMPARISONS(F32),
    FLOAT_COMPARISONS(F64),
    INTEGER_ARITHMETIC(I32),
    INTEGER_ARITHMETIC(I64),
    FLOAT_ARITHMETIC(F32),
    FLOAT_ARITHMETIC(F64),
    UNARY(I32_WRAP_I64, I64, I32),
    TRUNCATION(I32_TRUNC_F32_S, F32, I32),
    TRUNCATION(I32_TRUNC_F32_U, F32, I32),
    TRUNCATION(I32_TRUNC_F64_S, F64, I32),
    TRUNCATION(I32_TRUNC_F64_U, F64, I32),
    UNARY(I64_EXTEND_I32_S, I32, I64),
    UNARY(I64_EXTEND_I32_U, I32, I64),
    TRUNCATION(I64_TRUNC_F32_S, F32, I64),
    TRUNCATION(I64_TRUNC_F32_U, F32, I64),
    TRUNCATION(I64_TRUNC_F64_S, F64, I64),
    TRUNCATION(I64_TRUNC_F64_U, F64, I64),
    UNARY(F32_CONVERT_I32_S, I32, F32),
    UNARY(F32_CONVERT_I32_U, I32, F32),
    UNARY(F32_CONVERT_I64_S, I64, F32),
    UNARY(F32_CONVERT_I64_U, I64, F32),
    UNARY(F32_DEMOTE_F64, F64, F32),
    UNARY(F64_CONVERT_I32_S, I32, F64),
    UNARY(F64_CONVERT_I32_U, I32, F64),
    UNARY(F64_CONVERT_I64_S, I64, F64),
    UNARY(F64_CONVERT_I64_U, I64, F64),
    UNARY(F64_PROMOTE_F32, F32, F64),
    UNARY(REINTERPRET, F32, I32),
    UNARY(REINTERPRET, F64, I64),
    UNARY(REINTERPRET, I32, F32),
    UNARY(REINTERPRET, I64, F64),
    UNARY(I32_EXTEND8_S, I32, I32),
    UNARY(I32_EXTEND16_S, I32, I32),
    UNARY(I64_EXTEND8_S, I64, I64),
    UNARY(I64_EXTEND16_S, I64, I64),
    UNARY(I64_EXTEND32_S, I64, I64),
};

_Static_assert(sizeof numerics / sizeof *numerics == WASM_LAST_NUMERIC - WASM_FIRST_NUMERIC + 1,
               "each opcode has its line");

static const struct numeric saturating[] = {
    UNARY(I32_TRUNC_SAT_F32_S, F32, I32), UNARY(I32_TRUNC_SAT_F32_U, F32, I32),
    UNARY(I32_TRUNC_SAT_F64_S, F64, I32), UNARY(I32_TRUNC_SAT_F64_U, F64, I32),
    UNARY(I64_TRUNC_SAT_F32_S, F32, I64), UNARY(I64_TRUNC_SAT_F32_U, F32, I64),
    UNARY(I64_TRUNC_SAT_F64_S, F64, I64), UNARY(I64_TRUNC_SAT_F64_U, F64, I64),
};

static void push_result(struct wasm_compiler *compiler, const struct numeric *numeric,
                        unsigned operation)
{
    wasm_push(compiler, numeric->result);
    wasm_emitted_top(compiler, (enum wasm_operation)operation);
}

static void compile_unary(struct wasm_compiler *compiler, const struct numeric *numeric)
{
    const struct wasm_operand operand = wasm_pop(compiler, numeric->operand);
    const uint16_t from = wasm_slot_of(compiler, operand, compiler->operand_count);
    struct wasm_cell *cell;

    if (numeric->traps)
        wasm_mark_trap(compiler);
    cell = wasm_emit(compiler, numeric->operation);
    cell->d = wasm_own_slot(compiler, compiler->operand_count);
    cell->a = from;
    push_result(compiler, numeric, numeric->operation);
}

/* Returns true if the operand is a constant that fits into a cell for the operation's type. */
static bool constant_fits_cell(const struct numeric *numeric, const struct wasm_operand *operand)
{
    return operand->place == WASM_PLACE_CONSTANT &&
           (numeric->operand == WASM_I32 || (int64_t)operand->bits == (int32_t)operand->bits);
}

static void compile_with_constant(struct wasm_compiler *compiler, const struct numeric *numeric,
                                  uint16_t slot, uint64_t bits)
{
    struct wasm_cell *cell = wasm_emit(compiler, numeric->operation + K_FORM);

    cell->d = wasm_own_slot(compiler, compiler->operand_count);
    cell->a = slot;
    cell->k = (int32_t)bits;
    push_result(compiler, numeric, numeric->operation + K_FORM);
}

static void compile_binary(struct wasm_compiler *compiler, const struct numeric *numeric)
{
    struct wasm_operand right = wasm_pop(compiler, numeric->operand);
    struct wasm_operand left = wasm_pop(compiler, numeric->operand);
    const uint32_t place = compiler->operand_count;
    uint16_t left_slot;
    uint16_t right_slot;
    struct wasm_cell *cell;

    if (numeric->takes_constant && constant_fits_cell(numeric, &right)) {
        left_slot = wasm_slot_of(compiler, left, place);
        compile_with_constant(compiler, numeric, left_slot, right.bits);
        return;
    }
    if (numeric->commutes && constant_fits_cell(numeric, &left)) {
        right_slot = wasm_slot_of(compiler, right, place + 1);
        compile_with_constant(compiler, numeric, right_slot, left.bits);
        return;
    }
    left_slot = wasm_slot_of(compiler, left, place);
    right_slot = wasm_slot_of(compiler, right, place + 1);
    if (numeric->traps)
        wasm_mark_trap(compiler);
    cell = wasm_emit(compiler, numeric->operation);
    cell->d = wasm_own_slot(compiler, place);
    cell->a = left_slot;
    cell->b = right_slot;
    push_result(compiler, numeric, numeric->operation);
}

bool wasm_compile_numeric(struct wasm_compiler *compiler, uint8_t opcode)
{
    const struct numeric *numeric;

    if (opcode < WASM_FIRST_NUMERIC || opcode > WASM_LAST_NUMERIC)
        return false;
    numeric = &numerics[opcode - WASM_FIRST_NUMERIC];
    wasm_charge(compiler, 1);
    if (numeric->is_binary)
        compile_binary(compiler, numeric);
    else
        compile_unary(compiler, numeric);
    return true;
}

static bool wasm_compile_saturating(struct wasm_compiler *compiler, uint32_t opcode)
{
    if (compiler->module->limits->no_saturating)
        return wasm_compile_fail(compiler, "saturating conversions are not allowed");
    wasm_charge(compiler, 1);
    compile_unary(compiler, &saturating[opcode]);
    return true;
}

/* ---- memory and tables ---- */

/* Instructions on the memory and on tables. */

static bool need_memory(struct wasm_compiler *compiler)
{
    return compiler->module->memory_count != 0 || wasm_compile_fail(compiler, "unknown memory");
}

/* ---- loads and stores ---- */

struct access {
    uint16_t operation;
    uint8_t type;
    uint8_t alignment; /* the largest alignment allowed, as a power of two */
};

/* From WASM_FIRST_LOAD to WASM_LAST_STORE. */
static const struct access accesses[] = {
    {WASM_OP_I32_LOAD, WASM_I32, 2},     {WASM_OP_I64_LOAD, WASM_I64, 3},
    {WASM_OP_F32_LOAD, WASM_F32, 2},     {WASM_OP_F64_LOAD, WASM_F64, 3},
    {WASM_OP_I32_LOAD8_S, WASM_I32, 0},  {WASM_OP_I32_LOAD8_U, WASM_I32, 0},
    {WASM_OP_I32_LOAD16_S, WASM_I32, 1}, {WASM_OP_I32_LOAD16_U, WASM_I32, 1},
    {WASM_OP_I64_LOAD8_S, WASM_I64, 0},  {WASM_OP_I64_LOAD8_U, WASM_I64, 0},
    {WASM_OP_I64_LOAD16_S, WASM_I64, 1}, {WASM_OP_I64_LOAD16_U, WASM_I64, 1},
    {WASM_OP_I64_LOAD32_S, WASM_I64, 2}, {WASM_OP_I64_LOAD32_U, WASM_I64, 2},
    {WASM_OP_I32_STORE, WASM_I32, 2},    {WASM_OP_I64_STORE, WASM_I64, 3},
    {WASM_OP_F32_STORE, WASM_F32, 2},    {WASM_OP_F64_STORE, WASM_F64, 3},
    {WASM_OP_I32_STORE8, WASM_I32, 0},   {WASM_OP_I32_STORE16, WASM_I32, 1},
    {WASM_OP_I64_STORE8, WASM_I64, 0},   {WASM_OP_I64_STORE16, WASM_I64, 1},
    {WASM_OP_I64_STORE32, WASM_I64, 2},
};

_Static_assert(sizeof accesses / sizeof *accesses == WASM_LAST_STORE - WASM_FIRST_LOAD + 1,
               "each opcode has its line");

static void emit_load(struct wasm_compiler *compiler, const struct access *access, uint32_t offset)
{
    const struct wasm_operand address = wasm_pop(compiler, WASM_I32);
    const uint16_t slot = wasm_slot_of(compiler, address, compiler->operand_count);
    struct wasm_cell *cell;

    wasm_mark_trap(compiler);
    cell = wasm_emit(compiler, access->operation);
    cell->dd = wasm_own_slot(compiler, compiler->operand_count);
    cell->aa = slot;
    cell->k = (int32_t)offset;
    wasm_push(compiler, access->type);
    wasm_emitted_top(compiler, access->operation);
}

static void emit_store(struct wasm_compiler *compiler, const struct access *access, uint32_t offset)
{
    const struct wasm_operand value = wasm_pop(compiler, access->type);
    const struct wasm_operand address = wasm_pop(compiler, WASM_I32);
    const uint16_t address_slot = wasm_slot_of(compiler, address, compiler->operand_count);
    const uint16_t value_slot = wasm_slot_of(compiler, value, compiler->operand_count + 1);
    struct wasm_cell *cell;

    wasm_mark_trap(compiler);
    cell = wasm_emit(compiler, access->operation);
    cell->dd = address_slot;
    cell->aa = value_slot;
    cell->k = (int32_t)offset;
}

static void compile_access(struct wasm_compiler *compiler, uint8_t opcode)
{
    const struct access *access = &accesses[opcode - WASM_FIRST_LOAD];
    const uint32_t alignment = wasm_read_u32(&compiler->reader);
    const uint32_t offset = wasm_read_u32(&compiler->reader);

    wasm_charge(compiler, 1);
    if (alignment > access->alignment)
        wasm_compile_fail(compiler, "alignment must not be larger than natural");
    else if (!need_memory(compiler))
        return;
    else if (opcode < WASM_FIRST_STORE)
        emit_load(compiler, access, offset);
    else
        emit_store(compiler, access, offset);
}

/* ---- size and growth ---- */

static void need_zero_byte(struct wasm_compiler *compiler)
{
    if (wasm_read_byte(&compiler->reader) != 0)
        wasm_compile_fail(compiler, "zero byte expected");
}

static void compile_size(struct wasm_compiler *compiler)
{
    need_zero_byte(compiler);
    wasm_charge(compiler, 1);
    if (!need_memory(compiler))
        return;
    wasm_emit(compiler, WASM_OP_MEMORY_SIZE)->d = wasm_own_slot(compiler, compiler->operand_count);
    wasm_push(compiler, WASM_I32);
    wasm_emitted_top(compiler, WASM_OP_MEMORY_SIZE);
}

static void compile_grow(struct wasm_compiler *compiler)
{
    struct wasm_operand pages;
    struct wasm_cell *cell;
    uint16_t slot;

    need_zero_byte(compiler);
    wasm_charge(compiler, 1);
    if (!need_memory(compiler))
        return;
    pages = wasm_pop(compiler, WASM_I32);
    slot = wasm_slot_of(compiler, pages, compiler->operand_count);
    cell = wasm_emit(compiler, WASM_OP_MEMORY_GROW);
    cell->d = wasm_own_slot(compiler, compiler->operand_count);
    cell->a = slot;
    wasm_push(compiler, WASM_I32);
    wasm_emitted_top(compiler, WASM_OP_MEMORY_GROW);
}

bool wasm_compile_memory(struct wasm_compiler *compiler, uint8_t opcode)
{
    if (opcode >= WASM_FIRST_LOAD && opcode <= WASM_LAST_STORE)
        compile_access(compiler, opcode);
    else if (opcode == WASM_MEMORY_SIZE)
        compile_size(compiler);
    else if (opcode == WASM_MEMORY_GROW)
        compile_grow(compiler);
    else
        return false;
    return true;
}

/* ---- many bytes or elements at a time ---- */

/* Emits an operation on three operands, of which the last is the count. It is a gas block of its
 * own, because it also charges for each item. */
static void emit_bulk(struct wasm_compiler *compiler, enum wasm_operation operation,
                      const uint8_t types[3])
{
    struct wasm_operand operands[3];
    uint16_t slots[3];
    struct wasm_cell *cell;

    wasm_charge(compiler, compiler->module->limits->linear_base);
    for (unsigned i = 3; i > 0; i--)
        operands[i - 1] = wasm_pop(compiler, types[i - 1]);
    for (unsigned i = 0; i < 3; i++)
        slots[i] = wasm_slot_of(compiler, operands[i], compiler->operand_count + i);
    wasm_gas_end(compiler);
    cell = wasm_emit(compiler, operation);
    cell->d = slots[0];
    cell->a = slots[1];
    cell->b = slots[2];
}

static const uint8_t three_numbers[3] = {WASM_I32, WASM_I32, WASM_I32};

static void compile_memory_init(struct wasm_compiler *compiler)
{
    const uint32_t segment = wasm_read_u32(&compiler->reader);

    need_zero_byte(compiler);
    if (!need_memory(compiler))
        return;
    if (!compiler->module->has_data_count)
        wasm_compile_fail(compiler, "data count section required");
    else if (segment >= compiler->module->data_count)
        wasm_compile_fail(compiler, "unknown data segment");
    emit_bulk(compiler, WASM_OP_MEMORY_INIT, three_numbers);
    wasm_emit_wide(compiler, segment);
    wasm_gas_begin(compiler);
}

static void compile_drop(struct wasm_compiler *compiler, enum wasm_operation operation,
                         uint32_t count, const char *words)
{
    const uint32_t segment = wasm_read_u32(&compiler->reader);

    wasm_charge(compiler, 1);
    if (segment >= count)
        wasm_compile_fail(compiler, words);
    wasm_emit(compiler, operation)->k = (int32_t)segment;
}

static void compile_data_drop(struct wasm_compiler *compiler)
{
    if (!compiler->module->has_data_count)
        wasm_compile_fail(compiler, "data count section required");
    compile_drop(compiler, WASM_OP_DATA_DROP, compiler->module->data_count, "unknown data segment");
}

static void compile_memory_bulk(struct wasm_compiler *compiler, uint32_t opcode)
{
    need_zero_byte(compiler);
    if (opcode == WASM_MEMORY_COPY)
        need_zero_byte(compiler);
    if (!need_memory(compiler))
        return;
    emit_bulk(compiler, opcode == WASM_MEMORY_COPY ? WASM_OP_MEMORY_COPY : WASM_OP_MEMORY_FILL,
              three_numbers);
    wasm_gas_begin(compiler);
}

/* ---- tables ---- */

/* Returns a table's element type; WASM_UNKNOWN after a failure. */
static uint8_t table_type(struct wasm_compiler *compiler, uint32_t table)
{
    if (table < compiler->module->table_count)
        return compiler->module->tables[table].type;
    wasm_compile_fail(compiler, "unknown table");
    return WASM_UNKNOWN;
}

bool wasm_compile_table(struct wasm_compiler *compiler, uint8_t opcode)
{
    struct wasm_operand operands[2] = {0};
    struct wasm_cell *cell;
    uint32_t table;
    uint16_t slots[2];
    uint8_t type;

    if (opcode != WASM_TABLE_GET && opcode != WASM_TABLE_SET)
        return false;
    if (compiler->module->limits->no_bulk_or_references)
        return wasm_compile_fail(compiler, "reference types are not allowed");
    table = wasm_read_u32(&compiler->reader);
    type = table_type(compiler, table);
    wasm_charge(compiler, 1);
    if (opcode == WASM_TABLE_SET)
        operands[1] = wasm_pop(compiler, type);
    operands[0] = wasm_pop(compiler, WASM_I32);
    slots[0] = wasm_slot_of(compiler, operands[0], compiler->operand_count);
    slots[1] = wasm_own_slot(compiler, compiler->operand_count);
    if (opcode == WASM_TABLE_SET)
        slots[1] = wasm_slot_of(compiler, operands[1], compiler->operand_count + 1);
    wasm_mark_trap(compiler);
    cell = wasm_emit(compiler, opcode == WASM_TABLE_SET ? WASM_OP_TABLE_SET : WASM_OP_TABLE_GET);
    cell->dd = opcode == WASM_TABLE_SET ? slots[0] : slots[1];
    cell->aa = opcode == WASM_TABLE_SET ? slots[1] : slots[0];
    cell->k = (int32_t)table;
    if (opcode == WASM_TABLE_GET) {
        wasm_push(compiler, type);
        wasm_emitted_top(compiler, WASM_OP_TABLE_GET);
    }
    return true;
}

static void compile_table_size(struct wasm_compiler *compiler)
{
    const uint32_t table = wasm_read_u32(&compiler->reader);
    struct wasm_cell *cell;

    wasm_charge(compiler, 1);
    (void)table_type(compiler, table);
    cell = wasm_emit(compiler, WASM_OP_TABLE_SIZE);
    cell->dd = wasm_own_slot(compiler, compiler->operand_count);
    cell->k = (int32_t)table;
    wasm_push(compiler, WASM_I32);
    wasm_emitted_top(compiler, WASM_OP_TABLE_SIZE);
}

static void compile_table_grow(struct wasm_compiler *compiler)
{
    const uint32_t table = wasm_read_u32(&compiler->reader);
    const uint8_t type = table_type(compiler, table);
    const struct wasm_operand count = wasm_pop(compiler, WASM_I32);
    const struct wasm_operand value = wasm_pop(compiler, type);
    const uint32_t place = compiler->operand_count;
    const uint16_t value_slot = wasm_slot_of(compiler, value, place);
    const uint16_t count_slot = wasm_slot_of(compiler, count, place + 1);
    struct wasm_cell *cell;

    wasm_charge(compiler, 1);
    cell = wasm_emit(compiler, WASM_OP_TABLE_GROW);
    cell->d = wasm_own_slot(compiler, place);
    cell->a = value_slot;
    cell->b = count_slot;
    wasm_emit_wide(compiler, table);
    wasm_push(compiler, WASM_I32);
}

/* Appends a cell with two numbers: a table, and a segment or a second table. */
static void emit_pair(struct wasm_compiler *compiler, uint32_t low, uint32_t high)
{
    wasm_emit_wide(compiler, low | (uint64_t)high << 32);
    wasm_gas_begin(compiler);
}

static void compile_table_fill(struct wasm_compiler *compiler)
{
    const uint32_t table = wasm_read_u32(&compiler->reader);
    const uint8_t types[3] = {WASM_I32, table_type(compiler, table), WASM_I32};

    emit_bulk(compiler, WASM_OP_TABLE_FILL, types);
    emit_pair(compiler, table, 0);
}

static void compile_table_copy(struct wasm_compiler *compiler)
{
    const uint32_t to = wasm_read_u32(&compiler->reader);
    const uint32_t from = wasm_read_u32(&compiler->reader);

    if (table_type(compiler, to) != table_type(compiler, from))
        wasm_compile_fail(compiler, "type mismatch");
    emit_bulk(compiler, WASM_OP_TABLE_COPY, three_numbers);
    emit_pair(compiler, to, from);
}

static void compile_table_init(struct wasm_compiler *compiler)
{
    const uint32_t segment = wasm_read_u32(&compiler->reader);
    const uint32_t table = wasm_read_u32(&compiler->reader);
    const uint8_t type = table_type(compiler, table);

    if (segment >= compiler->module->element_count)
        wasm_compile_fail(compiler, "unknown elem segment");
    else if (compiler->module->elements[segment].type != type)
        wasm_compile_fail(compiler, "type mismatch");
    emit_bulk(compiler, WASM_OP_TABLE_INIT, three_numbers);
    emit_pair(compiler, table, segment);
}

static bool compile_table_prefixed(struct wasm_compiler *compiler, uint32_t opcode)
{
    switch (opcode) {
    case WASM_TABLE_INIT:
        compile_table_init(compiler);
        return true;
    case WASM_ELEM_DROP:
        compile_drop(compiler, WASM_OP_ELEMENT_DROP, compiler->module->element_count,
                     "unknown elem segment");
        return true;
    case WASM_TABLE_COPY:
        compile_table_copy(compiler);
        return true;
    case WASM_TABLE_GROW:
        compile_table_grow(compiler);
        return true;
    case WASM_TABLE_SIZE:
        compile_table_size(compiler);
        return true;
    case WASM_TABLE_FILL:
        compile_table_fill(compiler);
        return true;
    default:
        return false;
    }
}

bool wasm_compile_prefixed(struct wasm_compiler *compiler)
{
    const uint32_t opcode = wasm_read_u32(&compiler->reader);

    if (opcode <= WASM_LAST_SATURATING)
        return wasm_compile_saturating(compiler, opcode);
    if (compiler->module->limits->no_bulk_or_references)
        return wasm_compile_fail(compiler, "bulk memory is not allowed");
    switch (opcode) {
    case WASM_MEMORY_INIT:
        compile_memory_init(compiler);
        return true;
    case WASM_DATA_DROP:
        compile_data_drop(compiler);
        return true;
    case WASM_MEMORY_COPY:
    case WASM_MEMORY_FILL:
        compile_memory_bulk(compiler, opcode);
        return true;
    default:
        return compile_table_prefixed(compiler, opcode);
    }
}
