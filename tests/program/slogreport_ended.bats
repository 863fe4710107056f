#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# slogreport ended by signals, and its progress messages.

load common

setup() {
    DATA=$BATS_TEST_DIRNAME/../data
    cd "$BATS_TEST_TMPDIR"
}

teardown() {
    [ -z "${reader:-}" ] || kill -KILL "$reader" 2> /dev/null || true
}

# A slogfile on standard input that has no end. Every background process of a
# script without job control ignores SIGINT by default.
start_endless() {
    mkfifo lines
    env --default-signal=INT "$BUILD/slogreport" "$@" - < lines > out 2> err &
    reader=$!
    exec 9> lines
    zcat "$DATA/small.slog.gz" >&9
}

# start_unfinished OPTION: by then it has begun to write files/it under another name.
start_unfinished() {
    start_endless "$1" files/it
    wait_for 60 bash -c 'ls files/it.* > ls.out 2>&1'
}

@test "a signal leaves no unfinished file, and the old one as it was" {
    local signal output status

    for signal in INT TERM HUP; do
        for output in --html --trace; do
            rm -rf files lines
            mkdir files
            echo before > files/it
            start_unfinished "$output"
            kill -s "$signal" "$reader"
            status=0
            wait "$reader" || status=$?
            exec 9>&-
            assert_equal "$status" $((128 + $(kill -l "$signal")))
            assert_equal "$(ls files)" it "after $signal, $output"
            assert_equal "$(cat files/it)" before
        done
    done
}

# As timeout(1) sends it, to a process and to its group. The second is to come while the
# first is on its way to its handler.
@test "a signal that is sent many times leaves no unfinished file" {
    local i many

    for i in {1..20}; do
        rm -rf files lines
        mkdir files
        start_unfinished --html
        many=()
        while [ "${#many[@]}" -lt 200 ]; do many+=("$reader"); done
        kill -s TERM "${many[@]}" 2> /dev/null || true
        wait "$reader" || true
        exec 9>&-
        assert_equal "$(ls files)" '' "the $i. time"
    done
}

@test "a signal while a summary is read leaves the old histograms as they were" {
    local signal status

    for signal in INT TERM HUP; do
        rm -rf files lines
        mkdir files
        echo before > files/it
        start_endless summary --histograms files/it
        # By then it reads: a pipe does not hold so much.
        for _ in 1 2 3; do zcat "$DATA/variety.slog.gz"; done >&9
        kill -s "$signal" "$reader"
        status=0
        wait "$reader" || status=$?
        exec 9>&-
        assert_equal "$status" $((128 + $(kill -l "$signal")))
        assert_equal "$(ls files)" it "after $signal"
        assert_equal "$(cat files/it)" before
    done
}

@test "histograms are written whole or not at all, whenever a signal comes" {
    local milliseconds

    zcat "$DATA/variety.slog.gz" > plain
    "$BUILD/slogreport" summary --histograms whole plain > report
    for milliseconds in {1..25}; do
        rm -rf files
        mkdir files
        timeout --signal TERM "0.$(printf %03d "$milliseconds")" \
            "$BUILD/slogreport" summary --histograms files/it plain > report || true
        [ -z "$(ls files)" ] || assert_equal "$(ls files)" it "after $milliseconds ms"
        [ ! -e files/it ] || cmp files/it whole
    done
}

@test "histograms that do not fit on the disk leave no file" {
    mkdir files
    echo before > files/it
    status=0
    (ulimit -f 4; trap '' XFSZ; exec "$BUILD/slogreport" summary --histograms files/it \
        "$DATA/variety.slog.gz") > /dev/null 2> err || status=$?
    assert_equal "$status" 4
    grep -q 'cannot write the histograms: File too large' err
    assert_equal "$(ls files)" it
    assert_equal "$(cat files/it)" before
}

@test "a reader of the report that goes away leaves no unfinished file" {
    for _ in 1 2 3; do zcat "$DATA/variety.slog.gz"; done > many.slog
    "$BUILD/slogreport" --json --trace trace.json many.slog | head -n 1 > first
    assert_equal "$(wc -l < first)" 1
    assert_equal "$(echo trace.json*)" 'trace.json*'
}

@test "--follow finishes report and trace on SIGTERM" {
    cp "$DATA/shapes/blocks.slog" growing
    for signal in INT TERM; do
        # The run must create the report itself: an older one may already hold the awaited lines.
        rm -f report
        env --default-signal=INT "$BUILD/slogreport" --json --trace trace.json --follow growing > report 2> err &
        reader=$!
        wait_for 60 grep -q '"crankNum":49' report
        kill -s "$signal" "$reader"
        wait "$reader"
        jq -es 'last.kind == "summary"' report
        jq -e '[.traceEvents[] | select(.cat == "delivery")] | length == 3' trace.json
        rm trace.json
    done
}

# As timeout(1) sends it: the first ends the following, the second must not end the report.
@test "--follow that gets several signals still finishes report and trace" {
    local i many

    cp "$DATA/shapes/blocks.slog" growing
    for i in {1..10}; do
        rm -f report
        "$BUILD/slogreport" --json --trace trace.json --follow growing > report 2> err &
        reader=$!
        wait_for 20 grep -q '"crankNum":49' report
        many=()
        while [ "${#many[@]}" -lt 200 ]; do many+=("$reader"); done
        kill -s TERM "${many[@]}" 2> /dev/null || true
        wait "$reader"
        jq -es 'last.kind == "summary"' report
        jq -e '[.traceEvents[] | select(.cat == "delivery")] | length == 3' trace.json
        rm trace.json
    done
}

feed_until_said() {
    zcat "$DATA/small.slog.gz" >&9
    grep -q 'slogreport: -: .* MB read, .* lines so far' terminal
}

# script(1) gives a program a terminal; only its standard error is to be one here.
@test "long work shows progress on a terminal, and nowhere else" {
    script -qec true /dev/null > found 2>&1 < /dev/null ||
        skip "script(1) gives no terminal here: $(tail -n 1 found)"
    mkfifo lines
    TERMINAL="$BUILD/slogreport summary --json - < lines > report" \
        script -qec 'eval "$TERMINAL"' /dev/null > terminal < /dev/null &
    reader=$!
    exec 9> lines
    # Until a message appears.
    wait_for 60 feed_until_said
    exec 9>&-
    wait "$reader"
    jq -es 'last.kind != null' report
    ! grep -q 'so far' report || fail 'progress in the report'
}

@test "without a terminal no progress is shown" {
    run --separate-stderr "$BUILD/slogreport" summary "$DATA/variety.slog.gz"
    assert_status 0
    assert_equal "$stderr" ''
}
