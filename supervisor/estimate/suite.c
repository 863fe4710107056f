/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/estimate/suite.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/json/json_value.h"
#include "gas/gas_model_json.h"
#include "supervisor/process/guest.h"

enum { SUITE_FILE_MAX = 1 << 20, SUITE_CONTRACT_MAX = 64 << 20, SUITE_CALLS = 2 };

/* The place of an error: the file, and the operation in progress, or NULL. */
struct suite_place {
    const char *directory;
    const char *operation;
};

/* Sets the error to its place and this text. Returns -1. */
static int suite_fault(const struct suite_place *place, struct error *error, const char *text)
{
    if (place->operation != NULL)
        return error_set(error, ERROR_INPUT, "%s/suite.json: operation %s: %s", place->directory,
                         place->operation, text);
    return error_set(error, ERROR_INPUT, "%s/suite.json: %s", place->directory, text);
}

/* ---- contracts ---- */

static int look_at_file(struct suite_contract *contract, struct error *error)
{
    struct buf text = {0};
    int result = io_read_file(contract->path, SUITE_CONTRACT_MAX, &text, error);

    contract->length = text.length;
    contract->takes_bytes = text.length >= 4 && (memcmp(text.data, "\0asm", 4) == 0 ||
                                                 memcmp(text.data, "\177ELF", 4) == 0);
    buf_free(&text);
    return result;
}

static int read_contracts(struct suite *suite, const struct suite_place *place, struct error *error)
{
    json_t *object = json_object_get(suite->json, "contracts"), *file;
    const char *name;

    if (json_object_size(object) == 0)
        return suite_fault(place, error, "\"contracts\" must name at least one, as {NAME: FILE}");
    suite->contracts = calloc(json_object_size(object), sizeof *suite->contracts);
    if (suite->contracts == NULL)
        return error_memory(error, "a suite");
    json_object_foreach(object, name, file)
    {
        struct suite_contract *contract = &suite->contracts[suite->contract_count++];

        contract->name = name;
        if (!json_is_string(file) || strlen(json_string_value(file)) == 0)
            return suite_fault(place, error, "a contract's file must be a string");
        if (snprintf(contract->path, sizeof contract->path, "%s/%s", place->directory,
                     json_string_value(file)) >= (int)sizeof contract->path)
            return suite_fault(place, error, "a contract's path is too long");
        if (look_at_file(contract, error) != 0)
            return -1;
    }
    return 0;
}

static int find_contract(const struct suite *suite, const json_t *name, uint64_t *index)
{
    const char *text = json_string_value(name);

    for (size_t i = 0; text != NULL && i < suite->contract_count; i++) {
        const char *name_of = suite->contracts[i].name;

        if (name_of != NULL && strcmp(name_of, text) == 0) {
            *index = i;
            return 0;
        }
    }
    return -1;
}

/* ---- operations ---- */

static int read_suite_number(const json_t *value, uint64_t least, uint64_t *number)
{
    const json_int_t integer = json_integer_value(value);

    if (!json_is_integer(value) || integer < (json_int_t)least || integer > SUITE_NUMBER_MAX)
        return -1;
    *number = (uint64_t)integer;
    return 0;
}

/* Numbers, or with `suite` the names of its contracts; none where there is no array. */
static int read_numbers(const json_t *array, uint64_t least, const struct suite *suite,
                        struct suite_numbers *numbers)
{
    const json_t *value;
    size_t i;

    numbers->count = 0;
    if (array == NULL)
        return 0;
    if (!json_is_array(array) || json_array_size(array) == 0 ||
        json_array_size(array) > SUITE_NUMBERS_MAX)
        return -1;
    json_array_foreach(array, i, value)
    {
        uint64_t *number = &numbers->values[numbers->count++];

        if ((suite != NULL ? find_contract(suite, value, number)
                           : read_suite_number(value, least, number)) != 0)
            return -1;
    }
    return 0;
}

static int check_members(const json_t *object, const char *const *known,
                         const struct suite_place *place, struct error *error)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)object, name, value)
    {
        size_t i = 0;

        while (known[i] != NULL && strcmp(known[i], name) != 0)
            i++;
        if (known[i] == NULL) {
            suite_fault(place, error, "no such member: ");
            strncat(error->text, name, sizeof error->text - strlen(error->text) - 1);
            return -1;
        }
    }
    return 0;
}

static int read_points(struct suite_operation *operation, const json_t *object,
                       const json_t *defaults, const struct suite_place *place, struct error *error)
{
    const json_t *counts = json_object_get(object, "counts");
    const json_t *repeat = json_object_get(object, "repeat");

    if (read_numbers(counts != NULL ? counts : defaults, 1, NULL, &operation->counts) != 0)
        return suite_fault(place, error, "\"counts\" must be 1 to 16 numbers from 1 to 2^24");
    if (read_numbers(json_object_get(object, "sizes"), 0, NULL, &operation->sizes) != 0)
        return suite_fault(place, error, "\"sizes\" must be 1 to 16 numbers from 0 to 2^24");
    operation->repeat = 1;
    if (repeat != NULL && read_suite_number(repeat, 1, &operation->repeat) != 0)
        return suite_fault(place, error, "\"repeat\" must be a number from 1 to 2^24");
    if (operation->counts.count == 0 && operation->loads.count == 0)
        return suite_fault(place, error, "no \"counts\"");
    return 0;
}

static int read_operation(struct suite *suite, const json_t *object, const json_t *defaults,
                          struct suite_place *place, struct error *error)
{
    static const char *const known[] = {"name",  "contract", "method", "base", "counts",
                                        "sizes", "repeat",   "loads",  "unit", NULL};
    struct suite_operation *operation = &suite->operations[suite->operation_count];
    uint64_t contract = 0;

