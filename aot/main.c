/* SPDX-License-Identifier: Apache-2.0 */
/* gaspipe-wasm-compiler: a module of WebAssembly on stdin, its machine code on stdout. `gaspipe
 * compile` starts it in the sandbox, where it opens no file. */
#include <errno.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aot/emitter.h"
#include "aot/object.h"
#include "base/io.h"
#include "base/log.h"
#include "worker/wasm/run/machine.h"

static const char usage[] =
    "usage: gaspipe-wasm-compiler < MODULE.wasm > MODULE.so\n"
    "\n"
    "Compiles a module of WebAssembly to machine code for gaspipe-worker-wasm. gaspipe compile\n"
    "starts it with limits of time and memory.\n"
    "\n"
    "  --version  print the version and exit\n"
    "  --help     print this and exit\n"
    "\n"
    "Exit status: 0 success, 1 the module cannot be compiled, 2 usage.\n";

static void name_compiler(char *name, size_t size)
{
    unsigned major, minor, patch;

    LLVMGetVersion(&major, &minor, &patch);
    snprintf(name, size, "gaspipe " GASPIPE_VERSION ", LLVM %u.%u.%u", major, minor, patch);
}

static int read_module(struct buf *bytes, struct error *error)
{
    enum { PART = 1 << 16 };
    ssize_t length;

    for (;;) {
        if (buf_reserve(bytes, PART) != 0)
            return error_memory(error, "a module");
        length = read(STDIN_FILENO, bytes->data + bytes->length, PART);
        if (length == 0)
            return 0;
        if (length > 0)
            bytes->length += (size_t)length;
        else if (errno != EINTR)
            return error_system(error, errno, "cannot read the module");
    }
}

static int compile_module(struct buf *image, const struct buf *bytes, struct wasm_module *module,
                          const struct wasm_code *codes, struct error *error)
{
    struct compiled_header header = {.magic = COMPILED_MAGIC,
                                     .version = COMPILED_VERSION,
                                     .function_count = module->function_count};
    const char *refusal = aot_refusal(module);
    struct aot_emitter emitter;
    LLVMMemoryBufferRef object;
    int result = -1;

    if (refusal != NULL)
        return error_set(error, ERROR_INPUT, "%s", refusal);
    SHA256((const uint8_t *)bytes->data, bytes->length, header.hash);
    name_compiler(header.compiler, sizeof header.compiler);
    aot_emit_module(&emitter, module, codes);
    object = aot_compile_object(emitter.llvm, error);
    if (object != NULL) {
        result =
            aot_link(image, LLVMGetBufferStart(object), LLVMGetBufferSize(object), &header, error);
        LLVMDisposeMemoryBuffer(object);
    }
    aot_free_emitter(&emitter);
    return result;
}

static int compile_bytes(struct buf *image, const struct buf *bytes, struct error *error)
{
    struct wasm_limits limits = wasm_no_limits;
    struct wasm_code *codes = NULL;
    struct wasm_module *module;
    enum wasm_fault fault;
    int result = -1;

    module =
        wasm_module_decode((const uint8_t *)bytes->data, bytes->length, &limits, &fault, error);
    if (module == NULL)
        return -1;
    codes = wasm_compile(module, wasm_handlers(), &fault, error);
    if (codes != NULL) {
        result = compile_module(image, bytes, module, codes, error);
        wasm_code_free_all(codes, module->function_count);
    }
    wasm_module_free(module);
    return result;
}

static int compile_streams(struct error *error)
{
    struct buf bytes = {0}, image = {0};
    int result = read_module(&bytes, error);

    if (result == 0)
        result = compile_bytes(&image, &bytes, error);
    if (result == 0 && io_write_all(STDOUT_FILENO, image.data, image.length) != 0)
        result = error_system(error, errno, "cannot write the compiled code");
    buf_free(&bytes);
    buf_free(&image);
    return result;
}

int main(int argc, char **argv)
{
    enum { EXIT_USAGE = 2 };
    struct error error;
    char name[64];

    log_name("gaspipe-wasm-compiler");
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        name_compiler(name, sizeof name);
        puts(name);
        return EXIT_SUCCESS;
    }
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return EXIT_SUCCESS;
    }
    if (argc > 1) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    if (compile_streams(&error) == 0)
        return EXIT_SUCCESS;
    log_line("%s", error.text);
    return EXIT_FAILURE;
}
