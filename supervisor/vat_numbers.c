/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/vat_numbers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "slog/scan.h"

/* Room for "vN.nextDeliveryNum". */
enum { KEY_SIZE = 64 };

static int get_number(struct store *store, const char *key, int64_t otherwise, int64_t *number,
                      struct error *error)
{
    struct buf text = {0};
    bool found;
    int result = store_key_get(store, key, &text, &found, error);

    *number = otherwise;
    if (result == 0 && found &&
        !scan_decimal((struct scan_span){text.data, text.length}, 0, number))
        result = error_set(error, ERROR_INPUT, "the store is damaged: %s is no number", key);
    buf_free(&text);
    return result;
}

static int set_number(struct store *store, const char *key, int64_t number, struct error *error)
{
    char text[24];
    int length = snprintf(text, sizeof text, "%" PRId64, number);

    return store_key_set(store, key, (struct iovec){text, (size_t)length}, error);
}

static int increment(struct store *store, const char *key, int64_t first, struct error *error)
{
    int64_t number;

    if (get_number(store, key, first, &number, error) != 0)
        return -1;
    return set_number(store, key, number + 1, error);
}

static int provide_id(struct store *store, const char *key, int64_t *id, struct error *error)
{
    if (get_number(store, key, 0, id, error) != 0)
        return -1;
    if (*id != 0)
        return 0;
    if (get_number(store, "vat.nextID", 1, id, error) != 0 ||
        store_block_begin(store, error) != 0 ||
        set_number(store, "vat.nextID", *id + 1, error) != 0 ||
        set_number(store, key, *id, error) != 0)
        return -1;
    return store_block_commit(store, error);
}

static void delivery_key(char key[KEY_SIZE], int64_t vat)
{
    snprintf(key, KEY_SIZE, "v%" PRId64 ".nextDeliveryNum", vat);
}

int vat_numbers_provide(struct store *store, const char *name, struct vat_numbers *numbers,
                        struct error *error)
{
    struct buf key = {0};
    char next[KEY_SIZE];
    int result;

    buf_printf(&key, "vat.name.%s", name);
    if (buf_string(&key) == NULL)
        result = error_memory(error, "a vat's name");
    else
        result = provide_id(store, key.data, &numbers->id, error);
    buf_free(&key);
    if (result != 0)
        return -1;
    delivery_key(next, numbers->id);
    return get_number(store, next, 1, &numbers->delivery_next, error);
}

int vat_numbers_crank_next(struct store *store, int64_t *crank_num, struct error *error)
{
    return get_number(store, "crankNumber", 0, crank_num, error);
}

int vat_numbers_count_delivery(struct store *store, int64_t vat, struct error *error)
{
    char next[KEY_SIZE];

    delivery_key(next, vat);
    if (increment(store, "crankNumber", 0, error) != 0)
        return -1;
    return increment(store, next, 1, error);
}
