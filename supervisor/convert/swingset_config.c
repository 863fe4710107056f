/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/convert/swingset_config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/json/json_value.h"
#include "base/log.h"
#include "base/option/option.h"
#include "supervisor/run/vat_options.h"

static bool is_one_of(const char *name, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, words[i]) == 0)
            return true;
    return false;
}

#define IS_ONE_OF(name, words) is_one_of((name), (words), sizeof(words) / sizeof *(words))

/* ---- reading and checking ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The object's members, sorted by name as SwingSet does; `first` come before the others. */
static json_t *sort_members(json_t *object, const char *const *first, size_t first_count)
{
    const size_t count = json_object_size(object);
    const char **names = malloc((count + 1) * sizeof *names);
    json_t *sorted = json_object(), *value;
    const char *name;
    size_t taken = 0;
    int failed = 0;

    if (names == NULL || sorted == NULL) {
        free(names);
        json_decref(sorted);
        return NULL;
    }
    for (size_t i = 0; i < first_count; i++) {
        value = json_object_get(object, first[i]);
        if (value != NULL)
            failed |= json_object_set(sorted, first[i], value);
    }
    json_object_foreach(object, name, value)
    {
        names[taken++] = name;
    }
    qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 0; i < count; i++)
        if (!is_one_of(names[i], first, first_count))
            failed |= json_object_set(sorted, names[i], json_object_get(object, names[i]));
    free(names);
    if (failed == 0)
        return sorted;
    json_decref(sorted);
    return NULL;
}

static int check_name(const char *group, const char *name, struct error *error)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

    if (name[0] != '\0' && name[0] != '.' && strspn(name, allowed) == strlen(name))
        return 0;
    return error_set(error, ERROR_INPUT,
                     "%s: \"%.64s\" cannot be a name here: gaspipe's are made of letters, digits, "
                     "'_', '-' and '.'",
                     group, name);
}

static const char *const mode_names[] = {[BUNDLE_INLINE] = "bundle",
                                         [BUNDLE_FILE] = "bundleSpec",
                                         [BUNDLE_SOURCE] = "sourceSpec",
                                         [BUNDLE_NAMED] = "bundleName"};

enum { MODES = sizeof mode_names / sizeof *mode_names };

int swingset_config_mode(const json_t *description, enum bundle_mode *mode, const json_t **value,
                         struct error *error)
{
    unsigned found = 0;

    for (unsigned i = 0; i < MODES; i++) {
        const json_t *member = json_object_get(description, mode_names[i]);

        if (member == NULL)
            continue;
        found++;
        *mode = (enum bundle_mode)i;
        *value = member;
    }
    if (found != 1)
        return error_set(error, ERROR_INPUT,
                         "needs one of sourceSpec, bundleSpec, bundleName or bundle, and has %u",
                         found);
    if (*mode == BUNDLE_INLINE ? json_is_object(*value) : json_is_string(*value))
        return 0;
    return error_set(error, ERROR_INPUT, "\"%s\" must be %s", mode_names[*mode],
                     *mode == BUNDLE_INLINE ? "an object" : "text");
}

static int check_member(const char *name, struct error *error)
{
    static const char *const known[] = {"bundle",     "bundleSpec",      "sourceSpec",
                                        "bundleName", "creationOptions", "parameters"};
    struct similar similar = {.word = name};

    if (IS_ONE_OF(name, known))
        return 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        similar_try(&similar, known[i]);
    return error_set(error, ERROR_INPUT, "unknown member \"%.64s\"%s", name,
                     similar_hint(&similar, ""));
}

/* A vat's or bundle's description. */
static int check_description(const struct swingset_config *config, const json_t *description,
                             bool is_bundle, struct error *error)
{
    const json_t *value = NULL;
    enum bundle_mode mode;
    const char *name;
    json_t *member;

    if (!json_is_object(description))
        return error_set(error, ERROR_INPUT,
                         "must be an object such as {\"sourceSpec\":\"./vat.js\"}");
    json_object_foreach((json_t *)description, name, member)
    {
        if (check_member(name, error) != 0)
            return -1;
    }
    if (swingset_config_mode(description, &mode, &value, error) != 0)
        return -1;
    if (mode != BUNDLE_NAMED)
        return 0;
    if (is_bundle)
        return error_set(error, ERROR_INPUT, "a bundle cannot have a \"bundleName\"");
    if (json_object_get(json_object_get(config->root, "bundles"), json_string_value(value)) != NULL)
        return 0;
    return error_set(error, ERROR_INPUT, "\"bundles\" has no \"%.64s\"", json_string_value(value));
}

static int check_group(const struct swingset_config *config, const char *group,
                       const json_t *descriptions, struct error *error)
{
    const bool is_bundle = strcmp(group, "bundles") == 0;
    json_t *description;
    const char *name;

    if (descriptions != NULL && !json_is_object(descriptions))
        return error_set(error, ERROR_INPUT, "%s: \"%s\" must be an object", config->path, group);
    json_object_foreach((json_t *)descriptions, name, description)
    {
        if (check_name(group, name, error) != 0)
            return error_prefix(error, "%s", config->path);
        if (check_description(config, description, is_bundle, error) != 0)
            return error_prefix(error, "%s: %s.%s", config->path, group, name);
    }
    return 0;
}

