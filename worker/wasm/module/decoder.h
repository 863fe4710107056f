/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_WASM_MODULE_DECODER_H
#define GASPIPE_WORKER_WASM_MODULE_DECODER_H

#include "worker/wasm/module/module.h"

/* What the decoder's files share while a module is decoded. */
struct wasm_decoder {
    struct wasm_module *module;
    struct wasm_reader reader; /* over the section at hand */
    enum wasm_fault fault;     /* once something failed that is no malformed module */
};

/* Each reads a section's content; what is wrong is left in the reader or in `fault`. */
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

/* Fails for a limit or the host's memory: no reading goes on. */
void wasm_decoder_stop(struct wasm_decoder *decoder, enum wasm_fault fault, const char *words);

/*
 * Memory for `count` items of `size` bytes, or for them behind the `before` that *items has
 * already: zeroed. False when there is none.
 */
bool wasm_decoder_grow(struct wasm_decoder *decoder, void *items, uint32_t before, uint32_t count,
                       size_t size);

/* A constant expression of that type, with its end. */
struct wasm_constant wasm_decode_constant(struct wasm_decoder *decoder, uint8_t type);

#endif
