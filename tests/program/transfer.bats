#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a delivery reads, writes and prints is bounded.

load common

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    cat > it.js << 'END'
export const put = (key, n) => { store.set(key, 'x'.repeat(n)); };
export const get = (key, times) => { for (let i = 0; i < times; i += 1) store.get(key); };
export const put_often = (n, times) => { for (let i = 0; i < times; i += 1) store.set(`${i}`, 'y'.repeat(n)); };
export const say = (n, times) => { for (let i = 0; i < times; i += 1) console.log('z'.repeat(n)); return times; };
export const back = n => 'b'.repeat(n);
export const values = n => JSON.parse(`[${'{},'.repeat(n)}0]`);
export const one = () => 1;
END
}

# line METHOD ARGUMENTS [VAT]
line() {
    echo "{\"vat\":\"${3-it}\",\"method\":\"$1\",\"args\":[$2]}"
}

# outcome: of the deliveries in the output, without their times.
outcome() {
    jq -c 'select(.kind == "delivery") | [.vat, .crankNum, .status, .error, .compute, .result]' <<< "$output"
}

beyond='it: more than the 100000 bytes that a delivery may read and write through syscalls (--max-transfer-bytes)'

@test "a vat that transfers more than it may in a delivery is terminated, at the same syscall in every run" {
    local first options=(--json --counter none --max-transfer-bytes 100000)

    { line put '"a",60000'; line get '"a",1'; line get '"a",3'; line one ''; } > deliveries
    run --separate-stderr "$BUILD/gaspipe" run "${options[@]}" --slog slog --vat it=it.js deliveries
    assert_status 1
    first=$(outcome)
    assert_equal "$(jq -r '.[3]' <<< "$first" | sed -n 4p)" "${beyond#it: }"
    # The answer that exceeds it is not given: one syscall is answered.
    assert_equal "$(jq -c 'select(.type == "syscall-result" and .crankNum == 7)' slog | wc -l)" 1
    run --separate-stderr "$BUILD/slogreport" --strict slog
    assert_status 0
    run "$BUILD/gaspipe" replay --counter none slog
    assert_status 0
    # In two runs, with a worker that is restored.
    head -n 2 deliveries > some
    tail -n 2 deliveries > others
    "$BUILD/gaspipe" run "${options[@]}" --store store --vat it=it.js some > /dev/null
    run --separate-stderr "$BUILD/gaspipe" run "${options[@]}" --max-transfer-bytes 5M --store store --vat it=it.js others
    assert_status 1
    [[ $stderr == *'--max-transfer-bytes 5242880 is ignored; the vat keeps 100000'* ]] || fail "$stderr"
    assert_equal "$(outcome)" "$(tail -n 2 <<< "$first")"
    run "$BUILD/gaspipe" verify --store store
    assert_status 0
    # From a snapshot after each delivery, and ahead.
    run --separate-stderr "$BUILD/gaspipe" run "${options[@]}" --snapshot-initial 1 --snapshot-interval 1 --vat it=it.js deliveries
    assert_equal "$(outcome)" "$first"
    run --separate-stderr "$BUILD/gaspipe" run "${options[@]}" --jobs 3 --queue-lines 4 --vat it=it.js --vat other=it.js deliveries
    assert_equal "$(outcome | grep '^."it"' | jq -c 'del(.[1])')" "$(head -n 4 <<< "$first" | jq -c 'del(.[1])')"
}

@test "a delivery with syscalls of exactly the bytes that it may transfer lives" {
    local bytes

    { line put '"a",500'; line get '"a",2'; } > deliveries
    "$BUILD/gaspipe" run --counter none --slog slog --vat it=it.js deliveries > /dev/null
    bytes=$(jq -c 'select(.deliveryNum == 3) | .vsc // .vsr // empty' slog | tr -d '\n' | wc -c)
    run "$BUILD/gaspipe" run --counter none --max-transfer-bytes "$bytes" --vat it=it.js deliveries
    assert_status 0
    run "$BUILD/gaspipe" run --counter none --max-transfer-bytes $((bytes - 1)) --vat it=it.js deliveries
    assert_status 1
}

