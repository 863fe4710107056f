#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Real faults: the message of gaspipe run, its exit status, and that the store contains
# everything done before, nothing else, and nothing twice.

load common
load store_contents

setup_file() {
    export FAULTY=$BATS_FILE_TMPDIR/faulty
    mkdir "$FAULTY"
    ${CC:-gcc} -std=gnu17 -D_GNU_SOURCE -I"$BATS_TEST_DIRNAME/../.." \
        "$BATS_TEST_DIRNAME/faulty_worker.c" "$BATS_TEST_DIRNAME"/../../proto/netstring.c \
        "$BATS_TEST_DIRNAME"/../../base/{buf,error,io,text/format}.c -o "$FAULTY/worker"
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    cp "$FAULTY/worker" worker
    ln -s "$NATIVE/gaspipe-worker" real
    true > tally
    cat > keeper.js << 'END'
export const keep = (name, _fault) => {
    store.set(name, `${(store.get(name) ?? '')}kept `);
    return store.get(name);
};
export const get = name => store.get(name);
END
}

# keep [FAULT]: deliveries of which the second meets that fault, as often as the tally says.
keep() {
    printf '{"vat":"keeper","method":"%s","args":["%s","%s"]}\n' \
        keep one '' keep two "${1:-}" keep one '' get two ''
}

# keeper STORE OPTIONS...: runs these deliveries with the worker that misbehaves. What it
# prints goes to a file, because it may be long.
keeper() {
    status=0
    timeout 120 "$NATIVE/gaspipe" run --json --sandbox off --worker ./worker --store "$1" \
        --vat keeper=keeper.js "${@:2}" deliveries > out 2> err || status=$?
    output=$(cat out)
}

# said WORDS...: a line on stderr contains all of them, in this order.
said() {
    local pattern

    pattern=$(printf '.*%s' "$@")
    grep -q "$pattern" err || fail "no '$*' in:" "$(head -c 2000 err)"
}

results() {
    jq -c 'select(.kind == "delivery" and .description != "startVat") | [.crankNum, .status, .result]' \
        <<< "$output"
}

# assert_same_store EXPECTED FOUND
assert_same_store() {
    diff <(store_contents "$1") <(store_contents "$2") >&2 || fail "the stores differ"
}

# Prints the deliveries' results without their crank numbers.
outcomes() {
    results | jq -c '.[1:]'
}

# lasts UNDISTURBED TRIES OPTIONS...: the fault that occurs again and again may be the vat's doing. It is
# put into quarantine, and another run that releases it continues there.
lasts() {
    local undisturbed=$1 tries=$2

    shift 2
    keeper again --retries 2 "$@"
    assert_status 5
    assert_equal "$(wc -c < tally)" $((5 - tries)) "what is left of the tally"
    assert_equal "$(results)" "$(head -n 1 <<< "$undisturbed")"
    said keeper "crank 5" "failed after $tries tries" 'in quarantine'
    true > tally
    keeper again --release keeper --resume "$@"
    assert_status 0
    assert_equal "$(outcomes)" "$(tail -n +2 <<< "$undisturbed" | jq -c '.[1:]')"
}

# overcomes KIND WORDS OPTIONS...: gaspipe recovers from a fault of that kind. Killing workers repeatedly
# ends the run with status 4 and WORDS, and another run resumes there; all else a contract may do itself.
overcomes() {
    local kind=$1 words=$2 retries=3

    shift 2
    keep "faulty:$kind:tally" > deliveries
    keeper undisturbed "$@"
    assert_status 0
    local undisturbed
    undisturbed=$(results)

    printf 1 > tally
    keeper once "$@"
    assert_status 0
    assert_equal "$(results)" "$undisturbed"
    assert_equal "$(wc -c < tally)" 0 "what is left of the tally"
    # A time limit takes minutes: it is met twice at most.
    [[ $words != 'longer than'* ]] || retries=1
    said keeper "crank 5" "$words" "tried again, 1 of $retries"
    assert_same_store undisturbed once

    printf 12345 > tally
    if [[ $words != *'killed by signal 9'* ]]; then
        lasts "$undisturbed" $((retries == 1 ? 2 : 3)) "$@"
        return
    fi
    keeper again --retries 2 "$@"
    assert_status 4
    assert_equal "$(wc -c < tally)" 2 "what is left of the tally"
    assert_equal "$(results)" "$(head -n 1 <<< "$undisturbed")"
    said keeper "crank 5" "$words" 'failed after 3 tries'
    true > tally
    keeper again "$@"
    assert_status 0
    assert_equal "$(results)" "$(tail -n +2 <<< "$undisturbed")"
    assert_same_store undisturbed again
}

