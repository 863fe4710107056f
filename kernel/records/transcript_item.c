/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/records/transcript_item.h"

#include <inttypes.h>

#include "kernel/records/capdata.h"
#include "kernel/records/keys.h"
#include "kernel/state.h"
#include "store/store.h"

void transcript_item_begin(struct kernel *kernel)
{
    struct delivery_state *delivery = &kernel->crank.delivery;

    spool_append_string(&delivery->item, "{\"d\":");
    spool_append(&delivery->item, delivery->vd.data, delivery->vd.length);
    spool_append_string(&delivery->item, ",\"sc\":[");
}

void transcript_item_add_syscall(struct kernel *kernel, const char *vsc, const char *vsr)
{
    struct delivery_state *delivery = &kernel->crank.delivery;
    struct spool *item = &delivery->item;

    spool_append_string(item, delivery->has_syscall ? ",{\"s\":" : "{\"s\":");
    spool_append_string(item, vsc);
    spool_append_string(item, ",\"r\":");
    spool_append_string(item, vsr);
    spool_append_string(item, "}");
    delivery->has_syscall = true;
}

static void append_words(struct buf *item, const char *name, const char *words)
{
    json_t *text = capdata_words(words);
    struct error ignored;

    buf_printf(item, ",\"%s\":", name);
    if (text == NULL || keys_json_text(item, text, &ignored) != 0)
        item->failed = true;
    json_decref(text);
}

static void append_result(struct buf *item, const struct kernel_outcome *outcome)
{
    buf_printf(item, "{\"status\":\"%s\"", outcome->came == KERNEL_CAME_OK ? "ok" : "error");
    if (outcome->problem != NULL)
        append_words(item, "problem", outcome->problem);
    if (outcome->compute >= 0)
        buf_printf(item, ",\"metering\":{\"computrons\":%" PRId64 "}", outcome->compute);
    if (outcome->instructions >= 0)
        buf_printf(item, ",\"instructions\":%" PRId64, outcome->instructions);
    if (outcome->fingerprint != NULL)
        append_words(item, "fingerprint", outcome->fingerprint);
    buf_append_byte(item, '}');
}

static int add_item(struct kernel *kernel, struct error *error)
{
    struct delivery_state *delivery = &kernel->crank.delivery;
    struct iovec item;
    int result;

    if (spool_map(&delivery->item, &item, error) != 0)
        return -1;
    result = store_transcript_add(kernel->store, delivery->view.vat, delivery->view.incarnation,
                                  delivery->view.position, item, error);
    spool_unmap(&delivery->item, item);
    return result;
}

int transcript_item_keep(struct kernel *kernel, const struct kernel_outcome *outcome,
                         struct error *error)
{
    struct spool *item = &kernel->crank.delivery.item;
    struct buf end = {0};
    int result;

    buf_append_string(&end, "],\"r\":");
    append_result(&end, outcome);
    buf_append_byte(&end, '}');
    spool_append(item, end.data, end.length);
    result = buf_failed(&end) ? error_memory(error, "a transcript") : add_item(kernel, error);
    buf_free(&end);
    return result;
}
