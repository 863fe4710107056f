/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_RECORDS_KEYS_H
#define GASPIPE_KERNEL_RECORDS_KEYS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "kernel/kernel.h"

/*
 * The kernel's records: text values under text keys of the store. Buffers for
 * values are emptied before. A record that must be there and is not, or does not
 * hold what it should, is ERROR_SYSTEM: only a damaged store has such.
 */

/* The longest: "d9.vs.id." and a bundle's id; "vat.name." and a name. */
enum { KEYS_NAME_SIZE = 320 };

/* Fills the name; returns it. */
const char *keys_name(char name[KEYS_NAME_SIZE], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "ko20.owner", of "ko20" and ".owner". */
const char *keys_part(char name[KEYS_NAME_SIZE], const char *owner, const char *part);

/* "v1.c.ko20", of 1, ".c." and "ko20". */
const char *keys_vat_part(char name[KEYS_NAME_SIZE], int64_t vat, const char *part,
                          const char *name_of_part);

int keys_get(struct kernel *kernel, const char *key, struct buf *value, bool *found,
             struct error *error);
int keys_has(struct kernel *kernel, const char *key, bool *found, struct error *error);
int keys_set(struct kernel *kernel, const char *key, const char *value, struct error *error);
int keys_set_buf(struct kernel *kernel, const char *key, const struct buf *value,
                 struct error *error);
int keys_delete(struct kernel *kernel, const char *key, struct error *error);

/* These must be there. */
int keys_require(struct kernel *kernel, const char *key, struct buf *value, struct error *error);
int keys_get_number(struct kernel *kernel, const char *key, int64_t *number, struct error *error);
int keys_get_json(struct kernel *kernel, const char *key, json_t **value, struct error *error);

/* The same for a record that is read often and seldom changes: others may have the value, too,
 * which must not be altered. */
int keys_get_shared_json(struct kernel *kernel, const char *key, json_t **value,
                         struct error *error);

/* As many numbers from 0 up as a text must have, "5", "5,6" or "[5,6,7]"; false: it has not. */
bool keys_read_numbers(const char *text, int64_t *numbers, size_t count);

/* Whether the value is just this text; false when there is none. */
int keys_is(struct kernel *kernel, const char *key, const char *text, bool *is,
            struct error *error);

int keys_set_number(struct kernel *kernel, const char *key, int64_t number, struct error *error);
int keys_set_json(struct kernel *kernel, const char *key, const json_t *value, struct error *error);

/* Of work for a queue: what was put under a key is handed out again without being parsed. The value
 * that was put must not be altered any more; the one that is taken may be, but not what is within.
 */
int keys_put_work(struct kernel *kernel, const char *key, const json_t *value, struct error *error);
int keys_put_work_text(struct kernel *kernel, const char *key, const struct buf *text,
                       const json_t *value, struct error *error); /* `text` is the value's */
int keys_get_work(struct kernel *kernel, const char *key, json_t **value, struct buf *text,
                  struct error *error); /* its text is appended to `text` */

/* The number under the key, which then is one more. */
int keys_take_number(struct kernel *kernel, const char *key, int64_t *number, struct error *error);

/* As store_name_note_new() and store_name_is_new(): of what is numbered anew. */
int keys_note_new(struct kernel *kernel, const char *name, struct error *error);
bool keys_is_new(const struct kernel *kernel, const char *name);

/* A JSON array of texts: whether one is in it, adding one, taking one away. */
int keys_has_text(struct kernel *kernel, const char *key, const char *text, bool *has,
                  struct error *error);
int keys_append_text(struct kernel *kernel, const char *key, const char *text, struct error *error);
int keys_remove_text(struct kernel *kernel, const char *key, const char *text, bool *removed,
                     struct error *error);

/* Adds to a sorted list with commas between; *added: it was not in it. A missing one is empty. */
int keys_add_to_list(struct kernel *kernel, const char *key, const char *text, bool *added,
                     struct error *error);

/*
 * The first key behind `after` that begins with `prefix`, as store_key_next();
 * "" as `after`: the first.
 */
int keys_next(struct kernel *kernel, const char *prefix, const char *after, struct buf *key,
              bool *found, struct error *error);

/* JSON, compact, as JavaScript's JSON.stringify() writes it. */
int keys_json_text(struct buf *buf, const json_t *value, struct error *error);

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
