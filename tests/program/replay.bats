#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe replay: a recording is reproduced, and changes to it are found.

load common
load store_contents

DATA=$ROOT/tests/data

setup() {
    cd "$BATS_TEST_TMPDIR"
}

# producer: v4 of a SwingSet slogfile, in which its worker dies; from delivery 1 on.
producer() {
    zstd -dcq "$DATA/swingset.slog.zst" | grep '"vatID":"v4"' > producer.slog
}

# own [COUNTER]: a slogfile of gaspipe run with the token example.
own() {
    "$BUILD/gaspipe" run --counter "${1:-none}" --slog own.slog --vat "token=$ROOT/examples/token/contract.js" \
        "$ROOT/examples/token/deliveries.jsonl" > /dev/null || [ $? -eq 1 ]
}

# field KIND EXPRESSION: jq's answer for the object of that kind in $output.
field() {
    jq -r "select(.kind == \"$1\") | $2" <<< "$output"
}

# transcript: the deliveries of producer.slog in SwingSet's export format.
transcript() {
    grep '"type":"create-vat"' producer.slog
    echo '{"d":["initialize-worker",{}],"sc":[],"r":{"status":"ok"}}'
    jq -c -n '
        [inputs] | group_by(.deliveryNum)[] | select(.[0].deliveryNum) |
        { d: (map(select(.type == "deliver"))[0].vd),
          sc: [ [map(select(.type == "syscall").vsc), map(select(.type == "syscall-result").vsr)]
                | transpose[] | {s: .[0], r: .[1]} ],
          r: (map(select(.type == "deliver-result"))[0].dr
              | {status: .[0]} + if .[2] then {metering: {computrons: .[2].compute}} else {} end) }
    ' producer.slog
}

@test "vats of SwingSet are reproduced, with one that dies and one that is upgraded" {
    run --separate-stderr "$BUILD/gaspipe" replay --json "$DATA/swingset.slog.zst"
    assert_status 0
    assert_equal "$(field vat '"\(.vatID) \(.status) \(.deliveries) \(.syscalls)"')" \
        $'v4 same 8 36\nv14 same 10 108'
    assert_equal "$(field summary '"\(.differ) \(.skipped) \(.cut)"')" "0 0 0"
}

@test "a worker restored from a snapshot counts the same from there on" {
    zstd -dcq "$DATA/swingset.slog.zst" | grep '"vatID":"v14"' > widgets.slog
    [ "$(grep -c '"type":"heap-snapshot-load"' widgets.slog)" -eq 2 ]
    run --separate-stderr "$BUILD/gaspipe" replay --json widgets.slog
    assert_status 0
    assert_equal "$(field vat '"\(.deliveries) \(.computed) \(.snapshots)"')" "10 10 2"

}

@test "a snapshot with a different hash is a difference" {
    zstd -dcq "$DATA/swingset.slog.zst" | grep '"vatID":"v14"' > widgets.slog
    sed 's/"snapshotID":"74/"snapshotID":"75/' widgets.slog > changed
    run --separate-stderr "$BUILD/gaspipe" replay changed
    assert_status 1
    assert_output_has 'v14 widgets: delivery 4, bringOutYourDead: snapshot differs (changed:'
    assert_output_has 'recorded: 75c5bf67'
    assert_output_has 'replayed: 74c5bf67'
}

@test "a worker that is restored continues from its snapshot" {
    local after='/"deliveryNum":[234],/p'

    zstd -dcq "$DATA/swingset.slog.zst" | grep '"vatID":"v14"' > widgets.slog
    {
        sed '/"deliveryNum":2,/,$d' widgets.slog
        echo '{"type":"heap-snapshot-save","vatID":"v14","snapshotID":"5a","time":1}'
        sed -n "$after" widgets.slog
        echo '{"type":"heap-snapshot-load","vatID":"v14","hash":"5a","time":1}'
        echo '{"type":"start-replay","vatID":"v14","deliveries":4,"time":1}'
        sed -n "$after" widgets.slog
    } > brought_back
    run --separate-stderr "$BUILD/gaspipe" replay --json brought_back
    assert_status 0
    assert_equal "$(field vat '"\(.deliveries) \(.computed)"')" "7 7"

    # A worker that had continued would number its objects differently.
    grep -v -e heap-snapshot -e start-replay brought_back > went_on
    run --separate-stderr "$BUILD/gaspipe" replay --json went_on
    assert_status 1
    assert_equal "$(field difference '"\(.deliveryNum) \(.aspect)"')" "2 syscall"
}

