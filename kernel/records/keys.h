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

/* The kernel's records: text values under text keys of the store. Output buffers are emptied
 * first. ERROR_SYSTEM if a required record is absent or malformed, which means a damaged store. */

/* The longest keys are "d9.vs.id." with a bundle's id, and "vat.name." with a name. */
enum { KEYS_NAME_SIZE = 320 };

/* Formats the name; returns it. */
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

/* ERROR_SYSTEM if the record is absent. */
int keys_require(struct kernel *kernel, const char *key, struct buf *value, struct error *error);
int keys_get_number(struct kernel *kernel, const char *key, int64_t *number, struct error *error);
int keys_get_json(struct kernel *kernel, const char *key, json_t **value, struct error *error);

/* Like keys_get_json(), for records that are read often and rarely change. The value is shared:
 * do not change it. */
int keys_get_shared_json(struct kernel *kernel, const char *key, json_t **value,
                         struct error *error);

/* Reads `count` numbers >= 0 of a text, "5", "5,6" or "[5,6,7]"; false if it has another form. */
bool keys_read_numbers(const char *text, int64_t *numbers, size_t count);

/* *is: the record exists and equals the text. */
int keys_is(struct kernel *kernel, const char *key, const char *text, bool *is,
            struct error *error);

int keys_set_number(struct kernel *kernel, const char *key, int64_t number, struct error *error);
int keys_set_json(struct kernel *kernel, const char *key, const json_t *value, struct error *error);

/* For queued work: the value put under a key is returned without parsing it again. Do not change
 * a value after putting it. The value taken may be changed, except for what it contains. */
int keys_put_work(struct kernel *kernel, const char *key, const json_t *value, struct error *error);
int keys_put_work_text(struct kernel *kernel, const char *key, const struct buf *text,
                       const json_t *value, struct error *error); /* `text` is the value's */
int keys_get_work(struct kernel *kernel, const char *key, json_t **value, struct buf *text,
                  struct error *error); /* its text is appended to `text` */

/* Returns the number under the key, and increments the record. */
int keys_take_number(struct kernel *kernel, const char *key, int64_t *number, struct error *error);

/* Like store_name_note_new() and store_name_is_new(), for newly numbered names. */
int keys_note_new(struct kernel *kernel, const char *name, struct error *error);
bool keys_is_new(const struct kernel *kernel, const char *name);

/* A JSON array of texts: search, append, remove. */
int keys_has_text(struct kernel *kernel, const char *key, const char *text, bool *has,
                  struct error *error);
int keys_append_text(struct kernel *kernel, const char *key, const char *text, struct error *error);
int keys_remove_text(struct kernel *kernel, const char *key, const char *text, bool *removed,
                     struct error *error);

/* Adds to a sorted list with commas; *added: the list lacked it. An absent list is empty. */
int keys_add_to_list(struct kernel *kernel, const char *key, const char *text, bool *added,
                     struct error *error);

/* Returns the first key after `after` that begins with `prefix`, like store_key_next(); "" as
 * `after`: the first. */
int keys_next(struct kernel *kernel, const char *prefix, const char *after, struct buf *key,
              bool *found, struct error *error);

/* JSON, compact, as JavaScript's JSON.stringify() writes it. */
int keys_json_text(struct buf *buf, const json_t *value, struct error *error);

/*
 * A memo keeps parsed values with their texts, so that records that each crank reads are
 * parsed once. The store stays authoritative: a value is returned only for exactly the text
 * that it was noted with, so it is never out of date.
 *
 * All zeros is an empty memo. Each place keeps its latest entry.
 */
enum { JSON_MEMO_PLACES = 64 };

struct json_memo {
    struct json_memo_place {
        struct buf text;
        json_t *value; /* owned; NULL: none */
    } places[JSON_MEMO_PLACES];
};

/* Returns the value of the text under this key; NULL if unknown. The value is shared: release
 * it, and do not change it. */
json_t *json_memo_find(const struct json_memo *memo, const char *key, const struct buf *text);

/* Like json_memo_find(), for callers that change the value: returns it only if the memo has the
 * sole reference (its contents may be shared), and forgets it. */
json_t *json_memo_take(struct json_memo *memo, const char *key, const struct buf *text);

/* Skips long texts, and all texts when memory is exhausted. Do not change the value afterwards. */
void json_memo_note(struct json_memo *memo, const char *key, const struct buf *text,
                    const json_t *value);

void json_memo_free(struct json_memo *memo);

#endif
