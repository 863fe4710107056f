#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The files that gaspipe run --slog writes: compressed, split into parts, after a crash.

load common

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    token=token=$ROOT/examples/token/contract.js
    for ((i = 1; i <= 6; i++)); do
        printf '{"vat":"token","method":"mint","args":["a",%d]}\n' "$i"
    done > deliveries
}

token_run() {
    run --separate-stderr "$NATIVE/gaspipe" run --counter none --json --vat "$token" "$@"
    assert_status 0
}

# The deliveries that slogreport finds in files.
reported() {
    "$BUILD/slogreport" --json "$@" | jq -c 'select(.kind == "delivery")
        | [.crankNum, .deliveryNum, .description, .status, .compute]'
}

@test "a compressed slogfile contains what a plain one does" {
    token_run --slog plain.slog deliveries
    token_run --slog packed.slog.zst deliveries
    assert_equal "$(reported packed.slog.zst)" "$(reported plain.slog)"
    [ "$(wc -c < packed.slog.zst)" -lt "$(wc -c < plain.slog)" ]
    zstd -qt packed.slog.zst
}

printed() {
    [ "$(grep -c '"kind":"delivery"' out)" -ge "$1" ]
}

# Runs until $1 lines are done, with $2 as the slogfile, and kills gaspipe.
killed_run() {
    local pid

    mkfifo lines
    "$NATIVE/gaspipe" run --counter none --json --vat "$token" --slog "$2" lines > out &
    pid=$!
    exec 5> lines
    head -n "$1" deliveries >&5
    # startVat, too.
    wait_for 60 printed $(($1 + 1))
    kill -9 $pid
    wait $pid || true
    exec 5>&-
    rm lines
}

@test "after kill -9 a compressed slogfile is read up to the last flush, and continued" {
    killed_run 4 packed.slog.zst
    assert_equal "$(reported packed.slog.zst | wc -l)" 5
    run --separate-stderr zstd -qt packed.slog.zst
    [ "$status" -ne 0 ]
    token_run --slog packed.slog.zst deliveries
    assert_equal "$(reported packed.slog.zst | wc -l)" 12
    zstd -qt packed.slog.zst
}

# The parts of a slogfile, in order: parts_of STEM SUFFIX
parts_of() {
    local number

    echo "$1$2"
    for ((number = 1; ; number++)); do
        [ -e "$1.$number$2" ] || break
        echo "$1.$number$2"
    done
}

# parts_are_whole OPTION...: each of the parts of three blocks can be read, and together they are the whole.
parts_are_whole() {
    rm -f parts.slog*
    token_run --slog "parts.slog$suffix" --slog-rotate blocks:3 "$@" deliveries
    mapfile -t parts < <(parts_of parts.slog "$suffix")
    for part in "${parts[@]}"; do
        run "$BUILD/slogreport" --json "$part"
        assert_status 0
        assert_output_has '"kind":"delivery"'
    done
    cat "${parts[@]}" > together
    assert_equal "$(reported together)" "$(reported whole.slog)"
    assert_equal "$(reported "${parts[@]}")" "$(reported whole.slog)"
    "$NATIVE/gaspipe" replay --counter none - < together
}

@test "parts by blocks: each can be read, and together they are the whole" {
    token_run --slog whole.slog deliveries
    for suffix in '' .zst; do
        # Cranks may be committed together while a snapshot is compressed, so there may be fewer.
        parts_are_whole
        parts_are_whole --snapshot-initial 1000
        [ "${#parts[@]}" -gt 2 ]
    done
}

@test "parts by bytes, which a later run continues" {
    token_run --slog run.slog --slog-rotate 2K deliveries
    mapfile -t parts < <(parts_of run.slog)
    [ "${#parts[@]}" -gt 1 ]
    for part in "${parts[@]}"; do
        assert_equal "$(head -n 1 "$part" | jq -r .type)" slog-start "$part"
        [ "$part" = "${parts[-1]}" ] || [ "$(wc -c < "$part")" -ge 2048 ]
    done
    before=$(cksum run.slog)
    token_run --slog run.slog --slog-rotate 2K deliveries
    assert_equal "$(cksum run.slog)" "$before"
    mapfile -t parts < <(parts_of run.slog)
    assert_equal "$(cat "${parts[@]}" | grep -c '"type":"deliver"')" 14
}

@test "what cannot be split or appended to is reported" {
    run --separate-stderr "$BUILD/gaspipe" run --vat "$token" --slog-rotate 5 deliveries
    assert_bad_input 2 '--slog-rotate needs --slog'
    run --separate-stderr "$BUILD/gaspipe" run --vat "$token" --slog a --slog-rotate 5Q deliveries
    assert_bad_input 2 "not '5Q'"
    cp deliveries text.zst
    run --separate-stderr "$BUILD/gaspipe" run --vat "$token" --slog text.zst deliveries
    assert_bad_input 3 'text.zst: is not a slogfile'
    cmp deliveries text.zst
}