@test "--to: snapshots and starts after the last selected delivery are neither compared nor missed" {
    local to

    zstd -dcq "$DATA/swingset.slog.zst" | grep '"vatID":"v14"' > widgets.slog
    # The worker is once more started from the beginning, and then from a snapshot that is not there.
    sed '/"deliveryNum":8,/,$d' widgets.slog > begun
    {
        cat begun
        sed -n '/"type":"start-replay"/p;/"deliveryNum":[1234],/p' begun
        sed -n 's/\("type":"heap-snapshot-load".*"hash":"\)../\1zz/p' begun
        sed -n '/"type":"start-replay"/p;/"deliveryNum":7,/p' begun
    } > again
    for to in '1: 2 0' '2: 4 0' '4: 8 1'; do
        # shellcheck disable=SC2086 # two words
        run --separate-stderr "$BUILD/gaspipe" replay --json --to "${to%:*}" --against "$BUILD/gaspipe-worker" again
        assert_status 0
        assert_equal "${to%:*}: $(field vat '"\(.deliveries) \(.snapshots) \(.status)"')" "$to same"
    done
    run --separate-stderr "$BUILD/gaspipe" replay --json again
    assert_status 0
    [[ $(field vat '"\(.deliveries) \(.why)"') == '9 the file does not hold the snapshot'* ]] || fail "$output"
}

@test "a snapshot that is not in the file is reported" {
    zstd -dcq "$DATA/swingset.slog.zst" | grep '"vatID":"v14"' > widgets.slog
    sed '0,/"type":"heap-snapshot-load"/s/"hash":"../"hash":"zz/' widgets.slog > other
    run --separate-stderr "$BUILD/gaspipe" replay --json other
    assert_status 0
    [[ $(field vat .why) == *'does not hold the snapshot'* ]] || fail "$output"
}

@test "only the requested vats are replayed" {
    run --separate-stderr "$BUILD/gaspipe" replay --json --vat producer "$DATA/swingset.slog.zst"
    assert_status 0
    assert_equal "$(field vat .vatID)" v4
    run --separate-stderr "$BUILD/gaspipe" replay --vat v14 --vat v99 "$DATA/swingset.slog.zst"
    assert_status 2
    # If it took long, progress messages come first.
    [[ $stderr == *'--vat v99: there is no such vat in '* ]] || fail "$stderr"
}

@test "a changed byte is reported with delivery, syscall and both sides" {
    producer
    sed '/"type":"syscall","crankNum".*"deliveryNum":1,"syscallNum":6,/s/"vsc":\["vatstoreSet","vc/"vsc":["vatstoreSet","vd/' \
        producer.slog > changed
    run diff producer.slog changed
    assert_status 1
    run --separate-stderr "$BUILD/gaspipe" replay changed
    assert_status 1
    assert_output_has 'v4 producer: delivery 1, startVat: syscall 6 differs (changed:'
    assert_output_has 'recorded: ["vatstoreSet","vd.1.'
    assert_output_has 'replayed: ["vatstoreSet","vc.1.'
}

@test "a changed answer shows in what the worker does next" {
    producer
    sed '/"syscall-result".*"deliveryNum":1,"syscallNum":5,/,$s/"vsr":\["ok",null\]/"vsr":["ok","7"]/' \
        producer.slog > changed
    run --separate-stderr "$BUILD/gaspipe" replay --json changed
    assert_status 1
    assert_equal "$(field difference '"\(.vatID) \(.deliveryNum) \(.aspect)"')" "v4 1 syscall"
}

