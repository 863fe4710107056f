/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/output/output_file.h"
#include "supervisor/commands.h"
#include "supervisor/common_options.h"
#include "supervisor/compile/module_compiler.h"

struct compile_options {
    const char *output;
    uint64_t seconds;
    int64_t memory;
    enum confinement_level sandbox;
};

enum { SECONDS_MOST = 86400 };

static const struct option_row rows[] = {
    {"output", "FILE", "write the machine code to FILE (required)",
     OPTION_IS_TEXT(struct compile_options, output), .letter = 'o'},
    {"max-seconds", "N", "stop after N seconds of CPU time (default: 60)",
     OPTION_IS_NUMBER(struct compile_options, seconds, 1, SECONDS_MOST)},
    {"max-memory", "BYTES", "limit the compiler's memory (default: 2G)",
     OPTION_IS_BYTES(struct compile_options, memory)},
    {COMMON_OPTION_SANDBOX(struct compile_options, sandbox)},
};

const struct option_table compile_options_table = {
    .program = "gaspipe",
    .command = "compile",
    .usage = "usage: gaspipe compile [options] MODULE.wasm -o FILE.so\n"
             "\n"
             "Compiles a module of WebAssembly to machine code with exact gas, which "
             "gaspipe-worker-wasm runs in place of interpreting the module (gaspipe run --wasm "
             "compiled compiles its vats' modules by itself). The same module gives the same bytes "
             "each time. Requires gaspipe-wasm-compiler, which make metered builds.\n",
    .ending = "Exit status: 0 success, 2 usage, 3 the module cannot be compiled or exceeds a "
              "limit, 4 a system error, such as a missing compiler.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
};

static int open_module(const char *path, int *fd, struct error *error)
{
    enum { MODULE_MOST = 64 << 20 };

    if (io_open_file(AT_FDCWD, path, 0, MODULE_MOST, fd, error) != 0)
        return -1;
    return *fd >= 0 ? 0 : error_set(error, ERROR_INPUT, "%s: %s", path, strerror(ENOENT));
}

static int compile_to(const struct compile_options *options, const char *path,
                      const struct module_compiler *compiler, struct error *error)
{
    struct output_file output;
    int module = -1, result;

    if (open_module(path, &module, error) != 0)
        return -1;
    result = output_file_check(options->output, "the machine code", path, error);
    if (result == 0)
        result = output_file_open(&output, options->output, "the machine code", error);
    if (result == 0) {
        result = module_compiler_run(compiler, module, output.fd, error);
        if (result == 0)
            result = output_file_finish(&output, error);
        else if (error->kind == ERROR_INPUT)
            error_prefix(error, "%s", path);
        if (result != 0)
            output_file_discard(&output);
    }
    (void)close(module); /* it was only read */
    return result;
}

static int compile_file(const struct compile_options *options, const char *path,
                        struct error *error)
{
    struct confinement confinement = {0};
    struct module_compiler compiler;
    int result = confinement_open(&confinement, options->sandbox, error);

    if (result == 0)
        result = module_compiler_find(&compiler, &confinement, error);
    if (result == 0) {
        compiler.seconds = options->seconds;
        compiler.memory = options->memory;
        result = compile_to(options, path, &compiler, error);
    }
    confinement_close(&confinement);
    return result;
}

int compile_command(int argc, char **argv)
{
    struct compile_options options = {.seconds = MODULE_COMPILER_SECONDS,
                                      .memory = MODULE_COMPILER_MEMORY};
    char **operands;
    struct error error;
    enum option_result result =
        option_parse(&compile_options_table, argc, argv, &options, &operands, &error);

    if (result == OPTION_TAKEN && (operands[0] == NULL || operands[1] != NULL))
        result = error_set(&error, ERROR_USAGE, "give one MODULE.wasm");
    else if (result == OPTION_TAKEN && options.output == NULL)
        result = error_set(&error, ERROR_USAGE, "give the output's name with -o FILE");
    if (result != OPTION_TAKEN)
        return option_end(&compile_options_table, result, &error);
    if (compile_file(&options, operands[0], &error) == 0)
        return 0;
    log_line("%s", error.text);
    return (int)error.kind;
}
