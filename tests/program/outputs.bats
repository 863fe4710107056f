#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# No input is overwritten, however its path is spelled.

load common

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    cp "$ROOT/tests/data/small.slog.gz" a.slog.gz
    cp a.slog.gz kept
    ln -s a.slog.gz link
    ln a.slog.gz same
    mkdir directory
}

slogreport() {
    "$BUILD/slogreport" "$@"
}

# refused WORDS COMMAND...: with status 2 and one line that has WORDS; a.slog.gz is as it was.
refused() {
    run --separate-stderr "${@:2}"
    assert_bad_input 2 'written over' "$1"
    cmp a.slog.gz kept
}

@test "slogreport refuses to overwrite a slogfile that it reads" {
    for option in --trace --html --otlp; do
        for spelled in a.slog.gz "$PWD/a.slog.gz" directory/../a.slog.gz link same; do
            refused "$option" slogreport "$option" "$spelled" a.slog.gz
            refused "$option" slogreport "$option" "$spelled" --json "$ROOT/tests/data/variety.slog.gz" link
        done
        refused "$option" slogreport "$option" a.slog.gz - < a.slog.gz
    done
    refused --histograms slogreport summary --histograms link a.slog.gz
    refused 'standard output' bash -c '"$0" --csv a.slog.gz >> link' "$BUILD/slogreport"
    refused 'standard output' bash -c '"$0" --csv - < same 1<> link' "$BUILD/slogreport"
    [ -z "$(find . -name '*.??????')" ]
}

@test "slogreport merge refuses to overwrite the histograms that it reads" {
    slogreport summary --histograms one a.slog.gz > /dev/null
    cp one before
    run --separate-stderr slogreport merge --histograms ./one before one
    assert_bad_input 2 'one: is read' --histograms
    cmp one before
}

@test "two outputs in one file are refused" {
    refused '--trace and --html' slogreport --trace out --html directory/../out a.slog.gz
    refused '--html and --otlp' slogreport --html ./out --otlp out a.slog.gz
    [ ! -e out ]
    touch out
    ln -s out other
    refused '--trace and --otlp' slogreport --trace out --otlp other a.slog.gz
    slogreport --trace one --html two --otlp three a.slog.gz
    slogreport --trace /dev/null --html /dev/null --otlp /dev/null a.slog.gz
}

@test "the file of spans gets its name when it is complete" {
    echo before > spans
    ulimit -f 16
    run --separate-stderr "$BUILD/slogreport" --otlp spans a.slog.gz
    assert_bad_input 4 spans
    assert_equal "$(cat spans)" before
    [ -z "$(find . -name 'spans.*')" ]
}

@test "gaspipe count overwrites neither the program nor its arguments" {
    cp /bin/wc program
    cp program program.kept
    ln -s program program.link
    echo '{}' > gas
    cp a.slog.gz directory/argument
    for option in --profile --profile-json --output; do
        refused "$option" "$BUILD/gaspipe" count "$option" program -- ./program.link a.slog.gz
        refused "$option" "$BUILD/gaspipe" count "$option" link -- ./program a.slog.gz
        refused "$option" "$BUILD/gaspipe" count "$option" directory/argument --directory directory -- ./program argument
        refused "$option" "$BUILD/gaspipe" count "$option" link -- ./program < a.slog.gz
        refused "$option" "$BUILD/gaspipe" count "$option" gas --gas gas -- ./program
        cmp program program.kept
        cmp directory/argument kept
    done
    PATH=$PWD:$PATH refused --profile "$BUILD/gaspipe" count --profile program -- program
    refused '--output and --profile' "$BUILD/gaspipe" count --output out --profile ./out -- ./program
}

# slog_refused FILE: gaspipe run does not append to it.
slog_refused() {
    cp "$1" before
    run --separate-stderr "$BUILD/gaspipe" run --counter none --slog "$1" --vat token=contract.js deliveries
    assert_bad_input 3 "$1" 'is not a slogfile'
    assert_equal "$output" ''
    cmp "$1" before
}

@test "gaspipe run appends to slogfiles only" {
    cp "$ROOT/examples/token/contract.js" contract.js
    echo '{"vat": "token", "method": "holders"}' > deliveries
    slog_refused contract.js
    slog_refused deliveries
    ln -s deliveries linked
    slog_refused linked
    printf 'text' > text
    slog_refused text
    printf '\n' > newline
    slog_refused newline
    gzip -k deliveries
    slog_refused deliveries.gz
    zstd -q deliveries -o deliveries.slog.zst
    slog_refused deliveries.slog.zst
    : > empty
    printf '{"type":"slog-sta' > torn
    for file in new empty torn new empty torn new.slog.zst new.slog.zst /dev/null; do
        "$BUILD/gaspipe" run --counter none --slog $file --vat token=contract.js deliveries > out
    done
    for file in new empty torn new.slog.zst; do
        assert_equal "$(slogreport --json $file 2> err | grep -c '"kind":"delivery"')" 4 "$file"
    done
}