@test "a changed count or result is found" {
    producer
    sed -E '/"deliver-result".*"deliveryNum":3,/s/"compute":[0-9]+/"compute":1/' producer.slog > changed
    run --separate-stderr "$BUILD/gaspipe" replay --json changed
    assert_status 1
    assert_equal "$(field difference '"\(.deliveryNum) \(.aspect) \(.recorded)"')" "3 computrons 1"

    sed 's/"Stack meter exceeded",null/"Compute meter exceeded",null/' producer.slog > changed
    run --separate-stderr "$BUILD/gaspipe" replay --json changed
    assert_status 1
    assert_equal "$(field difference '"\(.deliveryNum) \(.aspect) \(.replayed)"')" \
        '8 result ["error","Stack meter exceeded"]'
}

@test "what a contract logs between its syscalls is not answered in their place" {
    cat > talk.js << 'END'
export function talk(n) {
    let all = '';
    for (let i = 0; i < n; i++) {
        store.set(`key${i}`, `value ${i}`);
        console.log(`set ${i}`);
        all += store.get(`key${i}`);
        console.log(all);
    }
    return all;
}
END
    echo '{"vat":"talk","method":"talk","args":[9]}' > talk.jsonl
    "$BUILD/gaspipe" run --counter none --slog talk.slog --vat talk=talk.js talk.jsonl > /dev/null 2>&1
    run --separate-stderr "$BUILD/gaspipe" replay --json talk.slog
    assert_status 0
    assert_equal "$(field vat '"\(.status) \(.syscalls)"')" 'same 19'

    # The first of two differences is reported, although the worker has continued past it.
    sed -E 's/"vsc":\["vatstoreSet","key[47]"/"vsc":["vatstoreSet","other"/' talk.slog > changed
    run --separate-stderr "$BUILD/gaspipe" replay changed
    assert_status 1
    assert_output_has 'recorded: ["vatstoreSet","other"'
    assert_output_has 'replayed: ["vatstoreSet","key4"'
}

@test "a large delivery with many large answers is reproduced" {
    cat > large.js << 'END'
export const keep = size => store.set('kept', 'v'.repeat(size));
export const look = (text, times) => {
    let length = text.length;
    for (let i = 0; i < times; i++) length += store.get('kept').length;
    return length;
};
END
    printf '{"vat":"v","method":"keep","args":[1000000]}\n{"vat":"v","method":"look","args":["%01100000d",50]}\n' 0 > large.jsonl
    "$BUILD/gaspipe" run --counter none --slog large.slog.zst --vat v=large.js large.jsonl > /dev/null 2>&1
    run --separate-stderr "$BUILD/gaspipe" replay --json large.slog.zst
    assert_status 0
    assert_equal "$(field vat '"\(.status) \(.syscalls)"')" 'same 53'
}

@test "a syscall more or less than recorded is a difference" {
    producer
    sed '/"deliveryNum":1,"syscallNum":6,/d' producer.slog > less
    run --separate-stderr "$BUILD/gaspipe" replay --json less
    assert_status 1
    assert_equal "$(field difference '"\(.deliveryNum) \(.syscallNum) \(.aspect)"')" "1 6 syscall"

    sed '/"deliver-result".*"deliveryNum":1,/i{"type":"syscall","vatID":"v4","deliveryNum":1,"syscallNum":99,"vsc":["exit",false,{}],"time":1}' \
        producer.slog > surplus
    run --separate-stderr "$BUILD/gaspipe" replay --json surplus
    assert_status 1
    assert_equal "$(field difference '"\(.recorded) \(.replayed)"')" '["exit",false,{}] null'
}

@test "a slogfile of gaspipe is reproduced" {
    own
    run --separate-stderr "$BUILD/gaspipe" replay --json own.slog
    assert_status 0
    assert_equal "$(field vat '"\(.vat) \(.status) \(.deliveries == .computed)"')" "token same true"
    sed '0,/"vsc":\["vatstoreSet"/s//"vsc":["vatstoreGet"/' own.slog > changed
    run --separate-stderr "$BUILD/gaspipe" replay changed
    assert_status 1
    assert_output_has 'token: delivery 2, (o+0).mint -> p-60: syscall 1 differs (changed:'
}

