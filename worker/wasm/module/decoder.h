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

#endif
