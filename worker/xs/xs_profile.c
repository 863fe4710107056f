/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/xs/xs_profile.h"

#include <stdio.h>
#include <stdlib.h>

#include <xsAll.h>

#include "base/array.h"
#include "counter/gasmark.h"
#include "worker/profile.h"

/* A frame of XS's stack that has not returned as of the last event. The stack grows downwards. */
struct live {
    txSlot *frame;
    uint32_t node;
    uint32_t line;
};

static struct {
    struct profile *profile; /* NULL: no profile */
    struct buf json;
    struct live *live; /* [0] is the engine itself */
    size_t depth, capacity;
    txSlot **entered; /* frames that are new at an event, innermost first */
    size_t entered_capacity;
    txID named_file;       /* the file named last in the profile; 0: none */
    uint32_t meter;        /* at the last event */
    uint32_t meter_before; /* the unmetered part */
    uint64_t instructions; /* at the last event */
    bool counted, unmetered, failed;
} state;

bool xs_profile_running;

/* ---- costs ---- */

/* The difference is signed, because the program can set XS's meter back. */
static void charge(const txMachine *the)
{
    const struct live *top = &state.live[state.depth - 1];
    const int64_t computrons = (int32_t)(the->meterIndex - state.meter);
    uint64_t instructions = 0;

    if (state.counted) {
        const uint64_t now = gasmark_peek();

        instructions = now - state.instructions;
        state.instructions = now;
    }
    profile_charge(state.profile, top->node, top->line, state.unmetered ? 0 : computrons,
                   instructions);
    state.meter = the->meterIndex;
}

/* The profile's own work is not the contract's. */
static void leave_region(void)
{
    if (state.counted)
        gasmark_pause();
}

static void enter_region(void)
{
    if (state.counted)
        gasmark_resume();
}

/* ---- functions and lines ---- */

static const char *key_name(txMachine *the, txID id)
{
    const char *name = id != XS_NO_ID ? fxGetKeyName(the, id) : NULL;

    return name != NULL && name[0] != '\0' ? name : NULL;
}

/* Returns the function's first line, if its code has it: XS puts file and line first. */
static bool find_source(const txSlot *code, txID *file, txS2 *line)
{
    txByte *at = code->value.code.address + 2;

    if (*(txU1 *)at != XS_CODE_FILE)
        return false;
    at++;
    mxDecodeID(at, *file);
    at++;
    mxDecode2(at, *line);
    return true;
}

static bool is_code(const txSlot *code)
{
    return code->kind == XS_CODE_KIND || code->kind == XS_CODE_X_KIND;
}

static bool is_callback(const txSlot *code)
{
    return code->kind == XS_CALLBACK_KIND || code->kind == XS_CALLBACK_X_KIND;
}

/* Returns the slot with the code of the frame's function; NULL for a frame of the host. */
static txSlot *code_of(txSlot *frame)
{
    txSlot *function = frame + 3;

    if (function->kind != XS_REFERENCE_KIND || !mxIsFunction(function->value.reference))
        return NULL;
    return mxFunctionInstanceCode(function->value.reference);
}

struct source {
    txID file;
    txS2 line;
};

static struct profile_key function_key(const txSlot *code, struct source *source)
{
    struct profile_key key;

    *source = (struct source){.file = XS_NO_ID};
    if (is_code(code)) {
        if (!find_source(code, &source->file, &source->line))
            source->file = XS_NO_ID;
        key.b = (uint32_t)source->line;
    } else {
        key.b = (uint64_t)(uintptr_t)code->value.callback.address;
    }
    key.a = (uint64_t)code->ID << 32 | (uint32_t)source->file | UINT64_C(1) << 63;
    return key;
}

__attribute__((noinline)) static uint32_t
function_of(txMachine *the, const txSlot *code, struct profile_key key, const struct source *source)
{
    const char *name;
    bool known;
    const uint32_t function = profile_function(state.profile, key, &known);

    if (known)
        return function;
    name = key_name(the, code->ID);
    profile_name_function(state.profile, function, name != NULL ? name : "(anonymous)",
                          is_callback(code) ? NULL : key_name(the, source->file),
                          (uint32_t)source->line);
    return function;
}

