/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/run_vats.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/number.h"
#include "base/option/option.h"
#include "supervisor/run/vat_options.h"
#include "supervisor/runtime/contract_file.h"

/* index: of the name in the list; the names before it are cut from their files already. */
static int check_name(const struct option_list *vats, size_t index, struct error *error)
{
    const char *name = vats->items[index], *at = name;

    while (isalnum((unsigned char)*at) || *at == '_' || *at == '-' || *at == '.')
        at++;
    if (at == name || *at != '\0' || at - name > KERNEL_NAME_LIMIT)
        return error_set(error, ERROR_USAGE,
                         "a vat's name is made of letters, digits, '_', '-' and '.', not '%s'",
                         name);
    for (size_t i = 0; i < index; i++)
        if (strcmp(vats->items[i], name) == 0)
            return error_set(error, ERROR_USAGE, "two vats are named '%s'", name);
    return 0;
}

/* Puts a contract's bundle into the store. The caller frees the contract's memory. */
static int keep_contract(struct store *store, const char *path, struct contract_file *contract,
                         struct error *error)
{
    if (contract_file_read(contract, path, error) != 0)
        return -1;
    return store_bundle_put(store, contract->id,
                            (struct iovec){contract->bundle.data, contract->bundle.length}, error);
}

static void log_kept(const char *vat, const char *option, int64_t given, int64_t kept)
{
    if (given != kept)
        log_line("vat %s: %s %" PRId64 " is ignored; the vat keeps %" PRId64 "%s", vat, option,
                 given, kept, kept == 0 ? " (no limit)" : "");
}

static int64_t or_default(int64_t limit, int64_t by_default)
{
    return limit > 0 ? limit : by_default;
}

/* A vat that is in the store keeps its limits; the options do not change them. */
static int log_kept_limits(const struct run_options *options, struct kernel *kernel, int64_t vat,
                           struct error *error)
{
    struct kernel_vat kept;
    bool lives;

    if (kernel_vat_get(kernel, vat, &kept, &lives, error) != 0)
        return -1;
    if (!lives || kept.damage != NULL) {
        kernel_vat_free(&kept);
        return 0;
    }
    if (options->compute_given)
        log_kept(kept.name, "--compute-limit", options->compute_limit, kept.limits.compute);
    if (options->instructions_given)
        log_kept(kept.name, "--max-instructions", (int64_t)options->instruction_limit,
                 or_default(kept.limits.instructions, kept.limits.counted_instructions));
    if (options->cost_given)
        log_kept(kept.name, "--max-cost", (int64_t)options->cost_limit,
                 or_default(kept.limits.cost, kept.limits.metered_cost));
    if (options->heap_limit > 0)
        log_kept(kept.name, "--max-heap", options->heap_limit, kept.limits.heap_bytes);
    if (options->syscall_limit > 0)
        log_kept(kept.name, "--max-syscalls", (int64_t)options->syscall_limit,
                 kept.limits.syscalls);
    if (options->store_limit > 0)
        log_kept(kept.name, "--max-store-bytes", options->store_limit, kept.limits.store_bytes);
    if (options->message_limit > 0)
        log_kept(kept.name, "--max-message-bytes", options->message_limit,
                 kept.limits.message_bytes);
    if (options->transfer_given)
        log_kept(kept.name, "--max-transfer-bytes", options->transfer_limit,
                 kept.limits.transfer_bytes);
    kernel_vat_free(&kept);
    return 0;
}

/* The accounts that a NEAR contract gets when it starts. */
static int put_identity(const struct run_options *options, struct kernel_vat_setup *setup,
                        struct buf *parameters, struct error *error)
{
    if (parameters->length > 0)
        return error_set(error, ERROR_INPUT,
                         "--vat-options %s: only a vat with a bundle takes parameters",
                         setup->name);
    buf_printf(parameters, "{\"account\":\"%s\",\"accounts\":\"$0\",\"protocol\":\"%" PRIu64 "\"}",
               setup->name, options->near_protocol);
    setup->parameters = buf_string(parameters);
    setup->device = "accounts";
    return setup->parameters != NULL ? 0 : error_memory(error, "a vat");
}

