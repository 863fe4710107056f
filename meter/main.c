/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "base/option/option.h"
#include "meter/backend.h"
#include "meter/pass/alignment.h"
#include "meter/pass/attributes.h"
#include "meter/pass/banks.h"
#include "meter/pass/carry/unread.h"
#include "meter/pass/placement.h"
#include "meter/pass/survey.h"

/* gaspipe-meter(1): puts a meter into a module of LLVM. */

#define TABLE_MAX (1024 * 1024)

enum level { LEVEL_0, LEVEL_1, LEVEL_2, LEVEL_3, LEVEL_S, LEVEL_Z, LEVEL_NONE };

struct options {
    char **inputs;
    const char *output; /* with a slash at its end, a folder */
    enum level level;
    const char *table; /* NULL: the built-in one */
    bool naive;
    bool no_budgets;
    bool strict;
    bool profile;
    bool print_costs;
};

static const char *const levels[] = {
    [LEVEL_0] = "0", [LEVEL_1] = "1", [LEVEL_2] = "2",       [LEVEL_3] = "3",
    [LEVEL_S] = "s", [LEVEL_Z] = "z", [LEVEL_NONE] = "none", NULL,
};

/* LLVM's names of them. */
static const char *const passes[] = {
    [LEVEL_0] = "default<O0>", [LEVEL_1] = "default<O1>", [LEVEL_2] = "default<O2>",
    [LEVEL_3] = "default<O3>", [LEVEL_S] = "default<Os>", [LEVEL_Z] = "default<Oz>",
};

static const struct option_row rows[] = {
    {"output", "FILE",
     ".bc bitcode, .ll text, .s assembly, else an object file; FOLDER/: an object of each",
     .letter = 'o', OPTION_IS_TEXT(struct options, output)},
    {"optimise", NULL, "how much, after metering (default: 2); none: not at all", .letter = 'O',
     OPTION_IS_CHOICE(struct options, level, levels)},
    {"costs", "FILE", "another cost table", OPTION_IS_TEXT(struct options, table)},
    {"print-costs", .help = "print the built-in cost table and exit",
     OPTION_IS_FLAG(struct options, print_costs)},
    {"strict",
     .help = "refuse what cannot be counted: inline assembly, long double, unknown intrinsics",
     OPTION_IS_FLAG(struct options, strict)},
    {"no-budgets", .help = "count only", OPTION_IS_FLAG(struct options, no_budgets)},
    {"naive", .help = "a call for each block, to check the other way of counting",
     OPTION_IS_FLAG(struct options, naive)},
    {"profile", .help = "the program can tell its cost by function and line",
     OPTION_IS_FLAG(struct options, profile)},
};

static const struct option_table command_line = {
    .program = "gaspipe-meter",
    .usage = "usage: gaspipe-meter [options] -o OUTPUT MODULE.bc|MODULE.ll|-...\n"
             "\n"
             "Adds to each block of a module what counts it; see gaspipe-meter(1).\n",
    .ending = "Exit status: 0 written, 2 usage, 3 the module or table is wrong or refused, 4 it "
              "could not be written.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
};

static int load_table(const char *path, struct cost_table *table, struct error *error)
{
    struct buf text = {0};
    int result;

    if (!path)
        return cost_table_parse(table, "the built-in cost table", cost_table_builtin,
                                cost_table_builtin_length, error);
    if (io_read_file(path, TABLE_MAX, &text, error))
        return -1;
    result = cost_table_parse(table, path, text.data ? text.data : "", text.length, error);
    buf_free(&text);
    return result;
}

/* The functions that the module came with, not those that are added. */
static void meter_functions(const struct support *support, LLVMValueRef last, bool naive)
{
    for (LLVMValueRef function = LLVMGetFirstFunction(support->ir->module); function;
         function = LLVMGetNextFunction(function)) {
        if (ir_has_body(function)) {
            support_mark_function(support, function);
            if (pointer_set_find(&support->bounded->outers, function, NULL))
                placement_outer(support, function);
            else
                (naive ? placement_naive : placement_fast)(support, function);
        }
        if (function == last)
            break;
    }
}

static int meter(const struct options *options, const char *input, const struct ir *ir,
                 struct error *error)
{
    struct bounded bounded = {0};
    struct pointer_set heirs = {0};
    LLVMValueRef last;
    struct support support;
    struct buf notes = {0};
    const char *trouble;