@test "instructions are compared if both sides counted in the same way" {
    own qemu
    run --separate-stderr "$BUILD/gaspipe" replay --counter qemu --json own.slog
    assert_status 0
    assert_equal "$(field vat '"\(.status) \(.counted == .deliveries)"')" "same true"
    assert_equal "$(complaints <<< "$stderr")" ""

    sed -E '/"deliver-result".*"deliveryNum":2,/s/"instructions":[0-9]+/"instructions":7/' own.slog > changed
    run --separate-stderr "$BUILD/gaspipe" replay --counter qemu --json changed
    assert_status 1
    assert_equal "$(field difference '"\(.deliveryNum) \(.aspect) \(.recorded)"')" "2 instructions 7"

    run --separate-stderr "$BUILD/gaspipe" replay --counter qemu --compute-limit 0 changed
    assert_status 0
    [[ $stderr == *'changed:1: its instructions are not compared: it was recorded with another'* ]] || fail "$stderr"
    run --separate-stderr "$BUILD/gaspipe" replay changed
    assert_status 0
    [[ $stderr == *'not compared without --counter qemu'* ]] || fail "$stderr"
}

@test "two runs in one slogfile are distinguished if v1 is another vat" {
    own
    "$BUILD/gaspipe" run --counter none --slog own.slog --vat "digest=$ROOT/examples/digest/contract.js" \
        "$ROOT/examples/digest/deliveries.jsonl" > /dev/null
    run --separate-stderr "$BUILD/gaspipe" replay --json own.slog
    assert_status 0
    assert_equal "$(field vat '"\(.vatID) \(.vat) \(.status)"')" $'v1 token same\nv1 digest same'
}

@test "an exported transcript is reproduced, and a changed one is not" {
    producer
    transcript > producer.jsonl
    run --separate-stderr "$BUILD/gaspipe" replay --json producer.jsonl
    assert_status 0
    assert_equal "$(field vat '"\(.vatID) \(.status) \(.deliveries) \(.syscalls)"')" "v4 same 8 36"
    sed '3s/idCounters/idCountery/' producer.jsonl > changed
    run --separate-stderr "$BUILD/gaspipe" replay - < changed
    assert_status 1
    assert_output_has 'v4 producer: delivery 1, startVat: syscall 0 differs (stdin:3)'
}

@test "a recording that ends in mid-delivery is the same up to there" {
    producer
    sed '/"deliveryNum":3,"syscallNum":0,/,$d' producer.slog > unfinished
    run --separate-stderr "$BUILD/gaspipe" replay --json unfinished
    assert_status 0
    assert_equal "$(field vat '"\(.status) \(.deliveries) \(.cut)"')" "same 2 1"

    head -c -100 producer.slog > torn
    run --separate-stderr "$BUILD/gaspipe" replay torn
    assert_status 0
    [[ $stderr == *'torn ends in the midst of a line'* ]] || fail "$stderr"
}

@test "what cannot be replayed is reported and is not a success" {
    producer
    sed -E 's/"vatSourceBundle":\{[^}]*\},//' producer.slog > without
    run --separate-stderr "$BUILD/gaspipe" replay without
    assert_status 3
    assert_output_has 'not replayed: the file does not hold its bundle; give it with --bundle'

    sed '/"deliveryNum":[12],/d' producer.slog > later
    run --separate-stderr "$BUILD/gaspipe" replay later
    assert_status 3
    assert_output_has 'not replayed: the file does not hold its beginning'

    sed 's/"managerType":"xsnap"/"managerType":"local"/' producer.slog > local
    run --separate-stderr "$BUILD/gaspipe" replay local
    assert_status 3
    assert_output_has 'under the manager "local"'

    sed 's/"moduleFormat":"endoZipBase64"/"moduleFormat":"cobol"/' producer.slog > format
    run --separate-stderr "$BUILD/gaspipe" replay format
    assert_status 3
    assert_output_has 'no runtime takes a bundle of "cobol"'
}

# damage EXPRESSION: the create-vat line of producer.slog with its bundle as jq makes of it.
damage() {
    grep '"type":"create-vat"' producer.slog | jq -c ".vatSourceBundle |= ($1)"
    grep -v '"type":"create-vat"' producer.slog
}