/* Returns the node of the frame's function, called from that node. */
static uint32_t node_of(txMachine *the, const txSlot *code, uint32_t caller)
{
    struct profile_key key = {0}; /* of the engine itself */
    struct source source;
    uint32_t node;

    if (code == NULL || (!is_code(code) && !is_callback(code)))
        return profile_call(state.profile, caller, key, 0);
    key = function_key(code, &source);
    if (profile_call_again(state.profile, caller, key, &node))
        return node;
    return profile_call(state.profile, caller, key, function_of(the, code, key, &source));
}

/* Returns the slot with a JavaScript frame's file and line; NULL: not set yet. */
static const txSlot *environment_of(const txMachine *the, txSlot *frame)
{
    const txSlot *environment;

    if (frame < the->stackBottom || frame >= the->stackTop || frame->kind != XS_FRAME_KIND ||
        (frame->flag & XS_C_FLAG) != 0 || (frame - 1)->kind != XS_INTEGER_KIND)
        return NULL;
    environment = mxFrameToEnvironment(frame);
    return environment >= the->stackBottom && environment < frame ? environment : NULL;
}

static bool name_file(txMachine *the, txID file)
{
    const char *name;

    if (profile_knows_file(state.profile, (uint32_t)file))
        return true;
    name = key_name(the, file);
    if (name != NULL)
        profile_name_file(state.profile, (uint32_t)file, name);
    return name != NULL;
}

static uint32_t line_of(txMachine *the, txSlot *frame)
{
    const txSlot *environment = environment_of(the, frame);

    if (environment == NULL || environment->ID == XS_NO_ID ||
        environment->value.environment.line <= 0)
        return 0;
    if (environment->ID != state.named_file) {
        if (!name_file(the, environment->ID))
            return 0;
        state.named_file = environment->ID;
    }
    return profile_line(state.profile, (uint32_t)environment->ID,
                        (uint32_t)environment->value.environment.line);
}

/* ---- the stack ---- */

static struct live *top_live_frame(void)
{
    return &state.live[state.depth - 1];
}

/* Charges earlier work to the previous line, and moves the innermost frame to its current line. */
static void move_to_line(txMachine *the)
{
    const uint32_t line = line_of(the, top_live_frame()->frame);

    if (line == 0 || line == top_live_frame()->line)
        return;
    charge(the);
    top_live_frame()->line = line;
}

static bool reserve_live(void)
{
    struct live *live =
        array_reserve(state.live, &state.capacity, state.depth + 1, sizeof *state.live);

    if (live == NULL) {
        state.failed = true;
        return false;
    }
    state.live = live;
    return true;
}

/* `code` is as code_of() returns it. */
static void xs_profile_push(txMachine *the, txSlot *frame, const txSlot *code)
{
    if (state.depth == state.capacity && !reserve_live())
        return;
    /* Native code has no lines, so its work is charged to the caller's line. */
    state.live[state.depth] =
        (struct live){frame, node_of(the, code, top_live_frame()->node), top_live_frame()->line};
    state.depth++;
}

/* Removes returned frames from the live ones; `entered` gets the new ones. */
static size_t compare_stacks(txSlot *frame)
{
    size_t count = 0;

    while (state.depth > 1 && top_live_frame()->frame < frame)
        state.depth--;
    while (frame != NULL && frame != top_live_frame()->frame) {
        txSlot **entered =
            array_reserve(state.entered, &state.entered_capacity, count + 1, sizeof *state.entered);

        if (entered == NULL) {
            state.failed = true;
            return 0;
        }
        state.entered = entered;
        state.entered[count++] = frame;
        frame = frame->next;
        while (frame != NULL && state.depth > 1 && top_live_frame()->frame < frame)
            state.depth--;
    }
    return count;
}

/* Makes the live frames equal to XS's stack. */
static void align(txMachine *the, txSlot *frame)
{
    for (size_t count = compare_stacks(frame); count > 0; count--)
        xs_profile_push(the, state.entered[count - 1], code_of(state.entered[count - 1]));
}

/* Defers the charge while function and line stay the same. The 32-bit meter must be read before
 * it wraps. */
static bool is_charged_later(const txMachine *the)
{
    return the->meterIndex - state.meter < UINT32_C(1) << 30;
}

