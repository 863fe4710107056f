/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/near/contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/sha.h>

#include "worker/near/host/host.h"
#include "worker/wasm/compile/code.h"
#include "worker/wasm/compiled/compiled.h"

struct near_contract {
    struct near_parameters parameters;
    struct wasm_limits limits;
    size_t length; /* of the module, which costs gas per byte */
    struct wasm_module *module;
    struct wasm_code *codes;
    struct wasm_machine machine;
    struct wasm_instance *instance;
    char refused[NEAR_ERROR_SIZE];    /* why it could not be prepared; empty: it was */
    char unlinkable[NEAR_ERROR_SIZE]; /* an import that the host lacks; empty: none */
    struct near_call call;
    struct compiled_code *compiled; /* borrowed; NULL: the interpreter runs everything */
    struct near_journal journal;
    struct near_tiers tiers;
};

/* ---- loading ---- */

/* In nearcore's words. */
static const char *preparation_words(enum wasm_fault fault)
{
    switch (fault) {
    case WASM_FAULT_FUNCTIONS:
        return "Too many functions in contract.";
    case WASM_FAULT_LOCALS:
        return "Too many locals declared in the contract.";
    case WASM_FAULT_TABLES:
        return "Too many tables declared in the contract.";
    case WASM_FAULT_TABLE_ELEMENTS:
        return "Too many table elements declared in the contract.";
    case WASM_FAULT_IMPORT:
        return "Error happened during instantiation.";
    case WASM_FAULT_IMPORT_MEMORY:
        return "Error creating memory.";
    default:
        return "Error happened while deserializing the module.";
    }
}

static void contract_refuse(struct near_contract *contract, enum wasm_fault fault,
                            const struct error *error)
{
    snprintf(contract->refused, sizeof contract->refused, "PrepareError: %s (%.500s)",
             preparation_words(fault), error->text);
}

static int decode_contract(struct near_contract *contract, const uint8_t *bytes,
                           struct error *error)
{
    enum wasm_fault fault;

    contract->module =
        wasm_module_decode(bytes, contract->length, &contract->limits, &fault, error);
    if (contract->module != NULL)
        contract->codes = wasm_compile(contract->module, wasm_handlers(), &fault, error);
    if (fault == WASM_FAULT_NO_MEMORY)
        return -1;
    if (fault != WASM_FAULT_NONE)
        contract_refuse(contract, fault, error);
    return 0;
}

static int link_contract(struct near_contract *contract, struct error *error)
{
    const struct wasm_instance_options options = {
        .module = contract->module,
        .codes = contract->codes,
        .resolve = near_host_resolve,
        .context = &contract->call,
        .memory_initial = (uint32_t)contract->parameters.initial_memory_pages,
        .memory_maximum = (uint32_t)contract->parameters.max_memory_pages,
        .memory_place =
            contract->compiled != NULL ? compiled_code_memory(contract->compiled) : NULL,
    };

    if (contract->refused[0] != '\0')
        return 0;
    contract->instance = wasm_instance_open(&contract->machine, &options, error);
    if (contract->instance != NULL)
        return 0;
    if (error->kind != ERROR_INPUT)
        return -1;
    snprintf(contract->unlinkable, sizeof contract->unlinkable, "Link Error: %.900s", error->text);
    return 0;
}

/* Newer versions also limit locals by the module's length. */
static void set_limits(struct near_contract *contract)
{
    const uint64_t each = contract->parameters.min_contract_size_per_local;

    contract->limits = near_module_limits(&contract->parameters);
    if (each != 0 && contract->length / each < contract->limits.locals)
        contract->limits.locals = (uint32_t)(contract->length / each);
}

/* Machine code of another module is of no use. */
static void take_compiled(struct near_contract *contract, const uint8_t *bytes,
                          struct compiled_code *compiled)
{
    uint8_t hash[SHA256_DIGEST_LENGTH];

    if (compiled == NULL)
        return;
    SHA256(bytes, contract->length, hash);
    if (compiled_code_is_of(compiled, hash))
        contract->compiled = compiled;
}

bool near_contract_is_compiled(const struct near_contract *contract)
{
    return contract->compiled != NULL;
}

struct near_tiers near_contract_tiers(const struct near_contract *contract)
{
    return contract->tiers;
}

struct near_contract *near_contract_open(const uint8_t *bytes, size_t length, const char *version,
                                         struct error *error)
{
    return near_contract_open_compiled(bytes, length, version, NULL, error);
}

struct near_contract *near_contract_open_compiled(const uint8_t *bytes, size_t length,
                                                  const char *version,
                                                  struct compiled_code *compiled,
                                                  struct error *error)
{
    struct near_contract *contract = calloc(1, sizeof *contract);