@test "an elided or damaged bundle is reported as that, and --bundle supplies it" {
    producer
    grep '"type":"create-vat"' producer.slog | jq -c .vatSourceBundle > bundle.json
    damage '"(elided)"' > elided
    run --separate-stderr "$BUILD/gaspipe" replay elided
    assert_status 3
    assert_output_has 'not replayed: the source does not hold its bundle: what stands there is no bundle'
    run --separate-stderr "$BUILD/gaspipe" replay --json --bundle producer=bundle.json elided
    assert_status 0
    assert_equal "$(field vat '"\(.status) \(.deliveries)"')" "same 8"

    damage '.endoZipBase64 = "..."' > cut
    run --separate-stderr "$BUILD/gaspipe" replay cut
    assert_status 3
    assert_output_has 'not replayed: the bundle is incomplete: endoZipBase64 is not base64 text'
    # Its hash is known: a directory that contains the bundle suffices, whatever else is in it.
    mkdir bundles
    cp bundle.json "$ROOT/README.md" bundles
    run --separate-stderr "$BUILD/gaspipe" replay --json --bundle bundles cut
    assert_status 0
    assert_equal "$(field vat '"\(.status) \(.deliveries)"')" "same 8"
}

# A byte of the archive's modules, and one of its map.
@test "a bundle whose bytes do not match their SHA-512 is reported as that" {
    producer
    damage '.endoZipBase64 |= (.[:100000] + (if .[100000:100001] == "A" then "B" else "A" end) + .[100001:])' > module
    run --separate-stderr "$BUILD/gaspipe" replay module
    assert_status 3
    assert_output_has 'not replayed: the bundle is damaged: the bytes of'
    assert_output_has 'do not match their SHA-512'
    damage '.endoZipBase64 |= (.[:2000] + (if .[2000:2001] == "A" then "B" else "A" end) + .[2001:])' > map
    run --separate-stderr "$BUILD/gaspipe" replay map
    assert_status 3
    assert_output_has 'not replayed: the bundle is damaged: its bytes do not match their SHA-512, '
}

@test "an export over the store itself is refused, however it is spelled" {
    "$BUILD/gaspipe" run --counter none --store store --vat "token=$ROOT/examples/token/contract.js" \
        "$ROOT/examples/token/deliveries.jsonl" > /dev/null || [ $? -eq 1 ]
    ln -s store/gaspipe.sqlite link
    ln store/gaspipe.sqlite hard
    cp store/gaspipe.sqlite before
    for path in store/gaspipe.sqlite ./store/../store/gaspipe.sqlite link hard; do
        run --separate-stderr "$BUILD/gaspipe" replay --store store --export "$path" token
        assert_bad_input 2 "is read, and the transcript would be written over it"
    done
    cmp before store/gaspipe.sqlite
    run --separate-stderr "$BUILD/gaspipe" replay --store store --export token.jsonl token
    assert_status 0
    "$BUILD/gaspipe" replay --store store --export - token | cmp - token.jsonl
    run --separate-stderr "$BUILD/gaspipe" replay token.jsonl
    assert_status 0
}

@test "data missing from a store is reported" {
    "$BUILD/gaspipe" run --counter none --store store --vat "token=$ROOT/examples/token/contract.js" \
        "$ROOT/examples/token/deliveries.jsonl" > /dev/null || [ $? -eq 1 ]
    cp -r store without
    store_edit without 'DELETE FROM bundle'
    run --separate-stderr "$BUILD/gaspipe" replay --store without token
    assert_bad_input 4 'without: vat token:' 'the store is damaged: the kernel has' 'a row was added, deleted or set back'
    store_edit store 'DELETE FROM transcript WHERE position = 3'
    run --separate-stderr "$BUILD/gaspipe" replay --store store token
    assert_bad_input 4 'the store is damaged: vat v1 has' 'a row was added, deleted or set back'
}

