#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe run with a worker other than its own, and workers on chosen CPUs.

load common

THEIRS=$ROOT/build/xs/package/xsnap-native/xsnap/build/bin/lin/release/xsnap-worker

# token OPTION...: the token example, JSON lines.
token() {
    run --separate-stderr "$BUILD/gaspipe" run --json --vat "token=$ROOT/examples/token/contract.js" \
        "$@" "$ROOT/examples/token/deliveries.jsonl"
}

# Prints what does not depend on time or worker.
costs() {
    jq -c 'select(.kind == "delivery") | [.description, .status, .result, .error, .compute]' <<< "$output"
}

@test "xsnap-worker runs contracts: the same results and computrons, no instructions" {
    token --counter none
    ours=$(costs)
    token --worker "$THEIRS" --slog "$BATS_TEST_TMPDIR/slog"
    assert_status 1
    assert_equal "$(costs)" "$ours"
    assert_equal "$(jq -c 'select(.kind == "delivery") | [.instructions, .pipe >= 0, .worker > 0,
        (.pipe + .worker + .kernel - .total | fabs) < 3e-6]' <<< "$output" | sort -u)" '[null,true,true,true]'
    # Its slog has the same, and nothing that the worker did not report.
    times=$(jq -c 'select(.kind == "delivery") | [.total, .pipe, .worker, .kernel] | map(. + 0)' <<< "$output")
    assert_equal "$(grep -c monotimes "$BATS_TEST_TMPDIR/slog")" 0
    run "$BUILD/slogreport" --json "$BATS_TEST_TMPDIR/slog"
    assert_status 0
    assert_equal "$(jq -c 'select(.kind == "delivery") | .overrun' <<< "$output" | sort -u)" false
    assert_equal "$(jq -c 'select(.kind == "delivery") | [.total, .pipe, .worker, .kernel] | map(. + 0)' <<< "$output")" \
        "$times"
}

@test "xsnap-worker's stamps end at 502, and the report says so" {
    echo 'export const fill = count => { for (let i = 0; i < count; i++) store.set(`${i}`, ""); };' \
        > "$BATS_TEST_TMPDIR/contract.js"
    run --separate-stderr "$BUILD/gaspipe" run --json --worker "$THEIRS" \
        --vat "it=$BATS_TEST_TMPDIR/contract.js" --slog "$BATS_TEST_TMPDIR/slog" - \
        <<< '{"vat":"it","method":"fill","args":[400]}'
    assert_status 0
    assert_equal "$(jq -c 'select(.deliveryNum == 2) | [.pipe, .worker, .kernel > 0, .kernel < .total]' \
        <<< "$output")" '[null,null,true,true]'
    run "$BUILD/slogreport" --json "$BATS_TEST_TMPDIR/slog"
    assert_status 0
    assert_equal "$(jq -c 'select(.deliveryNum == 2) | [.syscalls, .overrun]' <<< "$output")" \
        '[401,true]'
}

@test "another worker that is missing, does not run, or should be counted" {
    token --worker /nowhere/worker
    assert_bad_input 3 /nowhere/worker
    token --worker "$BATS_TEST_TMPDIR"
    assert_bad_input 3 "is not a program's file"
    token --worker "$ROOT/README.md"
    assert_bad_input 3 README.md
    token --worker "$THEIRS" --counter qemu
    assert_bad_input 2 --worker counter
}

# floods SCRIPT WORDS: with this shell script as the worker, tried once, the run ends and says why.
floods() {
    printf '#!/bin/sh\n%s\n' "$1" > "$BATS_TEST_TMPDIR/worker"
    chmod +x "$BATS_TEST_TMPDIR/worker"
    token --retries 0 --sandbox off --worker "$BATS_TEST_TMPDIR/worker"
    [ "$status" -ge 3 ] || fail "exit status $status; it printed:" "$output" "$stderr"
    assert_equal "$(complaints <<< "$stderr" | grep -c .)" 1 "lines on stderr"
    [[ $stderr == *"$2"* ]] || fail "no '$2' in:" "$stderr"
}

@test "a worker that sends a bad frame, or too much, ends the run with one line" {
    floods 'printf x >&4; exec sleep 60' "not 'x'"
    floods 'printf -- -1:, >&4; exec sleep 60' "not '-'"
    floods 'printf 99999999999: >&4; exec sleep 60' 'cap of'
    floods 'printf 0:, >&4; exec sleep 60' 'not a reply'
    floods 'printf 5:ab >&4' 'inside a frame'
    floods 'printf 1:x, >&4; exec sleep 60' 'not a reply'
    floods 'printf 1:.,1:., >&4; exec sleep 60' 'before it was answered'
    floods 'cat /dev/zero >&4' '0x00'
    floods 'yes 4:?abc, | tr -d "\n" >&4' ''
    floods 'exit 7' 'exit status 7'
}

@test "workers on gaspipe's own CPU, and on another" {
    echo 'export const f = () => 1;' > "$BATS_TEST_TMPDIR/contract.js"
    for placement in auto none same spread; do
        [ $placement != spread ] || [ "$(nproc)" -gt 1 ] || continue
        run --separate-stderr "$BUILD/gaspipe" run --json --counter none --placement $placement \
            --vat "it=$BATS_TEST_TMPDIR/contract.js" - <<< '{"vat":"it","method":"f"}'
        assert_status 0
    done
    token --placement there
    assert_bad_input 2 --placement "'there'"
}

# cpus [OPTION...]: those that gaspipe may use after a delivery, and those that its worker may.
cpus() {
    local worker

    coproc RUN { exec "$BUILD/gaspipe" run --json --counter none --snapshot-interval 0 "$@" \
        --vat "it=$BATS_TEST_TMPDIR/contract.js" - 2> "$BATS_TEST_TMPDIR/problem"; }
    echo '{"vat":"it","method":"f"}' >&"${RUN[1]}"
    read -r -t 60 <&"${RUN[0]}" || cat "$BATS_TEST_TMPDIR/problem"
    worker=$(cat "/proc/$RUN_PID/task"/*/children)
    worker=${worker% }
    sed -n 's/^Cpus_allowed_list:.//p' "/proc/$RUN_PID/status" "/proc/$worker/status"
    eval "exec ${RUN[1]}>&-"
    wait "$RUN_PID"
}

@test "by default a worker shares the supervisor's CPU, unless deliveries overlap" {
    [ "$(nproc)" -gt 1 ] || skip 'there is one CPU only: nothing to choose'
    [ -r /proc/$$/task/$$/children ] ||
        skip 'this system does not list the children of a process'
    echo 'export const f = () => 1;' > "$BATS_TEST_TMPDIR/contract.js"
    all=$(sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status)
    last=$(taskset -cp $$ | sed 's/.*[ ,-]//')

    mapfile -t shared < <(cpus)
    assert_equal "${shared[0]}" "${shared[1]}"
    [[ ${shared[0]} =~ ^[0-9]+$ ]] || fail "${shared[0]}"
    assert_equal "$(cpus --jobs 2)" "$all"$'\n'"$all"
    assert_equal "$(cpus --placement none)" "$all"$'\n'"$all"
    # CPUs that gaspipe may not use are not used.
    assert_equal "$(taskset -cp "$last" "$BASHPID" > /dev/null && cpus)" "$last"$'\n'"$last"
}
