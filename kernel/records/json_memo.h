/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_RECORDS_JSON_MEMO_H
#define GASPIPE_KERNEL_RECORDS_JSON_MEMO_H

#include <jansson.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * Values beside the texts that they were read from or written as, so that records which are read
 * with each crank are not parsed each time. The store alone says what a record is: a value is given
 * only for the very text that it was noted with, so nothing here can be out of date.
 *
 * A memo that is all zeros is empty. It keeps what was noted last for each of its places.
 */
enum { JSON_MEMO_PLACES = 64 };

struct json_memo {
    struct json_memo_place {
        struct buf text;
        json_t *value; /* owned; NULL: none */
    } places[JSON_MEMO_PLACES];
};

/*
 * The value of the text under this key, NULL: it is not known. The caller gets a reference to what
 * others may have, too, and must not alter it.
 */
json_t *json_memo_find(const struct json_memo *memo, const char *key, const struct buf *text);

/*
 * The same for one who alters it: only a value that nobody else has a reference to (what is within
 * it may be shared). The memo forgets it.
 */
json_t *json_memo_take(struct json_memo *memo, const char *key, const struct buf *text);

/* Long texts are not noted, nor any when memory runs out. The value must not be altered any more.
 */
void json_memo_note(struct json_memo *memo, const char *key, const struct buf *text,
                    const json_t *value);

void json_memo_free(struct json_memo *memo);

#endif
