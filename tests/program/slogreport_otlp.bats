#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# slogreport --otlp: spans in OTLP/JSON, into a file and to a collector.

load common

DATA=$ROOT/tests/data

# spans/NAME: the spans of each file, one a line.
setup_file() {
    local file

    mkdir "$BATS_FILE_TMPDIR/spans"
    for file in "$DATA"/*.slog.gz "$DATA"/shapes/*.slog; do
        slogreport --otlp "$BATS_FILE_TMPDIR/spans/otlp" "$file" 2> /dev/null
        all_spans "$BATS_FILE_TMPDIR/spans/otlp" > "$(spans_of "$file")"
    done
}

# spans_of FILE: where setup_file() has put its spans.
spans_of() {
    echo "$BATS_FILE_TMPDIR/spans/$(basename "$1")"
}

setup() {
    unset OTEL_SERVICE_NAME OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_TIMEOUT
    # Nothing between slogreport and the collector of the test.
    unset http_proxy HTTP_PROXY all_proxy ALL_PROXY
    cd "$BATS_TEST_TMPDIR"
}

teardown() {
    for process in ${follower:-} ${collector:-}; do
        kill "$process" 2> /dev/null || true
        wait "$process" || true
    done
}

slogreport() {
    "$BUILD/slogreport" "$@"
}

# all_spans FILE: its spans, one a line.
all_spans() {
    jq -c '.resourceSpans[].scopeSpans[].spans[]' "$1"
}

# Starts a collector in ./there that gives these answers; its URL is $url then.
start_collector() {
    mkdir -p there
    node "$BATS_TEST_DIRNAME/otlp_collector.mjs" there "$@" 3>&- &
    collector=$!
    wait_for 60 test -s there/port
    url=http://127.0.0.1:$(cat there/port)
}

# jq's numbers end at 2^53: nanoseconds since the epoch lose five digits, which all
# of a file's must have in common.
JQ=$JQ_INDEX'
    def attribute($key): .attributes[] | select(.key == $key) | .value | .[];
    def number($key): (attribute($key) | tonumber) // null;
    def took: (.endTimeUnixNano[5:] | tonumber) - (.startTimeUnixNano[5:] | tonumber);
    def is_delivery: .kind == 5;'

@test "each span lies within its parent, and each trace is one block, crank, replay or phase" {
    for file in "$DATA"/*.slog.gz "$DATA"/shapes/*.slog; do
        jq -se "$JQ"'
            (index_by("\(.traceId) \(.spanId)")) as $by_id
            | ($by_id | length) == length
            and all(.[]; (.startTimeUnixNano | length) == 19 and .startTimeUnixNano <= .endTimeUnixNano)
            and all(.[] | select(.parentSpanId);
                . as $span | $by_id["\(.traceId) \(.parentSpanId)"]
                | . != null and .startTimeUnixNano <= $span.startTimeUnixNano
                    and .endTimeUnixNano >= $span.endTimeUnixNano)
            and (group_by(.traceId) | all(.[];
                [.[] | select(.parentSpanId | not)]
                | length == 1 and (.[0].name | IN("block", "crank", "replay", "idle", "bootstrap", "upgrade",
                    "kernel-start", "kernel-start bundle", "kernel-start import", "run forced", "vat-start",
                    "snapshot-save", "snapshot-load", "vat-cleanup"))))' \
            "$(spans_of "$file")" > /dev/null || fail "$file: spans that do not fit together"
    done
}

@test "each delivery is there with the times that --json gives" {
    for file in "$DATA"/*.slog.gz "$DATA"/shapes/*.slog; do
        slogreport --json "$file" 2> /dev/null | jq -c 'select(.kind == "delivery" and .total)
            | def nanoseconds: if . then . * 1e9 | round else null end;
            [.vatID, .crankNum, .deliveryNum, .description, .status, ([.total, 0] | max | nanoseconds),
             (.pipe, .worker, .kernel, .unattributed | nanoseconds), .compute]' > expected
        jq -c "$JQ"'select(is_delivery)
            | [attribute("swingset.vat_id"), number("swingset.crank_num"), number("swingset.delivery_num"),
               attribute("swingset.description"), (if .status.code == 2 then "error" else "ok" end), took,
               number("swingset.pipe_ns"), number("swingset.worker_ns"), number("swingset.kernel_ns"),
               number("swingset.unattributed_ns"), number("swingset.computrons")]' "$(spans_of "$file")" > found
        diff expected found || fail "$file: other deliveries than those of --json"
    done
}

@test "the rest of a delivery, without transfers and requests, is the worker's" {
    # And a request is its way up, the kernel and the way down, and nothing besides.
    assert_equal "$(jq -sc "$JQ"'
        group_by(.parentSpanId) | index_by(.[0].parentSpanId) as $children
        | [.[][] | select(is_delivery) | select([attribute("swingset.overrun")] == [])
            | select([attribute("swingset.worker_ns")] != [])
            | took - ([$children[.spanId][] | took] | add) - number("swingset.worker_ns")] as $deliveries
        | [.[][] | select(.kind == 3 or .kind == 4) | select($children[.spanId])
            | took - ([$children[.spanId][] | took] | add)] as $requests
        | [($deliveries | (length > 100), all(.[]; . == 0)),
            ($requests | (length > 1000), all(.[]; . == 0))]' "$(spans_of "$DATA/variety.slog.gz")")" \
        '[true,true,true,true]'
}

@test "a delivery has a link to the send that caused it" {
    for file in "$DATA"/*.slog.gz; do
        # Straight from the lines: the same result promise, or, without one, the first
        # send of the same words that has not come yet.
        zcat "$file" | jq -cn '
            reduce (inputs | select(.replay == false)
                | select((.type == "syscall" and .ksc[0] == "send") or (.type == "deliver" and .kd[0] == "message"))) as $line
                ({waiting: {}, links: []};
                ($line | if .type == "syscall" then .ksc[2] else .kd[2] end | (.result // tojson)) as $message
                | [$line.vatID, $line.deliveryNum] as $delivery
                | if $line.type == "syscall" then .waiting[$message] += [$delivery]
                  elif (.waiting[$message] // []) == [] then .
                  else .links += [[.waiting[$message][0], $delivery]] | .waiting[$message] |= .[1:] end)
            | .links[]' | sort > expected
        jq -sc "$JQ"'
            index_by(.spanId) as $by_id
            | def name: [attribute("swingset.vat_id"), number("swingset.delivery_num")];
            .[] | select(.links) | . as $to | .links[]
            | $by_id[.spanId] | select(.kind == 4 and .name == "send")
            | [($by_id[.parentSpanId] | name), ($to | name)]' "$(spans_of "$file")" | sort > found
        diff expected found
        [ "$(wc -l < found)" -ge 3 ]
    done
}

@test "a notify has links to the resolves that settled its promises" {
    for file in "$DATA"/*.slog.gz; do
        # Straight from the lines, by the kernel's numbers of the promises. What a failed
        # delivery resolved is undone, and promises that the kernel rejected have no resolve.
        zcat "$file" | jq -cn '
            reduce (inputs | select(.replay == false)) as $line
                ({resolved: {}, pending: [], links: []};
                [$line.vatID, $line.deliveryNum] as $delivery
                | if $line.type == "syscall" and $line.ksc[0] == "resolve"
                  then .pending += [$line.ksc[2][] | [.[0], $delivery, $line.syscallNum]]
                  elif $line.type == "deliver-result"
                  then reduce (.pending[] | select($line.dr[0] == "ok")) as $settled (.;
                        .resolved[$settled[0]] = $settled[1:]) | .pending = []
                  elif $line.type == "deliver" and $line.kd[0] == "notify"
                  then .resolved as $resolved
                      | .links += ([$line.kd[1][] | $resolved[.[0]] | select(.)[0] | [., $delivery]] | unique)
                  else . end)
            | .links[]' | sort > expected
        jq -sc "$JQ"'
            index_by(.spanId) as $by_id
            | def name: [attribute("swingset.vat_id"), number("swingset.delivery_num")];
            .[] | select(.links) | . as $to | .links[]
            | $by_id[.spanId] | select(.name == "resolve")
            | [($by_id[.parentSpanId] | name), ($to | name)]' "$(spans_of "$file")" | sort > found
        diff expected found
        [ "$(wc -l < found)" -ge 3 ]
    done
}

@test "a block is a trace, which holds its cranks" {
    slogreport --otlp spans "$DATA/shapes/blocks.slog"
    assert_equal "$(all_spans spans | jq -sc "$JQ"'map(select(.name == "block"))
        | map([number("swingset.block_height"), took])')" '[[5,4736000],[6,'"$(
        slogreport --json "$DATA/shapes/blocks.slog" | jq -s 'map(select(.kind == "delivery"))[2] | .start + .total - 1795219394.374865
            | . * 1e6 | round * 1000'
    )"']]'
    assert_equal "$(all_spans spans | jq -sc "$JQ"'index_by(.spanId) as $by_id
        | map(select(.name == "crank") | [number("swingset.crank_num"),
            ($by_id[.parentSpanId] | number("swingset.block_height"))])')" '[[40,5],[41,5],[49,6]]'
}

@test "ids do not depend on what is chosen, nor on where the file begins" {
    slogreport --otlp all "$DATA/variety.slog.gz"
    all_spans all | sort > expected
    slogreport --otlp some --vat v3 --vat v4 --crank 40-90 "$DATA/variety.slog.gz"
    all_spans some | jq -c 'select(.name != "crank")' | sort > found
    [ "$(wc -l < found)" -gt 100 ]
    assert_equal "$(comm -13 expected found)" ''
    # The second half alone, from the beginning of a crank on.
    zcat "$DATA/variety.slog.gz" > whole
    tail -n +"$(grep -n '"type":"crank-start"' whole | sed -n '100s/:.*//p')" whole > half
    slogreport --otlp some half
    all_spans some | jq -r 'select(.kind != 1) | "\(.traceId) \(.spanId)"' | sort > found
    [ "$(wc -l < found)" -gt 100 ]
    all_spans all | jq -r '"\(.traceId) \(.spanId)"' | sort > expected
    assert_equal "$(comm -13 expected found)" ''
}

