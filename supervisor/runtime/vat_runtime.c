/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/runtime/vat_runtime.h"

#include <stdint.h>
#include <string.h>

#include "base/embed.h"
#include "base/io.h"
#include "supervisor/process/guest.h"

EMBED(plain_runtime, "runtime/plain.js");

struct iovec plain_runtime(void)
{
    return (struct iovec){
        .iov_base = (char *)plain_runtime_begin,
        .iov_len = (uintptr_t)plain_runtime_end - (uintptr_t)plain_runtime_begin,
    };
}

enum { BUNDLE_SIZE_MAX = 32 << 20 };

/* The text of "source" in an object that ends with the bundle; no span if it has none. */
static struct scan_span find_bundle_source(struct scan_span bundle)
{
    struct scan_span key, value, source = {0};
    struct scan_cursor cursor;
    enum scan_step step;

    if (!scan_open(bundle, '{', &cursor))
        return source;
    while ((step = scan_member(&cursor, &key, &value)) == SCAN_FOUND)
        if (scan_is(key, "source"))
            source = scan_string(value);
    return step == SCAN_END && scan_at_end(&cursor) ? source : (struct scan_span){0};
}

/*
 * The source of a {moduleFormat, source} bundle, as a call of the function that it is. Each start
 * does this to 1.7 MB with an escape in every line, at which a tree of values takes 50 ms.
 */
static int make_program(const char *path, struct buf *bundle, struct buf *program,
                        struct error *error)
{
    struct scan_span source;

    if (buf_reserve(bundle, SCAN_PADDING) != 0)
        return error_memory(error, "SwingSet's runtime");
    memset(bundle->data + bundle->length, 0, SCAN_PADDING);
    source = find_bundle_source((struct scan_span){bundle->data, bundle->length});
    if (source.at == NULL)
        return error_set(error, ERROR_SYSTEM, "%s holds no bundle of {moduleFormat, source}", path);
    buf_append_byte(program, '(');
    scan_unescape(source, program);
    buf_append_string(program, "\n)()");
    return buf_failed(program) ? error_memory(error, "SwingSet's runtime") : 0;
}

static int load_program(const char *name, struct buf *program, struct error *error)
{
    char path[PATH_MAX];
    struct buf bundle = {0};
    int result = -1;

    if (program->length > 0)
        return 0;
    if (locate(name, path, error) == 0 && io_read_file(path, BUNDLE_SIZE_MAX, &bundle, error) == 0)
        result = make_program(path, &bundle, program, error);
    buf_free(&bundle);
    return result;
}

static int choose_swingset(struct vat_runtimes *runtimes, struct vat_runtime *runtime,
                           struct error *error)
{
    if (load_program("swingset-lockdown.bundle", &runtimes->lockdown, error) != 0 ||
        load_program("swingset-supervisor.bundle", &runtimes->supervisor, error) != 0)
        return -1;
    *runtime = (struct vat_runtime){
        .kind = VAT_RUNTIME_LIVESLOTS,
        .programs =
            {
                {runtimes->lockdown.data, runtimes->lockdown.length},
                {runtimes->supervisor.data, runtimes->supervisor.length},
            },
        .program_count = 2,
        /* As SwingSet's vat loader writes it for a vat that asks for neither. */
        .options = "{\"enableDisavow\":false,\"relaxDurabilityRules\":false}",
        .console_answer = "[\"ok\"]",
    };
    return 0;
}

static void choose_plain(struct vat_runtime *runtime)
{
    *runtime = (struct vat_runtime){
        .kind = VAT_RUNTIME_PLAIN,
        .programs = {plain_runtime()},
        .program_count = 1,
        .options = "{}",
        .console_answer = "[\"ok\",null]",
    };
}

static void choose_contract(struct vat_runtime *runtime, enum vat_runtime_kind kind)
{
    *runtime = (struct vat_runtime){
        .kind = kind,
        .options = "{}",
        .console_answer = "[\"ok\",null]",
    };
}

enum launcher_program vat_runtime_program(const struct vat_runtime *runtime)
{
    switch (runtime->kind) {
    case VAT_RUNTIME_WASM:
        return LAUNCHER_WASM;
    case VAT_RUNTIME_NATIVE:
        return LAUNCHER_NATIVE_CODE;
    default:
        return LAUNCHER_JAVASCRIPT;
    }
}

int vat_runtime_choose(struct vat_runtimes *runtimes, struct scan_span bundle,
                       struct vat_runtime *runtime, struct error *error)
{
    struct scan_span format = scan_string(scan_get(bundle, "moduleFormat"));

    if (scan_is(format, "gaspipePlain")) {
        choose_plain(runtime);
        return 0;
    }
    if (scan_is(format, "gaspipeWasm")) {
        choose_contract(runtime, VAT_RUNTIME_WASM);
        return 0;
    }
    if (scan_is(format, "gaspipeNative")) {
        choose_contract(runtime, VAT_RUNTIME_NATIVE);
        return 0;
    }
    if (scan_is(format, "endoZipBase64") || scan_is(format, "nestedEvaluate") ||
        scan_is(format, "getExport"))
        return choose_swingset(runtimes, runtime, error);
    if (format.at == NULL)
        return error_set(error, ERROR_INPUT, "the bundle has no moduleFormat");
    return error_set(error, ERROR_INPUT, "no runtime takes a bundle of \"%.*s\"",
                     (int)(format.length < 64 ? format.length : 64), format.at);
}

int vat_runtimes_set(struct vat_runtimes *runtimes, const char *name, struct buf *lockdown,
                     struct buf *supervisor, struct error *error)
{
    vat_runtimes_free(runtimes);
    if (make_program(name, lockdown, &runtimes->lockdown, error) == 0 &&
        make_program(name, supervisor, &runtimes->supervisor, error) == 0)
        return 0;
    error->kind = error->kind == ERROR_SYSTEM ? ERROR_INPUT : error->kind;
    return -1;
}

void vat_runtimes_free(struct vat_runtimes *runtimes)
{
    buf_free(&runtimes->lockdown);
    buf_free(&runtimes->supervisor);
}