static int put_options(struct kernel_vat_setup *setup, struct vat_options *own, struct error *error)
{
    setup->creation_options = own->creation;
    if (own->parameters.length == 0)
        return 0;
    setup->parameters = buf_string(&own->parameters);
    return setup->parameters != NULL ? 0 : error_memory(error, "a vat");
}

/* An option for a vat that this run does not name is a typo. */
static int check_vat_options(const struct run_options *options, struct error *error)
{
    for (size_t i = 0; i < options->vat_options.count; i++) {
        const char *item = options->vat_options.items[i];
        const size_t length = strcspn(item, "=") + 1;
        bool known = false;

        for (size_t j = 0; j < options->vats.count; j++)
            known = known || strncmp(options->vats.items[j], item, length) == 0;
        for (size_t j = 0; j < options->new_vats.count; j++)
            known = known || strncmp(options->new_vats.items[j], item, length) == 0;
        if (!known)
            return error_set(error, ERROR_USAGE,
                             "--vat-options %.*s: no --vat or --new-vat has this name",
                             (int)length - 1, item);
    }
    return 0;
}

static int add_contract(const struct run_options *options, struct store *store,
                        struct kernel *kernel, const char *name, bool *is_wasm, struct error *error)
{
    const char *path = name + strlen(name) + 1; /* cut_option() has cut it off */
    struct contract_file contract = {0};
    struct kernel_vat_setup setup = {.name = name, .bundle_id = contract.id};
    struct vat_options own;
    int64_t vat;
    int result = vat_options_read(&own, &options->vat_options, name, error);

    if (result == 0)
        result = keep_contract(store, path, &contract, error);
    *is_wasm = contract.is_wasm;
    /* Prepaid gas limits a contract of NEAR, unless the user says otherwise. */
    setup.brings_limit = contract.is_wasm && !options->compute_given;
    setup.runtime = contract.is_plain ? KERNEL_VAT_PLAIN : KERNEL_VAT_LIVESLOTS;
    if (result == 0)
        result = contract.is_wasm || contract.is_native
                     ? put_identity(options, &setup, &own.parameters, error)
                     : put_options(&setup, &own, error);
    if (result == 0)
        result = kernel_provide_vat(kernel, &setup, &vat, error);
    if (result == 0)
        result = log_kept_limits(options, kernel, vat, error);
    vat_options_free(&own);
    buf_free(&contract.bundle);
    return result;
}

static int add_named_bundle(struct store *store, struct kernel *kernel, const char *name,
                            const char *path, struct error *error)
{
    struct contract_file contract = {0};
    int result = keep_contract(store, path, &contract, error);

    if (result == 0 && contract.is_plain)
        result = error_set(error, ERROR_INPUT, "%s is not a bundle of @endo/bundle-source", path);
    if (result == 0)
        result = kernel_name_bundle(kernel, name, contract.id, error);
    buf_free(&contract.bundle);
    return result;
}

/* Cuts NAME=FILE in two. The file. */
static const char *cut_option(char *option)
{
    char *equals = strchr(option, '=');

    *equals = '\0';
    return equals + 1;
}

/* ---- what the store has ---- */

struct stored {
    struct similar similar; /* to the name in question */
    bool any, same;
};

static void take_new_name(void *context, const char *name)
{
    struct stored *stored = context;

    stored->any = true;
    stored->same |= strcmp(name, stored->similar.word) == 0;
    similar_try(&stored->similar, name);
}

/* In a store with other vats, an unknown name is a typo: its vat would stay in the store. */
static int check_known(struct store *store, struct kernel *kernel, const char *name,
                       struct error *error)
{
    struct stored stored = {.similar = {.word = name}};
    struct buf reason = {0};
    bool ended;
    int result;

    if (kernel_vat_names(kernel, take_new_name, &stored, error) != 0)
        return -1;
    if (!stored.any || stored.same)
        return 0;
    result = run_vats_why_ended(store, name, &reason, &ended, error);
    buf_free(&reason);
    if (result != 0 || ended)
        return result;
    return error_set(error, ERROR_USAGE,
                     "--vat %s: the store has no such vat%s (to make one, give --new-vat %s=FILE)",
                     name, similar_hint(&stored.similar, ""), name);
}

