/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a test of WebAssembly's specification, as wast2json of wabt writes it.
 * usage: wasm_spec FILE.json ...
 * Prints each command that came out otherwise, and "FILE: N passed, N failed" for each file.
 * Exit status: 0 all passed, 1 some did not, 2 usage or a file cannot be read.
 */
#include <inttypes.h>
#include <jansson.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "worker/wasm/compile/code.h"
#include "worker/wasm/run/instance.h"

enum {
    MOST_MODULES = 4096,
    MOST_NAMES = 1024,
    MOST_VALUES = 1024,
    FILE_LIMIT = 64 * 1024 * 1024,
    STACK_BYTES = 256 * 1024,
};

struct loaded {
    struct wasm_module *module;
    struct wasm_code *codes;
    struct wasm_instance *instance;
};

struct named {
    char name[256];
    struct wasm_instance *instance;
};

struct run {
    const char *directory;
    struct wasm_machine machine;
    struct loaded loaded[MOST_MODULES];
    unsigned loaded_count;
    struct wasm_instance *last;
    struct named modules[MOST_NAMES]; /* by $name */
    unsigned module_count;
    struct named registered[MOST_NAMES]; /* by what imports say */
    unsigned registered_count;
    struct wasm_table table;
    struct wasm_memory memory;
    uint64_t globals[4];
    unsigned passed, failed;
    uint64_t values[MOST_VALUES];
};

/* ---- the module "spectest" ---- */

static enum wasm_trap print_nothing(void *context, struct wasm_machine *machine,
                                    struct wasm_instance *caller, uint64_t *values)
{
    (void)context;
    (void)machine;
    (void)caller;
    (void)values;
    return WASM_TRAP_NONE;
}

static int resolve_print(const struct wasm_import *import, struct wasm_extern *given)
{
    static const struct {
        const char *name;
        const char *types;
    } prints[] = {{"print", ""},
                  {"print_i32", "\x7f"},
                  {"print_i64", "\x7e"},
                  {"print_f32", "\x7d"},
                  {"print_f64", "\x7c"},
                  {"print_i32_f32", "\x7f\x7d"},
                  {"print_f64_f64", "\x7c\x7c"}};
    static struct wasm_function_type types[sizeof prints / sizeof *prints];

    for (unsigned i = 0; i < sizeof prints / sizeof *prints; i++) {
        if (!wasm_bytes_are(import->name, prints[i].name))
            continue;
        types[i].parameters.data = (const uint8_t *)prints[i].types;
        types[i].parameters.length = (uint32_t)strlen(prints[i].types);
        types[i].results.data = types[i].parameters.data;
        given->kind = WASM_FUNCTION;
        given->function.call = print_nothing;
        given->type = &types[i];
        return 0;
    }
    return -1;
}

static int resolve_spectest(struct run *run, const struct wasm_import *import,
                            struct wasm_extern *given)
{
    static const char *const names[] = {"global_i32", "global_i64", "global_f32", "global_f64"};

    for (unsigned i = 0; i < 4; i++) {
        if (wasm_bytes_are(import->name, names[i])) {
            given->kind = WASM_GLOBAL;
            given->global = &run->globals[i];
            given->global_type = (uint8_t)(WASM_I32 - i);
            return 0;
        }
    }
    if (wasm_bytes_are(import->name, "table")) {
        given->kind = WASM_TABLE;
        given->table = &run->table;
        return 0;
    }
    if (wasm_bytes_are(import->name, "memory")) {
        given->kind = WASM_MEMORY;
        given->memory = &run->memory;
        return 0;
    }
    return resolve_print(import, given);
}

static int resolve(void *context, const struct wasm_module *module,
                   const struct wasm_import *import, struct wasm_extern *given, struct error *error)
{
    struct run *run = context;

    (void)module;
    if (wasm_bytes_are(import->module, "spectest") && resolve_spectest(run, import, given) == 0)
        return 0;
    for (unsigned i = run->registered_count; i > 0; i--)
        if (wasm_bytes_are(import->module, run->registered[i - 1].name) &&
            wasm_instance_export(run->registered[i - 1].instance, (const char *)import->name.data,
                                 import->name.length, given))
            return 0;
    return error_set(error, ERROR_INPUT, "unknown import");
}

static void open_run(struct run *run)
{
    const float f32 = 666.6f;
    const double f64 = 666.6;
    struct error error;

    if (wasm_machine_open(&run->machine, STACK_BYTES, &error) != 0 ||
        !wasm_memory_open(&run->memory, 1, 2))
        exit(2);
    run->memory.has_maximum = true;
    run->table = (struct wasm_table){.count = 10,
                                     .initial = 10,
                                     .maximum = 20,
                                     .has_maximum = true,
                                     .type = WASM_FUNCREF,
                                     .elements = calloc(20, sizeof(uint64_t))};
    run->globals[0] = run->globals[1] = 666;
    memcpy(&run->globals[2], &f32, sizeof f32);
    memcpy(&run->globals[3], &f64, sizeof f64);
}