static void observe(txMachine *the)
{
    txSlot *frame = the->frame;

    if (frame == NULL || frame != top_live_frame()->frame || !is_charged_later(the)) {
        charge(the);
        if (frame == NULL)
            return;
        align(the, frame);
    }
    move_to_line(the);
}

/* Handles a new innermost frame, perhaps in the place of a returned one. */
static void xs_profile_enter(txMachine *the, const txSlot *code)
{
    txSlot *frame = the->frame;

    charge(the);
    while (state.depth > 1 && top_live_frame()->frame <= frame)
        state.depth--;
    if (frame->next == top_live_frame()->frame)
        xs_profile_push(the, frame, code);
    else
        align(the, frame);
    move_to_line(the);
}

void xs_profile_check(void *machine)
{
    txMachine *the = machine;
    const txSlot *code;

    if (!xs_profile_running)
        return;
    leave_region();
    code = the->frame != NULL ? code_of(the->frame) : NULL;
    if (code != NULL && code->kind == XS_CODE_KIND && code->value.code.address == the->code)
        xs_profile_enter(the, code);
    else
        observe(the);
    enter_region();
}

/* XS calls it at each line; XS's own function does nothing in a worker. */
txBoolean __wrap_fxIsReadable(txMachine *the);
txBoolean __wrap_fxIsReadable(txMachine *the)
{
    if (xs_profile_running) {
        leave_region();
        if (state.depth > 1)
            move_to_line(the);
        enter_region();
    }
    return 0;
}

/* Native code calls JavaScript through it. */
void __wrap_fxRunID(txMachine *the, txSlot *generator, txInteger count);
void __real_fxRunID(txMachine *the, txSlot *generator, txInteger count);
void __wrap_fxRunID(txMachine *the, txSlot *generator, txInteger count)
{
    if (!xs_profile_running) {
        __real_fxRunID(the, generator, count);
        return;
    }
    leave_region();
    observe(the);
    enter_region();
    __real_fxRunID(the, generator, count);
    leave_region();
    observe(the);
    enter_region();
}

void xs_profile_meter_set(void *machine, uint32_t computrons)
{
    const txMachine *the = machine;

    if (!xs_profile_running)
        return;
    leave_region();
    charge(the);
    if (!state.unmetered)
        state.meter_before = the->meterIndex;
    state.unmetered = computrons != state.meter_before || !state.unmetered;
    state.meter = computrons;
    enter_region();
}

void xs_profile_meter_read(void *machine)
{
    if (!xs_profile_running)
        return;
    leave_region();
    charge(machine);
    state.unmetered = true;
    enter_region();
}

/* ---- commands ---- */

bool xs_profile_open(void)
{
    state.profile = profile_new();
    state.live = array_reserve(NULL, &state.capacity, 1, sizeof *state.live);
    state.counted = gasmark_present() == 1;
    return state.profile != NULL && state.live != NULL;
}

void xs_profile_close(void)
{
    profile_free(state.profile);
    state.profile = NULL;
    free(state.live);
    free(state.entered);
    buf_free(&state.json);
}

void xs_profile_begin(void *machine)
{
    txMachine *the = machine;

    if (state.profile == NULL)
        return;
    leave_region();
    profile_begin(state.profile);
    buf_clear(&state.json);
    state.live[0] = (struct live){0};
    state.depth = 1;
    state.unmetered = state.failed = false;
    state.meter = the->meterIndex;
    state.instructions = state.counted ? gasmark_peek() : 0;
    /* XS checks if the meter has passed this, and the last command left it high. */
    the->meterCount = 0;
    xs_profile_running = true;
    enter_region();
}

void xs_profile_end(void *machine, uint32_t computrons)
{
    int64_t rest;

    if (!xs_profile_running)
        return;
    leave_region();
    charge(machine);
    /* A meter that was changed and not restored leaves a difference, which is charged to the
     * engine. */
    rest = (int64_t)computrons - profile_charged(state.profile);
    profile_charge(state.profile, 0, 0, rest, 0);
    xs_profile_running = false;
    if (state.failed)
        buf_append_string(&state.json, "null");
    else
        profile_encode(state.profile, &state.json);
    enter_region();
}

const struct buf *xs_profile_take(void)
{
    return state.profile != NULL ? &state.json : NULL;
}
