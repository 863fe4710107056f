/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_error.h"

#include <stdarg.h>
#include <stdio.h>

#include "store/integrity/page_vfs.h"
#include "store/store_internal.h"

int(store_error_set)(const struct store *store, struct error *error, enum error_kind kind,
                     const char *format, ...)
{
    char words[ERROR_TEXT_SIZE];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    return error_set(error, kind, "%s: %s", store->path, words);
}

int(store_error)(struct store *store, struct error *error)
{
    const char *words = sqlite3_errmsg(store->database);

    if (sqlite3_extended_errcode(store->database) == PAGE_VFS_DAMAGED)
        return store_error_set(store, error, ERROR_SYSTEM,
                               "the store is damaged: page %lld does not match its checksum: the "
                               "disk or another program changed it",
                               (long long)page_vfs_damaged());
    switch (sqlite3_errcode(store->database)) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return store_error_set(store, error, ERROR_SYSTEM,
                               "the store is in use by another process");
    case SQLITE_NOTADB:
        return store_error_set(store, error, ERROR_INPUT, "not a gaspipe store (no SQLite file)");
    case SQLITE_CORRUPT:
        return store_error_set(store, error, ERROR_SYSTEM, "the store is damaged: %s", words);
    default:
        return store_error_set(store, error, ERROR_SYSTEM, "%s", words);
    }
}
