/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/common_options.h"
#include "supervisor/estimate/plan.h"
#include "supervisor/fleet/submit/submission.h"

/* A suite whose contracts are objects. */
struct stored_suite {
    struct suite suite;
    json_t *files;     /* of a job: the contracts; owned */
    json_t *contracts; /* of suite.json: their names there; owned */
};

static int put_contracts(struct submission *submission, struct stored_suite *stored,
                         struct error *error)
{
    for (size_t i = 0; i < stored->suite.contract_count; i++) {
        const struct suite_contract *contract = &stored->suite.contracts[i];
        char name[32];
        int64_t size;

        snprintf(name, sizeof name, "contract-%zu", i);
        if (submission_put_file(submission, stored->files, contract->path, name, &size, error) != 0)
            return -1;
        if (json_object_set_new(stored->contracts, contract->name, json_string(name)) != 0)
            return error_memory(error, "a suite");
    }
    return 0;
}

/* suite.json with this operation alone. */
static char *write_suite(const struct stored_suite *stored, const char *operation)
{
    json_t *json = json_copy(stored->suite.json), *alone = json_array(), *item;
    char *text = NULL;
    size_t index;

    json_array_foreach(json_object_get(stored->suite.json, "operations"), index, item)
    {
        if (strcmp(json_string_value(json_object_get(item, "name")), operation) == 0)
            (void)json_array_append(alone, item); /* else it is missing below */
    }
    if (json_array_size(alone) == 1 && json_object_set(json, "operations", alone) == 0 &&
        json_object_set(json, "contracts", stored->contracts) == 0)
        text = json_dumps(json, JSON_COMPACT);
    json_decref(alone);
    json_decref(json);
    return text;
}

/* How many calls the operation takes. */
static int count_calls(const struct suite *suite, const struct suite_operation *operation,
                       int64_t *calls, struct error *error)
{
    struct suite alone = *suite;
    struct plan plan = {0};
    int result;

    alone.operations = (struct suite_operation *)(uintptr_t)operation;
    alone.operation_count = 1;
    result = plan_make(&plan, &alone, error);
    *calls = (int64_t)(plan.count * (suite->calls + 1));
    plan_free(&plan);
    return result;
}

static int submit_operation(struct submission *submission, const struct stored_suite *stored,
                            size_t place, struct error *error)
{
    const struct suite_operation *operation = &stored->suite.operations[place];
    struct fleet_run_job entry = {.name = (char *)(uintptr_t)operation->name,
                                  .first = (int64_t)place,
                                  .end = (int64_t)place + 1};
    json_t *files = json_copy(stored->files);
    char *text = write_suite(stored, operation->name);
    int result = files != NULL && text != NULL ? 0 : error_memory(error, "a job");

    if (result == 0)
        result = count_calls(&stored->suite, operation, &entry.amount, error);
    if (result == 0)
        result = submission_put_bytes(submission, files, text, strlen(text), "suite.json", error);
    if (result == 0)
        result = submission_put(submission,
                                json_pack("{s:s,s:s,s:O}", "suite", stored->suite.name, "name",
                                          operation->name, "files", files),
                                &entry, error);
    free(text);
    json_decref(files);
    return result;
}

static int read_suite(struct submission *submission, struct stored_suite *stored,
                      struct error *error)
{
    const struct fleet_options *options = submission->options;

    if (suite_read(&stored->suite, options->replay.sources[0], error) != 0)
        return -1;
    if (options->only != NULL && suite_select(&stored->suite, options->only) == 0)
        return error_set(error, ERROR_USAGE, "no operation of suite %s matches '%s'",
                         stored->suite.name, options->only);
    return put_contracts(submission, stored, error);
}

int submit_suite(struct submission *submission, struct error *error)
{
    const struct fleet_options *options = submission->options;
    struct stored_suite stored = {.files = json_array(), .contracts = json_object()};
    int result =
        stored.files != NULL && stored.contracts != NULL ? 0 : error_memory(error, "a suite");

    submission_add_argument(submission, "--counter=%s",
                            common_options_counter_name(options->replay.counters));
    if (options->near_protocol > 0)
        submission_add_argument(submission, "--near-protocol=%" PRIu64, options->near_protocol);
    if (result == 0)
        result = read_suite(submission, &stored, error);
    for (size_t i = 0; result == 0 && i < stored.suite.operation_count; i++)
        result = submit_operation(submission, &stored, i, error);
    suite_free(&stored.suite);
    json_decref(stored.files);
    json_decref(stored.contracts);
    return result;
}
