# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Running the cases of tests/swingset: CASE.json says which vats, CASE.jsonl is what they
# receive, CASE.expected the results of SwingSet's own kernel (make check-npm).

VATS=$ROOT/build/vats

# vat_arguments CASE: fills the array `arguments` with what `gaspipe run` wants for it.
vat_arguments() {
    mapfile -t arguments < <(jq -r --arg bundles "$VATS" '
        def file: (if startswith("vat-") then "swingset" else "tests" end) as $group
            | "\($bundles)/\($group)/\(.).bundle";
        (.vats | to_entries[] | "--vat", "\(.key)=\(.value | file)"),
        (.bundles | to_entries[] | "--bundle", "\(.key)=\(.value | file)"),
        (.vatOptions // {} | to_entries[] | "--vat-options", "\(.key)=\(.value | tojson)"),
        "--reap-interval", .reapInterval, "--snapshot-initial", .snapshotInitial,
        "--snapshot-interval", .snapshotInterval' "$ROOT/tests/swingset/$1.json")
}

# run_vats CASE DIRECTORY DELIVERIES OPTION...: DIRECTORY gets store, slog, out, err and results.
run_vats() {
    local arguments directory=$2

    mkdir -p "$directory"
    vat_arguments "$1"
    "$BUILD/gaspipe" run --json --store "$directory/store" --slog "$directory/slog" "${@:4}" \
        "${arguments[@]}" "$3" > "$directory/out" 2> "$directory/err" || [ $? -eq 1 ] ||
        fail "gaspipe run:" "$(tail -n 5 "$directory/err")"
    jq -cS 'select(.kind == "result") | [(.place | split("/") | last), .status, .value]' \
        "$directory/out" > "$directory/results"
}

# activity DIRECTORY: the hash over all that the run's cranks did.
activity() {
    sqlite3 "$1/store/gaspipe.sqlite" "select value from key where name like '%activityhash%'"
}

# Prints what stops of a run must not change, from the lines of FILE...
outcome() {
    jq -c 'if .kind == "delivery" then [.vat, .crankNum, .deliveryNum, .description, .status,
            .result, .compute, .instructions]
        elif .kind == "result" then [.place, .status, .value] else empty end' "$@"
}

# stopped INPUT STORE OPTION...: the run is stopped as soon as it has printed something new,
# and started again, until it ends by itself; all that it printed, in the file STORE.out.
# The array `vats` holds the run's options for its vats. $gaspipe: another than $NATIVE's;
# $at: only lines with that count. $highest: the exit status where deliveries may fail, of
# which the last start has seen all or none (0). $first: of how many lines of INPUT the first
# starts know, each for one start, so that none of these can end before it is stopped; the
# others have all, and some of these may be at their end before the signal comes.
stopped() {
    local known status signal=INT gaspipe=${gaspipe:-$NATIVE/gaspipe}

    : > "$2.out"
    mv "$1" "$1.whole"
    for known in ${first:-1 2 3}; do
        mkfifo "$1"
        stopped_once "$known" "$@"
        rm "$1"
        [ "$status" -gt 128 ] || fail "exit status $status, before it was stopped:" "$(cat err)"
    done
    mv "$1.whole" "$1"
    while [ "$status" -gt 128 ]; do
        stopped_once all "$@"
    done
    [ "$status" -le "${highest:-0}" ] || fail "exit status $status:" "$(cat err)"
}

# One start of stopped(), which knows of KNOWN lines; it sets $status and $signal.
# stopped_once KNOWN INPUT STORE OPTION...
stopped_once() {
    local pid output input line

    # shellcheck disable=SC2154 # the caller's
    exec {output}< <(exec "$gaspipe" run --json "${vats[@]}" --store "$3" "${@:4}" "$2" 2> err)
    pid=$!
    [ "$1" = all ] || { exec {input}<> "$2" && head -n "$1" "$2.whole" >&"$input"; }
    while read -r line <&"$output"; do
        printf '%s\n' "$line"
        ! grep -q "${at:-}" <<< "$line" || break
    done >> "$3.out"
    if [ "$signal" = INT ]; then signal=TERM; else signal=INT; fi
    kill -s "$signal" "$pid" 2> /dev/null || true
    cat <&"$output" >> "$3.out"
    exec {output}<&-
    [ "$1" = all ] || exec {input}>&-
    status=0
    wait "$pid" || status=$?
}
