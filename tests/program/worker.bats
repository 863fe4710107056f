#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe-worker, driven over its pipe by hand.

load common

# frame BYTES...: each as a netstring.
frame() {
    local LC_ALL=C bytes

    for bytes; do
        printf '%d:%s,' "${#bytes}" "$bytes"
    done
}

# worker OPTIONS...: run with the frames from stdin; $output has the frames that came
# back and what it said on stderr, $status is the worker's.
worker() {
    run bash -c 'exec "$0" "$@" 3<&0 4>&1' "$NATIVE/gaspipe-worker" "$@"
}

# The meter records in $output, one JSON object a line.
meters() {
    grep -aoE '\{"currentHeapCount".*\}' <<< "${output//$'\x01'/$'\n'}"
}

# The results after the meters, one a line: between \1 and the frame's comma.
results() {
    tr '\001' '\n' <<< "$output" | sed -nE '2,$s/,([0-9]+:[.].*)?$//p'
}

# A contract that answers each delivery with what it was sent.
echo_contract='eglobalThis.handleCommand = bytes => ({ result: bytes })'

# A contract that asks as often as the message says, and returns the last answer.
asking_contract='e
globalThis.handleCommand = bytes => {
    let answer;
    for (let count = Number(new TextDecoder().decode(bytes)); count > 0; count--)
        answer = issueCommand(new TextEncoder().encode(`request ${count}`).buffer);
    return { result: answer };
}'

@test "a delivery returns its result, with its meter" {
    worker < <(frame "$echo_contract" '?hello' '?again')
    assert_status 0
    assert_equal "$(results)" $'\nhello\nagain'
    assert_equal "$(meters | jq -c '[.timestamps, .monotimes | length]')" $'[2,2]\n[2,2]\n[2,2]'
    assert_equal "$(meters | jq .compute | sed -n 2p)" "$(meters | jq .compute | sed -n 3p)" \
        "computrons of two equal deliveries"
}

@test "R is answered by a bare dot, and q ends the worker" {
    worker < <(frame R q 'ethrow new Error("after the end")')
    assert_status 0
    assert_equal "$output" '1:.,'
}

@test "a request waits for its answer, and each takes a pair of stamps" {
    worker < <(frame "$asking_contract" '?2' /first /second)
    assert_status 0
    assert_output_has '10:?request 2,'
    assert_output_has '10:?request 1,'
    assert_equal "$(results | tail -n 1)" second
    assert_equal "$(meters | tail -n 1 | jq '.timestamps | length')" 6
}

@test "5,000 requests leave 10,002 stamps, in order on both clocks" {
    worker < <(
        frame "$asking_contract" '?5000'
        for ((i = 0; i < 5000; i++)); do printf '2:/x,'; done
    )
    assert_status 0
    assert_equal "$(meters | tail -n 1 | jq -c '
        [(.timestamps, .monotimes) | length], .timestamps == (.timestamps | sort),
        .monotimes == (.monotimes | sort)')" $'[10002,10002]\ntrue\ntrue'
}

@test "an exception is reported, and is the exit status of a worker that ends after it" {
    worker < <(frame 'ethrow new TypeError("no moon")')
    assert_status 15
    assert_output_has '!TypeError: no moon'
    worker < <(frame 'ethrow new TypeError("no moon")' 'e1')
    assert_status 0
}

@test "passing the limit of computrons ends with status 17" {
    worker -l 100000 < <(frame 'e1' 'efor (;;);')
    assert_status 17
    assert_equal "$(meters | wc -l)" 1 "number of meters"
}

@test "a recursion without end ends with status 12" {
    worker < <(frame 'e(function f() { f(); f(); })()')
    assert_status 12
}

@test "taking memory without end ends with status 11" {
    worker < <(frame 'econst all = []; for (;;) all.push(new ArrayBuffer(1 << 26));')
    assert_status 11
}

@test "memory that the system refuses is not the engine's limit: status 33" {
    run prlimit --data=100000000 "$BUILD/gaspipe-worker" 4>&1 3< \
        <(frame 'econst all = []; for (;;) all.push(new ArrayBuffer(1 << 26));')
    assert_status 33
    assert_output_has 'the system gave it no memory'
    run prlimit --data=100000000 "$BUILD/gaspipe-worker" 4>&1 3< \
        <(frame 'econst all = []; for (;;) all.push({});')
    assert_status 33
}

