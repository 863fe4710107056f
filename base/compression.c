/* SPDX-License-Identifier: Apache-2.0 */
#include "base/compression.h"

#include <string.h>

static const struct {
    const char *magic, *name, *program;
} formats[] = {{"\x1f\x8b", "gzip", "gzip -dc"},
               {"\x28\xb5\x2f\xfd", "Zstandard", "zstd -dc"},
               {"\xfd"
                "7zXZ",
                "xz", "xz -dc"},
               {"BZh", "bzip2", "bzip2 -dc"},
               {"\x04\x22\x4d\x18", "LZ4", "lz4 -dc"}};

int compression_refuse(const char *path, const char *bytes, size_t length, struct error *error)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const size_t magic_length = strlen(formats[i].magic);

        if (length >= magic_length && memcmp(bytes, formats[i].magic, magic_length) == 0)
            return error_set(error, ERROR_INPUT, "%s: is compressed with %s; decompress it with %s",
                             path, formats[i].name, formats[i].program);
    }
    return 0;
}
