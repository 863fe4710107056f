/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json/json_value.h"
#include "base/log.h"
#include "base/output/output_file.h"
#include "supervisor/commands.h"
#include "supervisor/convert/swingset_config.h"
#include "supervisor/process/child_process.h"

struct convert_options {
    const char *output, *modules;
};

static const struct option_row rows[] = {
    {"output", "DIR", "write the files into DIR, which is created if absent (required)",
     OPTION_IS_TEXT(struct convert_options, output), .letter = 'o'},
    {"modules", "DIR",
     "look for packages and bundle-source in the node_modules directory DIR first (default: in "
     "those above CONFIG.json)",
     OPTION_IS_TEXT(struct convert_options, modules)},
};

const struct option_table convert_options_table = {
    .program = "gaspipe",
    .command = "convert",
    .usage = "usage: gaspipe convert [options] CONFIG.json -o DIR [ARGUMENT ...]\n"
             "\n"
             "Reads a SwingSet configuration and writes what gaspipe run takes: DIR/gaspipe.json "
             "with options, the bundles, and DIR/bootstrap.jsonl, whose line sends bootstrap(vats, "
             "devices). ARGUMENTs become the bootstrap vat's parameters.argv. Sources are bundled "
             "by bundle-source of npm's @endo/bundle-source.\n",
    .ending = "Exit status: 0 success, 2 usage, 3 the configuration or a source is bad, 4 a system "
              "error.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
};

/* ---- packages and sources ---- */

/* Finds what a configuration names, as SwingSet does, and bundles sources with the program
 * `bundle-source` of npm's @endo/bundle-source. */
struct bundler {
    char *directory;     /* the configuration's, absolute, owned */
    const char *modules; /* a node_modules directory that comes first; NULL: none */
};

static int bundler_open(struct bundler *bundler, const char *config, const char *modules,
                        struct error *error)
{
    char *file = realpath(config, NULL), *slash;

    *bundler = (struct bundler){.modules = modules};
    if (file == NULL)
        return error_set(error, ERROR_INPUT, "%s: %s", config, strerror(errno));
    slash = strrchr(file, '/');
    slash[slash == file] = '\0'; /* the root directory keeps its slash */
    bundler->directory = file;
    if (modules == NULL || access(modules, F_OK) == 0)
        return 0;
    return error_set(error, ERROR_USAGE, "--modules %s: %s", modules, strerror(errno));
}

static void bundler_close(struct bundler *bundler)
{
    free(bundler->directory);
    bundler->directory = NULL;
}

/* Replaces `path` by `name` in this directory, `length` bytes long. Returns true if it exists. */
static bool try_file(struct buf *path, const char *directory, size_t length, const char *between,
                     const char *name)
{
    buf_clear(path);
    buf_printf(path, "%.*s%s%s", (int)length, directory, between, name);
    return buf_string(path) != NULL && access(path->data, F_OK) == 0;
}

/* Looks in --modules, and in node_modules of the configuration's directory and those above. */
static bool find_module(const struct bundler *bundler, const char *name, struct buf *path)
{
    size_t length = strlen(bundler->directory);

    if (bundler->modules != NULL &&
        try_file(path, bundler->modules, strlen(bundler->modules), "/", name))
        return true;
    for (;;) {
        if (try_file(path, bundler->directory, length, "/node_modules/", name))
            return true;
        if (length == 0)
            return false;
        while (length > 0 && bundler->directory[length - 1] != '/')
            length--;
        if (length > 0)
            length--;
    }
}

/*
 * Replaces `path` by the file of a sourceSpec or bundleSpec: relative to the configuration if it
 * begins with "." or "/", else first in the node_modules directories above it. ERROR_INPUT if no
 * file has this name.
 */
static int bundler_resolve(const struct bundler *bundler, const char *spec, struct buf *path,
                           struct error *error)
{
    bool found = false;

    if (spec[0] == '/')
        found = try_file(path, "", 0, "", spec);
    else
        found = (spec[0] != '.' && find_module(bundler, spec, path)) ||
                try_file(path, bundler->directory, strlen(bundler->directory), "/", spec);
    if (buf_failed(path))
        return error_memory(error, spec);
    if (found)
        return 0;
    if (spec[0] == '.' || spec[0] == '/')
        return error_set(error, ERROR_INPUT, "%s does not exist", path->data);
    return error_set(error, ERROR_INPUT,
                     "%s is neither a file nor in node_modules of %s or above: npm install its "
                     "package there, or give --modules DIR",
                     spec, bundler->directory);
}

static int find_program(const struct bundler *bundler, struct buf *program, struct error *error)
{
    if (find_module(bundler, ".bin/bundle-source", program))
        return 0;
    if (buf_failed(program))
        return error_memory(error, "a program");
    return error_set(
        error, ERROR_INPUT,
        "bundle-source, which makes bundles of sources, is in no node_modules of %s or "
        "above: npm install @endo/bundle-source there, or give --modules DIR",
        bundler->directory);
}

