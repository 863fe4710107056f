/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is two texts with a zero byte between. Whether they are the same does
 * not depend on which comes first, and each is the same as itself; a text with
 * blanks around it is the same as without.
 */
#include <string.h>

#include "base/json/json_same.h"
#include "tests/fuzz/fuzz.h"

/* A copy with `blanks` blanks before it and the padding after it that scanning needs. */
static struct scan_span copy(const uint8_t *data, size_t size, size_t blanks)
{
    char *bytes = calloc(1, blanks + size + SCAN_PADDING);

    check(bytes != NULL);
    memset(bytes, ' ', blanks);
    if (size > 0)
        memcpy(bytes + blanks, data, size);
    return (struct scan_span){bytes, blanks + size};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = size > 0 ? memchr(data, 0, size) : NULL;
    size_t length = zero != NULL ? (size_t)(zero - data) : size;
    struct scan_span left = copy(data, length, 0);
    struct scan_span wide = copy(data, length, 3);
    struct scan_span right =
        copy(zero != NULL ? zero + 1 : data, zero != NULL ? size - length - 1 : 0, 0);

    check(json_same(left, right) == json_same(right, left));
    check(json_same(left, left) && json_same(right, right));
    check(json_same(left, wide));
    free((char *)left.at);
    free((char *)wide.at);
    free((char *)right.at);
    return 0;
}