int run_vats_check_store(const struct run_options *options, struct error *error)
{
    struct buf path = {0};
    int result = 0;

    if (options->store == NULL || options->vats.count + options->new_vats.count > 0)
        return 0;
    buf_printf(&path, "%s/gaspipe.sqlite", options->store);
    if (buf_string(&path) == NULL)
        result = error_memory(error, options->store);
    else if (access(path.data, F_OK) != 0 && errno == ENOENT)
        result = error_set(error, ERROR_USAGE,
                           "%s: no such store; to make one, give at least one --vat NAME=FILE",
                           options->store);
    buf_free(&path);
    return result;
}

/* The names of --vat, before any vat of --new-vat is there. */
static int check_named_vats(const struct run_options *options, struct store *store,
                            struct kernel *kernel, struct error *error)
{
    struct stored stored = {.similar = {.word = ""}};

    for (size_t i = 0; i < options->vats.count; i++) {
        char *const item = options->vats.items[i];
        int result;

        item[strcspn(item, "=")] = '\0';
        result = check_known(store, kernel, item, error);
        item[strlen(item)] = '=';
        if (result != 0)
            return -1;
    }
    if (options->vats.count + options->new_vats.count > 0)
        return 0;
    if (kernel_vat_names(kernel, take_new_name, &stored, error) != 0)
        return -1;
    return stored.any ? 0
                      : error_set(error, ERROR_USAGE,
                                  "the store has no vat: give at least one --vat NAME=FILE");
}

/* ---- adding and upgrading ---- */

static int add_contracts(const struct run_options *options, const struct option_list *vats,
                         struct store *store, struct kernel *kernel, bool *any_wasm,
                         struct error *error)
{
    for (size_t i = 0; i < vats->count; i++) {
        bool is_wasm;

        (void)cut_option(vats->items[i]);
        if (check_name(vats, i, error) != 0 ||
            add_contract(options, store, kernel, vats->items[i], &is_wasm, error) != 0)
            return -1;
        *any_wasm = *any_wasm || is_wasm;
    }
    return 0;
}

/* A vat with a damaged record of the kernel can only be ended: nothing says what the record was. */
static int require_whole_vat(struct kernel *kernel, int64_t vat, struct error *error)
{
    struct buf damage = {0};
    int result = kernel_vat_damage(kernel, vat, &damage, error);

    if (result == 0 && damage.length > 0)
        result = error_set(error, ERROR_USAGE,
                           "%s, so the vat cannot continue; --terminate ends it, or restore the "
                           "store from a copy",
                           buf_string(&damage));
    buf_free(&damage);
    return result;
}

static int refuse_unknown_vat(struct kernel *kernel, const char *name, struct error *error)
{
    struct stored stored = {.similar = {.word = name}};

    if (kernel_vat_names(kernel, take_new_name, &stored, error) != 0)
        return -1;
    return error_set(error, ERROR_INPUT, "no vat '%s' lives%s", name,
                     similar_hint(&stored.similar, ""));
}

static int upgrade(struct store *store, struct kernel *kernel, const char *name, const char *path,
                   struct error *error)
{
    struct contract_file contract = {0};
    int64_t vat;
    bool lives, same = false;
    int result = keep_contract(store, path, &contract, error);

    if (result == 0)
        result = kernel_vat_named(kernel, name, &vat, &lives, error);
    if (result == 0 && !lives)
        result = refuse_unknown_vat(kernel, name, error);
    if (result == 0)
        result = require_whole_vat(kernel, vat, error);
    if (result == 0)
        result = kernel_upgrade(kernel, vat, contract.id,
                                contract.is_plain ? KERNEL_VAT_PLAIN : KERNEL_VAT_LIVESLOTS, &same,
                                error);
    buf_free(&contract.bundle);
    if (result != 0)
        return error_prefix(error, "--upgrade %s", name);
    if (same)
        log_line("vat %s has the contract of --upgrade already", name);
    return 0;
}

static int find_damage(struct store *store, struct kernel *kernel, const struct kernel_vat *vat,
                       struct buf *damage, struct error *error)
{
    if (store_was_changed(store))
        return kernel_vat_damage(kernel, vat->id, damage, error);
    return vat->damage == NULL || buf_append_string(damage, vat->damage) == 0
               ? 0
               : error_memory(error, "a damaged vat");
}