@test "a worker that is killed in a delivery" {
    overcomes kill:1 'killed by signal 9'
    rm -rf undisturbed once again
    overcomes kill:3 'killed by signal 9'
}

@test "a worker that is killed as it starts, also the first, which writes the initial snapshot" {
    local nth

    cat > worker << 'END'
#!/bin/sh
cd "${0%/*}" && read n < starts
echo $((n - 1)) > starts
[ "$n" -ne 1 ] || kill -9 $$
exec ./real "$@"
END
    keep > deliveries
    echo 0 > starts
    keeper undisturbed
    assert_status 0
    for nth in 1 2; do
        echo $nth > starts
        keeper "store-$nth"
        assert_status 0
        said 'vat keeper, its start' 'killed by signal 9' 'tried again, 1 of 3'
        assert_same_store undisturbed "store-$nth"
    done
}

@test "SIGTERM ends a run whose first worker hangs as it starts, from whose snapshot others start" {
    local pid started

    printf '#!/bin/sh\necho started > "${0%%/*}/starts"\nexec sleep 1000\n' > worker
    mkfifo starts
    keep > deliveries
    timeout -k 5 120 "$NATIVE/gaspipe" run --sandbox off --worker ./worker --store store \
        --vat keeper=keeper.js deliveries > out 2> err &
    pid=$!
    read -r started < starts
    assert_equal "$started" started
    # timeout(1) passes it on; without an end it would kill, with another status.
    kill -TERM "$pid"
    wait "$pid" || status=$?
    assert_equal "$status" 143
    said 'ended by signal 15'
    [ ! -e store ] || fail 'a set-up that was stopped left a store'
    # Nothing of it stands in the way of the next run.
    cp "$FAULTY/worker" worker
    keeper store
    assert_status 0
}

@test "a snapshot that no worker can start from is written again; if that is no better, its vat is alone" {
    local options=(--snapshot-initial 3 --snapshot-interval 2 --retries 1)

    keep faulty:spoil:6:tally > deliveries
    keeper undisturbed "${options[@]}"
    assert_status 0
    cp out undisturbed.out
    printf 1 > tally
    keeper spoilt "${options[@]}"
    assert_status 0
    assert_equal "$(wc -c < tally)" 0 "what is left of the tally"
    said 'vat keeper, its snapshot' 'cannot read snapshot' 'tried again, 1 of 1'
    assert_same_store undisturbed spoilt
    printf 1234567 > tally
    keeper often "${options[@]}"
    assert_status 5
    said 'vat keeper, its snapshot' 'cannot read snapshot' 'failed after 2 tries'
    said 'vat keeper is in quarantine: its snapshot cannot be restored' '--release' '--upgrade' '--terminate'
    # It stands at the previous snapshot and continues from there.
    : > tally
    keeper often "${options[@]}" --release keeper --resume
    assert_status 0
    assert_equal "$(wc -l < err)" 1 # that it continues
    assert_equal "$(outcomes)" "$(jq -c 'select(.kind == "delivery" and .deliveryNum > 3) | [.status, .result]' undisturbed.out)"
}

@test "a worker that exits" {
    overcomes exit:1 'exit status 7'
}

@test "a worker that hangs" {
    overcomes hang:1 'longer than 0.7 s' --delivery-timeout 0.7
}

@test "a worker that is stopped" {
    overcomes stop:2 'longer than 0.7 s' --delivery-timeout 0.7
}

@test "garbage on the pipe" {
    overcomes garbage:1 "not 't'"
}

@test "a frame that is too large" {
    overcomes huge:1 'cap of'
}