static int run_bundler(char *program, const char *source, const char *format, int output,
                       struct error *error)
{
    char option[] = "--format", name[] = "bundle-source";
    char *arguments[] = {name, (char *)source, format != NULL ? option : NULL, (char *)format,
                         NULL};
    const int fds[] = {-1, output, STDERR_FILENO};
    const struct child_launch launch = {.path = program,
                                        .arguments = arguments,
                                        .environment = environ,
                                        .fds = fds,
                                        .fd_count = 3,
                                        .in_same_group = true};
    int status;
    pid_t pid;

    if (child_process_spawn(&launch, &pid, error) != 0 ||
        child_process_reap(pid, &status, error) != 0)
        return -1;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return error_set(error, ERROR_INPUT, "%s cannot bundle %s (see above)", program, source);
}

/* Writes the bundle of the source to the file `output`. `format` may be NULL. */
static int bundler_bundle(const struct bundler *bundler, const char *source, const char *format,
                          const char *output, struct error *error)
{
    struct buf program = {0};
    struct output_file file;
    int result = find_program(bundler, &program, error);

    if (result == 0)
        result = output_file_open(&file, output, "the bundle", error);
    if (result == 0) {
        result = run_bundler(program.data, source, format, file.fd, error);
        if (result == 0)
            result = output_file_finish(&file, error);
        output_file_discard(&file);
    }
    buf_free(&program);
    return result;
}

/* A conversion in progress. */
struct conversion {
    const struct convert_options *options;
    struct swingset_config config;
    struct bundler bundler;
    json_t *written; /* to gaspipe.json */
};

static int make_output_path(const struct conversion *conversion, const char *name, struct buf *path,
                            struct error *error)
{
    buf_clear(path);
    buf_printf(path, "%s/%s", conversion->options->output, name);
    return buf_string(path) != NULL ? 0 : error_memory(error, name);
}

/* ---- bundles ---- */

static int write_text(const char *path, const char *text, size_t length, struct error *error)
{
    struct buf out = {0};
    int result;

    buf_append(&out, text, length);
    result = buf_failed(&out) ? error_memory(error, path)
                              : output_file_write_whole(path, "the file", &out, error);
    buf_free(&out);
    return result;
}

static int write_json(const char *path, const json_t *value, size_t flags, struct error *error)
{
    char *text = json_dumps(value, flags);
    struct buf out = {0};
    int result;

    if (text != NULL)
        buf_printf(&out, "%s\n", text);
    free(text);
    result = buf_string(&out) == NULL ? error_memory(error, path)
                                      : output_file_write_whole(path, "the file", &out, error);
    buf_free(&out);
    return result;
}

static int copy_bundle(const char *from, const char *to, struct error *error)
{
    enum { BUNDLE_MOST = 256 << 20 };
    struct buf content = {0};
    json_t *bundle = NULL;
    int result = io_read_file(from, BUNDLE_MOST, &content, error);

    if (result == 0) {
        bundle = json_value_read(content.data, content.length, 0, NULL);
        if (json_string_value(json_object_get(bundle, "moduleFormat")) == NULL)
            result =
                error_set(error, ERROR_INPUT,
                          "%s is not a bundle: bundle-source writes {\"moduleFormat\":...}", from);
    }
    json_decref(bundle);
    if (result == 0)
        result = write_text(to, content.data, content.length, error);
    buf_free(&content);
    return result;
}

/* Writes the bundle that `value` describes to `path`. */
static int write_bundle(struct conversion *conversion, enum bundle_mode mode, const json_t *value,
                        const char *path, struct error *error)
{
    const char *format =
        json_string_value(json_object_get(conversion->config.root, "bundleFormat"));
    struct buf source = {0};
    int result;

    if (mode == BUNDLE_INLINE)
        return write_json(path, value, JSON_COMPACT, error);
    result = bundler_resolve(&conversion->bundler, json_string_value(value), &source, error);
    if (result == 0)
        result = mode == BUNDLE_FILE
                     ? copy_bundle(source.data, path, error)
                     : bundler_bundle(&conversion->bundler, source.data, format, path, error);
    buf_free(&source);
    return result;
}

/* Sets written.OPTION.NAME to the file of the bundle, and writes it unless it is a named one. */
static int add_bundle(struct conversion *conversion, const char *option, const char *name,
                      const json_t *description, struct error *error)
{
    json_t *files = json_object_get(conversion->written, option);
    const json_t *value = NULL;
    struct buf file = {0}, path = {0};
    enum bundle_mode mode;
    int result = swingset_config_mode(description, &mode, &value, error);

    if (result == 0) {
        const bool is_named = mode == BUNDLE_NAMED;

        buf_printf(&file, "%s-%s.bundle", is_named ? "bundle" : option,
                   is_named ? json_string_value(value) : name);
        result = buf_string(&file) == NULL ? error_memory(error, name)
                                           : make_output_path(conversion, file.data, &path, error);
        if (result == 0 && !is_named)
            result = write_bundle(conversion, mode, value, path.data, error);
    }
    if (result == 0 && json_object_set_new(files, name, json_string(file.data)) != 0)
        result = error_memory(error, name);
    buf_free(&file);
    buf_free(&path);
    return result;
}