    place->operation = NULL;
    operation->name = json_string_value(json_object_get(object, "name"));
    operation->method = json_string_value(json_object_get(object, "method"));
    operation->base = json_string_value(json_object_get(object, "base"));
    operation->unit = json_string_value(json_object_get(object, "unit"));
    if (operation->unit == NULL)
        operation->unit = "byte";
    if (operation->name == NULL || operation->method == NULL)
        return suite_fault(place, error, "an operation needs a \"name\" and a \"method\"");
    place->operation = operation->name;
    for (size_t i = 0; i < suite->operation_count; i++)
        if (strcmp(suite->operations[i].name, operation->name) == 0)
            return suite_fault(place, error, "two operations have this name");
    if (check_members(object, known, place, error) != 0)
        return -1;
    if (read_numbers(json_object_get(object, "loads"), 0, suite, &operation->loads) != 0)
        return suite_fault(place, error, "\"loads\" must be names of 1 to 16 contracts");
    if (operation->loads.count == 0 &&
        find_contract(suite, json_object_get(object, "contract"), &contract) != 0)
        return suite_fault(place, error, "\"contract\" must be the name of one");
    operation->contract = contract;
    suite->operation_count++;
    return read_points(operation, object, defaults, place, error);
}

static int read_operations(struct suite *suite, struct suite_place *place, struct error *error)
{
    const json_t *array = json_object_get(suite->json, "operations"), *object;
    const json_t *defaults = json_object_get(suite->json, "counts");
    const size_t count = json_array_size(array);
    size_t i;

    if (count == 0 || count > SUITE_OPERATIONS_MAX)
        return suite_fault(place, error, "\"operations\" must be an array of 1 to 1000");
    suite->operations = calloc(count, sizeof *suite->operations);
    if (suite->operations == NULL)
        return error_memory(error, "a suite");
    json_array_foreach(array, i, object)
    {
        if (read_operation(suite, object, defaults, place, error) != 0)
            return -1;
    }
    return 0;
}

/* ---- the suite ---- */

static int read_head(struct suite *suite, const struct suite_place *place, struct error *error)
{
    static const char *const known[] = {"name",   "about",     "calls",      "charge",
                                        "counts", "contracts", "operations", NULL};
    const json_t *calls = json_object_get(suite->json, "calls");
    const json_t *charge = json_object_get(suite->json, "charge");

    if (!json_is_object(suite->json))
        return suite_fault(place, error, "a suite is a JSON object");
    suite->name = json_string_value(json_object_get(suite->json, "name"));
    if (suite->name == NULL)
        return suite_fault(place, error, "a suite needs a \"name\"");
    if (check_members(suite->json, known, place, error) != 0)
        return -1;
    suite->calls = SUITE_CALLS;
    if (calls != NULL &&
        (read_suite_number(calls, 1, &suite->calls) != 0 || suite->calls > SUITE_CALLS_MAX))
        return suite_fault(place, error, "\"calls\" must be a number from 1 to 100");
    suite->has_charge = charge != NULL;
    return charge == NULL ? 0 : gas_model_take(&suite->charge, charge, place->directory, error);
}

static int read_suite_json(struct suite *suite, const char *directory, struct error *error)
{
    struct buf text = {0};
    json_error_t fault;
    char path[PATH_MAX];
    int result;

    if (snprintf(path, sizeof path, "%s/suite.json", directory) >= (int)sizeof path)
        return error_set(error, ERROR_INPUT, "%s: the path is too long", directory);
    result = io_read_file(path, SUITE_FILE_MAX, &text, error);
    if (result == 0) {
        suite->json = json_value_read(text.data, text.length, JSON_REJECT_DUPLICATES, &fault);
        if (suite->json == NULL)
            result = error_set(error, ERROR_INPUT, "%s:%d: %s", path, fault.line, fault.text);
    }
    buf_free(&text);
    return result;
}

/* The directory of an installed suite of that name, or the name itself. */
static const char *find_directory(const char *name, char path[PATH_MAX])
{
    char relative[PATH_MAX];
    struct error ignored;

    if (strchr(name, '/') != NULL || access(name, F_OK) == 0 ||
        snprintf(relative, sizeof relative, "suites/%s", name) >= (int)sizeof relative ||
        locate_data(relative, path, &ignored) != 0)
        return name;
    return path;
}

int suite_read(struct suite *suite, const char *directory, struct error *error)
{
    char path[PATH_MAX];
    struct suite_place place = {.directory = find_directory(directory, path)};

    *suite = (struct suite){0};
    if (access(place.directory, F_OK) != 0)
        return error_set(error, ERROR_INPUT,
                         "no suite '%s'; give a directory with suite.json, or near or javascript",
                         directory);
    if (read_suite_json(suite, place.directory, error) != 0 ||
        read_head(suite, &place, error) != 0 || read_contracts(suite, &place, error) != 0)
        return -1;
    return read_operations(suite, &place, error);
}

void suite_free(struct suite *suite)
{
    free(suite->contracts);
    free(suite->operations);
    json_decref(suite->json);
    *suite = (struct suite){0};
}

size_t suite_select(struct suite *suite, const char *pattern)
{
    size_t kept = 0;

    for (size_t i = 0; i < suite->operation_count; i++)
        if (fnmatch(pattern, suite->operations[i].name, 0) == 0)
            suite->operations[kept++] = suite->operations[i];
    suite->operation_count = kept;
    return kept;
}
