/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/fingerprint.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"

#define HASH_SIZE 32
#define READ_SIZE 16384

/* Fetched once, by whichever thread is first: that takes longer than hashing a line. */
static EVP_MD *sha256;

static void fetch_sha256(void)
{
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
}

static bool fingerprint_begin(EVP_MD_CTX *context)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    return pthread_once(&once, fetch_sha256) == 0 && context != NULL && sha256 != NULL &&
           EVP_DigestInit_ex2(context, sha256, NULL) == 1;
}

static bool fingerprint_finish(EVP_MD_CTX *context, char hex[FINGERPRINT_HEX_SIZE])
{
    unsigned char hash[HASH_SIZE];

    if (EVP_DigestFinal_ex(context, hash, NULL) != 1)
        return false;
    hex_write(hex, hash, HASH_SIZE);
    return true;
}

/* False with errno, which stays 0 when the hash itself failed. */
static bool hash_descriptor(EVP_MD_CTX *context, int fd, char hex[FINGERPRINT_HEX_SIZE])
{
    unsigned char bytes[READ_SIZE];
    ssize_t length;

    if (!fingerprint_begin(context))
        return false;
    while ((length = read(fd, bytes, sizeof bytes)) != 0) {
        if (length < 0 && errno != EINTR)
            return false;
        if (length > 0 && EVP_DigestUpdate(context, bytes, (size_t)length) != 1)
            return false;
    }
    return fingerprint_finish(context, hex);
}

int fingerprint_hash(const char *path, char hex[FINGERPRINT_HEX_SIZE], struct error *error)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int fd = open(path, O_RDONLY | O_CLOEXEC), cause;
    bool done;

    if (fd >= 0)
        errno = 0;
    done = context != NULL && fd >= 0 && hash_descriptor(context, fd, hex);
    cause = errno;

    if (fd >= 0)
        close(fd);
    EVP_MD_CTX_free(context);
    return done ? 0 : error_system(error, cause, "cannot take the hash of %s", path);
}

int fingerprint_hash_parts(const struct iovec *parts, int count, char hex[FINGERPRINT_HEX_SIZE],
                           struct error *error)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool done = fingerprint_begin(context);

    for (int i = 0; done && i < count; i++)
        done = EVP_DigestUpdate(context, parts[i].iov_base, parts[i].iov_len) == 1;
    done = done && fingerprint_finish(context, hex);
    EVP_MD_CTX_free(context);
    return done ? 0 : error_memory(error, "a hash");
}

/* With an empty hash; NULL without memory. */
static struct fingerprint_file *add_unhashed_file(struct fingerprint *fingerprint, const char *path,
                                                  struct error *error)
{
    struct fingerprint_file *files =
        reallocarray(fingerprint->files, fingerprint->count + 1, sizeof *files);
    struct fingerprint_file *file;

    if (files == NULL)
        goto failed;
    fingerprint->files = files;
    file = &files[fingerprint->count];
    *file = (struct fingerprint_file){.path = strdup(path)};
    if (file->path == NULL)
        goto failed;
    fingerprint->count++;
    return file;
failed:
    error_memory(error, "the fingerprint");
    return NULL;
}

static int add_hashed_file(struct fingerprint *fingerprint, const char *path, struct error *error)
{
    struct fingerprint_file *file = add_unhashed_file(fingerprint, path, error);

    return file != NULL ? fingerprint_hash(path, file->hash, error) : -1;
}

/* A file that the program has executed. One that is gone was probably made by the program itself,
 * in memory or under a random name, and is left out. */