static int add_group(struct conversion *conversion, const char *group, const char *option,
                     json_t *descriptions, struct error *error)
{
    const char *name;
    json_t *description;

    if (json_object_size(descriptions) == 0)
        return 0;
    if (json_object_set_new(conversion->written, option, json_object()) != 0)
        return error_memory(error, group);
    json_object_foreach(descriptions, name, description)
    {
        if (add_bundle(conversion, option, name, description, error) != 0)
            return error_prefix(error, "%s: %s.%s", conversion->config.path, group, name);
    }
    return 0;
}

/* ---- the command ---- */

/* NULL: out of memory, or an argument is not UTF-8. */
static json_t *make_argv(char **arguments)
{
    json_t *argv = json_array();

    for (; argv != NULL && *arguments != NULL; arguments++)
        if (json_array_append_new(argv, json_string(*arguments)) != 0) {
            json_decref(argv);
            argv = NULL;
        }
    return argv;
}

static int write_lines(const struct conversion *conversion, struct error *error)
{
    json_t *line = swingset_config_bootstrap(&conversion->config);
    struct buf path = {0};
    int result = line == NULL ? error_memory(error, "bootstrap.jsonl")
                              : make_output_path(conversion, "bootstrap.jsonl", &path, error);

    if (result == 0)
        result = write_json(path.data, line, JSON_COMPACT, error);
    json_decref(line);
    buf_free(&path);
    return result;
}

static int write_files(struct conversion *conversion, struct error *error)
{
    struct buf path = {0};
    int result = 0;

    if (mkdir(conversion->options->output, 0777) != 0 && errno != EEXIST)
        return error_system(error, errno, "cannot create %s", conversion->options->output);
    if (add_group(conversion, "vats", "vat", conversion->config.vats, error) != 0 ||
        add_group(conversion, "bundles", "bundle",
                  json_object_get(conversion->config.root, "bundles"), error) != 0 ||
        write_lines(conversion, error) != 0)
        return -1;
    result = make_output_path(conversion, "gaspipe.json", &path, error);
    if (result == 0)
        result = write_json(path.data, conversion->written, JSON_INDENT(2), error);
    buf_free(&path);
    return result;
}

static int print_next(const struct conversion *conversion, struct error *error)
{
    const char *output = conversion->options->output;
    struct buf text = {0};
    int result;

    if (json_object_get(conversion->config.vats, "comms") == NULL)
        log_line("%s: comms and vattp, which SwingSet adds, are left out: gaspipe has no remote "
                 "machines",
                 conversion->config.path);
    buf_printf(&text, "%zu vats; gaspipe run --config %s/gaspipe.json %s/bootstrap.jsonl\n",
               json_object_size(conversion->config.vats), output, output);
    result = buf_string(&text) != NULL ? option_print(text.data, error)
                                       : error_memory(error, "the output");
    buf_free(&text);
    return result;
}

static int convert(const struct convert_options *options, char **operands, struct error *error)
{
    struct conversion conversion = {.options = options};
    json_t *argv = make_argv(operands + 1);
    int result = bundler_open(&conversion.bundler, operands[0], options->modules, error);

    if (result == 0 && argv == NULL)
        result = error_set(error, ERROR_USAGE, "an ARGUMENT is not UTF-8");
    if (result == 0)
        result = swingset_config_read(&conversion.config, operands[0], error);
    if (result == 0) {
        conversion.written = swingset_config_options(&conversion.config, argv, error);
        result = conversion.written != NULL ? write_files(&conversion, error) : -1;
    }
    if (result == 0)
        result = print_next(&conversion, error);
    json_decref(argv);
    json_decref(conversion.written);
    swingset_config_free(&conversion.config);
    bundler_close(&conversion.bundler);
    return result;
}

int convert_command(int argc, char **argv)
{
    struct convert_options options = {0};
    char **operands;
    struct error error;
    enum option_result result =
        option_parse(&convert_options_table, argc, argv, &options, &operands, &error);

    if (result == OPTION_TAKEN && operands[0] == NULL)
        result = error_set(&error, ERROR_USAGE, "give one CONFIG.json");
    else if (result == OPTION_TAKEN && options.output == NULL)
        result = error_set(&error, ERROR_USAGE, "give a directory with -o DIR");
    if (result != OPTION_TAKEN)
        return option_end(&convert_options_table, result, &error);
    if (convert(&options, operands, &error) == 0)
        return 0;
    log_line("%s", error.text);
    return (int)error.kind;
}