int run_vats_quarantine(struct kernel *kernel, int64_t id, const char *name, const char *damage,
                        struct error *error)
{
    bool is;

    if (kernel_vat_is_operated(kernel, id, &is, error) != 0)
        return -1;
    if (is)
        return 0;
    log_line("vat %s: %s: the vat is in quarantine, the others continue", name, damage);
    return kernel_quarantine(kernel, id, damage, error);
}

static int quarantine_if_damaged(struct store *store, struct kernel *kernel, int64_t id,
                                 struct error *error)
{
    struct buf damage = {0};
    struct kernel_vat vat;
    bool lives, is;
    int result;

    if (kernel_vat_get(kernel, id, &vat, &lives, error) != 0)
        return -1;
    result = kernel_vat_is_operated(kernel, id, &is, error);
    if (result == 0 && !is)
        result = find_damage(store, kernel, &vat, &damage, error);
    if (result == 0 && damage.length > 0)
        result = run_vats_quarantine(kernel, id, vat.name, buf_string(&damage), error);
    buf_free(&damage);
    kernel_vat_free(&vat);
    return result;
}

/* No crank must meet a vat whose records cannot be read. All are read only after the file was
 * changed. */
static int quarantine_damaged(struct store *store, struct kernel *kernel, struct error *error)
{
    int64_t id = 0;
    bool found = true;

    while (kernel_vat_next(kernel, id, &id, &found, error) == 0) {
        if (!found)
            return 0;
        if (quarantine_if_damaged(store, kernel, id, error) != 0)
            return -1;
    }
    return -1;
}

int run_vats_add(const struct run_options *options, struct store *store, struct kernel *kernel,
                 bool *any_wasm, struct error *error)
{
    *any_wasm = false;
    if (check_vat_options(options, error) != 0 || quarantine_damaged(store, kernel, error) != 0 ||
        check_named_vats(options, store, kernel, error) != 0)
        return -1;
    for (size_t i = 0; i < options->bundles.count; i++) {
        const char *path = cut_option(options->bundles.items[i]);

        if (add_named_bundle(store, kernel, options->bundles.items[i], path, error) != 0)
            return -1;
    }
    if (add_contracts(options, &options->vats, store, kernel, any_wasm, error) != 0 ||
        add_contracts(options, &options->new_vats, store, kernel, any_wasm, error) != 0)
        return -1;
    for (size_t i = 0; i < options->upgrades.count; i++) {
        const char *path = cut_option(options->upgrades.items[i]);

        if (upgrade(store, kernel, options->upgrades.items[i], path, error) != 0)
            return -1;
    }
    return 0;
}

static int any_new(const struct option_list *vats, struct kernel *kernel, bool *any,
                   struct error *error)
{
    for (size_t i = 0; i < vats->count && !*any; i++) {
        struct kernel_vat vat;
        int64_t number;
        bool lives;

        if (kernel_vat_named(kernel, vats->items[i], &number, &lives, error) != 0)
            return -1;
        if (!lives)
            continue;
        if (kernel_vat_get(kernel, number, &vat, &lives, error) != 0)
            return -1;
        *any = lives && vat.damage == NULL && vat.deliveries == 0;
        if (lives)
            kernel_vat_free(&vat);
    }
    return 0;
}

int run_vats_any_new(const struct run_options *options, struct kernel *kernel, bool *any,
                     struct error *error)
{
    *any = options->upgrades.count > 0;
    if (any_new(&options->vats, kernel, any, error) != 0)
        return -1;
    return any_new(&options->new_vats, kernel, any, error);
}

static const char *path_of_vat(const struct option_list *vats, const char *name)
{
    for (size_t i = 0; i < vats->count; i++)
        if (strcmp(vats->items[i], name) == 0)
            return vats->items[i] + strlen(name) + 1;
    return NULL;
}

const char *run_vats_path(const struct run_options *options, const char *name)
{
    const char *path = path_of_vat(&options->upgrades, name);

    if (path == NULL)
        path = path_of_vat(&options->vats, name);
    return path != NULL ? path : path_of_vat(&options->new_vats, name);
}

/* ---- terminated vats ---- */

static const char *make_ended_key(struct buf *key, const char *name)
{
    buf_printf(key, "input.ended.%s", name);
    return buf_string(key);
}