@test "a worker that the system gives too little memory to start says so, and does not start otherwise" {
    local megabytes

    # A worker that XS makes a heap with in other steps would have other snapshots.
    for megabytes in 5 10 20 33 41; do
        run timeout 20 prlimit --data=${megabytes}000000 "$BUILD/gaspipe-worker" 4>&1 3< \
            <(frame 'e1+1')
        assert_status 2
        assert_equal "$output" "gaspipe-worker: out of memory for the engine's heap"
    done
}

@test "memory that the system refuses is no exception that a contract could catch: status 33" {
    run prlimit --data=120000000 "$BUILD/gaspipe-worker" 4>&1 3< \
        <(frame 'etry { JSON.stringify(Array(10).fill("x".repeat(1e7))) } catch (_error) {}')
    assert_status 33
    assert_output_has 'the system gave it no memory'
}

# answers BYTES: one delivery, answered with so many bytes.
answers() {
    frame "eglobalThis.handleCommand = () => ({ result: new ArrayBuffer($1) })" '?'
}

@test "a message that is too long for a frame is not sent: status 34" {
    "$NATIVE/gaspipe-worker" 3< <(answers 25161000) 4> "$BATS_TEST_TMPDIR/frames"
    [ "$(wc -c < "$BATS_TEST_TMPDIR/frames")" -gt 25161000 ]
    worker < <(answers 25165800)
    assert_status 34
    assert_output_has 'too long for a frame'
    worker < <(frame \
        'eglobalThis.handleCommand = () => issueCommand(new ArrayBuffer(25165800))' '?')
    assert_status 34
}

# refused STATUS WORDS BYTES: these bytes, after a good frame, end the worker with
# STATUS and one line on stderr that has WORDS; the good frame was answered.
refused() {
    worker < <(frame R && printf '%b' "$3")
    assert_status "$1"
    assert_equal "${lines[0]%%gaspipe-worker:*}" '1:.,'
    assert_equal "${#lines[@]}" 1 "number of lines"
    assert_output_has "$2"
}

@test "hostile frames end with status 32 and one line" {
    refused 32 "not '-'" '-1:e,'
    refused 32 "not '+'" '+1:e,'
    refused 32 'not byte 0x20' ' 1:e,'
    refused 32 "not ':'" ':e,'
    refused 32 'leading zero' '01:R,'
    refused 32 'cap of 67108864 bytes' '67108865:'
    refused 32 'cap of 67108864 bytes' '99999999999999999999999:'
    refused 32 "does not end with ','" '1:RR'
    refused 32 'empty frame' '0:,'
    refused 32 "unknown command 'x'" '1:x,'
    refused 32 'byte 0x00' '1:\x00,'
    refused 32 'byte 0xff' '1:\xff,'
}

# print_of CODE: a frame that prints what the code evaluates to.
print_of() {
    frame "eprint(JSON.stringify($1))"
}

@test "items past an array's length survive collections and snapshots, as without any" {
    local make='globalThis.kept = Array.from({ length: 50 }, (_, k) => k % 2 ? { k } : `text ${k}`);
        globalThis.other = Array.from({ length: 9 }, (_, k) => [k]); kept[49] = other; kept[48] = "last" + kept.length;
        globalThis.litter = () => { for (let i = 0; i < 5000; i++) [{ i }, `litter ${i}`]; };'
    # With an item at the end, which is found by its index: past the length, too.
    local shrink='kept.length = 25; other.length = 3; other[2] = { late: true }; other = null;'
    local grow='[kept.length, kept[1], (kept.length = 50, kept), kept[49].length, kept[49][2], (kept[49].length = 10, kept[49])]'

    cd "$BATS_TEST_TMPDIR"
    worker < <(frame "e$make" "e$shrink litter()"; print_of "$grow")
    assert_status 0
    sed -n 's/.*\(\[25,.*\)/\1/p' <<< "$output" > plain
    grep -qF '[25,null,["text 0",{"k":1},"text 2"' plain
    grep -qF '"last50",[[0],[1],[2],[3],[4],[5],[6],[7],[8],{"late":true}]],3,{"late":true}' plain

    worker < <(frame "e$make" "e$shrink gc(); litter(); gc(); litter()" "w$PWD/heap")
    assert_status 0
    worker -r "$PWD/heap" < <(frame 'elitter(); gc(); litter()' "w$PWD/again"; print_of "$grow")
    assert_status 0
    assert_equal "$(sed -n 's/.*\(\[25,.*\)/\1/p' <<< "$output")" "$(cat plain)"
    worker -r "$PWD/again" < <(frame 'egc(); litter()'; print_of "$grow")
    assert_equal "$(sed -n 's/.*\(\[25,.*\)/\1/p' <<< "$output")" "$(cat plain)"
}

