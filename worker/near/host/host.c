/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/near/host/host.h"

#include <string.h>

#include "worker/near/host/host_functions.h"

/* Nobody but the host's own functions has an abort() of four numbers of 32 bits. */
static const uint8_t words_64[] = {WASM_I64, WASM_I64, WASM_I64, WASM_I64, WASM_I64,
                                   WASM_I64, WASM_I64, WASM_I64, WASM_I64};
static const uint8_t words_32[] = {WASM_I32, WASM_I32, WASM_I32, WASM_I32};

static enum wasm_trap host_enter(void *context, near_function *function, uint64_t *values)
{
    struct near_call *call = context;

    return function(call, values) ? WASM_TRAP_NONE : WASM_TRAP_HOST;
}

#define X(name, ...)                                                                               \
    static enum wasm_trap call_##name(void *context, struct wasm_machine *machine,                 \
                                      struct wasm_instance *caller, uint64_t *values)              \
    {                                                                                              \
        (void)machine;                                                                             \
        (void)caller;                                                                              \
        return host_enter(context, near_host_##name, values);                                      \
    }
NEAR_CONTEXT_FUNCTIONS(X)
NEAR_OTHER_FUNCTIONS(X)
NEAR_PROMISE_FUNCTIONS(X)
#undef X

#define X(name, ...)                                                                               \
    static enum wasm_trap call_##name(void *context, struct wasm_machine *machine,                 \
                                      struct wasm_instance *caller, uint64_t *values)              \
    {                                                                                              \
        (void)machine;                                                                             \
        (void)caller;                                                                              \
        (void)values;                                                                              \
        near_fail(context, "gaspipe has no " #name);                                               \
        return WASM_TRAP_HOST;                                                                     \
    }
NEAR_MISSING_FUNCTIONS(X)
#undef X

static const struct {
    const char *name;
    wasm_host_function *call;
    uint32_t parameters, results;
} functions[] = {
#define X(name, parameters, results) {#name, call_##name, parameters, results},
    NEAR_CONTEXT_FUNCTIONS(X) NEAR_OTHER_FUNCTIONS(X) NEAR_PROMISE_FUNCTIONS(X)
        NEAR_MISSING_FUNCTIONS(X)
#undef X
};

int near_host_resolve(void *context, const struct wasm_module *module,
                      const struct wasm_import *import, struct wasm_extern *given,
                      struct error *error)
{
    static struct wasm_function_type types[sizeof functions / sizeof *functions];

    (void)module;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (!wasm_bytes_are(import->name, functions[i].name))
            continue;
        types[i].parameters = (struct wasm_bytes){words_64, functions[i].parameters};
        if (functions[i].call == call_abort)
            types[i].parameters.data = words_32;
        types[i].results = (struct wasm_bytes){words_64, functions[i].results};
        given->kind = WASM_FUNCTION;
        given->function.call = functions[i].call;
        given->function.context = context;
        given->type = &types[i];
        return 0;
    }
    return error_set(error, ERROR_INPUT, "NEAR has no host function %.*s",
                     (int)(import->name.length < 100 ? import->name.length : 100),
                     (const char *)import->name.data);
}
