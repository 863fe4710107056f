/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/rows/rows_tables.h"

#include <errno.h>
#include <sys/stat.h>

static struct gzip_file *open_table(const char *folder, const char *name, struct error *error)
{
    struct buf path = {0};
    struct gzip_file *file = NULL;

    buf_printf(&path, "%s/%s", folder, name);
    if (buf_string(&path) == NULL)
        error_memory(error, "a table");
    else
        file = gzip_file_open(path.data, name, error);
    buf_free(&path);
    return file;
}

int rows_tables_open(struct rows_tables *tables, const char *folder, struct error *error)
{
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return error_system(error, errno, "%s: cannot make the folder", folder);
    tables->deliveries = open_table(folder, ROWS_DELIVERIES, error);
    if (tables->deliveries == NULL)
        return -1;
    tables->requests = open_table(folder, ROWS_REQUESTS, error);
    return tables->requests != NULL ? 0 : -1;
}

int rows_tables_finish(struct rows_tables *tables, struct error *error)
{
    if (gzip_file_finish(tables->deliveries, error) != 0)
        return -1;
    return gzip_file_finish(tables->requests, error);
}

void rows_tables_close(struct rows_tables *tables)
{
    gzip_file_close(tables->deliveries);
    gzip_file_close(tables->requests);
    *tables = (struct rows_tables){0};
}
