/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/wasm/module/export_names.h"

#include <string.h>

int wasm_export_compare(const struct wasm_export *left, const struct wasm_export *right)
{
    const struct wasm_bytes *a = &left->name, *b = &right->name;
    const uint32_t common = a->length < b->length ? a->length : b->length;
    const int order = common > 0 ? memcmp(a->data, b->data, common) : 0;

    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

static void exchange(struct wasm_export *left, struct wasm_export *right)
{
    const struct wasm_export between = *left;

    *left = *right;
    *right = between;
}

/* Each element of the heap is not below the two at twice its place, and one and two on. */
static void sink(struct wasm_export *heap, uint64_t at, uint64_t count)
{
    for (uint64_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && wasm_export_compare(&heap[child], &heap[child + 1]) < 0)
            child++;
        if (wasm_export_compare(&heap[at], &heap[child]) >= 0)
            return;
        exchange(&heap[at], &heap[child]);
    }
}

void wasm_exports_sort(struct wasm_export *exports, uint32_t count)
{
    for (uint32_t i = count / 2; i > 0; i--)
        sink(exports, i - 1, count);
    for (uint32_t i = count; i > 1; i--) {
        exchange(&exports[0], &exports[i - 1]);
        sink(exports, 0, i - 1);
    }
}
