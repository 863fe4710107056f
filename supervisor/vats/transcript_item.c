/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/vats/transcript_item.h"

#include <inttypes.h>
#include <string.h>

static int64_t integer_or_none(struct scan_span value)
{
    int64_t number;

    return scan_decimal(value, 0, &number) ? number : -1;
}

static bool take_fields(struct transcript_item *item)
{
    const struct scan_span text = {item->json.data, item->json.length};
    const struct scan_span result = scan_get(text, "r");

    item->delivery = scan_get(text, "d");
    item->status = scan_string(scan_get(result, "status"));
    item->compute = integer_or_none(scan_get(scan_get(result, "metering"), "computrons"));
    item->instructions = integer_or_none(scan_get(result, "instructions"));
    item->fingerprint = scan_string(scan_get(result, "fingerprint"));
    return item->delivery.at != NULL && item->status.at != NULL &&
           scan_open(scan_get(text, "sc"), '[', &item->syscalls);
}

int transcript_item_read(struct transcript_item *item, struct store *store, int64_t vat,
                         int64_t incarnation, int64_t position, struct error *error)
{
    bool found = false;

    buf_clear(&item->json);
    if (store_transcript_get(store, vat, incarnation, position, &item->json, &found, error) != 0)
        return -1;
    if (buf_reserve(&item->json, SCAN_PADDING) != 0)
        return error_memory(error, "a transcript");
    memset(item->json.data + item->json.length, 0, SCAN_PADDING);
    if (!found || !take_fields(item))
        return error_set(error, ERROR_SYSTEM,
                         "the store's transcript of v%" PRId64 " is damaged at position %" PRId64,
                         vat, position);
    return 0;
}

bool transcript_item_next(struct transcript_item *item, struct scan_span *syscall,
                          struct scan_span *answer)
{
    struct scan_span pair;

    if (scan_element(&item->syscalls, &pair) != SCAN_FOUND)
        return false;
    *syscall = scan_get(pair, "s");
    *answer = scan_get(pair, "r");
    return syscall->at != NULL && answer->at != NULL;
}

void transcript_item_free(struct transcript_item *item)
{
    buf_free(&item->json);
}
