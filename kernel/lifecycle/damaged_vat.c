/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "kernel/graph/queue.h"
#include "kernel/lifecycle/vat_lifecycle.h"
#include "kernel/records/keys.h"
#include "kernel/records/vat_record.h"
#include "kernel/state.h"
#include "store/store.h"

static const char *record_of(char key[KEYS_NAME_SIZE], int64_t vat, const char *name)
{
    return keys_name(key, "v%" PRId64 ".%s", vat, name);
}

/* ---- the records that a termination reads ---- */

static int provide(struct kernel *kernel, int64_t vat, const char *name, const char *value,
                   struct error *error)
{
    char key[KEYS_NAME_SIZE];
    bool found;

    if (keys_has(kernel, record_of(key, vat, name), &found, error) != 0)
        return -1;
    return found ? 0 : keys_set(kernel, key, value, error);
}

static int provide_options(struct kernel *kernel, int64_t vat, struct error *error)
{
    struct buf name = {0}, options = {0};
    int result = vat_record_name_of(kernel, vat, &name, error);

    buf_printf(&options, "{\"name\":\"%s\",\"runtime\":\"plain\"}",
               name.length > 0 ? buf_string(&name) : "");
    if (result == 0 && buf_string(&options) == NULL)
        result = error_memory(error, "a vat's records");
    if (result == 0)
        result = provide(kernel, vat, "options", options.data, error);
    buf_free(&options);
    buf_free(&name);
    return result;
}

static int provide_quarantine(struct kernel *kernel, int64_t vat, struct error *error)
{
    bool is;

    if (quarantine_is(kernel, vat, &is, error) != 0)
        return -1;
    if (!is)
        return 0;
    return provide(kernel, vat, "quarantine", "", error) == 0
               ? provide(kernel, vat, "held", "[1,1]", error)
               : -1;
}

static int provide_records(struct kernel *kernel, int64_t vat, struct error *error)
{
    if (provide(kernel, vat, "o.nextID", "50", error) != 0 ||
        provide(kernel, vat, "deliveries", "[0,0,0]", error) != 0 ||
        provide(kernel, vat, "source", "{\"bundleID\":\"\"}", error) != 0 ||
        provide_options(kernel, vat, error) != 0)
        return -1;
    return provide_quarantine(kernel, vat, error);
}

/* ---- its references: vN.c.KREF and vN.c.VREF name each other ---- */

/* Whether the vat reached an imported object is lost: then it is not counted twice. */
static const char *letter_of(const char *vref)
{
    return strncmp(vref, "o-", 2) == 0 ? "_" : "R";
}

static int mend_pair(struct kernel *kernel, int64_t vat, const char *name, const char *value,
                     struct error *error)
{
    char other[KEYS_NAME_SIZE], text[KEYS_NAME_SIZE];
    const bool is_kref = name[0] == 'k';
    const char *blank = is_kref ? strchr(value, ' ') : NULL;

    if (is_kref && blank == NULL)
        return 0;
    keys_name(other, "c.%s", is_kref ? blank + 1 : value);
    keys_name(text, "%s%s%s", is_kref ? "" : letter_of(name), is_kref ? "" : " ", name);
    return provide(kernel, vat, other, text, error);
}

static int mend_references(struct kernel *kernel, int64_t vat, struct error *error)
{
    char prefix[KEYS_NAME_SIZE];
    struct buf key = {0}, value = {0};
    bool found = true;
    int result = 0;

    record_of(prefix, vat, "c.");
    while (result == 0) {
        result = keys_next(kernel, prefix, key.length == 0 ? "" : key.data, &key, &found, error);
        if (result != 0 || !found)
            break;
        result = keys_require(kernel, key.data, &value, error);
        if (result == 0)
            result = mend_pair(kernel, vat, key.data + strlen(prefix), value.data, error);
    }
    buf_free(&value);
    buf_free(&key);
    return result;
}

int damaged_vat_mend(struct kernel *kernel, int64_t vat, struct error *error)
{
    char prefix[KEYS_NAME_SIZE];
    int64_t count;

    if (store_keys_drop_damaged(kernel->store, record_of(prefix, vat, ""), &count, error) != 0)
        return -1;
    if (count == 0)
        return 0;
    return provide_records(kernel, vat, error) == 0 ? mend_references(kernel, vat, error) : -1;
}
