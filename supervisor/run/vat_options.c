/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/vat_options.h"

#include <stdbool.h>
#include <string.h>

#include "base/json/json_value.h"
#include "supervisor/schedule/log/smallcaps.h"

/* A vat starts before any object has a name that parameters could give. */
static int refuse_reference(void *context, const char *kind, const char *name, char **reference,
                            struct error *error)
{
    (void)context;
    (void)reference;
    return error_set(error, ERROR_INPUT,
                     "parameters cannot have {\"@%s\":\"%.64s\"}: a vat starts without references; "
                     "send them with a delivery",
                     kind, name);
}

static int take_parameters(struct vat_options *options, const json_t *value, struct error *error)
{
    const struct smallcaps_names names = {.find = refuse_reference};
    json_t *slots, *encoded;
    int result;

    if (value == NULL)
        return 0;
    slots = json_array();
    encoded = smallcaps_encode(value, &names, slots, error);
    result = encoded == NULL ? -1 : 0;
    if (result == 0 && json_value_write(&options->parameters, encoded) != 0)
        result = error_memory(error, "a vat's parameters");
    json_decref(encoded);
    json_decref(slots);
    return result;
}

static bool is_threshold(const json_t *value)
{
    const char *word = json_string_value(value);

    return json_is_integer(value) ? json_integer_value(value) > 0
                                  : word != NULL && strcmp(word, "never") == 0;
}

/* The others choose workers or permit what gaspipe's vats may do without it. */
static int check_creation_option(const char *name, const json_t *value, struct error *error)
{
    static const char *const ignored[] = {"managerType",   "enablePipelining", "enableDisavow",
                                          "useTranscript", "critical",         "nodeOptions"};

    if (strcmp(name, "reapInterval") == 0 || strcmp(name, "reapGCKrefs") == 0)
        return is_threshold(value)
                   ? 0
                   : error_set(error, ERROR_INPUT, "\"%s\" must be a positive integer or \"never\"",
                               name);
    if (strcmp(name, "neverReap") == 0)
        return json_is_boolean(value)
                   ? 0
                   : error_set(error, ERROR_INPUT, "\"neverReap\" must be true or false");
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        if (strcmp(name, ignored[i]) == 0)
            return 0;
    return error_set(error, ERROR_INPUT,
                     "unknown creation option \"%.64s\"; gaspipe has reapInterval, reapGCKrefs and "
                     "neverReap",
                     name);
}

static int take_creation(struct vat_options *options, json_t *value, struct error *error)
{
    const char *name;
    json_t *option;

    if (value == NULL)
        return 0;
    if (!json_is_object(value))
        return error_set(error, ERROR_INPUT, "\"creationOptions\" must be an object");
    json_object_foreach(value, name, option)
    {
        if (check_creation_option(name, option, error) != 0)
            return -1;
    }
    options->creation = json_incref(value);
    return 0;
}

int vat_options_take(struct vat_options *options, json_t *object, struct error *error)
{
    const char *name;
    json_t *value;

    if (!json_is_object(object))
        return error_set(error, ERROR_INPUT,
                         "not a JSON object such as {\"parameters\":{\"argv\":[]}}");
    json_object_foreach(object, name, value)
    {
        if (strcmp(name, "parameters") != 0 && strcmp(name, "creationOptions") != 0)
            return error_set(error, ERROR_INPUT,
                             "unknown member \"%.64s\"; \"parameters\" and \"creationOptions\" are "
                             "known",
                             name);
    }
    if (take_parameters(options, json_object_get(object, "parameters"), error) != 0)
        return -1;
    return take_creation(options, json_object_get(object, "creationOptions"), error);
}

static int read_item(struct vat_options *options, const char *text, struct error *error)
{
    json_error_t problem;
    json_t *object =
        json_value_read(text, strlen(text), JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &problem);
    int result;

    if (object == NULL)
        return error_set(error, ERROR_INPUT, "not JSON, at byte %d: %s", problem.position,
                         problem.text);
    result = vat_options_take(options, object, error);
    json_decref(object);
    return result;
}

int vat_options_read(struct vat_options *options, const struct option_list *list, const char *name,
                     struct error *error)
{
    const size_t length = strlen(name);

    memset(options, 0, sizeof *options);
    for (size_t i = 0; i < list->count; i++) {
        const char *item = list->items[i];

        if (strncmp(item, name, length) == 0 && item[length] == '=' &&
            read_item(options, item + length + 1, error) != 0)
            return error_prefix(error, "--vat-options %s", name);
    }
    return 0;
}

void vat_options_free(struct vat_options *options)
{
    buf_free(&options->parameters);
    json_decref(options->creation);
    memset(options, 0, sizeof *options);
}
