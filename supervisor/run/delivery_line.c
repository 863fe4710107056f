/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/delivery_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json/json_value.h"
#include "base/json/scan.h"
#include "base/option/option.h"
#include "proto/vat_message.h"

static const char shape[] = "a delivery is {\"vat\":\"NAME\",\"method\":\"NAME\",\"args\":[...]}";

/* Returns true if C can hold the string: JSON allows '\0' inside. */
static bool is_name(const json_t *value)
{
    return json_is_string(value) && json_string_length(value) == strlen(json_string_value(value));
}

static int check_fields(const json_t *object, struct error *error)
{
    static const char *const known[] = {"vat",     "to",    "method",  "args", "id",
                                        "deliver", "clock", "trigger", "reap"};
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value)
    {
        bool is_known = false;

        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            is_known = is_known || strcmp(key, known[i]) == 0;
        if (!is_known)
            return error_set(error, ERROR_INPUT, "unknown field \"%.64s\"; %s", key, shape);
    }
    return 0;
}

/* Checks and copies a name. */
static int take_line_name(char **copy, const json_t *name, const char *what, struct error *error)
{
    if (!is_name(name) || json_string_length(name) == 0)
        return error_set(error, ERROR_INPUT, "%s must be a string; %s", what, shape);
    *copy = strdup(json_string_value(name));
    return *copy != NULL ? 0 : error_memory(error, "a delivery");
}

static int take_method(struct delivery_line *line, const json_t *object, struct error *error)
{
    json_t *method = json_object_get(object, "method");
    json_t *args = json_object_get(object, "args");

    if (!json_is_string(method))
        return error_set(error, ERROR_INPUT, "\"method\" must be a string; %s", shape);
    if (args != NULL && !json_is_array(args))
        return error_set(error, ERROR_INPUT, "\"args\" must be an array; %s", shape);
    line->kind = DELIVERY_LINE_SHORT;
    line->call = args != NULL ? json_pack("[O, O]", method, args) : json_pack("[O, []]", method);
    return line->call != NULL ? 0 : error_memory(error, "a delivery");
}

static int take_short(struct delivery_line *line, const json_t *object, struct error *error)
{
    const json_t *id = json_object_get(object, "id");

    if (id != NULL && take_line_name(&line->id, id, "\"id\"", error) != 0)
        return -1;
    return take_method(line, object, error);
}

/* {"to":{"@result":ID},"method":...} */
static int take_to(struct delivery_line *line, const json_t *object, struct error *error)
{
    const json_t *to = json_object_get(object, "to");

    if (json_object_get(object, "vat") != NULL || json_object_size(to) != 1)
        return error_set(error, ERROR_INPUT,
                         "\"to\" stands in the place of \"vat\", as {\"@result\":\"ID\"}");
    if (take_line_name(&line->to, json_object_get(to, "@result"), "\"@result\"", error) != 0)
        return -1;
    return take_short(line, object, error);
}

/* "o+0", "ko20", "kp40" */
static bool is_target(const json_t *target)
{
    const char *text = json_string_value(target);

    if (!is_name(target))
        return false;
    if (strcmp(text, "o+0") == 0)
        return true;
    return (strncmp(text, "ko", 2) == 0 || strncmp(text, "kp", 2) == 0) && text[2] != '\0' &&
           text[2 + strspn(text + 2, "0123456789")] == '\0';
}

static int take_full(struct delivery_line *line, const json_t *object, struct error *error)
{
    const json_t *deliver = json_object_get(object, "deliver");
    const json_t *kind = json_array_get(deliver, 0);
    const json_t *target = json_array_get(deliver, 1);
    const json_t *message = json_array_get(deliver, 2);
    json_t *methargs = json_object_get(message, "methargs");

    if (json_object_size(object) != 2)
        return error_set(error, ERROR_INPUT, "\"deliver\" allows no member but \"vat\"");
    if (!is_name(kind) || strcmp(json_string_value(kind), "message") != 0 ||
        json_array_size(deliver) != 3 || !is_target(target) || !vat_message_is_capdata(methargs) ||
        !json_is_null(json_object_get(message, "result")))
        return error_set(error, ERROR_INPUT,
                         "\"deliver\" must be [\"message\",TARGET,{\"methargs\":"
                         "{\"body\":STRING,\"slots\":[...]},\"result\":null}], with \"o+0\" or "
                         "a reference of the kernel's, \"koN\", as TARGET");
    line->kind = DELIVERY_LINE_FULL;
    line->methargs = json_incref(methargs);
    return take_line_name(&line->target, target, "TARGET", error);
}

