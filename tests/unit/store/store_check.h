/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TESTS_UNIT_STORE_STORE_CHECK_H
#define GASPIPE_TESTS_UNIT_STORE_STORE_CHECK_H

/* What tests of the store share; to be included behind cmocka.h. */

#include <string.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"

static struct error error;

/* A call that has to go well. */
#define OK(call)                                                                                   \
    do {                                                                                           \
        if ((call) != 0)                                                                           \
            fail_msg("%s: %s", #call, error.text);                                                 \
    } while (0)

static inline struct iovec bytes(const char *text)
{
    return (struct iovec){(char *)text, strlen(text)};
}

/* What was found is this text; NULL: nothing was. Gives the buffer's memory back. */
static inline void same(struct buf *value, bool found, const char *expected)
{
    assert_int_equal(found, expected != NULL);
    if (expected != NULL)
        assert_string_equal(buf_string(value), expected);
    else
        assert_int_equal(value->length, 0);
    buf_free(value);
}

#endif