    if (contract == NULL) {
        error_memory(error, "a contract");
        return NULL;
    }
    contract->length = length;
    contract->call.parameters = &contract->parameters;
    take_compiled(contract, bytes, compiled);
    if (near_parameters_read(&contract->parameters, version, error) == 0) {
        set_limits(contract);
        if (wasm_machine_open(&contract->machine, contract->parameters.max_stack_height, error) ==
                0 &&
            decode_contract(contract, bytes, error) == 0 && link_contract(contract, error) == 0)
            return contract;
    }
    near_contract_close(contract);
    return NULL;
}

void near_contract_close(struct near_contract *contract)
{
    if (contract == NULL)
        return;
    near_call_free(&contract->call);
    near_journal_free(&contract->journal);
    wasm_instance_close(contract->instance);
    if (contract->codes != NULL)
        wasm_code_free_all(contract->codes, contract->module->function_count);
    wasm_module_free(contract->module);
    wasm_machine_close(&contract->machine);
    free(contract);
}

/* Returns why every call ends at once, or NULL. */
static const char *near_contract_refusal(const struct near_contract *contract)
{
    if (contract->refused[0] != '\0')
        return contract->refused;
    return contract->unlinkable[0] != '\0' ? contract->unlinkable : NULL;
}

/* The bytes of its module. */
static uint64_t near_contract_size(const struct near_contract *contract)
{
    return contract->length;
}

/* The bytes of memory of the last call. */
static uint64_t near_contract_memory(const struct near_contract *contract)
{
    return contract->instance != NULL ? contract->instance->memory->size : 0;
}

/* ---- calling ---- */

/* Returns true if the call stopped at its operation limit with gas left. */
static bool is_over_limit(const struct near_call *call)
{
    const uint64_t limit = call->context->operation_limit;

    return limit != 0 &&
           limit < (call->gas_limit - call->host_gas) / call->parameters->wasm_regular_op_cost;
}

/* Uses nearcore's messages. */
static void fail_for_trap(struct near_call *call, enum wasm_trap trap)
{
    switch (trap) {
    case WASM_TRAP_NONE:
    case WASM_TRAP_HOST:
        return;
    case WASM_TRAP_GAS:
        if (is_over_limit(call)) {
            call->is_over_limit = true;
            near_fail(call, "more operations than the limit");
            return;
        }
        near_exhaust(call);
        return;
    case WASM_TRAP_NO_MEMORY:
        call->is_lost = true;
        return;
    case WASM_TRAP_UNREACHABLE:
        near_fail(call, "WebAssembly trap: An `unreachable` opcode was executed.");
        return;
    case WASM_TRAP_MEMORY:
        near_fail(call, "WebAssembly trap: Memory out of bounds trap.");
        return;
    case WASM_TRAP_DIVIDE_BY_ZERO:
    case WASM_TRAP_OVERFLOW:
    case WASM_TRAP_CONVERSION:
        near_fail(call, "WebAssembly trap: An arithmetic exception, e.g. divided by zero.");
        return;
    case WASM_TRAP_SIGNATURE:
        near_fail(call, "WebAssembly trap: Call indirect incorrect signature trap.");
        return;
    case WASM_TRAP_UNINITIALIZED:
        near_fail(call, "WebAssembly trap: Indirect call to null.");
        return;
    case WASM_TRAP_STACK:
        near_fail(call, "Accessed memory outside the bounds.");
        return;
    default:
        near_fail(call, "WebAssembly trap: %s.", wasm_trap_words(trap));
        return;
    }
}

/* Finds the method's function; UINT32_MAX with the call's error. */
static uint32_t find_method(struct near_contract *contract, const char *method)
{
    const struct wasm_export *export = wasm_module_export(contract->module, method, strlen(method));
    const struct wasm_function_type *type;

    if (export == NULL || export->kind != WASM_FUNCTION) {
        near_fail(&contract->call, "MethodNotFound");
        return UINT32_MAX;
    }
    type = wasm_type_of_function(contract->module, export->index);
    if (type->parameters.length == 0 && type->results.length == 0)
        return export->index;
    near_fail(&contract->call, "MethodInvalidSignature");
    return UINT32_MAX;
}

/* NEP-448: accounts with little in storage need no balance. */
static unsigned __int128 stored_balance(const struct near_call *call)
{
    enum { FREE_BYTES = 770 };

    return call->storage_usage <= FREE_BYTES || call->context->is_view
               ? 0
               : (unsigned __int128)call->storage_usage * call->parameters->storage_amount_per_byte;
}

static struct near_outcome outcome(struct near_call *call, bool is_free)
{
    if (is_free)
        call->profile = (struct near_profile){0};
    return (struct near_outcome){
        .burnt_gas = is_free ? 0 : near_burnt(call),
        .used_gas = is_free ? 0 : near_used(call),
        .profile = call->profile,
        .operations = is_free ? 0 : near_operations(call),
        .storage_usage = call->storage_usage,
        .balance = call->balance,
        .stored = stored_balance(call),
        .has_result = call->has_result && call->error[0] == '\0',
        .is_lost = call->is_lost,
        .is_over_limit = call->is_over_limit,
        .result = &call->result,
        .receipts = &call->receipts,
        .returned_receipt = call->returned_receipt,
        .error = call->error[0] != '\0' ? call->error : NULL,
    };
}