@test "a chain past arrays' lengths is followed, however long it is" {
    local make='let last = {}; for (let i = 0; i < LENGTH; i++) {
        const next = last; last = Array.from({ length: 2 }, (_, k) => (k ? next : i)); last.length = 1; }
        globalThis.kept = last; last = null; gc();'

    local follow='(() => { let count = 0; for (let at = kept; at.length; at = at[1]) { at.length = 2; count++; } return count; })()'

    for length in 80 30000; do
        worker < <(frame "e${make/LENGTH/$length}"; print_of "$follow")
        assert_status 0
        grep -qE "(^|,)$length(\$|[0-9]+:)" <<< "$output" || fail "not $length: $output"
    done
}

@test "the end of the input inside a frame is status 31, at each byte" {
    local frames='7:e12+345,' length

    for ((length = 1; length < ${#frames}; length++)); do
        refused 31 'inside a frame' "${frames:0:length}"
    done
}

@test "the end of the input instead of an answer, or another frame, is an error" {
    worker < <(frame "$asking_contract" '?1')
    assert_status 2
    assert_output_has 'end of file before the answer'
    worker < <(frame "$asking_contract" '?1' '?1')
    assert_status 32
    assert_output_has "does not begin with '/'"
    worker < <(frame "$asking_contract" '?1' && printf '3:/x')
    assert_status 31
}

@test "a refused request ends the delivery, which costs what it used up to there" {
    local cost=()

    for most in 1 5; do
        worker --report-stops < <(frame "$asking_contract" "?$most" x '?1')
        assert_status 36
        assert_output_has 'x{"currentHeapCount"'
        cost+=("$(meters | tail -n 1 | jq -c '[.compute > 0, (.timestamps | length)]')")
    done
    assert_equal "${cost[*]}" '[true,2] [true,2]'
    # Work after the first request is not counted.
    worker --report-stops < <(frame "$asking_contract" '?9' /1 x)
    assert_equal "$(meters | tail -n 1 | jq '.timestamps | length')" 4
    # No report is requested.
    worker < <(frame "$asking_contract" '?1' x)
    assert_status 32
    worker --compat xsnap < <(frame "$asking_contract" '?1' x)
    assert_output_lacks 'x{"currentHeapCount"'
}

@test "--max-frame refuses what is longer, before its bytes come" {
    worker --max-frame 10 < <(frame 'e123456789' && printf '11:')
    assert_status 32
    assert_output_has 'cap of 10 bytes'
    assert_equal "$(meters | wc -l)" 1 "number of meters"
}

@test "a command line that is wrong says so and ends with status 1" {
    for arguments in '--telepathy' '-l many' '-l -1' '-s 99999999999999' '--max-frame'; do
        # shellcheck disable=SC2086 # several words
        worker $arguments < /dev/null
        assert_status 1
        assert_output_has 'gaspipe-worker'
    done
}

@test "a supervisor that closed its end is an error, not a signal's death" {
    # The reading process has ended before the worker starts.
    run bash -c 'exec 4> >(exit); wait $!; printf 1:R, | "$0" 3<&0' "$NATIVE/gaspipe-worker"
    assert_status 2
    assert_output_has 'Broken pipe'
}

# begin_worker OPTION...: one that waits, with the pipes 5 and 6; its resident memory and that which
# may be in huge pages, in kB.
begin_worker() {
    "$NATIVE/gaspipe-worker" "$@" 3< "$BATS_TEST_TMPDIR/down" 4> "$BATS_TEST_TMPDIR/up" &
    exec 5> "$BATS_TEST_TMPDIR/down" 6< "$BATS_TEST_TMPDIR/up"
    frame R >&5
    read -r -N 4 <&6
    resident=$(awk '$1 == "VmRSS:" { print $2 }' "/proc/$!/status")
    huge=$(awk '$1 == "Size:" { size = $2 } $1 == "VmFlags:" && / hg / { all += size }
        END { print all + 0 }' "/proc/$!/smaps")
}

end_worker() {
    exec 5>&-
    cat <&6 > /dev/null
    exec 6<&-
    wait $!
}

@test "a worker that waits has no memory that it never used" {
    local resident huge

    [ "$NATIVE" = "$BUILD" ] || skip "a sanitized worker has memory of its sanitizer's"
    mkfifo "$BATS_TEST_TMPDIR/down" "$BATS_TEST_TMPDIR/up"
    begin_worker
    # The engine reserves 40 MiB for what contracts will need.
    [ "$resident" -lt 20000 ] || fail "$resident kB are resident"
    # Its 8 MiB of slots may be in huge pages.
    [ ! -d /sys/kernel/mm/transparent_hugepage ] || ((huge > 8000 && huge < 9000)) || fail "$huge kB"
    frame 'eglobalThis.kept = new Array(3000).fill("k").map((k, i) => k.repeat(2000) + i)' >&5
    frame "w$BATS_TEST_TMPDIR/heap" >&5
    end_worker
    # So may what a snapshot has; not what there will be for garbage.
    begin_worker -r "$BATS_TEST_TMPDIR/heap"
    [ ! -d /sys/kernel/mm/transparent_hugepage ] || ((huge > 13000 && huge < 16000)) || fail "$huge kB"
    end_worker
}

@test "an empty ArrayBuffer stays empty through collections and snapshots" {
    cd "$BATS_TEST_TMPDIR" || return 1

    # Nothing before it is garbage, so that its chunk is the last one that stays where it is.
    worker < <(frame 'eglobalThis.kept = new ArrayBuffer(0)' wheap.1 wheap.2 'e1' wheap.3)
    assert_status 0
    cmp heap.1 heap.2
    worker -r heap.1 < <(frame 'e1' wheap.4 "eprint('bytes', kept.byteLength)")
    assert_status 0
    cmp heap.3 heap.4
    assert_output_has 'bytes 0'
}

@test "a program from a file may end with a rejected promise" {
    cd "$BATS_TEST_TMPDIR" || return 1

    echo 'Promise.reject(Error("left behind")); Promise.resolve().then(() => { throw Error("and this"); });' > program.js
    worker < <(frame sprogram.js 'eprint("still there")')
    assert_status 15
    assert_output_has 'Unhandled exception Error: left behind'
    assert_output_has 'Unhandled exception Error: and this'
    assert_output_has 'still there'
}

# Both ask the system where the module is.
@test "a confined worker rejects what it would import from files, and lives" {
    local imports='eimport("PATH").then(() => print("loaded"), error => print(String(error)))' command

    cd "$BATS_TEST_TMPDIR" || return 1
    echo 'export default 7;' > other.js
    frame "${imports/PATH/$BATS_TEST_TMPDIR/other.js}" "${imports/PATH/other.js}" "${imports/PATH/./other.js}" \
        "m$BATS_TEST_TMPDIR/other.js" "s$BATS_TEST_TMPDIR/other.js" e1 R > frames
    for command in "$NATIVE/gaspipe-worker" "qemu-x86_64 -plugin $BUILD/libgascount.so $BUILD/gaspipe-worker"; do
        [ "$NATIVE" = "$BUILD" ] || [[ $command == qemu* ]] || continue # which --confine does not confine
        # shellcheck disable=SC2086 # several words
        run $command --confine 3< frames 4> answers
        assert_status 0
        assert_equal "$(grep -c 'cannot be imported: the worker reads no files; bundle what is imported' <<< "$output")" 2
        assert_output_has "\"$BATS_TEST_TMPDIR/other.js\" cannot"
        assert_output_has 'module "./other.js" not found'
        [[ $(cat answers) == *'1:.,' ]]
    done
}
