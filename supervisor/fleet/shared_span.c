/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/shared_span.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/fleet/fleet_cut.h"
#include "supervisor/fleet/fleet_object.h"
#include "supervisor/replay/replay_options.h"

/* ---- naming ---- */

static int name_paths(json_t *source, const struct replay_options *options, const char *directory,
                      struct error *error)
{
    json_t *paths = json_array();
    char *const archive[] = {(char *)(uintptr_t)options->archive};
    char *const *sources = options->archive != NULL ? archive : options->sources;
    const size_t count = options->archive != NULL ? 1 : options->source_count;
    int result = paths != NULL ? 0 : error_memory(error, "a source");

    for (size_t i = 0; result == 0 && i < count; i++) {
        json_t *below = shared_path_below(directory, sources[i], error);

        if (below == NULL)
            result = -1;
        else if (json_array_append_new(paths, below) != 0)
            result = error_memory(error, "a source");
    }
    if (result == 0 && json_object_set(source, "paths", paths) != 0)
        result = error_memory(error, "a source");
    json_decref(paths);
    return result;
}

static int name_path(json_t *source, const char *member, const char *path, const char *directory,
                     struct error *error)
{
    json_t *below;

    if (path == NULL)
        return 0;
    below = shared_path_below(directory, path, error);
    if (below == NULL)
        return -1;
    return json_object_set_new(source, member, below) == 0 ? 0 : error_memory(error, "a source");
}

/* The path in [VAT=]PATH. */
static json_t *name_bundle(const char *value, const char *directory, struct error *error)
{
    const char *equals = access(value, F_OK) != 0 ? strchr(value, '=') : NULL;
    const char *path = equals != NULL ? equals + 1 : value;
    json_t *below = shared_path_below(directory, path, error), *named;

    if (below == NULL)
        return NULL;
    named = json_pack("{s:s%,s:o}", "vat", value, equals != NULL ? (size_t)(equals - value) : 0,
                      "path", below);
    if (named == NULL)
        error_memory(error, "a source");
    return named;
}

static int name_bundles(json_t *source, const struct option_list *bundles, const char *directory,
                        struct error *error)
{
    json_t *names = json_array();
    int result = names != NULL ? 0 : error_memory(error, "a source");

    for (size_t i = 0; result == 0 && i < bundles->count; i++) {
        json_t *named = name_bundle(bundles->items[i], directory, error);

        if (named == NULL)
            result = -1;
        else if (json_array_append_new(names, named) != 0)
            result = error_memory(error, "a source");
    }
    if (result == 0 && bundles->count > 0 && json_object_set(source, "bundles", names) != 0)
        result = error_memory(error, "a source");
    json_decref(names);
    return result;
}

json_t *shared_span_name(const struct replay_options *options, const char *directory,
                         struct error *error)
{
    const bool beside = options->archive != NULL && options->snapshots == options->archive;
    json_t *source = json_object();
    int result = source != NULL ? 0 : error_memory(error, "a source");

    if (result == 0 && options->store != NULL)
        result = name_path(source, "store", options->store, directory, error);
    else if (result == 0)
        result = name_paths(source, options, directory, error);
    if (result == 0 && options->from_start &&
        json_object_set_new(source, "fromStart", json_true()) != 0)
        result = error_memory(error, "a source");
    if (result == 0 && !beside)
        result = name_path(source, "snapshots", options->snapshots, directory, error);
    if (result == 0)
        result = name_bundles(source, &options->bundles, directory, error);
    if (result == 0)
        return source;
    json_decref(source);
    return NULL;
}

/* ---- checking ---- */

static bool are_paths(const json_t *paths)
{
    const json_t *path;
    size_t index;

    json_array_foreach(paths, index, path)
    {
        if (!shared_path_is(path))
            return false;
    }
    return json_array_size(paths) > 0;
}

static bool are_shared_bundles(const json_t *bundles)
{
    const json_t *bundle;
    size_t index;

    json_array_foreach(bundles, index, bundle)
    {
        if (!json_is_string(json_object_get(bundle, "vat")) ||
            !shared_path_is(json_object_get(bundle, "path")))
            return false;
    }
    return bundles == NULL || json_is_array(bundles);
}

bool shared_span_is(const json_t *source)
{
    const json_t *store = json_object_get(source, "store"),
                 *snapshots = json_object_get(source, "snapshots");

    return (store != NULL ? shared_path_is(store) : are_paths(json_object_get(source, "paths"))) &&
           are_shared_bundles(json_object_get(source, "bundles")) &&
           (snapshots == NULL || shared_path_is(snapshots));
}

/* ---- cutting ---- */

/* The options that open the source here, and the strings in them. */
struct opening {
    struct replay_options options;
    struct option_list owned, paths;
};

