/* SPDX-License-Identifier: Apache-2.0 */
/* A record that meter_decode() accepts is the same after meter_encode() and meter_decode(). */
#include <string.h>

#include "base/buf.h"
#include "proto/meter.h"
#include "tests/fuzz/fuzz.h"

static bool same(const struct meter *a, const struct meter *b)
{
    return a->heap_count == b->heap_count && a->compute == b->compute &&
           a->allocate == b->allocate && a->stamp_count == b->stamp_count &&
           a->counted == b->counted && a->cpu_known == b->cpu_known &&
           (!a->counted || a->instructions == b->instructions);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct meter meter, again;
    struct error error;
    struct buf json = {0};

    if (meter_decode(&meter, (const char *)data, size, &error) != 0) {
        check(error.kind == ERROR_INPUT && error.text[0] != '\0');
        return 0;
    }
    meter_encode(&json, &meter);
    check(!buf_failed(&json));
    check(meter_decode(&again, json.data, json.length, &error) == 0);
    check(same(&meter, &again));
    meter_free(&again);
    meter_free(&meter);
    buf_free(&json);
    return 0;
}