@test "a truncated frame" {
    overcomes half:2 'inside a frame'
}

@test "a frame that is not a reply" {
    overcomes unknown:1 'not a reply'
}

@test "an answer out of turn" {
    overcomes twice:1 'before it was answered'
}

@test "a result that cannot be read, of every kind" {
    local kind kinds undisturbed

    mapfile -t kinds < <(sed -n 's/^    {"\([a-z]*\)", "\..*/\1/p' "$BATS_TEST_DIRNAME/faulty_worker.c")
    [ ${#kinds[@]} -ge 18 ] || fail "only ${#kinds[@]} kinds"
    for kind in "${kinds[@]}"; do
        keep "faulty:$kind:1:tally" > deliveries
        rm -rf undisturbed once
        true > tally
        keeper undisturbed
        assert_status 0
        undisturbed=$(results)
        printf 1 > tally
        keeper once
        assert_equal "$kind $status $(results)" "$kind 0 $undisturbed"
        said keeper "crank 5" 'result cannot be read' 'tried again, 1 of 3'
        assert_same_store undisturbed once
    done
    # One kind that does not end.
    rm -rf again
    printf 12345 > tally
    keeper again --retries 2
    assert_status 5
    assert_equal "$(wc -c < tally)" 2 "what is left of the tally"
    said keeper "crank 5" 'result cannot be read' 'failed after 3 tries' 'in quarantine'
}

@test "a frame of millions of values" {
    local output pid line

    overcomes lists:1 'values in'
    # Not at the price of the memory that they would take.
    printf 1 > tally
    mkfifo input
    exec {output}< <(exec "$NATIVE/gaspipe" run --json --sandbox off --worker ./worker \
        --vat keeper=keeper.js input 2> err)
    pid=$!
    exec {deliveries}> input
    cat deliveries >&"$deliveries"
    while read -r line <&"$output"; do
        [[ $line != *'(o+0).get'* ]] || break
    done
    # A sanitized build needs more for itself.
    [ "$NATIVE" != "$BUILD" ] || [ "$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status")" -lt 300000 ] ||
        fail "$(grep ^VmHWM "/proc/$pid/status")"
    exec {deliveries}>&-
    wait "$pid"
    said 'values in' 'tried again'
}

@test "a worker that prints without end" {
    overcomes flood:1 'longer than 0.7 s' --delivery-timeout 0.7
}

@test "a worker that prints a lot, and then answers" {
    keep faulty:print:1:tally > deliveries
    keeper undisturbed
    local undisturbed
    undisturbed=$(results)
    printf 1 > tally
    keeper flooded
    assert_status 0
    assert_equal "$(results)" "$undisturbed"
    assert_same_store undisturbed flooded
}

# ---- the host ----

# plain STORE OPTIONS...: as keeper(), with a worker that behaves.
plain() {
    status=0
    timeout 120 "$NATIVE/gaspipe" run --json --counter none --store "$1" --vat keeper=keeper.js \
        "${@:2}" deliveries > out 2> err || status=$?
    output=$(cat out)
}

@test "a full disk: status 4, and what was committed is kept" {
    mkdir disk
    unshare -rm mount -t tmpfs none disk 2> /dev/null ||
        skip 'no user and mount namespaces here: no disk can be filled'
    keep > deliveries
    plain undisturbed
    for _ in {1..400}; do
        printf '{"vat":"keeper","method":"keep","args":["%s","%0999d"]}\n' one 0
    done >> deliveries
    run unshare -rm bash -c '
        mount -t tmpfs -o size=1200k none disk
        "$0" run --json --counter none --snapshot-interval 0 --store disk/store \
            --vat keeper=keeper.js deliveries > out 2> err
        echo $?
        cp -r disk/store found
        ' "$NATIVE/gaspipe"
    assert_equal "$output" 4 "$(tail -n 3 err)"
    said 'disk/store'
    assert_equal "$(sqlite3 found/gaspipe.sqlite 'PRAGMA integrity_check')" ok
    # On a larger disk it resumes, to the same outcome.
    local before
    before=$(jq -s 'map(select(.kind == "delivery")) | length' out)
    plain found --snapshot-interval 0
    assert_status 0
    assert_equal "$(jq -s 'map(select(.kind == "delivery")) | length' out)" $((405 - before))
    plain whole --snapshot-interval 0
    assert_same_store whole found
}

@test "a fork that fails: status 4, and another run resumes" {
    [ "$(id -u)" -eq 0 ] || skip 'not root: processes cannot be limited for another user'
    keep > deliveries
    plain undisturbed
    chmod 777 "$BATS_TEST_TMPDIR"
    chmod 755 "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR"
    setpriv --reuid=42421 --clear-groups test -x "$NATIVE/gaspipe" ||
        skip 'another user cannot reach the programs: this directory lies in one that is private, as /root'
    head -n 2 deliveries > some
    status=0
    # A sanitized program would need another process to look for leaks when it ends.
    ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 \
        setpriv --reuid=42421 --clear-groups prlimit --nproc=1 "$NATIVE/gaspipe" run --json \
        --counter none --store store --vat keeper=keeper.js some > out 2> err || status=$?
    assert_status 4
    said 'Resource temporarily unavailable'
    [ ! -e store ] || chmod -R a+rwX store
    plain store
    assert_status 0
    assert_same_store undisturbed store
}

@test "a corrupt store is never taken for a good one" {
    local page pages size=4096 expected key

    keep > deliveries
    plain good
    cp -r good again
    plain again --again
    expected=$(results)
    [ -n "$expected" ]
    pages=$(($(stat -c %s good/gaspipe.sqlite) / size))
    for ((page = 0; page < pages; page += 1 + pages / 12)); do
        rm -rf bad
        cp -r good bad
        noise $size "$page" | dd of=bad/gaspipe.sqlite bs=$size seek=$page conv=notrunc status=none
        plain bad --again
        case $status in
        0) assert_equal "$(results)" "$expected" "results without page $page" ;;
        3 | 4) [ "$(complaints < err | wc -l)" -eq 1 ] || fail "page $page: $(cat err)" ;;
        5)
            assert_has "$(cat err)" 'vat keeper is in quarantine: '
            assert_equal "$(results)" '' "results without page $page"
            ;;
        *) fail "page $page: status $status: $(cat err)" ;;
        esac
    done
    for key in input.lines input.hash input.done; do
        rm -rf bad
        cp -r good bad
        store_edit bad "UPDATE key SET name = '${key%?}~' WHERE name = '$key'"
        plain bad
        assert_status 4
        grep -q "the store is damaged: $key is missing" err || fail "$(cat err)"
    done
    cp -r good cut
    truncate -s $((pages * size / 2)) cut/gaspipe.sqlite
    plain cut
    [ "$status" -eq 3 ] || [ "$status" -eq 4 ] || fail "status $status: $(cat err)"
}

