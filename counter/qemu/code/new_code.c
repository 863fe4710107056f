/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/code/new_code.h"

#include <dlfcn.h>

#include "counter/qemu/interpose.h"

/* QEMU's struct tb_tc (include/exec/exec-all.h): a block's key in the tree. */
struct key {
    uint8_t *code;
    size_t size;
};

typedef void insert_function(void *tree, void *key, void *block);
typedef bool is_code_function(const void *address);

static insert_function *real_insert;
static is_code_function *is_code;   /* QEMU's in_code_gen_buffer() */
static const intptr_t *write_shift; /* QEMU's tcg_splitwx_diff */
static new_code_function *told;

/* QEMU's description of a block and its key within it lie in front of the code. */
#define BLOCK_SIZE_MAX 1024

static bool is_block(const struct key *key, const uint8_t *block)
{
    return is_code(block) && (uintptr_t)key - (uintptr_t)block < BLOCK_SIZE_MAX &&
           (uintptr_t)key->code - (uintptr_t)key < BLOCK_SIZE_MAX && is_code(key->code + key->size);
}

static void insert(void *tree, void *key, void *block)
{
    const struct key *code = key;

    if (*write_shift == 0 && is_block(code, block))
        told(code->code, code->size);
    real_insert(tree, key, block);
}

void new_code_watch(new_code_function *function)
{
    told = function;
    is_code = (is_code_function *)dlsym(RTLD_DEFAULT, "in_code_gen_buffer");
    write_shift = dlsym(RTLD_DEFAULT, "tcg_splitwx_diff");
    if (is_code != NULL && write_shift != NULL)
        interpose("g_tree_insert", (void *)insert, (void **)&real_insert);
}