/* gaspipe brings these devices. */
static int check_devices(const struct swingset_config *config, struct error *error)
{
    static const char *const devices_known[] = {"clock", "echo", "timer", "vatAdmin"};
    json_t *devices = json_object_get(config->root, "devices"), *value;
    const char *name;

    if (devices != NULL && !json_is_object(devices))
        return error_set(error, ERROR_INPUT, "%s: \"devices\" must be an object", config->path);
    json_object_foreach(devices, name, value)
    {
        if (!IS_ONE_OF(name, devices_known))
            return error_set(error, ERROR_INPUT,
                             "%s: devices.%.64s: gaspipe has only the devices timer, echo and "
                             "vatAdmin; take it out, and what bootstrap() does with it",
                             config->path, name);
        if (strcmp(name, "echo") == 0)
            log_line("%s: devices.echo: vats get gaspipe's own, with echo, add, fail and subscribe",
                     config->path);
    }
    return 0;
}

static int check_bootstrap(struct swingset_config *config, struct error *error)
{
    const json_t *vats = json_object_get(config->root, "vats");
    struct similar similar;
    const char *name;
    json_t *value;

    config->bootstrap = json_string_value(json_object_get(config->root, "bootstrap"));
    if (config->bootstrap == NULL)
        return error_set(error, ERROR_INPUT,
                         "%s: no \"bootstrap\", which names the vat that gets bootstrap()",
                         config->path);
    if (json_object_get(vats, config->bootstrap) != NULL)
        return 0;
    similar = (struct similar){.word = config->bootstrap};
    json_object_foreach((json_t *)vats, name, value)
    {
        similar_try(&similar, name);
    }
    return error_set(error, ERROR_INPUT,
                     "%s: \"bootstrap\" is \"%.64s\", which is not in \"vats\"%s", config->path,
                     config->bootstrap, similar_hint(&similar, ""));
}

/* SwingSet adds these to each configuration. */
static int add_vats(struct swingset_config *config, struct error *error)
{
    static const char *const added[][2] = {
        {"vatAdmin", "@agoric/swingset-vat/src/vats/vat-admin/vat-vat-admin.js"},
        {"timer", "@agoric/swingset-vat/src/vats/timer/vat-timer.js"},
    };
    const char *const first[] = {config->bootstrap, "vatAdmin", "comms", "vattp", "timer"};
    json_t *vats = json_copy(json_object_get(config->root, "vats"));
    int failed = 0;

    for (size_t i = 0; i < sizeof added / sizeof *added; i++)
        if (json_object_get(vats, added[i][0]) == NULL)
            failed |= json_object_set_new(vats, added[i][0],
                                          json_pack("{s:s}", "sourceSpec", added[i][1]));
    if (failed == 0)
        config->vats = sort_members(vats, first, sizeof first / sizeof *first);
    json_decref(vats);
    return config->vats != NULL ? 0 : error_memory(error, config->path);
}

static void note_ignored(const struct swingset_config *config)
{
    static const char *const used[] = {
        "bootstrap",
        "vats",
        "bundles",
        "devices",
        "defaultReapInterval",
        "defaultReapGCKrefs",
        "snapshotInitial",
        "snapshotInterval",
        "defaultManagerType",
        "bundleFormat",
        "bundleCachePath",
        "includeDevDependencies",
        "pinBootstrapRoot",
    };
    const char *name;
    json_t *value;

    json_object_foreach(config->root, name, value)
    {
        if (!IS_ONE_OF(name, used))
            log_line("%s: \"%.64s\" is ignored", config->path, name);
    }
}

static int check_config(struct swingset_config *config, struct error *error)
{
    if (!json_is_object(config->root))
        return error_set(error, ERROR_INPUT,
                         "%s: not a SwingSet configuration, {\"bootstrap\":NAME,\"vats\":{...}}",
                         config->path);
    if (check_group(config, "vats", json_object_get(config->root, "vats"), error) != 0 ||
        check_group(config, "bundles", json_object_get(config->root, "bundles"), error) != 0 ||
        check_devices(config, error) != 0 || check_bootstrap(config, error) != 0)
        return -1;
    note_ignored(config);
    return add_vats(config, error);
}

int swingset_config_read(struct swingset_config *config, const char *path, struct error *error)
{
    enum { CONFIG_MOST = 64 << 20 };
    struct buf text = {0};
    json_error_t problem;
    int result;

    *config = (struct swingset_config){.path = path};
    result = io_read_file(path, CONFIG_MOST, &text, error);
    if (result == 0) {
        config->root = json_value_read(text.data, text.length,
                                       JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &problem);
        result = config->root != NULL
                     ? check_config(config, error)
                     : error_set(error, ERROR_INPUT, "%s:%d: %s", path, problem.line, problem.text);
    }
    buf_free(&text);
    return result;
}