@test "a deliveries file that is cut in the middle of a line" {
    keep > whole
    head -c -20 whole > deliveries
    plain store
    assert_status 3
    said deliveries:4
    cp whole deliveries
    plain store
    assert_status 0
    plain undisturbed
    assert_same_store undisturbed store
}

hoarder() {
    cat > keeper.js << 'END'
export const keep = (name, size) => {
    const held = [];
    for (let i = 0; i < Number(size); i++) held.push(new ArrayBuffer(1 << 20));
    store.set(name, String(held.length));
    return held.length;
};
END
    printf '{"vat":"keeper","method":"keep","args":["%s",%d]}\n' one 1 two 300
}

@test "memory refused by the host: quarantine, and with more memory the vat continues" {
    # The vats were made without a limit of memory, and so without one of their heap.
    : > deliveries
    hoarder > hoarded
    NATIVE=$BUILD plain store
    mv hoarded deliveries
    NATIVE=$BUILD plain store --max-memory 100M --retries 1
    assert_status 5
    said keeper 'the system gave it no memory' 'failed after 2 tries' 'in quarantine'
    NATIVE=$BUILD plain store --release keeper --resume
    assert_status 0
    assert_equal "$(outcomes)" '["ok",300]'
}

@test "a vat made under --max-memory meets the limit of its own heap, the same in every run" {
    local counter

    hoarder > deliveries
    for counter in none qemu; do
        "$BUILD/gaspipe" run --json --counter "$counter" --max-memory 400M --vat keeper=keeper.js \
            deliveries > "out.$counter" || [ $? -eq 1 ]
        jq -c 'select(.kind == "delivery") | [.status, .compute, .limited, .error]' "out.$counter" > "short.$counter"
    done
    cmp short.none short.qemu
    output=$(cat short.none)
    assert_output_has '"heap","Allocate meter exceeded: more than the 209715200 bytes of heap that a vat may have (--max-heap)"'
}