static int take_clock(struct delivery_line *line, const json_t *object, struct error *error)
{
    const json_t *clock = json_object_get(object, "clock");

    if (json_object_size(object) != 1 || !json_is_integer(clock) || json_integer_value(clock) < 0)
        return error_set(error, ERROR_INPUT,
                         "\"clock\" stands alone and is an integer, not negative");
    line->kind = DELIVERY_LINE_CLOCK;
    line->clock = json_integer_value(clock);
    return 0;
}

static int take_trigger(struct delivery_line *line, const json_t *object, struct error *error)
{
    if (json_object_size(object) != 1)
        return error_set(error, ERROR_INPUT, "\"trigger\" stands alone");
    line->kind = DELIVERY_LINE_TRIGGER;
    return take_line_name(&line->trigger, json_object_get(object, "trigger"), "\"trigger\"", error);
}

static int take_reap(struct delivery_line *line, const json_t *object, struct error *error)
{
    if (json_object_size(object) != 1 || !json_is_true(json_object_get(object, "reap")))
        return error_set(error, ERROR_INPUT, "\"reap\" stands alone and is true");
    line->kind = DELIVERY_LINE_REAP;
    return 0;
}

static int take_line_object(struct delivery_line *line, const json_t *object, struct error *error)
{
    if (!json_is_object(object))
        return error_set(error, ERROR_INPUT, "not a JSON object; %s", shape);
    if (check_fields(object, error) != 0)
        return -1;
    if (json_object_get(object, "clock") != NULL)
        return take_clock(line, object, error);
    if (json_object_get(object, "trigger") != NULL)
        return take_trigger(line, object, error);
    if (json_object_get(object, "reap") != NULL)
        return take_reap(line, object, error);
    if (json_object_get(object, "to") != NULL)
        return take_to(line, object, error);
    if (take_line_name(&line->vat, json_object_get(object, "vat"), "\"vat\"", error) != 0)
        return -1;
    if (json_object_get(object, "deliver") != NULL)
        return take_full(line, object, error);
    return take_short(line, object, error);
}

int delivery_line_parse(struct delivery_line *line, const char *text, size_t length,
                        struct error *error)
{
    const size_t most = json_nodes_affordable(length);
    json_error_t problem;
    json_t *object;
    int result;

    memset(line, 0, sizeof *line);
    if (json_nodes_exceed(text, length, most))
        return error_set(error, ERROR_INPUT, "more than %zu values in %zu bytes", most, length);
    object = json_value_read(text, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &problem);
    if (object == NULL && scan_has_bom(text, length))
        return error_set(error, ERROR_INPUT, SCAN_BOM_WHY);
    if (object == NULL)
        return error_set(error, ERROR_INPUT, "not JSON, at byte %d: %s; %s", problem.position,
                         problem.text, shape);
    result = take_line_object(line, object, error);
    json_decref(object);
    if (result != 0)
        delivery_line_free(line);
    return result;
}

/* Capdata whose body is `#` and the smallcaps of [method, args]. */
static json_t *make_methargs(const json_t *encoded, json_t *slots)
{
    struct buf body = {0};
    json_t *methargs = NULL;

    buf_append_byte(&body, '#');
    if (json_value_write(&body, encoded) == 0)
        methargs = json_pack("{s:s%, s:O}", "body", body.data, body.length, "slots", slots);
    buf_free(&body);
    return methargs;
}

json_t *delivery_line_methargs(const struct delivery_line *line,
                               const struct smallcaps_names *names, struct error *error)
{
    json_t *slots, *encoded, *methargs = NULL;

    if (line->kind == DELIVERY_LINE_FULL)
        return json_incref(line->methargs);
    slots = json_array();
    encoded = smallcaps_encode(line->call, names, slots, error);
    if (encoded != NULL && (methargs = make_methargs(encoded, slots)) == NULL)
        error_memory(error, "a delivery");
    json_decref(encoded);
    json_decref(slots);
    return methargs;
}

