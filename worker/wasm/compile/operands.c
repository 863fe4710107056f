/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/wasm/compile/compiler.h"

/*
 * Operands may stay in locals and constants this near to the top only: so a local.set looks
 * through so many at most, however long the stack is.
 */
enum { LAZY_DEPTH = 32 };

/* As NEAR counts them. */
static unsigned bytes_of(uint8_t type)
{
    return type == WASM_I32 || type == WASM_F32 ? 4 : 8;
}

struct wasm_control *wasm_top_control(struct wasm_compiler *compiler)
{
    return &compiler->controls[compiler->control_count - 1];
}

uint16_t wasm_own_slot(const struct wasm_compiler *compiler, uint32_t place)
{
    return (uint16_t)(compiler->local_count + place);
}

/* Puts an operand into its own slot, and says where it is now. */
static void settle_one(struct wasm_compiler *compiler, uint32_t place)
{
    struct wasm_operand *operand = &compiler->operands[place];

    if (operand->place == WASM_PLACE_LOCAL) {
        compiler->lazy[operand->local]--;
        wasm_emit_copy(compiler, wasm_own_slot(compiler, place), (uint16_t)operand->local);
    } else if (operand->place == WASM_PLACE_CONSTANT) {
        wasm_emit_constant(compiler, wasm_own_slot(compiler, place), operand->bits);
    }
    operand->place = WASM_PLACE_SLOT;
}

void wasm_settle(struct wasm_compiler *compiler, uint32_t from)
{
    const uint32_t count = compiler->operand_count;

    if (count > LAZY_DEPTH && from < count - LAZY_DEPTH)
        from = count - LAZY_DEPTH;
    for (uint32_t place = from; place < count; place++)
        settle_one(compiler, place);
}

void wasm_settle_local(struct wasm_compiler *compiler, uint32_t local)
{
    for (uint32_t place = compiler->operand_count; compiler->lazy[local] != 0; place--) {
        const struct wasm_operand *operand = &compiler->operands[place - 1];

        if (operand->place == WASM_PLACE_LOCAL && operand->local == local)
            settle_one(compiler, place - 1);
    }
}

/* What is never reached takes no room. */
static void note_height(struct wasm_compiler *compiler)
{
    const struct wasm_control *control = wasm_top_control(compiler);

    if (control->is_unreachable || control->is_dead)
        return;
    if (compiler->operand_bytes > compiler->operand_bytes_most)
        compiler->operand_bytes_most = compiler->operand_bytes;
    if (compiler->operand_count > compiler->operand_most)
        compiler->operand_most = compiler->operand_count;
    if (compiler->local_count + (uint64_t)compiler->operand_most > UINT16_MAX)
        compiler->is_too_large = true;
}

static void operands_push(struct wasm_compiler *compiler, struct wasm_operand operand)
{
    if (!wasm_compile_room(compiler, &compiler->operands, compiler->operand_count,
                           &compiler->operand_capacity, sizeof *compiler->operands))
        return;
    if (operand.place == WASM_PLACE_LOCAL)
        compiler->lazy[operand.local]++;
    compiler->operands[compiler->operand_count++] = operand;
    if (compiler->operand_count > LAZY_DEPTH)
        settle_one(compiler, compiler->operand_count - LAZY_DEPTH - 1);
    compiler->operand_bytes += bytes_of(operand.type);
    compiler->last_cell = WASM_NO_CELL;
    note_height(compiler);
}

void wasm_push(struct wasm_compiler *compiler, uint8_t type)
{
    operands_push(compiler, (struct wasm_operand){.type = type, .place = WASM_PLACE_SLOT});
}

/* In code that is never reached nothing is emitted, so nothing may lie elsewhere. */
void wasm_push_local(struct wasm_compiler *compiler, uint32_t local)
{
    struct wasm_operand operand = {.type = compiler->locals[local], .place = WASM_PLACE_SLOT};

    if (wasm_is_emitting(compiler)) {
        operand.place = WASM_PLACE_LOCAL;
        operand.local = local;
    }
    operands_push(compiler, operand);
}

void wasm_push_constant(struct wasm_compiler *compiler, uint8_t type, uint64_t bits)
{
    struct wasm_operand operand = {.type = type, .place = WASM_PLACE_SLOT};

    if (wasm_is_emitting(compiler)) {
        operand.place = WASM_PLACE_CONSTANT;
        operand.bits = bits;
    }
    operands_push(compiler, operand);
}

void wasm_push_all(struct wasm_compiler *compiler, struct wasm_bytes types)
{
    for (uint32_t i = 0; i < types.length; i++)
        wasm_push(compiler, types.data[i]);
}

struct wasm_operand wasm_pop(struct wasm_compiler *compiler, uint8_t type)
{
    const struct wasm_operand unknown = {.type = WASM_UNKNOWN, .place = WASM_PLACE_SLOT};
    struct wasm_operand operand;

    compiler->last_cell = WASM_NO_CELL;
    if (compiler->operand_count == wasm_top_control(compiler)->height) {
        if (!wasm_top_control(compiler)->is_unreachable)
            wasm_compile_fail(compiler, "type mismatch");
        return unknown;
    }
    operand = compiler->operands[--compiler->operand_count];
    compiler->operand_bytes -= bytes_of(operand.type);
    if (operand.place == WASM_PLACE_LOCAL)
        compiler->lazy[operand.local]--;
    if (operand.type != type && operand.type != WASM_UNKNOWN && type != WASM_UNKNOWN)
        wasm_compile_fail(compiler, "type mismatch");
    return operand;
}

void wasm_pop_all(struct wasm_compiler *compiler, struct wasm_bytes types)
{
    for (uint32_t i = types.length; i > 0; i--)
        (void)wasm_pop(compiler, types.data[i - 1]);
}

void wasm_cut(struct wasm_compiler *compiler, uint32_t height)
{
    while (compiler->operand_count > height)
        (void)wasm_pop(compiler, WASM_UNKNOWN);
}

void wasm_check_all(struct wasm_compiler *compiler, struct wasm_bytes types, bool refine)
{
    const struct wasm_control *control = wasm_top_control(compiler);
    const uint32_t there = compiler->operand_count - control->height;

    if (there < types.length && (refine || !control->is_unreachable)) {
        /* Operands that are missing come to be, in code that is never reached. */
        wasm_pop_all(compiler, types);
        wasm_push_all(compiler, types);
        return;
    }
    for (uint32_t i = 0; i < types.length && i < there; i++) {
        struct wasm_operand *operand = &compiler->operands[compiler->operand_count - 1 - i];
        const uint8_t type = types.data[types.length - 1 - i];

        if (operand->type == WASM_UNKNOWN && refine) {
            compiler->operand_bytes -= bytes_of(WASM_UNKNOWN) - bytes_of(type);
            operand->type = type;
        } else if (operand->type != WASM_UNKNOWN && operand->type != type) {
            wasm_compile_fail(compiler, "type mismatch");
        }
    }
}

uint16_t wasm_slot_of(struct wasm_compiler *compiler, struct wasm_operand operand, uint32_t place)
{
    const uint16_t own = wasm_own_slot(compiler, place);

    if (operand.place == WASM_PLACE_LOCAL)
        return (uint16_t)operand.local;
    if (operand.place == WASM_PLACE_CONSTANT)
        wasm_emit_constant(compiler, own, operand.bits);
    return own;
}
