/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "counter/qemu/code/chain_tree.h"

enum { STRETCHES = 3000, CALLS = 2000 };

static void test_chains(void **state)
{
    struct chain_tree tree;
    struct call_chain *last, *first;

    (void)state;
    assert_true(chain_tree_open(&tree));
    last = first = tree.chains[0];
    for (uint64_t i = 1; i <= CALLS; i++) {
        last = chain_tree_find(&tree, last, 100 * i);
        assert_non_null(last);
        assert_int_equal(last->id, i);
        assert_int_equal(last->caller, i - 1);
    }
    /* The same again; and the same return address out of another chain. */
    assert_ptr_equal(chain_tree_find(&tree, first, 100), tree.chains[1]);
    assert_ptr_not_equal(chain_tree_find(&tree, last, 100), tree.chains[1]);
    assert_int_equal(tree.count, CALLS + 2);
    chain_tree_free(&tree);
}

static const struct insn_sequence *keep(uint64_t address)
{
    const struct insn_sequence sequence = {.address = address, .length = 3};
    const struct insn_sequence *kept = insn_sequence_keep(&sequence);

    assert_non_null(kept);
    assert_ptr_equal(insn_sequence_keep(&sequence), kept);
    assert_int_not_equal(kept->key, 0);
    assert_ptr_equal(insn_sequence_of_key(kept->key), kept);
    return kept;
}

static void add_all(struct call_chain *chain, uint64_t step)
{
    for (uint64_t i = 0; i < STRETCHES; i += step) {
        struct call_cell *cell = call_chain_cell(chain, keep(i)->key);

        assert_non_null(cell);
        assert_true(call_cell_add(cell, (uint32_t)i + 1));
    }
}

static void assert_cells(const struct call_chain *chain, uint64_t step)
{
    uint64_t found = 0;

    for (uint32_t at = 0; at <= chain->mask; at++) {
        const struct call_cell *cell = &chain->cells[at];

        if (cell->key == 0)
            continue;
        found++;
        assert_int_equal(insn_sequence_of_key(cell->key)->address % step, 0);
        assert_int_equal(cell->instructions, insn_sequence_of_key(cell->key)->address + 1);
    }
    assert_int_equal(found, (STRETCHES + step - 1) / step);
}

static void test_cells(void **state)
{
    struct chain_tree tree;
    struct call_chain *chain;

    (void)state;
    assert_true(chain_tree_open(&tree));
    chain = chain_tree_find(&tree, tree.chains[0], 7);
    assert_non_null(chain);
    add_all(chain, 1);
    add_all(tree.chains[0], 5);
    assert_cells(chain, 1);
    assert_cells(tree.chains[0], 5);
    chain_tree_free(&tree);
}

static void test_only_what_was_visited_is_cleared(void **state)
{
    struct chain_tree tree;
    struct call_chain *chain;

    (void)state;
    assert_true(chain_tree_open(&tree));
    chain = chain_tree_find(&tree, tree.chains[0], 7);
    assert_non_null(chain);
    chain_tree_visit(&tree, chain);
    chain_tree_visit(&tree, chain);
    assert_int_equal(tree.visited_count, 1);
    add_all(chain, 1);
    add_all(tree.chains[0], 1);
    chain_tree_clear(&tree);
    assert_int_equal(tree.visited_count, 0);
    for (uint32_t at = 0; at <= chain->mask; at++)
        assert_int_equal(chain->cells[at].instructions, 0);
    assert_cells(tree.chains[0], 1);
    chain_tree_free(&tree);
}

/* A cell's number continues past 32 bits, upwards and downwards. */
static void test_a_cell_holds_any_number(void **state)
{
    struct chain_tree tree;
    struct call_chain *chain;
    struct call_cell *cell, *other;

    (void)state;
    assert_true(chain_tree_open(&tree));
    chain = chain_tree_find(&tree, tree.chains[0], 7);
    assert_non_null(chain);
    chain_tree_visit(&tree, chain);
    assert_non_null(call_chain_cell(chain, keep(1)->key));
    assert_non_null(call_chain_cell(chain, keep(2)->key));
    cell = call_chain_cell(chain, keep(1)->key);
    other = call_chain_cell(chain, keep(2)->key);
    assert_true(call_cell_add(cell, UINT32_MAX));
    assert_false(call_cell_add(cell, 3));
    assert_int_equal(chain_tree_completed(&tree, chain, cell), UINT32_MAX);
    assert_true(chain_tree_add(&tree, chain, cell, 3));
    assert_int_equal(chain_tree_completed(&tree, chain, cell), UINT64_C(0x100000002));
    for (int i = 0; i < 4; i++)
        chain_tree_take_back(&tree, chain, cell);
    assert_int_equal(chain_tree_completed(&tree, chain, cell), UINT32_MAX - 1U);
    for (int i = 0; i < 6; i++)
        assert_true(chain_tree_add(&tree, chain, cell, UINT32_MAX));
    assert_int_equal(chain_tree_completed(&tree, chain, cell), UINT64_C(7) * UINT32_MAX - 1);
    assert_int_equal(chain_tree_completed(&tree, chain, other), 0);
    chain_tree_clear(&tree);
    assert_int_equal(chain_tree_completed(&tree, chain, cell), 0);
    chain_tree_free(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_a_cell_holds_any_number),
        cmocka_unit_test(test_only_what_was_visited_is_cleared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
