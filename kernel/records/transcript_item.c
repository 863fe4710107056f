/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/records/transcript_item.h"

#include <inttypes.h>

#include "kernel/records/capdata.h"
#include "kernel/records/keys.h"
#include "kernel/state.h"
#include "store/store.h"

void transcript_item_add_syscall(struct kernel *kernel, const char *vsc, const char *vsr)
{
    struct buf *syscalls = &kernel->crank.delivery.syscalls;

    if (syscalls->length > 0)
        buf_append_byte(syscalls, ',');
    buf_append_string(syscalls, "{\"s\":");
    buf_append_string(syscalls, vsc);
    buf_append_string(syscalls, ",\"r\":");
    buf_append_string(syscalls, vsr);
    buf_append_byte(syscalls, '}');
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

int transcript_item_keep(struct kernel *kernel, const struct kernel_outcome *outcome,
                         struct error *error)
{
    const struct delivery_state *delivery = &kernel->crank.delivery;
    struct buf item = {0};
    int result;

    buf_append_string(&item, "{\"d\":");
    buf_append(&item, delivery->vd.data, delivery->vd.length);
    buf_append_string(&item, ",\"sc\":[");
    if (delivery->syscalls.length > 0)
        buf_append(&item, delivery->syscalls.data, delivery->syscalls.length);
    buf_append_string(&item, "],\"r\":");
    append_result(&item, outcome);
    buf_append_byte(&item, '}');
    if (buf_failed(&item) || buf_failed(&delivery->syscalls))
        result = error_memory(error, "a transcript");
    else
        result = store_transcript_add(
            kernel->store, delivery->view.vat, delivery->view.incarnation, delivery->view.position,
            (struct iovec){.iov_base = item.data, .iov_len = item.length}, error);
    buf_free(&item);
    return result;
}
