/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/estimate/estimate.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/output/output_file.h"
#include "base/visible.h"
#include "supervisor/estimate/cost.h"
#include "supervisor/estimate/estimate_options.h"
#include "supervisor/estimate/measure.h"
#include "supervisor/estimate/output/estimate_compare.h"
#include "supervisor/estimate/output/estimate_page.h"
#include "supervisor/estimate/output/estimate_print.h"
#include "supervisor/estimate/output/record.h"
#include "supervisor/estimate/plan.h"
#include "supervisor/estimate/suite.h"

/* The exit status for costs that moved. */
enum { MOVED = 6 };

/* NEAR's: a million gas are eight instructions (docs/gas-near.json). */
static const struct gas_model near_model = {.instruction = 125000};

/* All that a whole command holds. */
struct work {
    struct estimate_options options;
    struct suite suite;
    struct plan plan;
    struct cost_models models;
    struct gas_model charge;
    struct estimate estimate;
    json_t *before; /* the records of --compare */
    size_t moved;
};

static int read_inputs(struct work *work, struct error *error)
{
    const struct estimate_options *options = &work->options;

    if (suite_read(&work->suite, options->folder, error) != 0)
        return -1;
    if (options->only != NULL && suite_select(&work->suite, options->only) == 0)
        return error_set(error, ERROR_USAGE, "no operation of suite %s matches '%s'",
                         work->suite.name, options->only);
    work->models.gas = near_model;
    if (options->gas != NULL && gas_model_read(&work->models.gas, options->gas, error) != 0)
        return -1;
    if (options->charge != NULL && gas_model_read(&work->charge, options->charge, error) != 0)
        return -1;
    if (options->charge != NULL)
        work->models.charge = &work->charge;
    else if (work->suite.has_charge)
        work->models.charge = &work->suite.charge;
    if (options->compare == NULL)
        return 0;
    work->before = estimate_record_read(options->compare, work->suite.name, error);
    if (work->before == NULL)
        return -1;
    return json_array_size(work->before) > 0
               ? 0
               : error_set(error, ERROR_INPUT, "%s has no costs of suite %s", options->compare,
                           work->suite.name);
}

static int print(const struct buf *out, struct error *error)
{
    if (visible_write(STDOUT_FILENO, out->data, out->length) != 0)
        return error_system(error, errno, "cannot write to stdout");
    return 0;
}

static int print_deliveries(const struct work *work, struct error *error)
{
    struct buf out = {0};
    int result;

    plan_write(&work->plan, &work->suite, &out);
    result = buf_failed(&out) ? error_memory(error, "the deliveries") : print(&out, error);
    buf_free(&out);
    return result;
}

static int make_calls(const struct work *work, struct buf *lines, struct error *error)
{
    struct buf deliveries = {0};
    int result;

    plan_write(&work->plan, &work->suite, &deliveries);
    result = buf_failed(&deliveries)
                 ? error_memory(error, "the deliveries")
                 : measure_deliveries(&work->options, &work->suite, &deliveries, lines, error);
    buf_free(&deliveries);
    return result;
}

/* Calls, or a file of what earlier ones took. */
static int count(struct work *work, struct error *error)
{
    const struct estimate_options *options = &work->options;
    struct buf lines = {0};
    int result;

    if (options->from != NULL)
        result = io_read_file(options->from, SIZE_MAX, &lines, error);
    else
        result = make_calls(work, &lines, error);
    if (result == 0)
        result = plan_take(&work->plan, &work->suite, &lines, error);
    if (result == 0 && options->from == NULL)
        result = measure_fingerprint(options, work->estimate.fingerprint, error);
    if (result == 0 && options->counts != NULL)
        result = output_file_write_whole(options->counts, "the counts", &lines, error);
    buf_free(&lines);
    return result;
}

static int report(struct work *work, struct error *error)
{
    const struct estimate_options *options = &work->options;
    struct buf out = {0};
    int result;

    (options->json ? estimate_print_json : estimate_print_table)(&out, &work->estimate);
    if (work->before != NULL)
        work->moved = estimate_compare(
            &work->estimate, json_array_get(work->before, json_array_size(work->before) - 1),
            options->only, options->allow, options->json, &out);
    result = buf_failed(&out) ? error_memory(error, "the costs") : print(&out, error);
    buf_free(&out);
    return result;
}

static int keep(const struct work *work, struct error *error)
{
    const struct estimate_options *options = &work->options;
    struct buf out = {0};
    int result = 0;

    if (options->save != NULL) {
        estimate_record_write(&out, &work->estimate);
        result = output_file_write_whole(options->save, "the costs", &out, error);
    }
    buf_free(&out);
    if (result == 0 && options->history != NULL)
        result = estimate_record_append(options->history, &work->estimate, error);
    if (result == 0 && options->html != NULL)
        result = estimate_page_write(options->html, options->history, &work->estimate, error);
    return result;
}

static int carry_out(struct work *work, struct error *error)
{
    if (read_inputs(work, error) != 0 || plan_make(&work->plan, &work->suite, error) != 0)
        return -1;
    if (work->options.deliveries)
        return print_deliveries(work, error);
    if (count(work, error) != 0)
        return -1;
    work->estimate.suite = work->suite.name;
    work->estimate.label = work->options.label != NULL ? work->options.label : "";
    if (costs_estimate(&work->estimate.costs, &work->suite, &work->plan, &work->models, error) != 0)
        return -1;
    return report(work, error) != 0 ? -1 : keep(work, error);
}

static void work_free(struct work *work)
{
    json_decref(work->before);
    costs_free(&work->estimate.costs);
    plan_free(&work->plan);
    suite_free(&work->suite);
}

int estimate_command(int argc, char **argv)
{
    struct work work = {.moved = 0};
    struct error error = {0};
    enum option_result parsed = estimate_options_parse(&work.options, argc, argv, &error);
    int status = 0;

    if (parsed != OPTION_TAKEN) {
        status = option_end(&estimate_options_table, parsed, &error);
    } else if (carry_out(&work, &error) != 0) {
        log_line("%s", error.text);
        status = (int)error.kind;
    } else if (work.moved > 0) {
        log_line("%zu %s since %s by more than %g %%", work.moved,
                 work.moved == 1 ? "cost moved" : "costs moved", work.options.compare,
                 work.options.allow);
        status = MOVED;
    }
    work_free(&work);
    return status;
}
