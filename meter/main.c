/* SPDX-License-Identifier: Apache-2.0 */
#include <llvm-c/Analysis.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Support.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/io.h"
#include "base/log.h"
#include "base/option/option.h"
#include "meter/pass/module.h"
#include "meter/pass/placement.h"

/* ---- LLVM's code generator ---- */

/* Uses LLVM around the pass: reads, optimises and writes modules. */
struct backend {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMTargetMachineRef machine;
    LLVMTargetDataRef layout;
};

/* Sets the error and frees LLVM's message. */
static int backend_refuse(enum error_kind kind, const char *what, char *message,
                          struct error *error)
{
    if (message)
        message[strcspn(message, "\n")] = '\0';
    error_set(error, kind, "%s: %s", what, message ? message : "LLVM does not say why");
    LLVMDisposeMessage(message);
    return -1;
}

static void initialize_targets(void)
{
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAArch64AsmParser();
}

/* -fPIC and -fpie set a flag in the module. */
static LLVMRelocMode relocation_of(LLVMModuleRef module)
{
    return LLVMGetModuleFlag(module, "PIC Level", strlen("PIC Level")) ? LLVMRelocPIC
                                                                       : LLVMRelocStatic;
}

static bool is_supported(const char *triple)
{
    return strncmp(triple, "x86_64-", 7) == 0 || strncmp(triple, "aarch64-", 8) == 0;
}

/* "generic" is for functions whose attributes name no CPU. */
static int make_machine(struct backend *backend, const char *path, struct error *error)
{
    const char *triple = LLVMGetTarget(backend->module);
    LLVMTargetRef target;
    char *message = NULL;

    if (!is_supported(triple))
        return error_set(error, ERROR_INPUT,
                         "%s: made for '%s'; gaspipe-meter supports x86-64 and aarch64", path,
                         triple);
    if (LLVMGetTargetFromTriple(triple, &target, &message))
        return backend_refuse(ERROR_INPUT, path, message, error);
    backend->machine =
        LLVMCreateTargetMachine(target, triple, "generic", "", LLVMCodeGenLevelDefault,
                                relocation_of(backend->module), LLVMCodeModelDefault);
    backend->layout = LLVMCreateTargetDataLayout(backend->machine);
    return 0;
}

static int read_module(struct backend *backend, const char *path, struct error *error)
{
    LLVMMemoryBufferRef buffer;
    char *message = NULL;

    if (strcmp(path, "-") == 0 ? LLVMCreateMemoryBufferWithSTDIN(&buffer, &message)
                               : LLVMCreateMemoryBufferWithContentsOfFile(path, &buffer, &message))
        return backend_refuse(ERROR_INPUT, path, message, error);
    if (LLVMParseIRInContext(backend->context, buffer, &backend->module, &message))
        return backend_refuse(ERROR_INPUT, path, message, error);
    return 0;
}

/*
 * Adjusts LLVM's cost heuristics, so that it optimises metered code like the original.
 *
 * - A metered loop ends at the first of two trip counts, and LLVM by default finds the sum after
 * such a loop too expensive to precompute.
 *
 * - A 64-bit sum in a loop halves the width of its vectors.
 *
 * - A flush with its budget check costs as much as a call, so LLVM would stop inlining small
 * functions. Calls therefore cost nothing, and blocks may grow a little more.
 */
static void adjust_heuristics(void)
{
    static const char *const arguments[] = {
        "gaspipe-meter",         "-scev-cheap-expansion-budget=12", "-inline-call-penalty=0",
        "-inline-threshold=350", "-inlinehint-threshold=500",
    };

    LLVMParseCommandLineOptions(sizeof arguments / sizeof *arguments, arguments, "");
}

/* Call this once, before the first module. */
static void backend_prepare(void)
{
    initialize_targets();
    adjust_heuristics();
}

static void backend_close(struct backend *backend)
{
    if (backend->layout)
        LLVMDisposeTargetData(backend->layout);
    if (backend->machine)
        LLVMDisposeTargetMachine(backend->machine);
    if (backend->module)
        LLVMDisposeModule(backend->module);
    LLVMContextDispose(backend->context);
    *backend = (struct backend){0};
}

/* Reads bitcode or LLVM assembly from a file ("-": standard input). Returns 0, or -1 with
 * ERROR_INPUT. After success, call backend_close(). */
static int backend_open(struct backend *backend, const char *path, struct error *error)
{
    *backend = (struct backend){.context = LLVMContextCreate()};
    if (read_module(backend, path, error) || make_machine(backend, path, error)) {
        backend_close(backend);
        return -1;
    }
    return 0;
}