/* The path on this machine; `vat` and '=' stand before that of a vat's bundle. */
static char *find_path(struct opening *opening, const struct shared_span *span, const char *vat,
                       const json_t *below, struct error *error)
{
    char path[PATH_MAX], *owned = NULL;

    if (shared_path_find(span->directory, json_string_value(below), path, error) != 0)
        return NULL;
    if (asprintf(&owned, "%s%s%s", vat, vat[0] != '\0' ? "=" : "", path) < 0) {
        error_memory(error, "a path");
        return NULL;
    }
    if (option_list_add(&opening->owned, owned, error) == 0)
        return owned;
    free(owned);
    return NULL;
}

static int find_bundles(struct opening *opening, const struct shared_span *span,
                        struct error *error)
{
    const json_t *bundles = json_object_get(span->source, "bundles"), *bundle;
    size_t index;

    json_array_foreach(bundles, index, bundle)
    {
        char *path = find_path(opening, span, json_string_value(json_object_get(bundle, "vat")),
                               json_object_get(bundle, "path"), error);

        if (path == NULL || option_list_add(&opening->options.bundles, path, error) != 0)
            return -1;
    }
    return 0;
}

/* The operands of gaspipe replay. */
static int find_sources(struct opening *opening, const struct shared_span *span,
                        struct error *error)
{
    const json_t *paths = json_object_get(span->source, "paths"), *item;
    char *vat = (char *)(uintptr_t)span->vat_id;
    size_t index;

    json_array_foreach(paths, index, item)
    {
        char *path = find_path(opening, span, "", item, error);

        if (path == NULL || option_list_add(&opening->paths, path, error) != 0)
            return -1;
    }
    if (opening->options.store != NULL)
        return option_list_add(&opening->paths, vat, error);
    return option_list_add(&opening->options.vats, vat, error);
}

static int find_all(struct opening *opening, const struct shared_span *span, struct error *error)
{
    const json_t *store = json_object_get(span->source, "store"),
                 *snapshots = json_object_get(span->source, "snapshots");
    struct replay_options *options = &opening->options;

    options->from_start = json_is_true(json_object_get(span->source, "fromStart"));
    if (store != NULL && (options->store = find_path(opening, span, "", store, error)) == NULL)
        return -1;
    if (snapshots != NULL &&
        (options->snapshots = find_path(opening, span, "", snapshots, error)) == NULL)
        return -1;
    if (find_bundles(opening, span, error) != 0 || find_sources(opening, span, error) != 0 ||
        option_list_add(&opening->paths, NULL, error) != 0)
        return -1;
    return replay_options_check(options, opening->paths.items, error);
}

static void opening_free(struct opening *opening)
{
    for (size_t i = 0; i < opening->owned.count; i++)
        free(opening->owned.items[i]);
    option_list_free(&opening->owned);
    option_list_free(&opening->paths);
    replay_options_free(&opening->options);
}

struct looking {
    const struct shared_span *span;
    bool found;
};

static int look_at_span(void *context, const struct fleet_cut_span *cut, struct error *error)
{
    struct looking *looking = context;

    looking->found = strcmp(cut->transcript, looking->span->transcript) == 0;
    /* Later lines are not needed. */
    return looking->found ? error_set(error, ERROR_INPUT, "it is found") : 0;
}

/* Up to delivery `last`, or what stands at its place. */
static int cut_up_to(const struct shared_span *span, int64_t last, bool *found, bool *again,
                     struct error *error)
{
    struct opening opening = {.options = replay_options_defaults()};
    struct looking looking = {.span = span};
    const struct fleet_cut_target target = {
        .transport = span->objects, .add = look_at_span, .context = &looking};
    int result;

    opening.options.selection.from = span->first;
    opening.options.selection.to = last;
    result = find_all(&opening, span, error);
    *again = result == 0 && replay_source_is_swing_store(&opening.options);
    if (result == 0)
        result = fleet_cut(&opening.options, &target, error);
    *found = looking.found;
    opening_free(&opening);
    return looking.found ? 0 : result;
}

/* In a swing-store, the snapshot that ends a span follows its last delivery. After the vat's last
 * span, another delivery may have been added since. */
int shared_span_cut(const struct shared_span *span, struct error *error)
{
    bool found, again, ignored;
    int result = cut_up_to(span, span->end, &found, &again, error);

    if (!found && again && (result == 0 || error->kind == ERROR_INPUT))
        result = cut_up_to(span, span->end - 1, &found, &ignored, error);
    if (result == 0 && !found)
        return error_set(error, ERROR_INPUT,
                         "its source changed since submission; restore it or submit it again");
    if (result != 0 && error->kind != ERROR_SYSTEM)
        error->kind = ERROR_INPUT;
    return result;
}