int run_vats_note_ended(struct store *store, const char *name, const char *reason,
                        struct error *error)
{
    const struct iovec value = {(char *)reason, strlen(reason)};
    struct buf key = {0};
    int result;

    if (make_ended_key(&key, name) == NULL)
        result = error_memory(error, "a vat's end");
    else
        result = store_key_set(store, key.data, value, error);
    buf_free(&key);
    return result;
}

int run_vats_why_ended(struct store *store, const char *name, struct buf *reason, bool *found,
                       struct error *error)
{
    struct buf key = {0};
    int result;

    if (make_ended_key(&key, name) == NULL)
        result = error_memory(error, "a vat's end");
    else
        result = store_key_get(store, key.data, reason, found, error);
    buf_free(&key);
    return result;
}

/* ---- the operator's decisions ---- */

/* ---- vats as the operator names them ---- */

/* The number of "v7"; 0 for another text. */
static int64_t number_of_vat(const char *name)
{
    uint64_t number = 0;

    if (name[0] != 'v' || !number_read(name + 1, INT64_MAX, &number))
        return 0;
    return (int64_t)number;
}

/* The caller frees the vat. */
static int find_operated_vat(struct kernel *kernel, const char *name, struct kernel_vat *vat,
                             struct error *error)
{
    int64_t id = 0;
    bool found = false;

    if (kernel_vat_named(kernel, name, &id, &found, error) != 0)
        return -1;
    if (!found)
        id = number_of_vat(name);
    if (id != 0 && kernel_vat_get(kernel, id, vat, &found, error) != 0)
        return -1;
    return found ? 0 : refuse_unknown_vat(kernel, name, error);
}

/* ---- one operation ---- */

struct operation {
    const char *option;
    int (*queue)(struct kernel *kernel, int64_t vat, struct error *error);
};

static int queue_operation(struct kernel *kernel, const struct operation *operation,
                           const char *name, struct kernel_vat *vat, struct error *error)
{
    if (find_operated_vat(kernel, name, vat, error) != 0 ||
        (operation->queue != kernel_terminate && require_whole_vat(kernel, vat->id, error) != 0))
        return -1;
    return operation->queue(kernel, vat->id, error);
}

static int queue_operations(struct kernel *kernel, const struct operation *operation,
                            const struct option_list *vats, struct error *error)
{
    for (size_t i = 0; i < vats->count; i++) {
        struct kernel_vat vat = {0};
        int result = queue_operation(kernel, operation, vats->items[i], &vat, error);

        kernel_vat_free(&vat);
        if (result != 0)
            return error_prefix(error, "%s %s", operation->option, vats->items[i]);
    }
    return 0;
}

/* For the error of later deliveries to them. */
static int note_terminations(const struct operations *operations, struct store *store,
                             struct error *error)
{
    for (size_t i = 0; i < operations->terminations.count; i++) {
        if (run_vats_note_ended(store, operations->terminations.items[i],
                                "terminated by the operator", error) != 0)
            return -1;
    }
    return 0;
}

/* ---- limits ---- */

/* "NAME:N", up to a comma or the end; *next follows it. */
static int set_vat_limit(struct kernel *kernel, int64_t vat, char *text, char **next,
                         struct error *error)
{
    char *colon = strchr(text, ':'), *end = text + strcspn(text, ",");
    uint64_t value;

    *next = *end == ',' ? end + 1 : end;
    *end = '\0';
    if (colon == NULL || colon > end || !number_read(colon + 1, INT64_MAX, &value))
        return error_set(error, ERROR_USAGE, "'%s' is not NAME:NUMBER", text);
    *colon = '\0';
    return kernel_set_limit(kernel, vat, text, (int64_t)value, error);
}

static int set_vat_limits(struct kernel *kernel, const char *name, char *text, struct error *error)
{
    struct kernel_vat vat = {0};
    int result = find_operated_vat(kernel, name, &vat, error);

    if (result == 0)
        result = require_whole_vat(kernel, vat.id, error);
    do {
        if (result == 0)
            result = set_vat_limit(kernel, vat.id, text, &text, error);
    } while (result == 0 && *text != '\0');
    kernel_vat_free(&vat);
    return result;
}

