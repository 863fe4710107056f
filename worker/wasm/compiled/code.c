/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "worker/wasm/compiled/compiled.h"

#ifdef COMPILED_IS_POSSIBLE
#include <cpuid.h>
#include <openssl/sha.h>

/* An index and an offset have 32 bits each, and the last access 8 bytes. */
#define GUARDED_SIZE (((uint64_t)1 << 33) + COMPILED_CONTEXT_SIZE)

enum { FILE_MOST = 1 << 30 };

/* The compiler emits instructions of x86-64-v2. */
static bool has_instructions(void)
{
    const unsigned wanted = bit_SSE3 | bit_SSSE3 | bit_SSE4_1 | bit_SSE4_2 | bit_POPCNT;
    unsigned a, b, c, d;

    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & wanted) == wanted;
}

static int bad_file(const char *path, const char *words, struct error *error)
{
    return error_set(error, ERROR_INPUT, "%s: %s", path, words);
}

static bool is_inside(uint64_t size, uint64_t from, uint64_t length)
{
    return from <= size && length <= size - from;
}

static bool has_its_checksum(struct compiled_code *code)
{
    uint8_t *place = code->image + COMPILED_HEADER_AT + offsetof(struct compiled_header, checksum);
    uint8_t expected[COMPILED_HASH_SIZE], found[COMPILED_HASH_SIZE];

    memcpy(expected, place, sizeof expected);
    memset(place, 0, sizeof expected);
    SHA256(code->image, code->size, found);
    return memcmp(found, expected, sizeof found) == 0;
}

/* A file that was cut off or damaged must not be executed. */
static int check_header(struct compiled_code *code, const char *path, struct error *error)
{
    const struct compiled_header *header = code->header;

    if (code->size < COMPILED_HEADER_AT + sizeof *header ||
        memcmp(header->magic, COMPILED_MAGIC, sizeof header->magic) != 0)
        return bad_file(path, "not the output of gaspipe compile", error);
    if (header->version != COMPILED_VERSION)
        return bad_file(path, "compiled by another version of gaspipe; compile it again", error);
    if (!has_its_checksum(code) || header->size != code->size ||
        !is_inside(code->size, header->code_at, header->code_size) ||
        !is_inside(code->size, header->entries_at,
                   header->function_count * (uint64_t)sizeof *code->entries))
        return bad_file(path, "damaged compiled code", error);
    return 0;
}

static int read_image(struct compiled_code *code, int fd, const char *path, struct error *error)
{
    const off_t size = lseek(fd, 0, SEEK_END);

    if (size <= 0 || size > FILE_MOST)
        return bad_file(path, "not the output of gaspipe compile", error);
    code->size = (size_t)size;
    code->image =
        mmap(NULL, code->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code->image == MAP_FAILED) {
        code->image = NULL;
        return error_memory(error, path);
    }
    if (io_read_at(fd, code->image, code->size, 0) != (ssize_t)code->size)
        return error_system(error, errno, "cannot read %s", path);
    code->header = (const void *)(code->image + COMPILED_HEADER_AT);
    return 0;
}

static int load_image(struct compiled_code *code, const char *path, struct error *error)
{
    int fd, result;

    if (io_open_file(AT_FDCWD, path, 0, FILE_MOST, &fd, error) != 0)
        return -1;
    if (fd < 0)
        return bad_file(path, strerror(ENOENT), error);
    result = read_image(code, fd, path, error);
    (void)close(fd); /* it was only read */
    if (result != 0 || check_header(code, path, error) != 0)
        return -1;
    code->entries = (const void *)(code->image + code->header->entries_at);
    if (mprotect(code->image, code->size, PROT_READ | PROT_EXEC) != 0)
        return error_system(error, errno, "%s cannot be made executable", path);
    return 0;
}

static int reserve_memory(struct compiled_code *code, struct error *error)
{
    void *place = mmap(NULL, COMPILED_CONTEXT_SIZE + GUARDED_SIZE, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (place == MAP_FAILED)
        return error_system(error, errno, "no addresses for the memory of compiled code");
    code->context = place;
    code->base = (uint8_t *)place + COMPILED_CONTEXT_SIZE;
    if (mprotect(place, COMPILED_CONTEXT_SIZE, PROT_READ | PROT_WRITE) != 0)
        return error_memory(error, "the context of compiled code");
    return 0;
}

struct compiled_code *compiled_code_open(const char *path, struct error *error)
{
    struct compiled_code *code = calloc(1, sizeof *code);

    if (code == NULL) {
        error_memory(error, path);
        return NULL;
    }
    if (!has_instructions())
        (void)error_set(error, ERROR_SYSTEM, "%s: this processor is no x86-64-v2", path);
    else if (load_image(code, path, error) == 0 && reserve_memory(code, error) == 0 &&
             compiled_catch_faults(error) == 0)
        return code;
    compiled_code_close(code);
    return NULL;
}

void compiled_code_close(struct compiled_code *code)
{
    if (code == NULL)
        return;
    /* These cannot fail for existing mappings. */
    if (code->image != NULL)
        (void)munmap(code->image, code->size);
    if (code->context != NULL)
        (void)munmap(code->context, COMPILED_CONTEXT_SIZE + GUARDED_SIZE);
    free(code);
}

bool compiled_code_is_of(const struct compiled_code *code, const uint8_t hash[COMPILED_HASH_SIZE])
{
    return memcmp(code->header->hash, hash, COMPILED_HASH_SIZE) == 0;
}

uint8_t *compiled_code_memory(const struct compiled_code *code)
{
    return code->base;
}

#else

struct compiled_code *compiled_code_open(const char *path, struct error *error)
{
    error_set(error, ERROR_SYSTEM, "%s: this worker only interprets", path);
    return NULL;
}

void compiled_code_close(struct compiled_code *code)
{
    (void)code;
}

bool compiled_code_is_of(const struct compiled_code *code, const uint8_t hash[COMPILED_HASH_SIZE])
{
    (void)code;
    (void)hash;
    return false;
}

uint8_t *compiled_code_memory(const struct compiled_code *code)
{
    (void)code;
    return NULL;
}

#endif
