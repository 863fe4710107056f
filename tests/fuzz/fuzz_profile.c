/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the profile of a worker's meter. */
#include <stddef.h>
#include <stdint.h>

#include "supervisor/profile/cost_tree.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cost_tree tree;
    struct error error;

    if (cost_tree_read(&tree, (struct iovec){(void *)data, size}, 1000, &error) != 0)
        return 0;
    /* A caller stands before what it calls, so that whoever walks up arrives. */
    for (size_t i = 1; i < tree.node_count; i++)
        check(tree.nodes[i].caller < i && tree.nodes[i].function < tree.function_count);
    cost_tree_free(&tree);
    return 0;
}
