/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: store_edit FILE SQL
 * Executes SQL on a store's file with right checksums of its pages, as a hidden
 * edit would have: what then is found was found by the rows. To hide it from these too there is the
 * function checksum(TABLE, NUMBER, NUMBER, NUMBER, KEY, VALUE) of store/integrity/rows.h, and
 * plus(A, B), which adds modulo 2^64.
 */
#include <stdio.h>
#include <xxhash.h>

#include "store/integrity/page_vfs.h"

static void checksum(sqlite3_context *context, int count, sqlite3_value **arguments)
{
    int64_t numbers[3];
    uint64_t hash = (uint64_t)sqlite3_value_int64(arguments[0]);

    for (int i = 0; i < 3; i++)
        numbers[i] = sqlite3_value_int64(arguments[1 + i]);
    hash = XXH3_64bits_withSeed(numbers, sizeof numbers, hash);
    for (int i = 4; i < count; i++) {
        const void *bytes = sqlite3_value_blob(arguments[i]);

        hash = XXH3_64bits_withSeed(bytes, (size_t)sqlite3_value_bytes(arguments[i]), hash);
    }
    sqlite3_result_int64(context, (int64_t)hash);
}

static void plus(sqlite3_context *context, int count, sqlite3_value **arguments)
{
    uint64_t sum = 0;

    for (int i = 0; i < count; i++)
        sum += (uint64_t)sqlite3_value_int64(arguments[i]);
    sqlite3_result_int64(context, (int64_t)sum);
}

int main(int argc, char **argv)
{
    struct error error;
    sqlite3 *database;
    char *problem;

    if (argc != 3 || page_vfs_register(&error) != 0 ||
        sqlite3_open_v2(argv[1], &database, SQLITE_OPEN_READWRITE, PAGE_VFS_NAME) != SQLITE_OK ||
        sqlite3_create_function(database, "checksum", 6, SQLITE_UTF8, NULL, checksum, NULL, NULL) !=
            SQLITE_OK ||
        sqlite3_create_function(database, "plus", 2, SQLITE_UTF8, NULL, plus, NULL, NULL) !=
            SQLITE_OK)
        return 1;
    page_vfs_check(database, NULL);
    if (sqlite3_exec(database, argv[2], NULL, NULL, &problem) != SQLITE_OK) {
        fprintf(stderr, "store_edit: %s\n", problem);
        return 1;
    }
    return sqlite3_close(database) == SQLITE_OK ? 0 : 1;
}
