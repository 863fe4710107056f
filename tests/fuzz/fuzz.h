/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TESTS_FUZZ_FUZZ_H
#define GASPIPE_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* libFuzzer calls this with each input. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An input for which this does not hold is a finding. */
static inline void check(bool holds)
{
    if (!holds)
        abort();
}

#endif