static int queue_new_limits(struct kernel *kernel, const struct option_list *list,
                            struct error *error)
{
    for (size_t i = 0; i < list->count; i++) {
        char *equals = strchr(list->items[i], '=');

        *equals = '\0'; /* checked with the option's kind */
        if (set_vat_limits(kernel, list->items[i], equals + 1, error) != 0)
            return error_prefix(error, "--set-limit %s", list->items[i]);
    }
    return 0;
}

static int release_from_start(struct kernel *kernel, int64_t vat, struct error *error)
{
    return kernel_release(kernel, vat, true, error);
}

static int release_as_it_is(struct kernel *kernel, int64_t vat, struct error *error)
{
    return kernel_release(kernel, vat, false, error);
}

int run_vats_queue_operations(const struct operations *operations, struct store *store,
                              struct kernel *kernel, struct error *error)
{
    static const struct operation skip = {"--skip-delivery", kernel_skip_delivery},
                                  terminate = {"--terminate", kernel_terminate};

    const struct operation release = {"--release", operations->from_start ? release_from_start
                                                                          : release_as_it_is};

    if (queue_new_limits(kernel, &operations->set_limits, error) != 0 ||
        queue_operations(kernel, &skip, &operations->skips, error) != 0 ||
        queue_operations(kernel, &release, &operations->releases, error) != 0 ||
        queue_operations(kernel, &terminate, &operations->terminations, error) != 0)
        return -1;
    return note_terminations(operations, store, error);
}

/* ---- vats in quarantine ---- */

static int log_if_quarantined(struct kernel *kernel, int64_t id, int64_t *count,
                              struct error *error)
{
    struct buf reason = {0}, damage = {0};
    struct kernel_vat vat;
    bool is, lives;
    int result = kernel_quarantine_reason(kernel, id, &is, &reason, error);

    if (result == 0 && is)
        result = kernel_vat_damage(kernel, id, &damage, error);
    if (result == 0 && is && (result = kernel_vat_get(kernel, id, &vat, &lives, error)) == 0) {
        log_line("vat %s is in quarantine: %s; run with %s",
                 vat.name[0] != '\0' ? vat.name : "without a name", buf_string(&reason),
                 damage.length > 0 ? "--terminate, or restore the store from a copy"
                                   : "--release, --upgrade or --terminate, or with --set-limit or "
                                     "--skip-delivery");
        kernel_vat_free(&vat);
        ++*count;
    }
    buf_free(&damage);
    buf_free(&reason);
    return result;
}

int run_vats_log_quarantined(struct kernel *kernel, int64_t *count, struct error *error)
{
    int64_t id = 0;
    bool found = true;

    *count = 0;
    while (kernel_vat_next(kernel, id, &id, &found, error) == 0) {
        if (!found)
            return 0;
        if (log_if_quarantined(kernel, id, count, error) != 0)
            return -1;
    }
    return -1;
}

int run_vats_raise_files(const struct run_options *options, struct kernel *kernel,
                         struct error *error)
{
    /* Measured: store, slogfile, starts and snapshots; and pipes and a process for each worker. */
    enum { OF_GASPIPE = 48, OF_WORKER = 6, MOST = 1 << 16 };
    uint64_t workers = 0, needed;
    struct rlimit limit, raised;
    int64_t vat = 0;
    bool found;

    for (;; workers++) {
        if (kernel_vat_next(kernel, vat, &vat, &found, error) != 0)
            return -1;
        if (!found)
            break;
    }
    if (options->max_workers > 0 && options->max_workers < workers)
        workers = options->max_workers;
    needed = OF_GASPIPE + OF_WORKER * workers;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    raised = limit;
    raised.rlim_cur = limit.rlim_max < MOST ? limit.rlim_max : MOST;
    if (raised.rlim_cur > limit.rlim_cur && setrlimit(RLIMIT_NOFILE, &raised) == 0)
        limit = raised;
    if (limit.rlim_cur >= needed)
        return 0;
    return error_set(error, ERROR_SYSTEM,
                     "open files are limited to %" PRIu64 " (ulimit -n); %" PRIu64 " %s %" PRIu64,
                     (uint64_t)limit.rlim_cur, workers,
                     workers == 1 ? "worker needs" : "workers need", needed);
}
