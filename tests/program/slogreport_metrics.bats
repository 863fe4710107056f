#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# slogreport --metrics and --listen: what Prometheus reads.

load common

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

teardown() {
    [ -z "${follower:-}" ] || kill "$follower" 2> /dev/null || true
}

# get PORT [HEADER]: what the server answers, without curl.
get() {
    exec 5<> "/dev/tcp/127.0.0.1/$1"
    printf 'GET /metrics HTTP/1.0\r\n%s\r\n' "${2:+$2$'\r\n'}" >&5
    cat <&5
    exec 5>&-
}

same_deliveries() {
    cmp <(grep '^slog_deliveries_total' slog.prom) <(grep '^slog_deliveries_total' whole.prom)
}

@test "metrics of a slogfile agree with its report" {
    local data=$ROOT/tests/data/variety.slog.gz

    "$BUILD/slogreport" --metrics slog.prom "$data"
    "$BUILD/slogreport" --json "$data" > deliveries
    assert_equal "$(awk '/^slog_deliveries_total/ { n += $NF } END { print n }' slog.prom)" \
        "$(jq -s 'map(select(.kind == "delivery" and (.replay | not))) | length' deliveries)"
    assert_equal "$(awk '/^slog_delivery_seconds_sum.*part="worker"/ { n += $NF } END { printf "%.6f", n }' slog.prom)" \
        "$(jq -s 'map(select(.kind == "delivery" and (.replay | not)) | .worker // 0) | add * 1e6 | round / 1e6' deliveries | xargs printf %.6f)"
    assert_equal "$(awk '/^slog_computrons_total/ { n += $NF } END { printf "%.0f", n }' slog.prom)" \
        "$(jq -s 'map(select(.kind == "delivery" and (.replay | not)) | .compute // 0) | add' deliveries)"
    # Each histogram's last bucket is its count.
    [ "$(grep -c 'le="+Inf"' slog.prom)" -gt 5 ]
    diff <(sed -n 's/_bucket\(.*\),le="+Inf"}/_count\1}/p' slog.prom) <(grep '_seconds_count{.' slog.prom)
    if command -v promtool > /dev/null; then
        promtool check metrics < slog.prom
    fi
}

@test "--follow keeps a file and a server up to date" {
    local port data=$BATS_TEST_TMPDIR/all

    gzip -dc "$ROOT/tests/data/variety.slog.gz" > "$data"
    head -n 200 "$data" > growing
    "$BUILD/slogreport" --follow --metrics slog.prom --listen 0 growing 2> err 3>&- &
    follower=$!
    wait_for 20 grep -q '/metrics$' err
    port=$(sed -n 's|.*http://127.0.0.1:\([0-9]*\)/metrics$|\1|p' err)
    wait_for 20 grep -q '^slog_deliveries_total' slog.prom
    get "$port" > first
    grep -q $'^Content-Type: text/plain; version=0.0.4' first
    grep -q '^# TYPE slog_deliveries_total counter' first
    cp slog.prom before
    tail -n +201 "$data" >> growing
    "$BUILD/slogreport" --metrics whole.prom "$data"
    wait_for 20 same_deliveries
    get "$port" 'Accept: application/openmetrics-text; version=1.0.0' > last
    grep -q $'^Content-Type: application/openmetrics-text; version=1.0.0' last
    grep -q '^# TYPE slog_deliveries counter' last
    [ "$(tail -n 1 last)" = '# EOF' ]
    run -1 cmp before slog.prom
    kill -TERM "$follower"
    wait "$follower"
    follower=
}

@test "only loopback addresses, and only with --follow" {
    run --separate-stderr "$BUILD/slogreport" --follow --listen 0.0.0.0:0 "$ROOT/tests/data/variety.slog.gz"
    assert_bad_input 2 'only loopback addresses'
    run --separate-stderr "$BUILD/slogreport" --follow --listen here "$ROOT/tests/data/variety.slog.gz"
    assert_bad_input 2 '--listen needs PORT'
    run --separate-stderr "$BUILD/slogreport" --listen 0 "$ROOT/tests/data/variety.slog.gz"
    assert_bad_input 2 '--listen needs --follow'
}

@test "the dashboard asks only for metrics that there are" {
    local name

    jq -e '.panels | length > 10' "$ROOT/docs/grafana-slog.json" > /dev/null
    for name in $(jq -r '.. | .expr? // empty' "$ROOT/docs/grafana-slog.json" | grep -oE 'slog_[a-z_]+' |
        sed -E 's/_(bucket|sum|count)$//' | sort -u); do
        grep -q "\"${name%_total}\"" "$ROOT/tools/metrics/metrics.c" || fail "no metric $name"
    done
}

# serve: a server of a slogfile; its port is $port.
serve() {
    "$BUILD/slogreport" --follow --metrics slog.prom --listen 0 "$ROOT/tests/data/variety.slog.gz" 2> err 3>&- &
    follower=$!
    wait_for 20 grep -q '/metrics$' err
    port=$(sed -n 's|.*http://127.0.0.1:\([0-9]*\)/metrics$|\1|p' err)
}

# status_of HOST: of a request of HTTP/1.1 with that Host; "": without one.
status_of() {
    exec 5<> "/dev/tcp/127.0.0.1/$port"
    printf 'GET /metrics HTTP/1.1\r\n%sConnection: close\r\n\r\n' "${1:+Host: $1$'\r\n'}" >&5
    head -n 1 <&5 | cut -d ' ' -f 2
    exec 5>&-
}

@test "--listen answers only to a Host that is its own" {
    local port host

    serve
    for host in "127.0.0.1:$port" "localhost:$port" "LOCALHOST:$port" "[::1]:$port"; do
        assert_equal "$(status_of "$host")" 200 "$host"
    done
    for host in "evil.example:$port" "127.0.0.1" "127.0.0.1:1" "localhost.evil.example:$port" "127.0.0.2:$port"; do
        assert_equal "$(status_of "$host")" 421 "$host"
    done
    [ "$(status_of "")" != 200 ]
}

@test "--listen drops clients that are stalled" {
    local port fds=() fd

    serve
    for _ in {1..24}; do
        exec {fd}<> "/dev/tcp/127.0.0.1/$port"
        fds+=("$fd")
    done
    printf 'GET /metr' >&"${fds[3]}"
    # They are dropped within a second; the server's timeout had been ten.
    for fd in "${fds[0]}" "${fds[3]}"; do
        timeout 6 cat <&"$fd" > rest || fail "it was not dropped"
    done
    get "$port" > first
    grep -q '^# TYPE slog_deliveries_total counter' first
}