void swingset_config_free(struct swingset_config *config)
{
    json_decref(config->root);
    json_decref(config->vats);
    config->root = config->vats = NULL;
}

/* ---- options of a run ---- */

/* A number of deliveries or "never", which is 0; absent: the same default in SwingSet. */
static int take_interval(const struct swingset_config *config, const char *name, int least,
                         const char *option, json_t *options, struct error *error)
{
    json_t *value = json_object_get(config->root, name);
    const char *word = json_string_value(value);

    if (value == NULL)
        return 0;
    if (word != NULL && least == 0 && strcmp(word, "never") == 0)
        return json_object_set_new(options, option, json_integer(0));
    if (!json_is_integer(value) || json_integer_value(value) < 1 ||
        json_integer_value(value) > INT32_MAX)
        return error_set(error, ERROR_INPUT, "%s: \"%s\" must be a positive integer%s",
                         config->path, name, least == 0 ? " or \"never\"" : "");
    return json_object_set(options, option, value);
}

/* The members that `gaspipe run --vat-options` takes; NULL: out of memory. */
static json_t *make_vat_options(const struct swingset_config *config, const char *name,
                                const json_t *description, json_t *argv)
{
    json_t *references = json_object_get(config->root, "defaultReapGCKrefs");
    json_t *parameters = json_object_get(description, "parameters");
    json_t *creation = json_object_get(description, "creationOptions");
    json_t *options = json_object();
    int failed = 0;

    parameters = parameters != NULL ? json_copy(parameters) : json_object();
    creation = creation != NULL ? json_copy(creation) : json_object();
    if (strcmp(name, config->bootstrap) == 0)
        failed |= json_object_set(parameters, "argv", argv);
    if (references != NULL && json_object_get(creation, "reapGCKrefs") == NULL)
        failed |= json_object_set(creation, "reapGCKrefs", references);
    if (!json_is_object(parameters) || json_object_size(parameters) > 0)
        failed |= json_object_set(options, "parameters", parameters);
    if (!json_is_object(creation) || json_object_size(creation) > 0)
        failed |= json_object_set(options, "creationOptions", creation);
    json_decref(parameters);
    json_decref(creation);
    if (failed == 0)
        return options;
    json_decref(options);
    return NULL;
}

static int check_vat_options(json_t *options, struct error *error)
{
    struct vat_options checked = {0};
    int result = vat_options_take(&checked, options, error);

    vat_options_free(&checked);
    return result;
}

static int add_vat_options(const struct swingset_config *config, json_t *argv, json_t *options,
                           struct error *error)
{
    json_t *all = json_object(), *description;
    const char *name;
    int result = 0;

    json_object_foreach(config->vats, name, description)
    {
        json_t *own = make_vat_options(config, name, description, argv);

        if (result == 0 && own == NULL)
            result = error_memory(error, config->path);
        if (result == 0 && check_vat_options(own, error) != 0)
            result = error_prefix(error, "%s: vats.%s", config->path, name);
        if (result == 0 && json_object_size(own) > 0 && json_object_set(all, name, own) != 0)
            result = error_memory(error, config->path);
        json_decref(own);
    }
    if (result == 0 && json_object_size(all) > 0 &&
        json_object_set(options, "vat-options", all) != 0)
        result = error_memory(error, config->path);
    json_decref(all);
    return result;
}

json_t *swingset_config_options(const struct swingset_config *config, json_t *argv,
                                struct error *error)
{
    json_t *options = json_object();

    if (take_interval(config, "defaultReapInterval", 0, "reap-interval", options, error) == 0 &&
        take_interval(config, "snapshotInitial", 1, "snapshot-initial", options, error) == 0 &&
        take_interval(config, "snapshotInterval", 1, "snapshot-interval", options, error) == 0 &&
        add_vat_options(config, argv, options, error) == 0)
        return options;
    json_decref(options);
    return NULL;
}

/* ---- bootstrap ---- */

/* {"NAME":{"@KIND":"NAME"},...} of the members, sorted. */
static json_t *name_references(json_t *members, const char *kind)
{
    json_t *sorted = sort_members(members, NULL, 0), *value;
    json_t *references = json_object();
    const char *name;
    int failed = sorted == NULL;

    json_object_foreach(sorted, name, value)
    {
        failed |= json_object_set_new(references, name, json_pack("{s:s}", kind, name));
    }
    json_decref(sorted);
    if (failed == 0)
        return references;
    json_decref(references);
    return NULL;
}

json_t *swingset_config_bootstrap(const struct swingset_config *config)
{
    json_t *devices = json_object_get(config->root, "devices");
    json_t *line = NULL;

    devices = devices != NULL ? json_copy(devices) : json_object();
    if (json_object_set_new(devices, "vatAdmin", json_null()) == 0)
        line =
            json_pack("{s:s,s:s,s:[o,o]}", "vat", config->bootstrap, "method", "bootstrap", "args",
                      name_references(config->vats, "@vat"), name_references(devices, "@device"));
    json_decref(devices);
    return line;
}