@test "a collector that is busy, or closes the connection, still gets each span once" {
    slogreport --otlp file "$DATA/variety.slog.gz"
    all_spans file | sort > expected
    start_collector 503:1 200 reset 429 200 502 504:1
    run --separate-stderr slogreport --otlp "$url" "$DATA/variety.slog.gz"
    assert_status 0
    assert_equal "$output$stderr" ''
    all_spans there/taken | sort | diff expected -
    assert_equal "$(jq -r .answer there/log | tr '\n' ' ' | cut -d ' ' -f 1-7)" '503:1 200 reset 429 200 502 504:1'
    assert_equal "$(jq -r '"\(.method) \(.url) \(.headers["content-type"])"' there/log | sort -u)" \
        'POST /v1/traces application/json'
}

@test "what is too large for a collector is sent again in parts" {
    slogreport --otlp file "$DATA/variety.slog.gz"
    all_spans file | sort > expected
    start_collector max:20000!
    run --separate-stderr slogreport --otlp "$url" "$DATA/variety.slog.gz"
    assert_status 0
    assert_equal "$output$stderr" ''
    all_spans there/taken | sort | diff expected -
    # The next requests are made smaller, so that few are too large for nothing.
    requests=$(wc -l < there/log)
    [ "$requests" -lt $((3 * $(wc -l < there/taken))) ]
}