static void close_run(struct run *run)
{
    for (unsigned i = 0; i < run->loaded_count; i++) {
        struct loaded *loaded = &run->loaded[i];

        wasm_instance_close(loaded->instance);
        if (loaded->codes != NULL)
            wasm_code_free_all(loaded->codes, loaded->module->function_count);
        wasm_module_free(loaded->module);
    }
    free(run->table.elements);
    wasm_memory_close(&run->memory);
    wasm_machine_close(&run->machine);
    free(run);
}

/* ---- modules ---- */

enum load_result { LOADED, REFUSED, UNLINKABLE, TRAPPED };

static enum load_result load_bytes(struct run *run, const struct buf *bytes, struct error *error,
                                   enum wasm_trap *trap)
{
    struct loaded *loaded = &run->loaded[run->loaded_count];
    struct wasm_instance_options options = {.resolve = resolve, .context = run};
    enum wasm_fault fault;

    if (run->loaded_count == MOST_MODULES)
        exit(2);
    loaded->module = wasm_module_decode((const uint8_t *)bytes->data, bytes->length,
                                        &wasm_no_limits, &fault, error);
    if (loaded->module == NULL)
        return REFUSED;
    run->loaded_count++;
    loaded->codes = wasm_compile(loaded->module, wasm_handlers(), &fault, error);
    if (loaded->codes == NULL)
        return REFUSED;
    options.module = loaded->module;
    options.codes = loaded->codes;
    loaded->instance = wasm_instance_open(&run->machine, &options, error);
    if (loaded->instance == NULL)
        return UNLINKABLE;
    wasm_machine_begin(&run->machine, INT64_MAX);
    *trap = wasm_instance_start(&run->machine, loaded->instance);
    if (*trap != WASM_TRAP_NONE)
        return TRAPPED;
    run->last = loaded->instance;
    return LOADED;
}

static enum load_result load_file(struct run *run, const char *name, struct error *error,
                                  enum wasm_trap *trap)
{
    struct buf path = {0};
    struct buf bytes = {0};
    enum load_result result;

    buf_printf(&path, "%s/%s", run->directory, name);
    if (io_read_file(buf_string(&path), FILE_LIMIT, &bytes, error) != 0) {
        fprintf(stderr, "%s\n", error->text);
        exit(2);
    }
    result = load_bytes(run, &bytes, error, trap);
    buf_free(&bytes);
    buf_free(&path);
    return result;
}

static void remember(struct named *list, unsigned *count, const char *name,
                     struct wasm_instance *instance)
{
    if (*count == MOST_NAMES)
        exit(2);
    snprintf(list[*count].name, sizeof list[*count].name, "%s", name);
    list[(*count)++].instance = instance;
}

static struct wasm_instance *module_named(struct run *run, const char *name)
{
    for (unsigned i = run->module_count; name != NULL && i > 0; i--)
        if (strcmp(run->modules[i - 1].name, name) == 0)
            return run->modules[i - 1].instance;
    return run->last;
}

/* ---- values ---- */

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text != NULL ? text : "";
}

static uint64_t value_of(const json_t *value)
{
    const char *text = text_of(value, "value");
    const char *type = text_of(value, "type");

    if (strcmp(type, "externref") == 0 || strcmp(type, "funcref") == 0)
        return strcmp(text, "null") == 0 ? 0 : strtoull(text, NULL, 10) + 1;
    return strtoull(text, NULL, 10);
}

static bool is_nan(uint64_t bits, const char *type, const char *which)
{
    const bool is_f32 = strcmp(type, "f32") == 0;
    const uint64_t quiet = is_f32 ? 0x7fc00000u : 0x7ff8000000000000u;
    const uint64_t sign = is_f32 ? 0x80000000u : 0x8000000000000000u;

    if (strcmp(which, "nan:canonical") == 0)
        return (bits & ~sign) == quiet;
    return (bits & quiet) == quiet;
}

static bool is_expected(uint64_t got, const json_t *expected)
{
    const char *text = text_of(expected, "value");

    if (strncmp(text, "nan:", 4) == 0)
        return is_nan(got, text_of(expected, "type"), text);
    if (json_object_get(expected, "value") == NULL)
        return got != 0; /* any reference */
    return got == value_of(expected);
}

/* ---- commands ---- */

static enum wasm_trap act(struct run *run, const json_t *action, uint32_t *result_count)
{
    struct wasm_instance *instance =
        module_named(run, json_string_value(json_object_get(action, "module")));
    const json_t *field = json_object_get(action, "field");
    const json_t *arguments = json_object_get(action, "args");
    struct wasm_extern given;