    survey(ir, &notes);
    if (buf_failed(&notes))
        return error_memory(error, "the notes");
    trouble = survey_next(&notes, 'X', notes.data);
    if (options->strict && trouble) {
        error_set(error, ERROR_INPUT, "%s: %s cannot be counted (--strict)", input, trouble + 2);
        buf_free(&notes);
        return -1;
    }
    survey_attach(ir, &notes);
    buf_free(&notes);
    attributes_prepare(ir);
    alignment_raise(ir);
    /* A profile has each function by itself, and the naive way has nothing to carry. */
    if (!options->naive && !options->profile) {
        bounded_split(&bounded, ir);
        heirs_find(&heirs, ir, &bounded.functions);
    }
    last = LLVMGetLastFunction(ir->module);
    support_make(&support, ir, &bounded, &heirs, !options->no_budgets && !options->naive,
                 options->profile);
    if (last)
        meter_functions(&support, last, options->naive);
    bounded_free(&bounded);
    pointer_set_free(&heirs);
    return 0;
}

static int meter_and_write(const struct options *options, const struct cost_table *table,
                           struct backend *backend, const char *input, const char *output,
                           struct error *error)
{
    struct ir ir;

    ir_init(&ir, backend->module, backend->layout, table);
    if (meter(options, input, &ir, error) || backend_verify(backend, error))
        return -1;
    if (options->level != LEVEL_NONE && backend_optimize(backend, passes[options->level], error))
        return -1;
    unread_remove(&ir);
    banks_spread(&ir);
    return backend_write(backend, output, error);
}

static bool is_folder(const char *output)
{
    size_t length = strlen(output);

    return length > 0 && output[length - 1] == '/';
}

/* In the folder, under the module's name. */
static int object_path(const char *folder, const char *module, struct buf *path,
                       struct error *error)
{
    const char *slash = strrchr(module, '/'), *name = slash ? slash + 1 : module;
    const char *end = strrchr(name, '.');

    buf_printf(path, "%s%.*s.o", folder, (int)(end ? end - name : (ptrdiff_t)strlen(name)), name);
    return buf_failed(path) ? error_memory(error, "the name of an output") : 0;
}

static int meter_module(const struct options *options, const struct cost_table *table,
                        const char *input, struct error *error)
{
    const char *output = options->output;
    struct buf path = {0};
    struct backend backend;
    int result = -1;

    if (is_folder(output)) {
        if (object_path(output, input, &path, error))
            goto out;
        output = path.data;
    }
    if (backend_open(&backend, input, error))
        goto out;
    result = meter_and_write(options, table, &backend, input, output, error);
    backend_close(&backend);
out:
    buf_free(&path);
    return result;
}

/* All of them in one process: loading LLVM takes longer than a small module does. */
static int main_run(const struct options *options, const struct cost_table *table,
                    struct error *error)
{
    for (char **input = options->inputs; *input; input++)
        if (meter_module(options, table, *input, error))
            return -1;
    return 0;
}

static enum option_result take_command_line(struct options *options, int argc, char **argv,
                                            struct error *error)
{
    char **operands;
    enum option_result result = option_parse(&command_line, argc, argv, options, &operands, error);

    if (result != OPTION_TAKEN || options->print_costs)
        return result;
    if (operands[0] == NULL)
        return error_set(error, ERROR_USAGE, "give a module, or - for stdin");
    if (options->output == NULL)
        return error_set(error, ERROR_USAGE, "-o OUTPUT is missing");
    if (operands[1] != NULL && !is_folder(options->output))
        return error_set(error, ERROR_USAGE, "give several modules a folder: -o %s/",
                         options->output);
    options->inputs = operands;
    return OPTION_TAKEN;
}

int main(int argc, char **argv)
{
    struct options options = {.level = LEVEL_2};
    struct cost_table table;
    struct error error;
    enum option_result result;
    int status;

    log_name("gaspipe-meter");
    result = take_command_line(&options, argc, argv, &error);
    if (result != OPTION_TAKEN)
        return option_end(&command_line, result, &error);
    if (options.print_costs)
        return fwrite(cost_table_builtin, 1, cost_table_builtin_length, stdout) ==
                           cost_table_builtin_length &&
                       fflush(stdout) == 0
                   ? EXIT_SUCCESS
                   : ERROR_SYSTEM;
    if (load_table(options.table, &table, &error))
        return option_end(&command_line, OPTION_FAILED, &error);
    backend_prepare();
    status = main_run(&options, &table, &error) ? option_end(&command_line, OPTION_FAILED, &error)
                                                : EXIT_SUCCESS;
    cost_table_free(&table);
    return status;
}