@test "a single span that is too large for a collector is counted, and nothing else" {
    slogreport --otlp file "$DATA/small.slog.gz"
    largest=$(all_spans file | awk '{ if (length($0) > most) most = length($0) } END { print most }')
    start_collector "max:$((largest + 50))!"
    run --separate-stderr slogreport --otlp "$url" "$DATA/small.slog.gz"
    assert_status 4
    missing=$(($(all_spans file | wc -l) - $(all_spans there/taken | wc -l)))
    [ "$missing" -gt 0 ]
    [[ $stderr == *": $missing of $(all_spans file | wc -l) spans were not taken: HTTP status 413"* ]] || fail "$stderr"
}

@test "what a collector does not take is counted, with its message" {
    spans=$(slogreport --otlp /dev/stdout "$DATA/small.slog.gz" | jq '.resourceSpans[0].scopeSpans[0].spans | length')
    start_collector partial:3 400 200
    run --separate-stderr slogreport --otlp "$url" "$DATA/small.slog.gz"
    assert_bad_input 4 "3 of $spans spans were not taken: the collector rejected them: too old" "$url"
    run --separate-stderr slogreport --otlp "$url" "$DATA/small.slog.gz"
    assert_bad_input 4 "$spans of $spans spans were not taken: HTTP status 400: not today"
    run --separate-stderr slogreport --otlp "$url" "$DATA/small.slog.gz"
    assert_status 0
    # Finally refused lines are not sent again.
    assert_equal "$(jq -r .answer there/log | tr '\n' ' ')" 'partial:3 400 200 '
}

@test "nothing is lost silently if a collector dies on the way" {
    slogreport --otlp file "$DATA/variety.slog.gz"
    # Retrying in an hour is too late: nothing is tried twice.
    start_collector 200 200 '503:3600!'
    run --separate-stderr slogreport --json --otlp "$url" "$DATA/variety.slog.gz"
    assert_status 4
    all=$(all_spans file | wc -l)
    taken=$(all_spans there/taken | wc -l)
    [ "$taken" -gt 0 ]
    [ "$taken" -lt "$all" ]
    [[ $stderr == *": $((all - taken)) of $all spans were not taken: HTTP status 503: not today"* ]] || fail "$stderr"
    # The report is complete.
    assert_equal "$output" "$(slogreport --json "$DATA/variety.slog.gz")" 'reports'
}