void delivery_line_free(struct delivery_line *line)
{
    free(line->vat);
    free(line->to);
    free(line->target);
    free(line->id);
    free(line->trigger);
    json_decref(line->call);
    json_decref(line->methargs);
    memset(line, 0, sizeof *line);
}

/* ---- what a line sends ---- */

/* Looks up the names in a line. */
struct scope {
    struct line_results *results;
    struct kernel *kernel;
};

static void try_name(void *context, const char *name)
{
    similar_try(context, name);
}

static int refuse_vat_name(struct kernel *kernel, const char *name, struct error *error)
{
    struct similar similar = {.word = name};

    if (kernel_vat_names(kernel, try_name, &similar, error) != 0)
        return -1;
    return error_set(error, ERROR_INPUT, "no vat \"%s\"; name its contract with --vat %s=FILE%s",
                     name, name, similar_hint(&similar, ""));
}

static int find_vat_root(const struct scope *scope, const char *name,
                         char reference[KERNEL_REF_SIZE], struct error *error)
{
    bool found = false;

    if (kernel_root(scope->kernel, name, reference, &found, error) != 0)
        return -1;
    return found ? 0 : refuse_vat_name(scope->kernel, name, error);
}

/* Finds the vat, or one whose account ends the name: its contract may create the other. */
static int find_vat_or_parent(struct kernel *kernel, const char *name, bool *found,
                              struct error *error)
{
    int64_t vat;
    int result = kernel_vat_named(kernel, name, &vat, found, error);

    for (const char *dot = strchr(name, '.'); result == 0 && !*found && dot != NULL;
         dot = strchr(dot + 1, '.'))
        result = kernel_vat_named(kernel, dot + 1, &vat, found, error);
    return result;
}

int delivery_line_check_vat(struct kernel *kernel, const char *text, size_t length,
                            struct error *error)
{
    struct delivery_line line;
    struct error ignored;
    bool found = true;
    int result = 0;

    if (delivery_line_parse(&line, text, length, &ignored) != 0)
        return 0;
    /* kernel_root() would export the vat's root before its time. */
    if (line.vat != NULL)
        result = find_vat_or_parent(kernel, line.vat, &found, error);
    if (result == 0 && !found)
        result = refuse_vat_name(kernel, line.vat, error);
    delivery_line_free(&line);
    return result;
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
    return error_set(error, ERROR_INPUT, "no device \"%.64s\"", name);
}

/* The kernel checks whether it has it. */
static int copy_reference(const char *name, char reference[KERNEL_REF_SIZE], struct error *error)
{
    if (strlen(name) >= KERNEL_REF_SIZE)
        return error_set(error, ERROR_INPUT, "the kernel has no %.64s", name);
    snprintf(reference, KERNEL_REF_SIZE, "%s", name);
    return 0;
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
    else if (strcmp(kind, "result") == 0)
        result = find_result(context, name, text, error);
    else
        result = copy_reference(name, text, error);
    if (result != 0)
        return -1;
    *reference = strdup(text);
    return *reference != NULL ? 0 : error_memory(error, "a delivery");
}

/* The object or promise that a line's message goes to. */
static int find_line_target(const struct scope *scope, const struct delivery_line *line,
                            char target[KERNEL_REF_SIZE], struct error *error)
{
    if (line->to != NULL)
        return find_result(scope, line->to, target, error);
    if (line->kind == DELIVERY_LINE_SHORT || strcmp(line->target, "o+0") == 0)
        return find_vat_root(scope, line->vat, target, error);
    if (strlen(line->target) >= KERNEL_REF_SIZE)
        return error_set(error, ERROR_INPUT, "no object %.64s", line->target);
    snprintf(target, KERNEL_REF_SIZE, "%s", line->target);
    return 0;
}

static bool is_bootstrap(const struct delivery_line *line)
{
    const char *method = json_string_value(json_array_get(line->call, 0));

    return method != NULL && strcmp(method, "bootstrap") == 0;
}