@test "a slogfile in several parts is replayed as one" {
    producer
    head -n 20 producer.slog > one
    tail -n +21 producer.slog | gzip > two.gz
    run --separate-stderr "$BUILD/gaspipe" replay --json one two.gz
    assert_status 0
    assert_equal "$(field vat '"\(.status) \(.deliveries) \(.syscalls)"')" "same 8 36"
}

@test "bad input is reported with its line" {
    producer
    run --separate-stderr "$BUILD/gaspipe" replay missing.slog
    assert_bad_input 3 'missing.slog'
    echo nonsense > bad
    cat producer.slog >> bad
    run --separate-stderr "$BUILD/gaspipe" replay bad
    assert_bad_input 3 'bad:1: not a slogfile or transcript: not a JSON object'
    sed '/"syscall-result".*"deliveryNum":1,"syscallNum":0,/d' producer.slog > order
    run --separate-stderr "$BUILD/gaspipe" replay order
    assert_bad_input 3 'order:' 'out of order'
    : > empty
    run --separate-stderr "$BUILD/gaspipe" replay empty
    assert_bad_input 3 'empty: it has no vat'
    run --separate-stderr "$BUILD/gaspipe" replay
    assert_bad_input 2 'give one slogfile'
    run --separate-stderr "$BUILD/gaspipe" replay --counter abacus producer.slog
    assert_bad_input 2 '--counter'
}

@test "a delivery over the time limit differs, and its worker is killed" {
    cat > spin.js << 'END'
export function spin(n) { for (let i = 0; i < n; i++); }
END
    echo '{"vat":"spin","method":"spin","args":[1000000000]}' > spin.jsonl
    "$BUILD/gaspipe" run --counter none --compute-limit 1000000 --slog spin.slog --vat spin=spin.js \
        spin.jsonl > /dev/null || [ $? -eq 1 ]
    run --separate-stderr "$BUILD/gaspipe" replay --compute-limit 1000000 spin.slog
    assert_status 0
    run --separate-stderr "$BUILD/gaspipe" replay --compute-limit 0 --delivery-timeout 0.2 spin.slog
    assert_status 1
    assert_output_has 'it took longer than 0.2 s'
}

@test "the same vats are reproduced under QEMU" {
    [ "$NATIVE" = "$BUILD" ] || skip 'QEMU and its workers are not sanitized'
    run --separate-stderr "$BUILD/gaspipe" replay --counter qemu --json --vat v4 "$DATA/swingset.slog.zst"
    assert_status 0
    assert_equal "$(field vat '"\(.vatID) \(.status) \(.deliveries)"')" "v4 same 8"
}

@test "several vats at a time have the outcome of one after the other" {
    local jobs

    zstd -dcq "$DATA/swingset.slog.zst" > slog
    # One vat differs, and the message says where.
    sed '0,/"vsc":\["vatstoreSet","[^"]*","/s//&changed/' slog > changed.slog
    for jobs in 1 2; do
        run --separate-stderr "$BUILD/gaspipe" replay --json --jobs $jobs slog
        assert_status 0
        echo "$output" > same.$jobs
        run --separate-stderr "$BUILD/gaspipe" replay --json --jobs $((jobs * 2 - 1)) changed.slog
        assert_status 1
        echo "$output" > changed.$jobs
    done
    cmp same.1 same.2
    cmp changed.1 changed.2
    assert_equal "$(jq -s 'map(select(.kind == "difference")) | length' changed.1)" 1
}

# worker_cpus [OPTION...]: those that each worker of a replay of two vats may use, as it starts.
worker_cpus() {
    rm -f cpus
    run --separate-stderr "$BUILD/gaspipe" replay --sandbox off --worker ./worker "$@" \
        "$DATA/swingset.slog.zst"
    assert_status 0
    cat cpus
}

@test "workers run on the CPU of their replay thread, and several threads on different CPUs" {
    [ "$(nproc)" -gt 1 ] || skip 'there is one CPU only: nothing to choose'
    printf '#!/bin/sh\nsed -n "s/^Cpus_allowed_list:.//p" /proc/self/status >> %s\nexec %s "$@"\n' \
        "$BATS_TEST_TMPDIR/cpus" "$BUILD/gaspipe-worker" > worker
    chmod +x worker
    all=$(sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status)
    assert_equal "$(worker_cpus --placement none | sort -u)" "$all"
    assert_equal "$(worker_cpus --placement same --parallel 2 | sort -u | wc -l)" 2
    run --separate-stderr "$BUILD/gaspipe" replay --placement there "$DATA/swingset.slog.zst"
    assert_bad_input 2 --placement "'there'"
}

