# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What is in a store, for tests that compare stores.

# store_contents FOLDER: every table, in the order of its columns.
store_contents() {
    local table columns

    for table in $(sqlite3 "$1/gaspipe.sqlite" \
        "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"); do
        echo "$table"
        columns=$(sqlite3 "$1/gaspipe.sqlite" \
            "SELECT group_concat(name) FROM pragma_table_info('$table')")
        sqlite3 -cmd '.mode quote' "$1/gaspipe.sqlite" "SELECT * FROM $table ORDER BY $columns"
    done
}
