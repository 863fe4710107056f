/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/html/page_phases.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json/json_text.h"

/* JavaScript's numbers are exact up to here. */
#define FARTHEST ((int64_t)1 << 53)

struct page_phase {
    enum phase phase;
    int64_t start, total, own;
    char name[PHASE_NAME_SIZE], vat_id[PHASE_NAME_SIZE];
};

int page_phases_add(struct page_phases *phases, const struct phase_span *span, size_t most)
{
    struct page_phase *array;

    if (span->phase == PHASE_CRANK || span->phase == PHASE_DELIVERY || span->phase == PHASE_OTHER ||
        span->total <= 0)
        return 0;
    if (phases->count == most) {
        phases->hidden++;
        return 0;
    }
    array = array_reserve(phases->phases, &phases->capacity, phases->count + 1, sizeof *array);
    if (array == NULL)
        return -1;
    phases->phases = array;
    array += phases->count++;
    *array = (struct page_phase){
        .phase = span->phase, .start = span->start, .total = span->total, .own = span->own};
    snprintf(array->name, sizeof array->name, "%s", span->name);
    snprintf(array->vat_id, sizeof array->vat_id, "%s", span->vat_id);
    return 0;
}

void page_phases_append(const struct page_phases *phases, int64_t zero, struct buf *json)
{
    bool any = false;

    buf_append_byte(json, '[');
    for (size_t i = 0; i < phases->count; i++) {
        const struct page_phase *phase = &phases->phases[i];
        int64_t start;

        if (__builtin_sub_overflow(phase->start, zero, &start) || start <= -FARTHEST ||
            start >= FARTHEST || phase->total >= FARTHEST)
            continue;
        buf_printf(json, "%s[\"%s%s%s\",", any ? "," : "", phase_name(phase->phase),
                   phase->name[0] != '\0' ? " " : "", phase->name);
        json_text_string(json, phase->vat_id, strlen(phase->vat_id));
        buf_printf(json, ",%" PRId64 ",%" PRId64 ",%" PRId64 "]", start, phase->total, phase->own);
        any = true;
    }
    buf_append_byte(json, ']');
}

void page_phases_free(struct page_phases *phases)
{
    free(phases->phases);
    *phases = (struct page_phases){0};
}
