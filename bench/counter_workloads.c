/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: counter_workloads loop|zlib|sha256|parser TIMES
 * Does work for bench/counter, TIMES times; prints a number that depends on all
 * of it.
 */
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define TEXT_SIZE 200000

static char text[TEXT_SIZE];

/* Similar to JSON: records of words and numbers. */
static void make_text(void)
{
    uint32_t random = 1;
    size_t at = 0;

    while (at + 100 < TEXT_SIZE) {
        random = random * 1664525 + 1013904223;
        at += (size_t)snprintf(text + at, TEXT_SIZE - at,
                               "{\"name\":\"w%u\",\"values\":[%u,-%u.5e1,null],\"ok\":%s}\n",
                               random >> 20, random >> 8, random >> 16,
                               random & 256 ? "true" : "false");
    }
}

static uint64_t loop(void)
{
    uint64_t x = 1;

    for (uint32_t i = 0; i < 1000000; i++) {
        x = x * 6364136223846793005 + 1442695040888963407;
        x ^= x >> 31;
    }
    return x;
}

static uint64_t compress_text(void)
{
    static unsigned char out[TEXT_SIZE + 1000];
    unsigned long size = sizeof out;

    if (compress2(out, &size, (const unsigned char *)text, TEXT_SIZE, 6) != Z_OK)
        abort();
    return size;
}

static uint64_t hash_text(void)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    uint64_t result;

    if (EVP_Digest(text, TEXT_SIZE, digest, NULL, EVP_sha256(), NULL) != 1)
        abort();
    memcpy(&result, digest, sizeof result);
    return result;
}

/* A branch or two for each byte. */
static uint64_t parse_text(void)
{
    uint64_t numbers = 0, words = 0, depth = 0;

    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"') {
            while (*++c != '"')
                words += *c == '\\' ? 3 : 1;
        } else if (*c >= '0' && *c <= '9') {
            uint64_t number = 0;

            for (; *c >= '0' && *c <= '9'; c++)
                number = number * 10 + (uint64_t)(*c - '0');
            numbers += number;
            c--;
        } else if (*c == '{' || *c == '[') {
            depth++;
        } else if (*c == '}' || *c == ']') {
            depth--;
        } else if (*c == 't' || *c == 'f' || *c == 'n') {
            words += *c == 'n';
        }
    }
    return numbers + words + depth;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        uint64_t (*run)(void);
    } workloads[] = {
        {"loop", loop}, {"zlib", compress_text}, {"sha256", hash_text}, {"parser", parse_text}};
    uint64_t sum = 0;

    make_text();
    for (size_t i = 0; argc == 3 && i < sizeof workloads / sizeof *workloads; i++) {
        if (strcmp(argv[1], workloads[i].name) != 0)
            continue;
        for (long times = strtol(argv[2], NULL, 10); times > 0; times--)
            sum = sum * 31 + workloads[i].run();
        printf("%" PRIu64 "\n", sum);
        return 0;
    }
    fprintf(stderr, "usage: counter_workloads loop|zlib|sha256|parser TIMES\n");
    return 2;
}