@test "the limit of what a delivery transfers can be changed" {
    { line put '"a",60000'; line get '"a",3'; } > deliveries
    "$BUILD/gaspipe" run --counter none --max-transfer-bytes 100000 --store store --vat it=it.js <(head -n 1 deliveries) > /dev/null
    run "$BUILD/gaspipe" run --store store --set-limit it=transfer-bytes:1000000000
    assert_status 3
    assert_output_has 'transfer-bytes is 0 or from 1 to 100663296'
    run "$BUILD/gaspipe" run --counter none --store store --set-limit it=transfer-bytes:300000
    assert_status 0
    run "$BUILD/gaspipe" run --counter none --store store --again <(tail -n 1 deliveries)
    assert_status 0
    run "$BUILD/gaspipe" run --max-transfer-bytes 97M --vat it=it.js deliveries
    assert_status 2
    assert_output_has '--max-transfer-bytes is at most 96M'
}

@test "of what a delivery prints, the first mebibyte is shown" {
    local whole

    { line say '300000,2'; line one ''; line say '300000,5'; line one ''; } > deliveries
    run --separate-stderr "$BUILD/gaspipe" run --json --counter none --slog slog --vat it=it.js deliveries
    assert_status 0
    assert_equal "$(jq -c 'select(.kind == "delivery") | .result' <<< "$output" | tr '\n' ' ')" 'null 2 1 5 1 '
    assert_equal "$(grep -c zzzz <<< "$stderr")" 5
    [[ $stderr == *'it: console calls left out: 2 (600008 bytes); a delivery prints 1048576 bytes at most'* ]] ||
        fail "$stderr"
    assert_equal "$(jq -c 'select(.type == "gaspipe-console-cut") | [.crankNum, .calls, .bytes]' slog)" '[7,2,600008]'
    assert_equal "$(jq -c 'select(.type == "console") | .args[0] | length' slog | tr '\n' ' ')" \
        '300000 300000 300000 300000 300000 0 0 '
    run --separate-stderr "$BUILD/slogreport" --strict --json slog
    assert_status 0
    whole=$(jq -c 'select(.kind == "delivery") | [.consoles, .overrun, (.unattributed * 1e6 | round)]' <<< "$output")
    assert_equal "$(tr '\n' ' ' <<< "$whole")" '[0,false,0] [2,false,0] [0,false,0] [5,false,0] [0,false,0] '
    run "$BUILD/gaspipe" replay --counter none slog
    assert_status 0
}

# The result of one() has been printed, which is shorter than others: megabytes are not searched again and again.
has_ended_with_one() {
    tail -c 4096 out | grep -q '\.one -> '
}

# peak FILE OPTION...: the most memory, in kB, of a run of the deliveries in FILE, whose last one is one().
peak() {
    local pid feed

    rm -f input
    mkfifo input
    "$BUILD/gaspipe" run --json --counter none --compute-limit 2000000000 --vat it=it.js \
        "${@:2}" input > out 2> err 3>&- &
    pid=$!
    exec {feed}> input
    cat "$1" >&"$feed"
    wait_for 300 has_ended_with_one
    awk '/^VmHWM/ { print $2 }' "/proc/$pid/status"
    exec {feed}>&-
    wait "$pid" || true
}

