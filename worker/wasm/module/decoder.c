/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/wasm/module/decoder.h"

#include <stdlib.h>
#include <string.h>

void wasm_decoder_stop(struct wasm_decoder *decoder, enum wasm_fault fault, const char *words)
{
    if (decoder->fault == WASM_FAULT_NONE && decoder->reader.fault == NULL)
        decoder->fault = fault;
    wasm_reader_fail(&decoder->reader, words);
}

bool wasm_decoder_grow(struct wasm_decoder *decoder, void *items, uint32_t before, uint32_t count,
                       size_t size)
{
    void **place = items;
    char *grown = reallocarray(*place, (size_t)before + count + 1, size);

    if (grown == NULL) {
        wasm_decoder_stop(decoder, WASM_FAULT_NO_MEMORY, "out of memory for a module");
        return false;
    }
    memset(grown + before * size, 0, (count + 1) * size);
    *place = grown;
    return true;
}
