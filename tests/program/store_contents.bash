# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What is in a store, for tests that compare stores.

# store_contents DIRECTORY: every table, in the order of its columns.
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

# store_edit DIRECTORY SQL: changes a store's file directly; see store_edit.c.
store_edit() {
    local program="$BATS_FILE_TMPDIR/store_edit"

    # shellcheck disable=SC2046 # the flags are several words
    [ -x "$program" ] || cc -std=gnu17 -D_GNU_SOURCE -I "$ROOT" \
        "$ROOT/tests/program/store_edit.c" "$ROOT"/store/integrity/{page_vfs,sealed_bytes}.c \
        "$ROOT"/base/{buf,log,visible,io}.c "$ROOT/base/text/format.c" "$ROOT/base/error.c" \
        $(pkg-config --cflags --libs sqlite3 libxxhash) -o "$program"
    "$program" "$1/gaspipe.sqlite" "$2"
}
