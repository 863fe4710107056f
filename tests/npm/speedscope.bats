#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# slogreport --trace as speedscope's importer reads it, without a browser (make check-npm).
# Perfetto's trace_processor is not on npm; its view of the nesting is tested in
# tests/program/slogreport_trace.bats.

load ../program/common

RELEASE=$ROOT/build/npm/node_modules/speedscope/dist/release
DATA=$ROOT/tests/data

imported() {
    node "$ROOT/tests/npm/speedscope.mjs" "$RELEASE" "$@"
}

# no_complaint PROFILES SLOGFILE
no_complaint() {
    "$BUILD/slogreport" --trace "$BATS_TEST_TMPDIR/trace.json" "$2" 2> /dev/null
    assert_equal "$(imported "$BATS_TEST_TMPDIR/trace.json")" "0 $1" "$2: complaints and tracks"
}

@test "the importer complains where spans do not nest" {
    cat > "$BATS_TEST_TMPDIR/bad.json" << 'END'
{"traceEvents": [{"ph": "B", "pid": 1, "tid": 1, "name": "outer", "ts": 0},
{"ph": "B", "pid": 1, "tid": 1, "name": "inner", "ts": 1},
{"ph": "E", "pid": 1, "tid": 1, "name": "outer", "ts": 2},
{"ph": "E", "pid": 1, "tid": 1, "name": "inner", "ts": 3}]}
END
    run imported "$BATS_TEST_TMPDIR/bad.json"
    assert_status 0
    assert_output_has 'Tried to end "outer" when "inner" was on the top of the stack'
}

@test "samples of SwingSet's kernel are imported without a complaint" {
    no_complaint 7 "$DATA/small.slog.gz"
    no_complaint 17 "$DATA/variety.slog.gz"
    no_complaint 4 "$DATA/swingset.slog.zst"
    for file in "$DATA"/shapes/{live,replay,restart,precise,cut,kernel-console}.slog; do
        "$BUILD/slogreport" --trace "$BATS_TEST_TMPDIR/trace.json" "$file"
        [[ $(imported "$BATS_TEST_TMPDIR/trace.json") == '0 '* ]] || fail "$file"
    done
}

@test "so is the README's example, to the nanosecond, and a long run" {
    cd "$ROOT"
    "$NATIVE/gaspipe" run --counter none --slog "$BATS_TEST_TMPDIR/token.slog" \
        --vat token=examples/token/contract.js examples/token/deliveries.jsonl > /dev/null || [ $? -eq 1 ]
    no_complaint 4 "$BATS_TEST_TMPDIR/token.slog"
    for ((i = 1; i <= 2000; i++)); do
        printf '{"vat":"token","method":"mint","args":["a%d",%d]}\n' $((i % 7)) "$i"
    done > "$BATS_TEST_TMPDIR/deliveries"
    "$NATIVE/gaspipe" run --counter none --slog "$BATS_TEST_TMPDIR/long.slog" \
        --vat token=examples/token/contract.js "$BATS_TEST_TMPDIR/deliveries" > /dev/null
    no_complaint 4 "$BATS_TEST_TMPDIR/long.slog"
}

@test "so are deliveries that were in progress at the same time" {
    cd "$BATS_TEST_TMPDIR"
    WORK=$PWD/exchange "$ROOT/examples/exchange/run" 40 --counter none --jobs 2 --slog "$PWD/exchange.slog"
    "$BUILD/slogreport" --trace trace.json exchange.slog
    [[ $(imported trace.json) == '0 '* ]] || fail "$(imported trace.json)"
}