@test "whatever a delivery reads, writes and prints, gaspipe takes less than 300 MB" {
    local most

    [ "$BUILD" = "$NATIVE" ] || skip 'a sanitized program takes more memory'
    # Up to the highest limit that there is.
    { line put '"a",16000000'; line get '"a",6'; line one ''; } > read
    { line put_often '900000,110'; line say '300000,20'; line one ''; } > write
    for input in read write; do
        most=$(peak $input --max-transfer-bytes 96M --store "store.$input" --slog "slog.$input")
        [ "$most" -lt 300000 ] || fail "$input: $most kB"
        assert_equal "$(jq -s 'map(select(.kind == "delivery" and .status != "ok")) | length' out)" 0
    done
    # A run that replays these deliveries to restore the vat, and one that the limit cuts short.
    line one '' > again
    most=$(peak again --store store.write --again)
    [ "$most" -lt 300000 ] || fail "again: $most kB"
    { line put '"a",16000000'; line get '"a",40'; line one '' other; } > beyond
    most=$(peak beyond --vat other=it.js --store store.beyond --slog slog.beyond)
    [ "$most" -lt 300000 ] || fail "beyond: $most kB"
    grep -q 'more than the 67108864 bytes' out
}

# message LENGTH: a line with so long an argument.
message() {
    echo "{\"vat\":\"it\",\"method\":\"one\",\"args\":[\"$(head -c "$1" /dev/zero | tr '\0' a)\"]}"
}

@test "one message, result or value of the longest that there may be takes less than 300 MB" {
    local most input long=24900000

    [ "$BUILD" = "$NATIVE" ] || skip 'a sanitized program takes more memory'
    { message $long; line one ''; } > message
    { line back $long; line one ''; } > back
    { line put "\"a\",$long"; line get '"a",1'; line one ''; } > value
    # Values that take more memory than their text.
    { line values 380000; line one ''; } > values
    for input in message back value values; do
        most=$(peak $input --store "store.$input" --slog "slog.$input")
        [ "$most" -lt 300000 ] || fail "$input: $most kB"
        assert_equal "$(jq -s 'map(select(.kind == "delivery" and .status != "ok")) | length' out)" 0
    done
}

@test "what is longer than a frame ends its vat, or is refused with its line" {
    local first

    { line back 26000000; line one ''; } > deliveries
    run --separate-stderr "$BUILD/gaspipe" run --json --counter none --vat it=it.js deliveries
    assert_status 1
    first=$(outcome)
    [[ $first == *'A message is too long for a frame: more than the 25165824 bytes of a frame'* ]] || fail "$first"
    run --separate-stderr "$BUILD/gaspipe" run --json --counter none --snapshot-initial 1 --vat it=it.js deliveries
    assert_equal "$(outcome)" "$first"
    message 26000000 > deliveries
    run "$BUILD/gaspipe" run --counter none --vat it=it.js deliveries
    assert_status 3
    assert_output_has 'deliveries:1: the line is longer than 25165824 bytes'
    echo "{\"vat\":\"it\",\"method\":\"one\",\"args\":[[0$(yes ,0 | head -n 800000 | tr -d '\n')]]}" > deliveries
    run "$BUILD/gaspipe" run --counter none --vat it=it.js deliveries
    assert_status 3
    assert_output_has 'deliveries:1: more than 7364'
}

@test "a delivery of many syscalls: memory does not grow with them, and its total and kernel time are known" {
    local few many

    [ "$BUILD" = "$NATIVE" ] || skip 'a sanitized program takes more memory'
    { line put '"a",3'; line get '"a",32766'; line one ''; } > few
    { line put '"a",3'; line get '"a",150000'; line one ''; } > many
    few=$(peak few --slog slog.few)
    assert_equal "$(jq -c 'select(.description | . != null and test("get")) | [.pipe, .worker] | map(. > 0)' out)" '[true,true]'
    many=$(peak many --slog slog.many)
    [ "$many" -lt $((few + 22000)) ] || fail "$few kB, $many kB"
    assert_equal "$(jq -c 'select(.description | . != null and test("get")) |
        [.status, .pipe, .worker, (.kernel > 0), (.total > .kernel)]' out)" '["ok",null,null,true,true]'
    assert_equal "$(jq -c 'select(.type == "deliver-result" and .crankNum == 5) |
        .dr[2].timestamps | length' slog.many)" 65536
    run --separate-stderr "$BUILD/slogreport" --strict slog.many
    assert_status 0
}