@test "several vats at a time require a file, and bad lines are reported as with one" {
    run --separate-stderr "$BUILD/gaspipe" replay --jobs 2 - < /dev/null
    assert_bad_input 2 --jobs
    { zstd -dcq "$DATA/swingset.slog.zst" | head -n 2; echo '{"type":"deliver",torn'; echo; } > bad.slog
    run --separate-stderr "$BUILD/gaspipe" replay --jobs 3 bad.slog
    assert_bad_input 3 bad.slog:3
}

@test "counts that may differ are counted and listed, one after the other and several at a time" {
    local jobs

    zstd -dcq "$DATA/swingset.slog.zst" |
        sed -E '/"deliver-result".*"deliveryNum":3,/s/"compute":[0-9]+/"compute":1/' > changed.slog
    run --separate-stderr "$BUILD/gaspipe" replay --vat v4 changed.slog
    assert_status 1
    run --separate-stderr "$BUILD/gaspipe" replay --vat v4 --tolerate computrons changed.slog
    assert_status 0
    assert_output_has 'v4 producer: delivery 3, (o+0).makeThings -> p-61: tolerated: computrons, recorded 1, replayed 31670'
    assert_output_has 'same; 1 tolerated'
    for jobs in 1 2; do
        run --separate-stderr "$BUILD/gaspipe" replay --json --jobs $jobs --tolerate computrons changed.slog
        assert_equal "$(field tolerated '"\(.vatID) \(.deliveryNum) \(.aspect) \(.recorded)"')" \
            $'v4 3 computrons 1\nv14 3 computrons 1'
        assert_equal "$(field summary .tolerated)" 2
    done
    sed -E '/"deliver-result".*"deliveryNum":2,/s/"allocate":[0-9]+/"allocate":1/' changed.slog > allocated.slog
    run --separate-stderr "$BUILD/gaspipe" replay --json --tolerate computrons --strict allocation allocated.slog
    assert_status 1
    assert_equal "$(field difference '"\(.vatID) \(.deliveryNum) \(.aspect)"' | head -n 1)" 'v4 2 allocation'
    sed -i 's/"snapshotID":"74/"snapshotID":"75/' changed.slog
    run --separate-stderr "$BUILD/gaspipe" replay --vat v14 --tolerate computrons \
        --tolerate instructions changed.slog
    assert_status 1
    run --separate-stderr "$BUILD/gaspipe" replay --tolerate everything changed.slog
    assert_bad_input 2 '--tolerate takes gc, computrons, instructions, snapshots or allocation'
}

# Reads of a collection may come earlier or later with garbage collection: here the
# record has the read a delivery too early.
@test "reads that depend on garbage collection may be tolerated, and are listed" {
    zstd -dcq "$DATA/swingset.slog.zst" | grep '"vatID":"v14"' > widgets.slog
    grep -A 1 '"deliveryNum":2.*"vsc":\["vatstoreGet","vc.4.|schemata"\]' widgets.slog > read
    [ "$(wc -l < read)" -eq 2 ]
    {
        sed -n '1,/"deliver-result".*"deliveryNum":1,/p' widgets.slog | sed '$d'
        sed 's/"deliveryNum":2/"deliveryNum":1/' read
        sed -n '/"deliver-result".*"deliveryNum":1,/,$p' widgets.slog | grep -vxFf read
    } > moved.slog
    run --separate-stderr "$BUILD/gaspipe" replay --json moved.slog
    assert_status 1
    run --separate-stderr "$BUILD/gaspipe" replay --json --tolerate gc moved.slog
    assert_status 0
    assert_equal "$(field tolerated '"\(.deliveryNum) \(.recorded != null) \(.replayed != null)"')" \
        $'1 true false\n2 false true'
    assert_equal "$(field vat '"\(.status) \(.deliveries) \(.tolerated)"')" "same 10 2"
    # Another read is none of these.
    sed 's/vc[.]4[.]|schemata/vom.4.schemata/g' moved.slog > other.slog
    run --separate-stderr "$BUILD/gaspipe" replay --json --tolerate gc other.slog
    assert_status 1
}