/* Runs a pipeline of LLVM's passes, e.g. "default<O2>". */
static int backend_optimize(struct backend *backend, const char *passes, struct error *error)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef failure;

    LLVMPassBuilderOptionsSetLoopVectorization(options, true);
    LLVMPassBuilderOptionsSetSLPVectorization(options, true);
    LLVMPassBuilderOptionsSetLoopInterleaving(options, true);
    LLVMPassBuilderOptionsSetLoopUnrolling(options, true);
    failure = LLVMRunPasses(backend->module, passes, backend->machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (failure) {
        char *words = LLVMGetErrorMessage(failure);

        error_set(error, ERROR_SYSTEM, "passes '%s': %s", passes, words);
        LLVMDisposeErrorMessage(words);
        return -1;
    }
    return 0;
}

/* Returns -1 with ERROR_SYSTEM if the module is invalid: then the pass has a bug. */
static int backend_verify(struct backend *backend, struct error *error)
{
    char *message = NULL;

    if (LLVMVerifyModule(backend->module, LLVMReturnStatusAction, &message))
        return backend_refuse(ERROR_SYSTEM, "the metered module is not sound", message, error);
    LLVMDisposeMessage(message);
    return 0;
}

static bool ends_with(const char *path, const char *end)
{
    size_t length = strlen(path), end_length = strlen(end);

    return length > end_length && strcmp(path + length - end_length, end) == 0;
}

/* Chooses the format by the path's suffix: .ll, .bc, .s; otherwise an object file. */
static int backend_write(struct backend *backend, const char *path, struct error *error)
{
    char *message = NULL;
    bool failed;

    if (ends_with(path, ".bc"))
        failed = LLVMWriteBitcodeToFile(backend->module, path) != 0;
    else if (ends_with(path, ".ll"))
        failed = LLVMPrintModuleToFile(backend->module, path, &message);
    else
        failed = LLVMTargetMachineEmitToFile(
            backend->machine, backend->module, path,
            ends_with(path, ".s") ? LLVMAssemblyFile : LLVMObjectFile, &message);
    return failed ? backend_refuse(ERROR_SYSTEM, path, message, error) : 0;
}

/* ---- the program ---- */

/* gaspipe-meter(1): adds a meter to an LLVM module. */

#define TABLE_MAX (1024 * 1024)

enum level { LEVEL_0, LEVEL_1, LEVEL_2, LEVEL_3, LEVEL_S, LEVEL_Z, LEVEL_NONE };

struct options {
    char **inputs;
    const char *output; /* a directory if it ends with a slash */
    enum level level;
    const char *table; /* NULL: the built-in one */
    bool naive;
    bool no_budgets;
    bool require_exact;
    bool profile;
    bool print_costs;
};

static const char *const levels[] = {
    [LEVEL_0] = "0", [LEVEL_1] = "1", [LEVEL_2] = "2",       [LEVEL_3] = "3",
    [LEVEL_S] = "s", [LEVEL_Z] = "z", [LEVEL_NONE] = "none", NULL,
};

/* LLVM's names of the pipelines. */
static const char *const passes[] = {
    [LEVEL_0] = "default<O0>", [LEVEL_1] = "default<O1>", [LEVEL_2] = "default<O2>",
    [LEVEL_3] = "default<O3>", [LEVEL_S] = "default<Os>", [LEVEL_Z] = "default<Oz>",
};

