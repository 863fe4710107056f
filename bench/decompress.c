/* SPDX-License-Identifier: Apache-2.0 */
/* Only decompresses a whole file: the cost of reading a slogfile without scanning it. */
#include <stdio.h>

#include "base/error.h"
#include "base/log.h"
#include "slog/read/source.h"

int main(int argc, char **argv)
{
    static char bytes[512 * 1024];
    unsigned long long total = 0;
    struct source *source;
    struct error error;
    ssize_t got;

    log_name("decompress");
    if (argc != 2) {
        log_line("usage: decompress FILE");
        return ERROR_USAGE;
    }
    source = source_open(argv[1], &error);
    if (source == NULL)
        goto failed;
    while ((got = source_read(source, bytes, sizeof bytes, &error)) > 0)
        total += (unsigned long long)got;
    source_close(source);
    if (got < 0)
        goto failed;
    printf("%llu\n", total);
    return 0;
failed:
    log_line("%s", error.text);
    return error.kind;
}