static int add_loaded_file(struct fingerprint *fingerprint, const char *path, struct error *error)
{
    if (access(path, F_OK) < 0 && errno == ENOENT)
        return add_unhashed_file(fingerprint, path, error) != NULL ? 0 : -1;
    return add_hashed_file(fingerprint, path, error);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A report can hold this many paths. */
#define PATHS_MAX (REPORT_OBJECTS_SIZE / sizeof "/x")

/* The report's paths, each ended by its '\0'; those that were left out stay so. */
static size_t list_objects(const struct report *report, const char *paths[PATHS_MAX])
{
    size_t at = 0, count = 0;

    while (at < REPORT_OBJECTS_SIZE && report->object[at] == '/' && count < PATHS_MAX) {
        size_t length = strnlen(report->object + at, REPORT_OBJECTS_SIZE - at);

        if (at + length < REPORT_OBJECTS_SIZE)
            paths[count++] = report->object + at;
        at += length + 1;
    }
    qsort(paths, count, sizeof *paths, compare_paths);
    return count;
}

static int add_objects(struct fingerprint *fingerprint, const struct report *report,
                       struct error *error)
{
    const char **paths = calloc(PATHS_MAX, sizeof *paths);
    size_t count;
    int result = 0;

    if (paths == NULL)
        return error_memory(error, "the fingerprint");
    count = list_objects(report, paths);
    for (size_t i = 0; i < count && result == 0; i++)
        if (i == 0 || strcmp(paths[i], paths[i - 1]) != 0)
            result = add_loaded_file(fingerprint, paths[i], error);
    free(paths);
    return result;
}

static int hash_fingerprint(struct fingerprint *fingerprint, const char *options,
                            struct error *error)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool done =
        fingerprint_begin(context) && EVP_DigestUpdate(context, options, strlen(options)) == 1;

    for (size_t i = 0; done && i < fingerprint->count; i++)
        if (fingerprint->files[i].hash[0] != '\0')
            done = EVP_DigestUpdate(context, fingerprint->files[i].hash, FINGERPRINT_HEX_SIZE) == 1;
    done = done && fingerprint_finish(context, fingerprint->hash);
    EVP_MD_CTX_free(context);
    return done ? 0 : error_memory(error, "the fingerprint");
}

int fingerprint_take(struct fingerprint *fingerprint, const struct guest_tools *tools,
                     const char *options, const struct report *report, struct error *error)
{
    *fingerprint = (struct fingerprint){0};
    if (add_hashed_file(fingerprint, tools->qemu, error) == 0 &&
        add_hashed_file(fingerprint, tools->plugin, error) == 0 &&
        add_objects(fingerprint, report, error) == 0 &&
        hash_fingerprint(fingerprint, options, error) == 0)
        return 0;
    fingerprint_free(fingerprint);
    return -1;
}

/* Returns true if workers load this library of the running program, too. */
static bool is_workers_library(const char *path)
{
    static const char *const beginnings[] = {"libc.so.", "libm.so.", "ld-linux-"};
    const char *name = strrchr(path, '/');

    for (size_t i = 0; name != NULL && i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(name + 1, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

struct library_search {
    struct fingerprint *fingerprint;
    struct error *error;
};

static int add_library(struct dl_phdr_info *info, size_t size, void *context)
{
    const struct library_search *search = context;

    (void)size;
    if (!is_workers_library(info->dlpi_name))
        return 0;
    return add_hashed_file(search->fingerprint, info->dlpi_name, search->error);
}

int fingerprint_take_launcher(struct fingerprint *fingerprint, const struct launch_config *config,
                              enum launcher_program program, struct error *error)
{
    const struct worker_limits limits = launcher_limits(config, program);
    struct library_search search = {fingerprint, error};
    char options[192], cost[48] = "";

    *fingerprint = (struct fingerprint){0};
    if (limits.cost > 0)
        snprintf(cost, sizeof cost, " --max-cost %" PRIu64, limits.cost);
    snprintf(options, sizeof options,
             "gaspipe %s -l %" PRIu32 " --max-instructions %" PRIu64 "%s%s", GASPIPE_VERSION,
             limits.compute, limits.instructions, cost, config->profile ? " --profile" : "");
    if (add_hashed_file(fingerprint, config->tools.qemu, error) == 0 &&
        add_hashed_file(fingerprint, config->tools.plugin, error) == 0 &&
        add_hashed_file(fingerprint, config->workers[program].path, error) == 0 &&
        dl_iterate_phdr(add_library, &search) == 0 &&
        hash_fingerprint(fingerprint, options, error) == 0)
        return 0;
    fingerprint_free(fingerprint);
    return -1;
}

void fingerprint_free(struct fingerprint *fingerprint)
{
    for (size_t i = 0; i < fingerprint->count; i++)
        free(fingerprint->files[i].path);
    free(fingerprint->files);
    *fingerprint = (struct fingerprint){0};
}
