/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_WASM_MODULE_READER_H
#define GASPIPE_WORKER_WASM_MODULE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads the binary format of WebAssembly out of bytes that nobody has checked.
 *
 * A reader remembers the first thing that was wrong: `fault` stays set, and every later
 * read gives 0 and moves nothing. So a caller can read several items and look once, but
 * must look before a loop that a count from the bytes decides.
 */
struct wasm_reader {
    const uint8_t *start; /* offsets in messages count from here */
    const uint8_t *at;
    const uint8_t *end;
    const char *fault; /* NULL while all was well; words without a newline */
    size_t fault_offset;
};

/* A name or other bytes inside the module; not terminated. */
struct wasm_bytes {
    const uint8_t *data;
    uint32_t length;
};

struct wasm_reader wasm_reader_over(const uint8_t *bytes, size_t length);

/* Sets the fault unless there is one. Always false. */
bool wasm_reader_fail(struct wasm_reader *reader, const char *fault);

size_t wasm_reader_left(const struct wasm_reader *reader);

uint8_t wasm_read_byte(struct wasm_reader *reader);
uint32_t wasm_read_u32(struct wasm_reader *reader); /* LEB128 */
int32_t wasm_read_s32(struct wasm_reader *reader);  /* LEB128 */
int64_t wasm_read_s33(struct wasm_reader *reader);  /* LEB128, of a block's type */
int64_t wasm_read_s64(struct wasm_reader *reader);  /* LEB128 */
uint64_t wasm_read_fixed(struct wasm_reader *reader, unsigned bytes); /* little-endian, of 4 or 8 */

/* A length and so many bytes. */
struct wasm_bytes wasm_read_bytes(struct wasm_reader *reader);

/* As wasm_read_bytes(), and they are UTF-8. */
struct wasm_bytes wasm_read_name(struct wasm_reader *reader);

/* The count of a vector whose items take a byte each at least, so it bounds memory. */
uint32_t wasm_read_count(struct wasm_reader *reader);

bool wasm_is_utf8(const uint8_t *bytes, size_t length);

#endif
