#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Units of systemd, what they rely on, and Prometheus' alerts.

load common

setup() {
    cd "$BATS_TEST_TMPDIR" || return
}

teardown() {
    [ -z "${receiver:-}" ] || kill "$receiver"
}

# receive: writes what services report into the file news.
receive() {
    cc -O0 "$ROOT/tests/program/notify_receiver.c" -o receiver
    ./receiver "$PWD/socket" > news 3>&- &
    receiver=$!
    wait_for 20 test -S socket
    export NOTIFY_SOCKET=$PWD/socket WATCHDOG_USEC=30000
}

@test "a run says when it is ready, and that it lives while a delivery takes long" {
    local feed pid

    receive
    echo 'export const one = () => 1; export const spin = n => { for (let i = 0; i < n; i++); };' > it.js
    mkfifo lines
    "$BUILD/gaspipe" run --counter none --vat it=it.js lines > out 2> err 3>&- &
    pid=$!
    exec {feed}> lines
    wait_for 20 grep -q READY=1 news
    # Also between deliveries.
    wait_for 20 awk '/WATCHDOG=1/ { n++ } END { exit n < 3 }' news
    echo '{"vat":"it","method":"spin","args":[300000]}' >&"$feed"
    wait_for 60 grep -q ' spin ' out
    exec {feed}>&-
    wait "$pid"
    assert_equal "$(sort -u news)" $'READY=1\nWATCHDOG=1'
}

@test "slogreport says when it follows its file, and that it waits" {
    local pid

    receive
    zcat "$ROOT/tests/data/small.slog.gz" > slog
    "$BUILD/slogreport" --json --follow slog > out 3>&- &
    pid=$!
    wait_for 20 awk '/WATCHDOG=1/ { n++ } /READY=1/ { r++ } END { exit n < 3 || r != 1 }' news
    kill "$pid"
    wait "$pid" || true
}

@test "who is not a service, or not the process that is watched, says nothing" {
    receive
    WATCHDOG_PID=1 "$BUILD/gaspipe" run --counter none --vat token="$ROOT/examples/token/contract.js" \
        "$ROOT/examples/token/deliveries.jsonl" > /dev/null || [ $? -eq 1 ]
    wait_for 20 grep -q READY=1 news
    assert_equal "$(sort -u news)" READY=1
}

@test "the units confine their services" {
    local unit

    systemd-analyze --version 2> /dev/null | grep -qE '^systemd (25[2-9]|2[6-9])' || skip 'there is no systemd-analyze 252 or later (apt-get install systemd)'
    for unit in "$ROOT"/docs/systemd/*.service; do
        run systemd-analyze security --offline=true --threshold=30 --no-pager "$unit"
        assert_status 0
    done
}

@test "the alerts are ones of Prometheus, on metrics that there are" {
    local name metrics

    command -v promtool > /dev/null || skip 'promtool is not installed (apt-get install prometheus)'
    promtool check rules "$ROOT/docs/prometheus-alerts.yml"
    metrics=$(grep -oE 'slog_[a-z_]+' "$ROOT/docs/prometheus-alerts.yml" | sort -u)
    for name in $metrics; do
        grep -q "${name%_sum}" "$ROOT/docs/man/slogreport-export.7" || fail "there is no $name"
    done
}
