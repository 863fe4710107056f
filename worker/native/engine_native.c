/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/native/engine_native.h"

#include <stdio.h>
#include <stdlib.h>

#include "worker/native/heap.h"
#include "worker/native/host.h"
#include "worker/native/image.h"
#include "worker/near/contract.h"
#include "worker/near/engine_near.h"

/* ---- the contract ---- */

enum { STACK_SIZE = 4 << 20, HEAP_SIZE = 64 << 20 };

#define NO_BUDGET UINT64_MAX

struct near_contract {
    struct native_image image;
    size_t length; /* of the shared object */
    uint8_t *stack;
    uint64_t cost_limit;
    bool is_spent; /* the last call was stopped at that limit */
};

static const struct native_meter *used_meter;

/* Sets the meter for all contracts, before the first is opened; NULL: none. */
static void native_contract_use_meter(const struct native_meter *meter)
{
    used_meter = meter;
}

/* ---- loading ---- */

static void contract_close(struct near_contract *contract)
{
    if (contract == NULL)
        return;
    native_host_end();
    native_image_unload(&contract->image);
    native_heap_close();
    native_place_give_back(contract->stack, STACK_SIZE);
    free(contract);
}

static int contract_load(struct near_contract *contract, const uint8_t *bytes,
                         const struct near_contract_options *options, struct error *error)
{
    contract->stack = native_place_take(NATIVE_STACK_PLACE, STACK_SIZE, error);
    if (contract->stack == NULL ||
        native_heap_open(options->heap_limit > 0 ? options->heap_limit : HEAP_SIZE, error) != 0 ||
        native_image_load(&contract->image, bytes, contract->length, used_meter, error) != 0)
        return -1;
    if (contract->cost_limit == 0 || contract->image.is_metered)
        return 0;
    return error_set(error, ERROR_INPUT,
                     "has no meter compiled in, which --max-cost needs: "
                     "compile it with gaspipe-cc");
}

static struct near_contract *native_contract_open(const uint8_t *bytes, size_t length,
                                                  const struct near_contract_options *options,
                                                  struct error *error)
{
    struct near_contract *contract = calloc(1, sizeof *contract);

    if (contract == NULL) {
        error_memory(error, "a contract");
        return NULL;
    }
    contract->length = length;
    contract->cost_limit = options->cost_limit;
    if (contract_load(contract, bytes, options, error) == 0)
        return contract;
    contract_close(contract);
    return NULL;
}

static const char *why_unusable(const struct near_contract *contract)
{
    (void)contract;
    return NULL;
}

static uint64_t contract_size(const struct near_contract *contract)
{
    return contract->length;
}

static uint64_t contract_memory(const struct near_contract *contract)
{
    return contract->image.size + native_heap_used();
}

/* ---- calling ---- */

struct contract_turn {
    const struct native_image *image;
    const char *method; /* NULL: gascontract_init() */
    struct wasm_bytes input;
};

static void contract_turn(void *context)
{
    const struct contract_turn *turn = context;

    native_image_construct(turn->image);
    if (turn->method == NULL)
        turn->image->init();
    else
        turn->image->call(turn->method, turn->input.data, turn->input.length);
}

/* The meter calls this while the contract runs. */
static void contract_on_spent(void *context)
{
    struct near_contract *contract = context;

    contract->is_spent = true;
    native_turn_leave();
}

static uint64_t cost_so_far(const struct near_contract *contract)
{
    return contract->image.is_metered ? used_meter->read() : 0;
}

static void set_budget(struct near_contract *contract, uint64_t units)
{
    if (contract->cost_limit == 0)
        return;
    used_meter->on_spent(contract_on_spent, contract);
    used_meter->budget(units);
}

static struct near_outcome native_contract_run(struct near_contract *contract,
                                               struct contract_turn *turn)
{
    struct near_outcome outcome;
    uint64_t before;

    native_image_reset(&contract->image);
    native_heap_reset();
    native_place_clear(contract->stack, STACK_SIZE);
    contract->is_spent = false;
    if (contract->image.is_metered)
        used_meter->begin();
    before = cost_so_far(contract);
    set_budget(contract, contract->cost_limit);
    (void)native_turn(contract->stack, STACK_SIZE, contract_turn, turn);
    set_budget(contract, NO_BUDGET);
    outcome = native_host_outcome();
    outcome.cost_known = contract->image.is_metered;
    outcome.block_cost = cost_so_far(contract) - before;
    if (contract->image.is_metered)
        used_meter->end();
    outcome.is_over_cost = contract->is_spent;
    return outcome;
}

static struct near_outcome contract_call(struct near_contract *contract, const char *method,
                                         const struct near_context *context,
                                         const struct near_storage *storage)
{
    struct contract_turn turn = {&contract->image, method, context->input};

    native_host_begin(context, storage, false);
    return native_contract_run(contract, &turn);
}

static struct near_outcome contract_init(struct near_contract *contract,
                                         const struct near_context *context,
                                         const struct near_storage *storage)
{
    struct contract_turn turn = {.image = &contract->image};

    native_host_begin(context, storage, true);
    return contract->image.init != NULL ? native_contract_run(contract, &turn)
                                        : native_host_outcome();
}

/* Contracts in native code (gascontract.h). Each call begins with the memory as loaded, on a
 * stack of its own. A process has one contract at a time. */
static const struct near_contract_kind native_contract_kind = {
    .version = "native contracts",
    .refusal = "this worker runs native contracts and evaluates nothing",
    .snapshot = "gaspipe native 1\n",
    .loads_code = true,
    .open = native_contract_open,
    .close = contract_close,
    .why_unusable = why_unusable,
    .size = contract_size,
    .memory = contract_memory,
    .call = contract_call,
    .init = contract_init,
};

/* ---- the engine ---- */

static void engine_native_version(char *line, size_t size)
{
    snprintf(line, size, "%s", native_contract_kind.version);
}

static struct engine *open_native(const struct engine_options *options, struct error *error)
{
    return engine_near_open(&native_contract_kind, options, error);
}

static struct engine *open_native_snapshot(const struct engine_options *options, const char *place,
                                           struct error *error)
{
    return engine_near_open_snapshot(&native_contract_kind, options, place, error);
}

struct engine_ops engine_native(const struct native_meter *meter)
{
    struct engine_ops ops = engine_near;

    native_contract_use_meter(meter);
    ops.version = engine_native_version;
    ops.open = open_native;
    ops.open_snapshot = open_native_snapshot;
    ops.confines_itself = true;
    ops.limits_cost = meter != NULL;
    return ops;
}
