/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "meter/backend.h"
#include "meter/pass/alignment.h"
#include "meter/pass/attributes.h"
#include "meter/pass/banks.h"
#include "meter/pass/placement.h"
#include "meter/pass/survey.h"

/* gaspipe-meter(1): puts a meter into a module of LLVM. */

#define TABLE_MAX (1024 * 1024)

struct options {
    const char *input;
    const char *output;
    const char *passes;
    const char *table; /* NULL: the built-in one */
    bool naive;
    bool budgets;
    bool strict;
    bool profile;
};

static const char usage_text[] =
    "usage: gaspipe-meter [options] -o OUTPUT MODULE.bc|MODULE.ll|-\n"
    "Adds to each block of a module what counts it; see gaspipe-meter(1).\n"
    "  -o, --output FILE   .bc bitcode, .ll text, .s assembly, else an object file\n"
    "  -O LEVEL            optimise after it: 0, 1, 2 (default), 3, s or z; none: not at all\n"
    "      --costs FILE    another cost table; --print-costs prints the built-in one\n"
    "      --strict        refuse what cannot be counted: inline assembly, long double, unknown\n"
    "                      intrinsics\n"
    "      --no-budgets    count only\n"
    "      --naive         a call for each block, to check the other way of counting\n"
    "      --profile       the program can tell its cost by function and line\n"
    "      --version, --help\n";

static int complain(const struct error *error)
{
    fprintf(stderr, "gaspipe-meter: %s\n", error->text);
    return (int)error->kind;
}

static int usage(void)
{
    fputs(usage_text, stderr);
    return ERROR_USAGE;
}

/* NULL: LEVEL is none of LLVM's. */
static const char *passes_of(const char *level)
{
    static const struct {
        const char *level;
        const char *passes;
    } levels[] = {
        {"0", "default<O0>"}, {"1", "default<O1>"}, {"2", "default<O2>"}, {"3", "default<O3>"},
        {"s", "default<Os>"}, {"z", "default<Oz>"}, {"none", ""},
    };

    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (strcmp(level, levels[i].level) == 0)
            return levels[i].passes;
    return NULL;
}

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
            (naive ? placement_naive : placement_fast)(support, function);
        }
        if (function == last)
            break;
    }
}

static int meter(const struct options *options, const struct ir *ir, struct error *error)
{
    LLVMValueRef last = LLVMGetLastFunction(ir->module);
    struct support support;
    struct buf notes = {0};
    const char *trouble;

    survey(ir, &notes);
    if (buf_failed(&notes))
        return error_memory(error, "the notes");
    trouble = survey_next(&notes, 'X', notes.data);
    if (options->strict && trouble) {
        error_set(error, ERROR_INPUT, "%s: %s cannot be counted (--strict)", options->input,
                  trouble + 2);
        buf_free(&notes);
        return -1;
    }
    survey_attach(ir, &notes);
    buf_free(&notes);
    attributes_prepare(ir);
    alignment_raise(ir);
    support_make(&support, ir, options->budgets && !options->naive, options->profile);
    if (last)
        meter_functions(&support, last, options->naive);
    return 0;
}

static int run(const struct options *options, struct backend *backend, struct error *error)
{
    struct cost_table table;
    struct ir ir;
    int result = -1;

    if (load_table(options->table, &table, error))
        return -1;
    ir_init(&ir, backend->module, backend->layout, &table);
    if (meter(options, &ir, error) || backend_verify(backend, error))
        goto out;
    if (*options->passes && backend_optimize(backend, options->passes, error))
        goto out;
    banks_spread(&ir);
    result = backend_write(backend, options->output, error);
out:
    cost_table_free(&table);
    return result;
}

enum {
    OPTION_COSTS = 256,
    OPTION_STRICT,
    OPTION_NO_BUDGETS,
    OPTION_NAIVE,
    OPTION_PROFILE,
    OPTION_PRINT
};

static const struct option long_options[] = {
    {"output", required_argument, NULL, 'o'},
    {"costs", required_argument, NULL, OPTION_COSTS},
    {"strict", no_argument, NULL, OPTION_STRICT},
    {"no-budgets", no_argument, NULL, OPTION_NO_BUDGETS},
    {"naive", no_argument, NULL, OPTION_NAIVE},
    {"profile", no_argument, NULL, OPTION_PROFILE},
    {"print-costs", no_argument, NULL, OPTION_PRINT},
    {"version", no_argument, NULL, 'V'},
    {"help", no_argument, NULL, 'h'},
    {0},
};

/* 0 to go on; otherwise the program ends with *status. */
static int take_option(struct options *options, int option, int *status)
{
    *status = 0;
    switch (option) {
    case 'o':
        options->output = optarg;
        return 0;
    case 'O':
        options->passes = passes_of(optarg);
        *status = options->passes ? 0 : usage();
        return options->passes ? 0 : -1;
    case OPTION_COSTS:
        options->table = optarg;
        return 0;
    case OPTION_STRICT:
        options->strict = true;
        return 0;
    case OPTION_NO_BUDGETS:
        options->budgets = false;
        return 0;
    case OPTION_NAIVE:
        options->naive = true;
        return 0;
    case OPTION_PROFILE:
        options->profile = true;
        return 0;
    case OPTION_PRINT:
        fwrite(cost_table_builtin, 1, cost_table_builtin_length, stdout);
        return -1;
    case 'V':
        puts("gaspipe-meter " GASPIPE_VERSION);
        return -1;
    case 'h':
        fputs(usage_text, stdout);
        return -1;
    default:
        *status = usage();
        return -1;
    }
}

int main(int argc, char **argv)
{
    struct options options = {.passes = passes_of("2"), .budgets = true};
    struct backend backend;
    struct error error;
    int option, status;

    while ((option = getopt_long(argc, argv, "o:O:h", long_options, NULL)) != -1)
        if (take_option(&options, option, &status))
            return status;
    if (optind + 1 != argc || !options.output)
        return usage();
    options.input = argv[optind];
    if (backend_open(&backend, options.input, &error))
        return complain(&error);
    status = run(&options, &backend, &error) ? complain(&error) : 0;
    backend_close(&backend);
    return status;
}
