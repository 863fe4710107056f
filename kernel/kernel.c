/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/kernel.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/deliver.h"
#include "kernel/graph/gc.h"
#include "kernel/graph/queue.h"
#include "kernel/records/crank_hash.h"
#include "kernel/records/keys.h"
#include "kernel/state.h"
#include "store/store.h"

/* Of the records; raised when what stands in them changes its meaning. */
static const char version[] = "gaspipe-1";

static int init_records(struct kernel *kernel, const struct kernel_options *options,
                        struct error *error)
{
    static const struct {
        const char *key, *value;
    } records[] = {
        {"vat.names", "[]"},        {"vat.dynamicIDs", "[]"},  {"vat.nextID", "1"},
        {"vat.nextUpgradeID", "1"}, {"vats.terminated", "[]"}, {"device.names", "[]"},
        {"device.nextID", "7"},     {"ko.nextID", "20"},       {"kd.nextID", "30"},
        {"kp.nextID", "40"},        {"meter.nextID", "1"},     {"gcActions", "[]"},
        {"crankNumber", "0"},       {"version", version},
    };

    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        if (keys_set(kernel, records[i].key, records[i].value, error) != 0)
            return -1;
    }
    if (queue_init(kernel, error) != 0)
        return -1;
    return reap_init(kernel, options, error);
}

static int open_records(struct kernel *kernel, const struct kernel_options *options,
                        struct error *error)
{
    struct buf found_version = {0};
    bool found;
    int result = keys_get(kernel, "version", &found_version, &found, error);

    if (result == 0 && !found)
        result = init_records(kernel, options, error);
    else if (result == 0 && strcmp(buf_string(&found_version), version) != 0)
        result = error_set(error, ERROR_INPUT,
                           "the store's kernel is of version \"%.32s\"; this program reads \"%s\"",
                           buf_string(&found_version), version);
    buf_free(&found_version);
    return result;
}

struct kernel *kernel_open(struct store *store, const struct kernel_options *options,
                           struct error *error)
{
    struct kernel *kernel = calloc(1, sizeof *kernel);

    if (kernel == NULL) {
        error_memory(error, "a kernel");
        return NULL;
    }
    kernel->store = store;
    kernel->listener = options->listener;
    kernel->limits = options->limits;
    crank_hash_watch(kernel);
    if (crank_hash_open(kernel, error) != 0 ||
        crank_hash_outside(kernel, open_records(kernel, options, error), error) != 0) {
        kernel_close(kernel);
        return NULL;
    }
    return kernel;
}

static void free_delivery(struct delivery_state *delivery)
{
    buf_free(&delivery->kd);
    buf_free(&delivery->vd);
    spool_free(&delivery->item);
    buf_free(&delivery->illegal);
}

static void free_kernel(struct kernel *kernel)
{
    if (kernel == NULL)
        return;
    deliver_forget(kernel);
    json_decref(kernel->crank.message);
    json_decref(kernel->crank.results.info);
    free_delivery(&kernel->crank.delivery);
    buf_free(&kernel->crank.message_text);
    free(kernel->crank.stopped);
    reference_set_free(&kernel->maybe_free);
    spool_free(&kernel->changes);
    buf_free(&kernel->value);
    json_memo_free(&kernel->read);
    json_memo_free(&kernel->queued);
    buf_free(&kernel->vsc);
    buf_free(&kernel->ksc);
    buf_free(&kernel->ksr);
    buf_free(&kernel->vsr);
    free(kernel);
}

void kernel_close(struct kernel *kernel)
{
    if (kernel == NULL)
        return;
    store_watch(kernel->store, NULL, NULL);
    free_kernel(kernel->shadow);
    free_kernel(kernel);
}

int kernel_position(struct kernel *kernel, int64_t *crank_num, char activityhash[KERNEL_HASH_SIZE],
                    struct error *error)
{
    if (keys_get_number(kernel, "crankNumber", crank_num, error) != 0)
        return -1;
    return crank_hash_activity(kernel, activityhash, error);
}
