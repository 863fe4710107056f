/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/input/line_message.h"

#include <stdio.h>
#include <string.h>

#include "base/option/similar.h"

/* Where the names in a line are looked up. */
struct scope {
    struct line_results *results;
    struct kernel *kernel;
};

static void try_name(void *context, const char *name)
{
    similar_try(context, name);
}

static int find_vat_root(const struct scope *scope, const char *name,
                         char reference[KERNEL_REF_SIZE], struct error *error)
{
    struct similar similar = {.word = name};
    bool found = false;

    if (kernel_root(scope->kernel, name, reference, &found, error) != 0)
        return -1;
    if (found)
        return 0;
    if (kernel_vat_names(scope->kernel, try_name, &similar, error) != 0)
        return -1;
    return error_set(error, ERROR_INPUT,
                     "there is no vat \"%s\"%s; name its contract with --vat %s=FILE", name,
                     similar_hint(&similar, ""), name);
}

static int find_result(const struct scope *scope, const char *id, char reference[KERNEL_REF_SIZE],
                       struct error *error)
{
    bool found = false;

    if (line_results_find(scope->results, id, reference, &found, error) != 0)
        return -1;
    if (found)
        return 0;
    return error_set(error, ERROR_INPUT, "no line before has the \"id\" \"%.64s\"", id);
}

static int find_device(const struct scope *scope, const char *name, char reference[KERNEL_REF_SIZE],
                       struct error *error)
{
    bool found = false;

    if (kernel_device(scope->kernel, name, reference, &found, error) != 0)
        return -1;
    if (found)
        return 0;
    return error_set(error, ERROR_INPUT, "there is no device \"%.64s\"", name);
}

static int find_reference(void *context, const char *kind, const char *name, char **reference,
                          struct error *error)
{
    char text[KERNEL_REF_SIZE];
    int result;

    if (strcmp(kind, "vat") == 0)
        result = find_vat_root(context, name, text, error);
    else if (strcmp(kind, "device") == 0)
        result = find_device(context, name, text, error);
    else
        result = find_result(context, name, text, error);
    if (result != 0)
        return -1;
    *reference = strdup(text);
    return *reference != NULL ? 0 : error_memory(error, "a delivery");
}

/* The object or promise that a line's message goes to. */
static int find_target(const struct scope *scope, const struct delivery_line *line,
                       char target[KERNEL_REF_SIZE], struct error *error)
{
    if (line->to != NULL)
        return find_result(scope, line->to, target, error);
    if (line->kind == DELIVERY_LINE_SHORT || strcmp(line->target, "o+0") == 0)
        return find_vat_root(scope, line->vat, target, error);
    if (strlen(line->target) >= KERNEL_REF_SIZE)
        return error_set(error, ERROR_INPUT, "there is no object %.64s", line->target);
    snprintf(target, KERNEL_REF_SIZE, "%s", line->target);
    return 0;
}

int line_message_queue(struct line_results *results, struct kernel *kernel,
                       const struct delivery_line *line, char result[KERNEL_REF_SIZE],
                       struct error *error)
{
    struct scope scope = {.results = results, .kernel = kernel};
    const struct smallcaps_names names = {.context = &scope, .find = find_reference};
    char target[KERNEL_REF_SIZE];
    json_t *methargs;
    int queued;

    if (find_target(&scope, line, target, error) != 0)
        return -1;
    methargs = delivery_line_methargs(line, &names, error);
    if (methargs == NULL)
        return -1;
    queued = kernel_queue_message(kernel, target, methargs, result, error);
    json_decref(methargs);
    return queued;
}
