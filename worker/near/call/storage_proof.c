/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "worker/near/call/call.h"

/*
 * The proof lets validators run a call again without the chain's state. It has each value that was
 * in storage before the call and is read, once. Each removal adds an allowance for nodes that it
 * joins. nearcore also counts the nodes of its trie, which are unknown here.
 */

enum { REMOVAL = 2000 };

/* FNV-1a. */
static uint64_t mark_of(struct wasm_bytes bytes, uint64_t seed)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ seed;

    for (uint32_t i = 0; i < bytes.length; i++)
        hash = (hash ^ bytes.data[i]) * UINT64_C(0x100000001b3);
    return hash != 0 ? hash : 1;
}

/* Finds the mark's place in a table with space, by linear probing. */
static uint64_t *find_mark(uint64_t *marks, uint32_t capacity, uint64_t mark)
{
    uint32_t at = (uint32_t)mark & (capacity - 1);

    while (marks[at] != 0 && marks[at] != mark)
        at = (at + 1) & (capacity - 1);
    return &marks[at];
}

static bool grow_marks(struct near_proof *proof)
{
    const uint32_t few = sizeof proof->few / sizeof *proof->few;
    const uint32_t capacity = proof->capacity == 0 ? few : proof->capacity * 2;
    uint64_t *marks = capacity == few ? proof->few : calloc(capacity, sizeof *marks);

    if (marks == NULL)
        return false;
    for (uint32_t i = 0; i < proof->capacity; i++)
        if (proof->marks[i] != 0)
            *find_mark(marks, capacity, proof->marks[i]) = proof->marks[i];
    near_proof_free(proof);
    proof->marks = marks;
    proof->capacity = capacity;
    return true;
}

/* *is_new: it was not there. False if out of memory. */
static bool add_mark(struct near_proof *proof, uint64_t mark, bool *is_new)
{
    uint64_t *place;

    if (proof->count * 2 >= proof->capacity && !grow_marks(proof))
        return false;
    place = find_mark(proof->marks, proof->capacity, mark);
    *is_new = *place == 0;
    *place = mark;
    proof->count += *is_new;
    return true;
}

static bool has_mark(const struct near_proof *proof, uint64_t mark)
{
    return proof->capacity != 0 && *find_mark(proof->marks, proof->capacity, mark) != 0;
}

/* Keys and values have different marks. */
enum { KEY = 1, VALUE = 2 };

static bool proof_add(struct near_call *call, uint64_t bytes)
{
    const uint64_t limit = call->parameters->per_receipt_storage_proof_size_limit;

    call->proof.bytes += bytes;
    return call->proof.bytes <= limit ||
           near_fail(call,
                     "Size of the recorded trie storage proof has exceeded the allowed limit "
                     "(%.1f MB)",
                     (double)limit / 1e6);
}

bool near_proof_read(struct near_call *call, struct wasm_bytes key, struct wasm_bytes value)
{
    bool is_new;

    if (has_mark(&call->proof, mark_of(key, KEY)))
        return true;
    if (!add_mark(&call->proof, mark_of(value, VALUE), &is_new))
        return near_no_memory(call);
    return !is_new || proof_add(call, value.length);
}

bool near_proof_write(struct near_call *call, struct wasm_bytes key, bool is_removal)
{
    bool is_new;

    if (!add_mark(&call->proof, mark_of(key, KEY), &is_new))
        return near_no_memory(call);
    return !is_removal || proof_add(call, REMOVAL);
}
