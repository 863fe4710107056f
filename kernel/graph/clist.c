/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/graph/clist.h"

#include <inttypes.h>
#include <string.h>

#include "base/text/format.h"
#include "kernel/graph/object.h"
#include "kernel/graph/promise.h"
#include "kernel/records/keys.h"
#include "kernel/records/reference.h"
#include "kernel/state.h"

/* The name of an entry by either of its references. */
static const char *entry_name(char key[KEYS_NAME_SIZE], int64_t vat, const char *reference)
{
    return keys_vat_part(key, vat, ".c.", reference);
}

int clist_find(struct kernel *kernel, int64_t vat, const char *kref, struct clist_entry *entry,
               bool *found, struct error *error)
{
    char key[KEYS_NAME_SIZE];
    const char *text;

    entry_name(key, vat, kref);
    if ((keys_is_new(kernel, kref) && keys_note_new(kernel, key, error) != 0) ||
        keys_get(kernel, key, &kernel->value, found, error) != 0)
        return -1;
    if (!*found)
        return 0;
    text = buf_string(&kernel->value);
    entry->reachable = text[0] == 'R';
    if (strlen(text) < 3 || (text[0] != 'R' && text[0] != '_') || text[1] != ' ' ||
        !reference_read_vref(&entry->vref, text + 2, strlen(text + 2)))
        return error_set(error, ERROR_SYSTEM, "the store is damaged: %s is not an entry", key);
    return 0;
}

static int require(struct kernel *kernel, int64_t vat, const char *kref, struct clist_entry *entry,
                   struct error *error)
{
    bool found;

    if (clist_find(kernel, vat, kref, entry, &found, error) != 0)
        return -1;
    if (!found)
        return error_set(error, ERROR_SYSTEM, "%s is not in the c-list of v%" PRId64, kref, vat);
    return 0;
}

int clist_has(struct kernel *kernel, int64_t vat, const char *kref, bool *has, struct error *error)
{
    char key[KEYS_NAME_SIZE];

    return keys_has(kernel, entry_name(key, vat, kref), has, error);
}

int clist_imports(struct kernel *kernel, int64_t vat, const char *kref, bool *imports,
                  struct error *error)
{
    struct clist_entry entry;

    if (clist_find(kernel, vat, kref, &entry, imports, error) != 0)
        return -1;
    *imports = *imports && !entry.vref.by_vat;
    return 0;
}

static void report_clist_change(struct kernel *kernel, const char *mode, int64_t vat,
                                const char *kref, const char *vref)
{
    struct kernel_clist_change change = {.mode = mode, .vat = vat, .kobj = kref, .vobj = vref};

    if (kernel->listener.clist_changed != NULL)
        kernel->listener.clist_changed(kernel->listener.context, &change);
}

static int set_flag(struct kernel *kernel, int64_t vat, const char *kref, const char *vref,
                    bool reachable, struct error *error)
{
    char key[KEYS_NAME_SIZE], value[VREF_SIZE + 2];

    format_text(value, sizeof value, "%c %s", reachable ? 'R' : '_', vref);
    return keys_set(kernel, entry_name(key, vat, kref), value, error);
}

static int add_entry(struct kernel *kernel, const char *mode, int64_t vat, const char *kref,
                     const char *vref, struct error *error)
{
    char key[KEYS_NAME_SIZE];

    if (keys_set(kernel, entry_name(key, vat, vref), kref, error) != 0 ||
        set_flag(kernel, vat, kref, vref, false, error) != 0)
        return -1;
    report_clist_change(kernel, mode, vat, kref, vref);
    return 0;
}

/* Applies a change of an import's reachable flag to the object's counts, if it still exists. */
static int count_reachable(struct kernel *kernel, const char *kref, const struct vref *vref,
                           int64_t change, struct error *error)
{
    struct object_counts counts;
    bool exists;

    if (vref->kind != REFERENCE_OBJECT || vref->by_vat)
        return 0;
    if (refcount_of_object(kernel, kref, &counts, &exists, error) != 0)
        return -1;
    if (!exists)
        return 0;
    counts.reachable += change;
    if (refcount_set_object(kernel, kref, &counts, error) != 0)
        return -1;
    return counts.reachable == 0 ? reference_set_add(&kernel->maybe_free, kref, error) : 0;
}

static int set_reachable(struct kernel *kernel, int64_t vat, const char *kref,
                         const struct clist_entry *entry, struct error *error)
{
    if (entry->reachable)
        return 0;
    if (set_flag(kernel, vat, kref, entry->vref.text, true, error) != 0)
        return -1;
    return count_reachable(kernel, kref, &entry->vref, 1, error);
}

int clist_clear_reachable(struct kernel *kernel, int64_t vat, const char *kref, struct error *error)
{
    struct clist_entry entry;

    if (require(kernel, vat, kref, &entry, error) != 0)
        return -1;
    if (!entry.reachable)
        return 0;
    if (set_flag(kernel, vat, kref, entry.vref.text, false, error) != 0)
        return -1;
    return count_reachable(kernel, kref, &entry.vref, -1, error);
}

static int import(struct kernel *kernel, int64_t vat, const char *kref, struct error *error)
{
    char key[KEYS_NAME_SIZE], vref[VREF_SIZE];
    enum reference_kind kind = reference_kref_kind(kref);
    int64_t id;

    keys_name(key, "v%" PRId64 ".%c.nextID", vat, reference_letter(kind));
    if (keys_take_number(kernel, key, &id, error) != 0 ||
        refcount_increment(kernel, kref, REFCOUNT_IMPORT, error) != 0)
        return -1;
    reference_make_import(vref, kind, id);
    if (keys_note_new(kernel, entry_name(key, vat, vref), error) != 0)
        return -1;
    return add_entry(kernel, "import", vat, kref, vref, error);
}

