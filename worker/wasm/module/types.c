/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of a module and its types. */
#include <string.h>

#include "worker/wasm/module/module.h"

bool wasm_is_reference(uint8_t type)
{
    return type == WASM_FUNCREF || type == WASM_EXTERNREF;
}

bool wasm_is_type(uint8_t byte)
{
    return (byte >= WASM_F64 && byte <= WASM_I32) || wasm_is_reference(byte);
}

bool wasm_bytes_are(struct wasm_bytes bytes, const char *text)
{
    return bytes.length == strlen(text) && memcmp(bytes.data, text, bytes.length) == 0;
}

const struct wasm_function_type *wasm_type_of_function(const struct wasm_module *module,
                                                       uint32_t function)
{
    return &module->types[module->functions[function].type];
}

static bool same_bytes(struct wasm_bytes left, struct wasm_bytes right)
{
    return left.length == right.length && memcmp(left.data, right.data, left.length) == 0;
}

bool wasm_same_type(const struct wasm_function_type *left, const struct wasm_function_type *right)
{
    return same_bytes(left->parameters, right->parameters) &&
           same_bytes(left->results, right->results);
}

const struct wasm_export *wasm_module_export(const struct wasm_module *module, const char *name,
                                             size_t length)
{
    for (uint32_t i = 0; i < module->export_count; i++) {
        const struct wasm_bytes *has = &module->exports[i].name;

        if (has->length == length && memcmp(has->data, name, length) == 0)
            return &module->exports[i];
    }
    return NULL;
}
