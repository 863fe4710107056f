/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_WASM_MODULE_DECODER_H
#define GASPIPE_WORKER_WASM_MODULE_DECODER_H

#include "worker/wasm/module/module.h"

/* State that the decoder's files share. */
struct wasm_decoder {
    struct wasm_module *module;
    struct wasm_reader reader; /* over the current section */
    enum wasm_fault fault;     /* set for failures other than a malformed module */
};

/* Each reads a section's content; errors are left in the reader or in `fault`. */
void wasm_decode_types(struct wasm_decoder *decoder);
void wasm_decode_imports(struct wasm_decoder *decoder);
void wasm_decode_functions(struct wasm_decoder *decoder);
void wasm_decode_tables(struct wasm_decoder *decoder);
void wasm_decode_memories(struct wasm_decoder *decoder);
void wasm_decode_globals(struct wasm_decoder *decoder);
void wasm_decode_exports(struct wasm_decoder *decoder);
void wasm_decode_start(struct wasm_decoder *decoder);
void wasm_decode_elements(struct wasm_decoder *decoder);
void wasm_decode_data_count(struct wasm_decoder *decoder);
void wasm_decode_code(struct wasm_decoder *decoder);
void wasm_decode_data(struct wasm_decoder *decoder);

/* Stops reading, for a limit or lack of memory. */
void wasm_decoder_stop(struct wasm_decoder *decoder, enum wasm_fault fault, const char *words);

/* Allocates `count` zeroed items of `size` bytes, after the `before` items in *items. False if
 * out of memory. */
bool wasm_decoder_grow(struct wasm_decoder *decoder, void *items, uint32_t before, uint32_t count,
                       size_t size);

/* A constant expression of that type, with its end. */
struct wasm_constant wasm_decode_constant(struct wasm_decoder *decoder, uint8_t type);

#endif
