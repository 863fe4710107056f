/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_ROWS_ROWS_TABLES_H
#define GASPIPE_TOOLS_COMMAND_ROWS_ROWS_TABLES_H

#include "base/error.h"
#include "tools/output/gzip_file.h"

/* Two tables that are being written into a folder. All zeros is the beginning. */
struct rows_tables {
    struct gzip_file *deliveries, *requests;
};

#define ROWS_DELIVERIES "deliveries.csv.gz"
#define ROWS_REQUESTS   "requests.csv.gz"

/* Makes the folder if there is none. -1 with ERROR_SYSTEM; rows_tables_close() in any case. */
int rows_tables_open(struct rows_tables *tables, const char *folder, struct error *error);

/* Gives both their names. -1 with ERROR_SYSTEM. */
int rows_tables_finish(struct rows_tables *tables, struct error *error);

void rows_tables_close(struct rows_tables *tables);

#endif