int clist_to_vat(struct kernel *kernel, int64_t vat, const char *kref, char vref[VREF_SIZE],
                 struct error *error)
{
    struct clist_entry entry;
    bool found;

    if (clist_find(kernel, vat, kref, &entry, &found, error) != 0)
        return -1;
    if (!found &&
        (import(kernel, vat, kref, error) != 0 || require(kernel, vat, kref, &entry, error) != 0))
        return -1;
    memcpy(vref, entry.vref.text, VREF_SIZE);
    if (!entry.vref.by_vat)
        return set_reachable(kernel, vat, kref, &entry, error);
    if (!entry.reachable)
        return error_set(error, ERROR_SYSTEM, "%s is held and v%" PRId64 " was asked to drop it",
                         kref, vat);
    return 0;
}

static int export(struct kernel *kernel, int64_t vat, const struct vref *vref,
                  char kref[KERNEL_REF_SIZE], struct error *error)
{
    int result;

    if (!vref->by_vat)
        return error_set(error, ERROR_INPUT, "%s was never given to it", vref->text);
    if (vref->kind == REFERENCE_DEVICE)
        return error_set(error, ERROR_INPUT, "%s: vats make no devices", vref->text);
    if (vref->kind == REFERENCE_OBJECT)
        result = object_add(kernel, vat, kref, error);
    else
        result = promise_add(kernel, vat, NULL, kref, error);
    if (result != 0 || refcount_increment(kernel, kref, REFCOUNT_EXPORT, error) != 0)
        return -1;
    return add_entry(kernel, "export", vat, kref, vref->text, error);
}

/* Returns the kref of a vref in the c-list. */
static int look_up_vref(struct kernel *kernel, int64_t vat, const struct vref *vref,
                        char kref[KERNEL_REF_SIZE], bool *found, struct error *error)
{
    char key[KEYS_NAME_SIZE];
    enum reference_kind kind;

    if (keys_get(kernel, entry_name(key, vat, vref->text), &kernel->value, found, error) != 0)
        return -1;
    if (!*found)
        return 0;
    if (kernel->value.length >= KERNEL_REF_SIZE ||
        !reference_read_kref(&kind, buf_string(&kernel->value)))
        return error_set(error, ERROR_SYSTEM, "the store is damaged: %s is not a kref", key);
    memcpy(kref, kernel->value.data, kernel->value.length + 1);
    return 0;
}

int clist_export_root(struct kernel *kernel, int64_t vat, char kref[KERNEL_REF_SIZE],
                      struct error *error)
{
    struct vref root;

    (void)reference_read_vref(&root, "o+0", 3);
    if (clist_to_kernel(kernel, vat, &root, kref, error) != 0)
        return -1;
    return object_pin(kernel, kref, error);
}

int clist_knows(struct kernel *kernel, int64_t vat, const struct vref *vref, bool *knows,
                struct error *error)
{
    char key[KEYS_NAME_SIZE];

    return keys_has(kernel, entry_name(key, vat, vref->text), knows, error);
}

int clist_to_kernel(struct kernel *kernel, int64_t vat, const struct vref *vref,
                    char kref[KERNEL_REF_SIZE], struct error *error)
{
    struct clist_entry entry;
    bool found;

    if (look_up_vref(kernel, vat, vref, kref, &found, error) != 0 ||
        (!found && export(kernel, vat, vref, kref, error) != 0) ||
        require(kernel, vat, kref, &entry, error) != 0)
        return -1;
    if (vref->by_vat)
        return set_reachable(kernel, vat, kref, &entry, error);
    if (!entry.reachable)
        return error_set(error, ERROR_INPUT, "%s: dropped before", vref->text);
    return 0;
}

int clist_known(struct kernel *kernel, int64_t vat, const struct vref *vref,
                char kref[KERNEL_REF_SIZE], struct error *error)
{
    bool found;

    if (look_up_vref(kernel, vat, vref, kref, &found, error) != 0)
        return -1;
    if (!found)
        return error_set(error, ERROR_INPUT, "%s is not in its c-list", vref->text);
    return 0;
}

int clist_delete(struct kernel *kernel, int64_t vat, const char *kref, struct error *error)
{
    struct clist_entry entry;
    char key[KEYS_NAME_SIZE];

    if (require(kernel, vat, kref, &entry, error) != 0)
        return -1;
    report_clist_change(kernel, "drop", vat, kref, entry.vref.text);
    if (clist_clear_reachable(kernel, vat, kref, error) != 0 ||
        refcount_decrement(kernel, kref, entry.vref.by_vat ? REFCOUNT_EXPORT : REFCOUNT_IMPORT,
                           error) != 0 ||
        keys_delete(kernel, entry_name(key, vat, kref), error) != 0)
        return -1;
    return keys_delete(kernel, entry_name(key, vat, entry.vref.text), error);
}

int clist_forget(struct kernel *kernel, int64_t vat, const char *kref, struct error *error)
{
    struct clist_entry entry;
    char key[KEYS_NAME_SIZE];

    if (require(kernel, vat, kref, &entry, error) != 0 ||
        keys_delete(kernel, entry_name(key, vat, kref), error) != 0)
        return -1;
    return keys_delete(kernel, entry_name(key, vat, entry.vref.text), error);
}