static const struct option_row rows[] = {
    {"output", "FILE",
     ".bc bitcode, .ll text, .s assembly, else an object file; DIRECTORY/: an object of each",
     .letter = 'o', OPTION_IS_TEXT(struct options, output)},
    {"optimise", NULL, "optimise after metering; none: do not (default: 2)", .letter = 'O',
     OPTION_IS_CHOICE(struct options, level, levels)},
    {"costs", "FILE", "read the cost table from FILE", OPTION_IS_TEXT(struct options, table)},
    {"print-costs", .help = "print the built-in cost table and exit",
     OPTION_IS_FLAG(struct options, print_costs)},
    {"require-exact",
     .help = "refuse what makes a count unsure: inline assembly, long double, uncounted functions",
     OPTION_IS_FLAG(struct options, require_exact)},
    {"no-budgets", .help = "count, but check no budgets",
     OPTION_IS_FLAG(struct options, no_budgets)},
    {"naive", .help = "call a function for each block, to check the fast way",
     OPTION_IS_FLAG(struct options, naive)},
    {"profile", .help = "let the program report its cost by function and line",
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

/* Meters the functions up to `last`; the pass added those after it. */
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

/* Rejects resolvers: they run before there is a count, and in static programs before there are
 * thread-local variables. */
static int refuse_resolver(const struct ir *ir, struct error *error)
{
    LLVMValueRef resolved = LLVMGetFirstGlobalIFunc(ir->module);
    size_t length;

    if (!resolved)
        return 0;
    return error_set(error, ERROR_INPUT,
                     "%s: %s is chosen by a resolver (ifunc, target_clones), which no meter can "
                     "count; choose it by a pointer to a function",
                     LLVMGetSourceFileName(ir->module, &length),
                     LLVMGetValueName2(resolved, &length));
}

/* Rejects a module whose count is unsure, with a line for each place. */
static int refuse_unsure(const struct ir *ir, struct error *error)
{
    struct buf places = {0};
    const char *place, *next;

    unsure_places_collect(ir, &places);
    if (buf_failed(&places))
        return error_memory(error, "the places without an exact count");
    if (places.length == 0)
        return 0;
    for (place = places.data; (next = place + strlen(place) + 1) < places.data + places.length;
         place = next)
        log_line("%s", place);
    error_set(error, ERROR_INPUT, "%s", place);
    buf_free(&places);
    return -1;
}

static int meter(const struct options *options, const struct ir *ir, struct error *error)
{
    struct bounded bounded = {0};
    struct pointer_set local_callees = {0};
    LLVMValueRef last;
    struct support support;
    struct buf notes = {0};

    coverage_notes_collect(ir, &notes);
    if (buf_failed(&notes))
        return error_memory(error, "the notes");
    coverage_notes_attach(ir, &notes);
    buf_free(&notes);
    attributes_prepare(ir);
    alignment_raise(ir);
    /* A profile needs each function's own units, and the naive way has no pending units to pass
     * on. */
    if (!options->naive && !options->profile) {
        bounded_split(&bounded, ir);
        local_callees_find(&local_callees, ir, &bounded);
    }
    last = LLVMGetLastFunction(ir->module);
    support_make(&support, ir, &bounded, &local_callees, !options->no_budgets && !options->naive,
                 options->profile);
    if (last)
        meter_functions(&support, last, options->naive);
    lookups_note(ir);
    bounded_free(&bounded);
    pointer_set_free(&local_callees);
    return 0;
}

/* LLVM would split coroutines, and answer __builtin_constant_p and __builtin_object_size, after
 * inlining, so differently at each level. Here they come out the same. */
static const char preparation[] =
    "coro-early,cgscc(coro-split),coro-cleanup,function(lower-constant-intrinsics)";

static int meter_and_write(const struct options *options, const struct cost_table *table,
                           struct backend *backend, const char *output, struct error *error)
{
    struct ir ir;

    ir_init(&ir, backend->module, backend->layout, table);
    if (refuse_resolver(&ir, error) || backend_optimize(backend, preparation, error))
        return -1;
    pointers_charge(&ir);
    if ((options->require_exact && refuse_unsure(&ir, error)) || meter(options, &ir, error) ||
        backend_verify(backend, error))
        return -1;
    if (options->level != LEVEL_NONE && backend_optimize(backend, passes[options->level], error))
        return -1;
    dead_stores_remove(&ir);
    banks_spread(&ir);
    return backend_write(backend, output, error);
}

static bool is_directory_name(const char *output)
{
    size_t length = strlen(output);

    return length > 0 && output[length - 1] == '/';
}

/* Makes the path of the module's object in the directory. */
static int object_path(const char *directory, const char *module, struct buf *path,
                       struct error *error)
{
    const char *slash = strrchr(module, '/'), *name = slash ? slash + 1 : module;
    const char *end = strrchr(name, '.');

    buf_printf(path, "%s%.*s.o", directory, (int)(end ? end - name : (ptrdiff_t)strlen(name)),
               name);
    return buf_failed(path) ? error_memory(error, "the name of an output") : 0;
}

static int meter_module(const struct options *options, const struct cost_table *table,
                        const char *input, struct error *error)
{
    const char *output = options->output;
    struct buf path = {0};
    struct backend backend;
    int result = -1;

    if (is_directory_name(output)) {
        if (object_path(output, input, &path, error))
            goto out;
        output = path.data;
    }
    if (backend_open(&backend, input, error))
        goto out;
    result = meter_and_write(options, table, &backend, output, error);
    backend_close(&backend);
out:
    buf_free(&path);
    return result;
}

/* Meters all modules in one process, because loading LLVM takes longer than a small module. */
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
    if (operands[1] != NULL && !is_directory_name(options->output))
        return error_set(error, ERROR_USAGE, "several modules need an output directory: -o %s/",
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
