/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TESTS_UNIT_STORE_STORE_CHECK_H
#define GASPIPE_TESTS_UNIT_STORE_STORE_CHECK_H

/* Helpers for tests of the store; include this after cmocka.h. */

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

/* Checks that this text was found; NULL: that nothing was. Frees the buffer. */
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