@test "few open files: status 4 with one line, and with more the run resumes" {
    local most

    keep > deliveries
    plain undisturbed
    for most in 5 6 8 12 16 20 24; do
        status=0
        prlimit --nofile=$most "$NATIVE/gaspipe" run --json --counter none --store store \
            --vat keeper=keeper.js deliveries > out 2> err 3>&- || status=$?
        [[ $status =~ ^[034]$ ]] || fail "$most: status $status: $(cat err)"
        [ "$status" -eq 0 ] || [ -n "$(complaints < err)" ] || fail "$most: no word"
    done
    plain store
    assert_status 0
    assert_same_store undisturbed store
}

@test "a low limit of the stack changes no result: workers have a stack of their own" {
    cat > keeper.js << 'END'
export const keep = () => {
    const opens = n => { try { RegExp('('.repeat(n) + ')'.repeat(n)); return true; } catch (_error) { return false; } };
    return [opens(100000), opens(200000)];
};
END
    echo '{"vat":"keeper","method":"keep","args":[]}' > deliveries
    plain usual
    assert_equal "$(results)" '[3,"ok",[true,false]]'
    status=0
    prlimit --stack=262144:262144 "$NATIVE/gaspipe" run --json --counter none --store store \
        --vat keeper=keeper.js deliveries > out 2> err || status=$?
    output=$(cat out)
    assert_equal "$status $(results)" '0 [3,"ok",[true,false]]'
    assert_same_store usual store
}

@test "an address space limit too small for that stack is refused in one line" {
    [ "$NATIVE" = "$BUILD" ] || skip 'a sanitized program reserves more addresses than any limit'
    status=0
    prlimit --as=150000000 "$NATIVE/gaspipe-worker" 3< /dev/null 4> /dev/null 2> err || status=$?
    assert_equal "$status $(wc -l < err)" '33 1'
    said 'cannot map a stack of' 'ulimit -v'
}

# limited OPTION WORDS: the vat is terminated at the second delivery, natively and under QEMU, and
# also if the store was created with the option and the run continues without it.
limited() {
    local counter outcomes=()

    printf '{"vat":"keeper","method":"%s","args":["%s","%s"]}\n' \
        keep one '' keep two aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa get one '' > deliveries
    for counter in none qemu; do
        rm -rf store
        head -n 1 deliveries > first
        "$BUILD/gaspipe" run --json --counter $counter --store store --vat keeper=keeper.js \
            "$1" "$2" first > out
        run --separate-stderr "$BUILD/gaspipe" run --json --counter $counter --store store \
            --again --vat keeper=keeper.js deliveries
        assert_status 1
        outcomes+=("$(jq -c 'select(.kind == "delivery") | [.crankNum, .status, .error]' <<< "$output")")
        assert_output_has "$3"
    done
    assert_equal "${outcomes[0]}" "${outcomes[1]}"
}

@test "limits terminate a vat at the same place natively and under QEMU" {
    sed -i 's/_fault/fault/; s/kept /kept ${fault} /' keeper.js
    limited --max-message-bytes 40 'more than the 40 bytes that a vat may send or store at a time (--max-message-bytes)'
    limited --max-store-bytes 50 "more than the 50 bytes that a vatstore may have (--max-store-bytes)"
    sed -i 's/^export const get.*/export const get = () => { for (;;) store.get("one"); };/' keeper.js
    limited --max-syscalls 20 'more than the 20 syscalls that a delivery may make (--max-syscalls)'
}
