/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/run_compiled.h"

#include <errno.h>
#include <jansson.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json/json_value.h"
#include "base/log.h"
#include "base/output/output_file.h"
#include "supervisor/runtime/contract_file.h"

/* ---- the directory ---- */

static int set_directory(struct compiled_cache *cache, const struct buf *identity,
                         struct error *error)
{
    const char *caches = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const size_t size = sizeof cache->directory;
    int length = -1;

    if (caches != NULL && caches[0] == '/')
        length = snprintf(cache->directory, size, "%s/gaspipe/%.*s", caches, (int)identity->length,
                          identity->data);
    else if (home != NULL && home[0] == '/')
        length = snprintf(cache->directory, size, "%s/.cache/gaspipe/%.*s", home,
                          (int)identity->length, identity->data);
    else
        return error_set(error, ERROR_SYSTEM,
                         "no directory for compiled contracts: set HOME or XDG_CACHE_HOME");
    return (size_t)length < size ? 0 : error_system(error, ENAMETOOLONG, "%s", cache->directory);
}

static int make_directories(char *path, struct error *error)
{
    for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash != NULL)
            *slash = '\0';
        if (mkdir(path, S_IRWXU) != 0 && errno != EEXIST)
            return error_system(error, errno, "cannot make %s", path);
        if (slash == NULL)
            return 0;
        *slash = '/';
    }
}

/* Only the user may write machine code there. */
static int check_owner(const char *path, struct error *error)
{
    struct stat status;

    if (lstat(path, &status) != 0)
        return error_system(error, errno, "cannot read %s", path);
    if (S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
        (status.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return 0;
    return error_set(error, ERROR_SYSTEM,
                     "%s: compiled contracts need a directory that only its owner, who runs "
                     "gaspipe, can write to",
                     path);
}

int compiled_cache_open(struct compiled_cache *cache, const struct confinement *confinement,
                        struct error *error)
{
    struct buf identity = {0};
    int result = module_compiler_find(&cache->compiler, confinement, error);

    if (result == 0)
        result = module_compiler_identity(&cache->compiler, &identity, error);
    if (result == 0)
        result = set_directory(cache, &identity, error);
    buf_free(&identity);
    if (result != 0 || make_directories(cache->directory, error) != 0)
        return -1;
    return check_owner(cache->directory, error);
}

/* ---- a contract ---- */

/* Appends the module in a bundle; nothing if the bundle has none. */
static int take_module(struct buf *module, const struct buf *bundle, struct error *error)
{
    json_t *json = json_value_read(bundle->data, bundle->length, JSON_ALLOW_NUL, NULL);
    const char *format = json_string_value(json_object_get(json, "moduleFormat"));
    const json_t *source = json_object_get(json, "source");
    const char *text = json_string_value(source);
    size_t length = json_string_length(source);
    int result = 0;

    if (text != NULL && format != NULL && strcmp(format, "gaspipeWasm") == 0) {
        if (buf_reserve(module, length) != 0)
            result = error_memory(error, "a module");
        else if (EVP_DecodeBlock((unsigned char *)module->data, (const unsigned char *)text,
                                 (int)length) < 0)
            result = error_set(error, ERROR_INPUT, "its module is not in base64");
        else
            module->length = length / 4 * 3;
        for (; result == 0 && length > 0 && text[length - 1] == '='; length--)
            module->length--; /* the padding */
    }
    json_decref(json);
    return result;
}

static int compile_to(const struct compiled_cache *cache, int module, const char *path,
                      struct error *error)
{
    struct output_file output;
    int result = output_file_open(&output, path, "compiled code", error);

    if (result != 0)
        return -1;
    result = module_compiler_run(&cache->compiler, module, output.fd, error);
    if (result == 0)
        result = output_file_finish(&output, error);
    if (result != 0)
        output_file_discard(&output);
    return result;
}

static int compile_module(const struct compiled_cache *cache, const struct buf *module,
                          const char *path, struct error *error)
{
    const int fd = memfd_create("module", MFD_CLOEXEC);
    int result;

    if (fd < 0 || io_write_all(fd, module->data, module->length) != 0 ||
        lseek(fd, 0, SEEK_SET) != 0)
        result = error_system(error, errno, "cannot copy a module");
    else
        result = compile_to(cache, fd, path, error);
    if (fd >= 0)
        (void)close(fd);
    return result;
}

/* Compiles the contract unless it is there, or is no WebAssembly. -1 with ERROR_INPUT if that is
 * impossible, so that it is interpreted; or with ERROR_SYSTEM. */
static int compiled_cache_provide(const struct compiled_cache *cache, const char *bundle_id,
                                  const struct buf *bundle, struct error *error)
{
    struct buf path = {0}, module = {0};
    int result = 0;

    buf_printf(&path, "%s/%s.so", cache->directory, bundle_id);
    if (buf_string(&path) == NULL)
        result = error_memory(error, "a path");
    else if (access(path.data, R_OK) != 0)
        result = take_module(&module, bundle, error);
    if (result == 0 && module.length > 0)
        result = compile_module(cache, &module, path.data, error);
    buf_free(&path);
    buf_free(&module);
    return result;
}

/* ---- the vats ---- */

/* Continues without what cannot be compiled. */
static int provide(const struct compiled_cache *cache, const char *vat, const char *bundle_id,
                   const struct buf *bundle, struct error *error)
{
    if (compiled_cache_provide(cache, bundle_id, bundle, error) == 0)
        return 0;
    if (error->kind != ERROR_INPUT)
        return -1;
    log_line("vat %s: %s; its contract is interpreted", vat, error->text);
    return 0;
}

static int provide_vat(const struct compiled_cache *cache, struct store *store,
                       const struct kernel_vat *vat, struct error *error)
{
    struct buf bundle = {0};
    bool found = false;
    int result = store_bundle_get(store, vat->bundle_id, &bundle, &found, error);

    if (result == 0 && found)
        result = provide(cache, vat->name, vat->bundle_id, &bundle, error);
    buf_free(&bundle);
    return result;
}

/* The item is NAME, a zero and FILE by now. */
static int provide_upgrade(const struct compiled_cache *cache, const char *item,
                           struct error *error)
{
    struct contract_file contract = {0};
    int result = contract_file_read(&contract, item + strlen(item) + 1, error);

    if (result == 0)
        result = provide(cache, item, contract.id, &contract.bundle, error);
    buf_free(&contract.bundle);
    return result;
}

int run_compiled_provide(const struct compiled_cache *cache, const struct run_options *options,
                         struct store *store, struct kernel *kernel, struct error *error)
{
    struct kernel_vat vat;
    int64_t id = 0;
    bool found, lives;
    int result;

    for (size_t i = 0; i < options->upgrades.count; i++)
        if (provide_upgrade(cache, options->upgrades.items[i], error) != 0)
            return -1;
    for (;;) {
        if (kernel_vat_next(kernel, id, &id, &found, error) != 0)
            return -1;
        if (!found)
            return 0;
        if (kernel_vat_get(kernel, id, &vat, &lives, error) != 0)
            return -1;
        if (!lives)
            continue;
        result = provide_vat(cache, store, &vat, error);
        kernel_vat_free(&vat);
        if (result != 0)
            return -1;
    }
}