@test "without a collector everything is counted, and a file keeps it for later" {
    start_collector 200
    kill "$collector"
    wait "$collector" || true
    collector=
    slogreport --otlp file "$DATA/variety.slog.gz"
    OTEL_EXPORTER_OTLP_TIMEOUT=300 run --separate-stderr slogreport --otlp "$url" "$DATA/variety.slog.gz"
    all=$(all_spans file | wc -l)
    assert_bad_input 4 "$all of $all spans were not taken" "--otlp FILE"
    # Line by line, as the manual says.
    rm there/port
    start_collector
    while IFS= read -r line; do
        printf '%s\n' "$line" | node -e '
            const body = require("fs").readFileSync(0);
            fetch(process.argv[1], { method: "POST", headers: { "Content-Type": "application/json" }, body })
                .then(answer => process.exit(answer.ok ? 0 : 1));' "$url/v1/traces"
    done < file
    diff file there/taken
}

@test "with --follow spans go out while the file is being written" {
    start_collector
    head -n 4 "$DATA/shapes/live.slog" > growing
    slogreport --follow --otlp "$url" growing 3>&- &
    follower=$!
    tail -n +5 "$DATA/shapes/live.slog" >> growing
    slogreport --otlp expected "$DATA/shapes/live.slog"
    # The last crank ends with the file, where no line ends it.
    deliveries_there() {
        [ "$(all_spans there/taken | jq -r 'select(.kind == 5) | .spanId')" = \
            "$(all_spans expected | jq -r 'select(.kind == 5) | .spanId')" ]
    }
    wait_for 60 deliveries_there
    mv growing grown
    wait "$follower"
    follower=
    assert_equal "$(all_spans there/taken | sort)" "$(all_spans expected | sort)"
}

@test "headers, service and path are as the environment and the URL say" {
    start_collector
    OTEL_EXPORTER_OTLP_HEADERS='authorization=Bearer%20a%2Cb, x-scope=one' OTEL_SERVICE_NAME='node "7"' \
        run --separate-stderr slogreport --otlp "$url/otlp/here?x=1" "$DATA/shapes/live.slog"
    assert_status 0
    assert_equal "$(jq -r '"\(.url) \(.headers.authorization) \(.headers["x-scope"])"' there/log)" \
        '/otlp/here?x=1 Bearer a,b one'
    assert_equal "$(jq -c '.resourceSpans[0].resource.attributes' there/taken)" \
        '[{"key":"service.name","value":{"stringValue":"node \"7\""}}]'
}

@test "nonsense is reported before anything is read" {
    run --separate-stderr slogreport --otlp http:// none
    assert_bad_input 2 '--otlp http://: not a URL'
    for timeout in 0 x -5 99999999999; do
        OTEL_EXPORTER_OTLP_TIMEOUT=$timeout run --separate-stderr slogreport --otlp http://localhost none
        assert_bad_input 2 'OTEL_EXPORTER_OTLP_TIMEOUT needs milliseconds from 1 to' "not '$timeout'"
    done
    for headers in secret 'a b=secret' '=secret' 'x=secret%0d%0aevil: 1'; do
        OTEL_EXPORTER_OTLP_HEADERS=$headers run --separate-stderr slogreport --otlp http://localhost none
        assert_bad_input 2 OTEL_EXPORTER_OTLP_HEADERS
        [[ $stderr != *secret* ]] || fail "a secret is shown: $stderr"
    done
    run --separate-stderr slogreport summary --otlp spans "$DATA/small.slog.gz"
    assert_bad_input 2 --otlp
    run --separate-stderr slogreport --otlp none/spans "$DATA/small.slog.gz"
    assert_bad_input 4 none/spans
    run --separate-stderr slogreport --otlp /dev/full "$DATA/small.slog.gz"
    assert_bad_input 4 /dev/full
}

fetch_peers() {
    make_npm_peers && return
    ! grep -q EINTEGRITY "$npm_peers_log" || fail "$(cat "$npm_peers_log")"
    skip "npm's registry cannot be reached, so OpenTelemetry's definitions are not there"
}

@test "OpenTelemetry's own protobuf definitions know each field" {
    local spans=()

    fetch_peers
    for file in "$DATA"/*.slog.gz "$DATA"/shapes/*.slog; do
        spans+=("spans.${#spans[@]}")
        slogreport --otlp "${spans[-1]}" "$file" 2> /dev/null
        all_spans "${spans[-1]}" | wc -l >> expected
    done
    run node "$BATS_TEST_DIRNAME/otlp_decode.mjs" "$ROOT/build/npm/node_modules" "${spans[@]}"
    assert_status 0
    assert_equal "$output" "$(cat expected)"
    # The check can fail.
    sed 's/startTimeUnixNano/startTime/' spans.0 > wrong
    run node "$BATS_TEST_DIRNAME/otlp_decode.mjs" "$ROOT/build/npm/node_modules" wrong
    [ "$status" -ne 0 ]
}
