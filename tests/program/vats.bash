# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Running the cases of tests/swingset: CASE.json says which vats, CASE.jsonl is what they
# are told, CASE.expected what SwingSet's own kernel makes of it (make check-npm).

VATS=$ROOT/build/vats

# vat_arguments CASE: fills the array `arguments` with what `gaspipe run` wants for it.
vat_arguments() {
    mapfile -t arguments < <(jq -r --arg bundles "$VATS" '
        def file: (if startswith("vat-") then "swingset" else "tests" end) as $group
            | "\($bundles)/\($group)/\(.).bundle";
        (.vats | to_entries[] | "--vat", "\(.key)=\(.value | file)"),
        (.bundles | to_entries[] | "--bundle", "\(.key)=\(.value | file)"),
        "--reap-interval", .reapInterval, "--snapshot-initial", .snapshotInitial,
        "--snapshot-interval", .snapshotInterval' "$ROOT/tests/swingset/$1.json")
}

# run_vats CASE FOLDER DELIVERIES OPTION...: FOLDER gets store, slog, out, err and results.
run_vats() {
    local arguments folder=$2

    mkdir -p "$folder"
    vat_arguments "$1"
    "$BUILD/gaspipe" run --json --store "$folder/store" --slog "$folder/slog" "${@:4}" \
        "${arguments[@]}" "$3" > "$folder/out" 2> "$folder/err" || [ $? -eq 1 ] ||
        fail "gaspipe run:" "$(tail -n 5 "$folder/err")"
    jq -cS 'select(.kind == "result") | [(.place | split("/") | last), .status, .value]' \
        "$folder/out" > "$folder/results"
}

# activity FOLDER: the hash over all that the run's cranks did.
activity() {
    sqlite3 "$1/store/gaspipe.sqlite" "select value from key where name like '%activityhash%'"
}