@test "--deliveries prints what each delivery cost, next to what was recorded" {
    producer
    run --separate-stderr "$BUILD/gaspipe" replay --json --deliveries producer.slog
    assert_status 0
    assert_equal "$(field delivery '.status' | sort | uniq -c | tr -s ' ')" ' 8 same'
    assert_equal "$(jq -s 'map(select(.kind == "delivery" and .recordedCompute) | .compute == .recordedCompute) | all' <<< "$output")" true
    [ "$(field delivery 'select(.deliveryNum == 1).syscalls')" -eq 30 ]
}

# extracted VAT: a transcript as Agoric's extract-transcript-from-slogfile.js writes it.
extracted() {
    zstd -dcq "$DATA/swingset.slog.zst" | grep "\"vatID\":\"$1\"" | jq -nc '
        foreach inputs as $e ({n: 0}; .out = null |
            if $e.type == "create-vat" then
                .out = {type: $e.type, transcriptNum: 0, vatID: $e.vatID, vatName: $e.name, vatSourceBundle: $e.vatSourceBundle}
            elif $e.type == "deliver" then .d = $e.vd | .syscalls = []
            elif $e.type == "syscall" then .asked = $e.vsc
            elif $e.type == "syscall-result" then .syscalls += [{d: .asked, response: $e.vsr}]
            elif $e.type == "deliver-result" then .n += 1 | .out = {transcriptNum: .n, d, syscalls}
            elif $e.type == "heap-snapshot-save" then
                .out = {transcriptNum: .n, type: $e.type, vatID: $e.vatID, snapshotID: $e.snapshotID}
            else . end; .out // empty)'
}

@test "transcripts that Agoric's tools extract from slogfiles and kernel databases" {
    extracted v4 > transcript-v4.sst
    run --separate-stderr "$BUILD/gaspipe" replay --json transcript-v4.sst
    assert_status 0
    assert_equal "$(jq -r 'select(.kind == "vat") | "\(.vat) \(.status) \(.deliveries) \(.syscalls)"' <<< "$output")" \
        'producer same 8 36'
    # A directory of them.
    mkdir directory
    cp transcript-v4.sst directory/
    extracted v4 | sed 's/"v4"/"v77"/; s/liveSlots:v4#/liveSlots:v77#/g' | gzip > directory/transcript-v77.sst.gz
    run --separate-stderr "$BUILD/gaspipe" replay --json --parallel 2 directory
    assert_status 0
    assert_equal "$(jq -r 'select(.kind == "vat") | "\(.vatID) \(.status) \(.deliveries)"' <<< "$output")" $'v4 same 8\nv77 same 8'
    run --separate-stderr "$BUILD/gaspipe" replay --list --vat v77 directory
    assert_status 0
    assert_output_has 'v77'
    # As in a kernel database: entries of swing-store, and the bundle's ID in place of the bundle.
    head -n 1 transcript-v4.sst | jq -c .vatSourceBundle > bundle.json
    jq -c 'if .type == "create-vat" then
            .vatSourceBundleID = "b1-" + .vatSourceBundle.endoZipBase64Sha512 | del(.vatSourceBundle)
        elif .d and .transcriptNum < 7 then {transcriptNum, d, sc: [.syscalls[] | {s: .d, r: .response}], r: {status: "ok"}}
        else empty end' transcript-v4.sst > database-v4.sst
    run --separate-stderr "$BUILD/gaspipe" replay database-v4.sst
    assert_status 3
    run --separate-stderr "$BUILD/gaspipe" replay --json --bundle bundle.json database-v4.sst
    assert_status 0
    assert_equal "$(jq -r 'select(.kind == "vat") | "\(.status) \(.deliveries)"' <<< "$output")" 'same 6'
}