    if (instance == NULL || !wasm_instance_export(instance, json_string_value(field),
                                                  json_string_length(field), &given))
        return WASM_TRAP_HOST;
    *result_count = 1;
    if (given.kind == WASM_GLOBAL) {
        run->values[0] = *given.global;
        return WASM_TRAP_NONE;
    }
    for (size_t i = 0; i < json_array_size(arguments); i++)
        run->values[i] = value_of(json_array_get(arguments, i));
    *result_count =
        wasm_type_of_function(instance->module, given.function.function)->results.length;
    wasm_machine_begin(&run->machine, INT64_MAX);
    return wasm_call(&run->machine, instance, given.function.function, run->values);
}

static bool returns(struct run *run, const json_t *command)
{
    const json_t *expected = json_object_get(command, "expected");
    uint32_t count = 0;
    enum wasm_trap trap = act(run, json_object_get(command, "action"), &count);

    if (trap != WASM_TRAP_NONE) {
        printf("  %s\n", wasm_trap_words(trap));
        return false;
    }
    if (strcmp(text_of(command, "type"), "action") == 0)
        return true;
    if (count != json_array_size(expected))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_expected(run->values[i], json_array_get(expected, i))) {
            printf("  value %u is %" PRIu64 "\n", i, run->values[i]);
            return false;
        }
    }
    return true;
}

/* The specification's words, of which an engine's may be the beginning or the other way round. */
static bool same_words(const char *left, const char *right)
{
    return strncmp(left, right, strlen(left)) == 0 || strncmp(left, right, strlen(right)) == 0;
}

static bool traps(struct run *run, const json_t *command)
{
    uint32_t count = 0;
    enum wasm_trap trap = act(run, json_object_get(command, "action"), &count);

    if (trap != WASM_TRAP_NONE && same_words(wasm_trap_words(trap), text_of(command, "text")))
        return true;
    printf("  %s\n", wasm_trap_words(trap));
    return false;
}

static bool load_comes_to(struct run *run, const json_t *command, enum load_result wanted)
{
    struct wasm_instance *last = run->last;
    enum wasm_trap trap = WASM_TRAP_NONE;
    struct error error = {0};
    enum load_result result = load_file(run, text_of(command, "filename"), &error, &trap);
    const char *name = json_string_value(json_object_get(command, "name"));

    if (wanted != LOADED)
        run->last = last;
    else if (result == LOADED && name != NULL)
        remember(run->modules, &run->module_count, name, run->last);
    if (result == wanted)
        return true;
    printf("  %s %s\n", error.text, trap != WASM_TRAP_NONE ? wasm_trap_words(trap) : "");
    return false;
}

static bool run_command(struct run *run, const json_t *command)
{
    const char *type = text_of(command, "type");

    if (strcmp(type, "module") == 0)
        return load_comes_to(run, command, LOADED);
    if (strcmp(type, "assert_malformed") == 0 || strcmp(type, "assert_invalid") == 0)
        return load_comes_to(run, command, REFUSED);
    if (strcmp(type, "assert_unlinkable") == 0)
        return load_comes_to(run, command, UNLINKABLE);
    if (strcmp(type, "assert_uninstantiable") == 0)
        return load_comes_to(run, command, TRAPPED);
    if (strcmp(type, "assert_return") == 0 || strcmp(type, "action") == 0)
        return returns(run, command);
    if (strcmp(type, "assert_trap") == 0 || strcmp(type, "assert_exhaustion") == 0)
        return traps(run, command);
    if (strcmp(type, "register") == 0) {
        remember(run->registered, &run->registered_count, text_of(command, "as"),
                 module_named(run, json_string_value(json_object_get(command, "name"))));
        return true;
    }
    printf("  unknown command %s\n", type);
    return false;
}

static unsigned run_file(char *path)
{
    json_error_t wrong;
    json_t *root = json_load_file(path, JSON_ALLOW_NUL, &wrong);
    struct run *run = calloc(1, sizeof *run);
    char *copy = strdup(path);
    json_t *command;
    size_t index;
    unsigned failed;

    if (root == NULL || run == NULL || copy == NULL) {
        fprintf(stderr, "wasm_spec: %s: %s\n", path, wrong.text);
        exit(2);
    }
    run->directory = dirname(copy);
    open_run(run);
    json_array_foreach(json_object_get(root, "commands"), index, command)
    {
        /* gaspipe does not read the text format. */
        if (strcmp(text_of(command, "module_type"), "text") == 0)
            continue;
        if (run_command(run, command)) {
            run->passed++;
            continue;
        }
        run->failed++;
        printf("%s:%lld: %s: wanted: %s\n", path,
               (long long)json_integer_value(json_object_get(command, "line")),
               text_of(command, "type"), text_of(command, "text"));
    }
    printf("%s: %u passed, %u failed\n", path, run->passed, run->failed);
    failed = run->failed;
    close_run(run);
    free(copy);
    json_decref(root);
    return failed;
}

int main(int argc, char **argv)
{
    unsigned failed = 0;

    if (argc < 2) {
        fputs("usage: wasm_spec FILE.json ...\n", stderr);
        return 2;
    }
    for (int i = 1; i < argc; i++)
        failed += run_file(argv[i]);
    return failed != 0;
}