int line_message_queue(struct line_results *results, struct kernel *kernel,
                       const struct delivery_line *line, char result[KERNEL_REF_SIZE],
                       struct error *error)
{
    struct scope scope = {.results = results, .kernel = kernel};
    const struct smallcaps_names names = {
        .context = &scope, .find = find_reference, .bootstraps = is_bootstrap(line)};
    char target[KERNEL_REF_SIZE];
    json_t *methargs;
    int queued;

    if (find_line_target(&scope, line, target, error) != 0)
        return -1;
    methargs = delivery_line_methargs(line, &names, error);
    if (methargs == NULL)
        return -1;
    queued = kernel_queue_message(kernel, target, methargs, result, error);
    json_decref(methargs);
    return queued;
}

/* ---- lines that are not due yet ---- */

struct upcoming_line {
    int64_t number;
    struct delivery_line line; /* owned */
    int64_t vat; /* that gets its message; 0: what it and the lines after it do is not known */
};

/* 0 unless the line is a message to the root of a vat that lives. */
static int64_t vat_of_line(struct upcoming_lines *upcoming, const struct delivery_line *line)
{
    struct error ignored;
    bool found = false;
    int64_t vat;

    if (line->vat == NULL || line->to != NULL ||
        (line->kind != DELIVERY_LINE_SHORT &&
         (line->kind != DELIVERY_LINE_FULL || strcmp(line->target, "o+0") != 0)) ||
        kernel_vat_named(upcoming->kernel, line->vat, &vat, &found, &ignored) != 0)
        return 0;
    return found ? vat : 0;
}

/* False if it has not arrived. A bad line is reported at its turn. */
static bool read_next_line(struct upcoming_lines *upcoming)
{
    int64_t number =
        upcoming->count > 0 ? upcoming->lines[upcoming->count - 1].number : upcoming->passed;
    struct upcoming_line *lines, *added;
    const char *text;
    struct error ignored;
    size_t length;

    if (!delivery_input_look(upcoming->input, &number, &text, &length))
        return false;
    lines = array_reserve(upcoming->lines, &upcoming->capacity, upcoming->count + 1, sizeof *lines);
    if (lines == NULL)
        return false;
    upcoming->lines = lines;
    added = &lines[upcoming->count++];
    *added = (struct upcoming_line){.number = number};
    if (delivery_line_parse(&added->line, text, length, &ignored) == 0)
        added->vat = vat_of_line(upcoming, &added->line);
    else
        added->line = (struct delivery_line){0};
    return true;
}

static bool find_upcoming_vat(void *context, size_t index, int64_t *vat)
{
    struct upcoming_lines *upcoming = context;

    if (!upcoming->available)
        return false;
    while (upcoming->count <= index)
        if (!read_next_line(upcoming))
            return false;
    *vat = upcoming->lines[index].vat;
    return *vat != 0;
}

static int queue_upcoming_line(void *context, size_t index, struct kernel *kernel,
                               struct error *error)
{
    const struct upcoming_lines *upcoming = context;
    const struct delivery_line *line = &upcoming->lines[index].line;
    char result[KERNEL_REF_SIZE];

    return line_message_queue(upcoming->results, kernel, line,
                              line->kind == DELIVERY_LINE_SHORT ? result : NULL, error);
}

struct speculation_source upcoming_lines_source(struct upcoming_lines *upcoming)
{
    return (struct speculation_source){
        .context = upcoming,
        .upcoming = find_upcoming_vat,
        .queue_upcoming = queue_upcoming_line,
    };
}

void upcoming_lines_pass(struct upcoming_lines *upcoming, int64_t number)
{
    size_t passed = 0;

    upcoming->passed = number;
    while (passed < upcoming->count && upcoming->lines[passed].number <= number)
        delivery_line_free(&upcoming->lines[passed++].line);
    if (passed > 0)
        memmove(upcoming->lines, upcoming->lines + passed,
                (upcoming->count - passed) * sizeof *upcoming->lines);
    upcoming->count -= passed;
}

void upcoming_lines_free(struct upcoming_lines *upcoming)
{
    upcoming_lines_pass(upcoming, INT64_MAX);
    free(upcoming->lines);
}