/* Distributes remaining gas to the function calls that have a weight, which uses it. */
static void distribute(struct near_call *call)
{
    const uint64_t left = call->prepaid_gas - near_used(call);

    if (near_receipts_distribute(&call->receipts, left))
        call->promises_gas += left;
}

static void interpret_function(struct near_contract *contract, uint32_t function)
{
    enum wasm_trap trap = wasm_instance_reset(contract->instance);

    if (trap == WASM_TRAP_NONE)
        trap = wasm_instance_start(&contract->machine, contract->instance);
    if (trap == WASM_TRAP_NONE)
        trap = wasm_call(&contract->machine, contract->instance, function, NULL);
    fail_for_trap(&contract->call, trap);
}

/* False if the compiled code gave up. */
static bool run_compiled_function(struct near_contract *contract, uint32_t function)
{
    return wasm_instance_reset(contract->instance) == WASM_TRAP_NONE &&
           compiled_start(contract->compiled, &contract->machine, contract->instance) &&
           compiled_call(contract->compiled, &contract->machine, contract->instance, function,
                         NULL);
}

/* False if nothing is decided because the compiled code gave up. */
static bool run_wasm_function(struct near_contract *contract, uint32_t function, bool is_compiled)
{
    struct near_call *call = &contract->call;

    if (!is_compiled)
        interpret_function(contract, function);
    else if (!run_compiled_function(contract, function))
        return false;
    if (call->error[0] != '\0' || call->is_lost)
        return true;
    distribute(call);
    (void)near_check_receipts(call);
    return true;
}

/* Calls the method once, in machine code or in the interpreter. *abandoned: the first did not
 * finish, and the outcome is of no use. */
static struct near_outcome attempt_call(struct near_contract *contract, const char *method,
                                        const struct near_context *context,
                                        const struct near_storage *storage, bool is_compiled,
                                        bool *abandoned)
{
    struct near_call *call = &contract->call;
    const bool is_paid_first = contract->parameters.fix_contract_loading_cost != 0;
    uint32_t function;

    *abandoned = false;
    call->machine = &contract->machine;
    call->instance = contract->instance;
    near_call_begin(call, context, storage);
    if (method[0] == '\0')
        near_fail(call, "MethodEmptyName");
    else if (contract->refused[0] != '\0' && !is_paid_first)
        near_fail(call, "%s", contract->refused);
    if (call->error[0] != '\0')
        return outcome(call, true);
    if (!near_pay_each(call, NEAR_COST_contract_loading_bytes, contract->length) ||
        !near_pay(call, NEAR_COST_contract_loading_base))
        return outcome(call, false);
    if (contract->refused[0] != '\0') {
        near_fail(call, "%s", contract->refused);
        return outcome(call, false);
    }
    function = find_method(contract, method);
    if (function == UINT32_MAX)
        return outcome(call, !is_paid_first);
    if (contract->unlinkable[0] != '\0')
        near_fail(call, "%s", contract->unlinkable);
    else
        *abandoned = !run_wasm_function(contract, function, is_compiled);
    return outcome(call, false);
}

struct near_outcome near_contract_call(struct near_contract *contract, const char *method,
                                       const struct near_context *context,
                                       const struct near_storage *storage)
{
    struct near_outcome result;
    bool abandoned;

    if (contract->compiled == NULL)
        return attempt_call(contract, method, context, storage, false, &abandoned);
    near_journal_begin(&contract->journal, storage);
    result = attempt_call(contract, method, context, &contract->journal.storage, true, &abandoned);
    contract->tiers.compiled += !abandoned;
    contract->tiers.abandoned += abandoned;
    if (!abandoned)
        return result;
    near_journal_rewind(&contract->journal);
    return attempt_call(contract, method, context, &contract->journal.storage, false, &abandoned);
}

static struct near_contract *wasm_contract_open(const uint8_t *bytes, size_t length,
                                                const struct near_contract_options *options,
                                                struct error *error)
{
    return near_contract_open_compiled(bytes, length, options->protocol, options->compiled, error);
}

const struct near_contract_kind near_contract_wasm = {
    .version = "WebAssembly with NEAR's host",
    .refusal = "this worker runs WebAssembly and evaluates nothing",
    .snapshot = "gaspipe wasm 2\n",
    .has_gas = true,
    .open = wasm_contract_open,
    .close = near_contract_close,
    .why_unusable = near_contract_refusal,
    .size = near_contract_size,
    .memory = near_contract_memory,
    .call = near_contract_call,
};
