#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe run when workers die, hang or are interrupted.

load common

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    token=token=$ROOT/examples/token/contract.js
    cat > spin.js << 'EOF'
export const spin = () => { for (;;); };
export const set = value => { store.set('value', value); };
export const get = () => store.get('value');
export const spinAfterSet = value => { store.set('value', value); console.log('spins'); for (;;); };
export const deep = () => { const down = () => down() + 1; return down(); };
export const fill = () => { const held = []; for (;;) held.push(new ArrayBuffer(1 << 24)); };
export const never = () => new Promise(() => {});
export const reject = () => { Promise.reject(Error('nobody waits')); return 'went on'; };
EOF
}

# spin_run OPTIONS...: on the contract above and a token, deliveries from stdin.
spin_run() {
    run --separate-stderr "$BUILD/gaspipe" run --json --vat spin=spin.js --vat "$token" "$@" -
}

# spin_method METHOD: a delivery to it, and one to each vat after it.
spin_method() {
    printf '{"vat":"%s","method":"%s","args":["a",1]}\n' spin "$1" token mint spin get
}

ended() {
    jq -c 'select(.kind == "delivery" and .description != "startVat")
        | [.vat, .status, .error]' <<< "$output"
}

# The worker processes of gaspipe process $1 (and their number must be $2).
workers_of() {
    [ "$(pgrep -c -P "$1")" -eq "$2" ]
}

for_each_counter() {
    local counter

    for counter in none qemu; do
        "$@" --counter $counter
    done
}

over_compute() {
    spin_run --compute-limit 1000000 "$@" < <(spin_method spin)
    assert_status 1
    assert_equal "$(ended)" '["spin","error","Compute meter exceeded: more than the 1000000 computrons that a delivery may use (--compute-limit)"]
["token","ok",null]
["spin","error","the vat has ended: Compute meter exceeded: more than the 1000000 computrons that a delivery may use (--compute-limit)"]'
    # It costs what it used up to there, which is part of the sum, and the same under QEMU.
    assert_equal "$(jq -c 'select(.limited != null) | [.compute > 1000000, .compute < 1000010, .limited, .atLeast]' <<< "$output")" '[true,true,"computrons",null]'
    assert_equal "$(jq -c 'select(.limited != null) | .instructions > 1000000' <<< "$output")" "$([[ $* == *qemu* ]] && echo true || echo false)"
    assert_equal "$(jq -s '(map(select(.kind == "delivery") | .compute) | add) == map(select(.kind == "summary"))[0].compute' <<< "$output")" true
}

@test "a delivery over its computrons ends its vat, and no other" {
    for_each_counter over_compute
}

@test "a delivery over its instructions ends its vat; under a limit it costs the same" {
    local mint='{"vat":"token","method":"mint","args":["a",1]}'

    spin_run --counter qemu --max-instructions 100000000 < <(echo "$mint"; spin_method spin)
    assert_status 1
    local limited=$output
    assert_equal "$(ended | sed 1d)" '["spin","error","Instruction limit exceeded: more than the 100000000 instructions that a delivery may use (--max-instructions)"]
["token","ok",null]
["spin","error","the vat has ended: Instruction limit exceeded: more than the 100000000 instructions that a delivery may use (--max-instructions)"]'
    assert_equal "$(jq -c 'select(.limited != null) | [.instructions, .limited, .atLeast]' <<< "$output")" '[100000000,"instructions",true]'
    spin_run --counter qemu < <(echo "$mint")
    assert_equal "$(jq -c 'select(.vat == "token" and .deliveryNum == 2) | .instructions' \
        <<< "$output")" \
        "$(jq -c 'select(.vat == "token" and .deliveryNum == 2) | .instructions' <<< "$limited")"
}

# costs_what_it_used NAME --counter KIND: up to the limit of that name, exactly.
costs_what_it_used() {
    assert_equal "$(jq -c --argjson counted "$([ "$3" = qemu ] && echo true || echo false)" \
        'select(.limited != null) |
            [.limited, .compute > 1000, (.instructions != null) == $counted, .atLeast]' \
        <<< "$output")" "[\"$1\",true,true,null]"
}

over_stack() {
    spin_run "$@" < <(spin_method deep)
    assert_status 1
    assert_equal "$(ended | head -n 2)" '["spin","error","Stack meter exceeded: more than the engine'"'"'s 4096 slots, or 262144 links of prototypes or modules, which no option changes"]
["token","ok",null]'
    costs_what_it_used stack "$@"
}

@test "a recursion without end ends its vat" {
    for_each_counter over_stack
}

over_memory() {
    spin_run "$@" < <(spin_method fill)
    assert_status 1
    assert_equal "$(ended | head -n 2)" '["spin","error","Allocate meter exceeded: more than the engine'"'"'s 2147483648 bytes of heap, 1073741824 of them in strings and buffers (--max-heap can only lower it)"]
["token","ok",null]'
    costs_what_it_used heap "$@"
}

@test "memory without end ends its vat" {
    for_each_counter over_memory
}

@test "a delivery that takes too long is tried again, and then its vat is put into quarantine" {
    # Not under QEMU: a worker may take half a second to start there.
    spin_run --compute-limit 0 --delivery-timeout 1 --retries 1 --counter none \
        < <(spin_method spin)
    assert_status 5
    assert_equal "$(complaints <<< "$stderr")" \
        'gaspipe: vat spin, crank 5: it took longer than 1 s; tried again, 1 of 1
gaspipe: vat spin, crank 5: it took longer than 1 s; failed after 2 tries: the vat is in quarantine, the others continue
gaspipe: vat spin is in quarantine: it took longer than 1 s; run with --release, --upgrade or --terminate, or with --set-limit or --skip-delivery'
}

@test "a delivery whose answer has arrived is not too long, even if gaspipe itself was stopped" {
    local gaspipe

    echo "export const say = () => { console.log('a word'); return 'said'; };" > say.js
    # The real worker, and in the file `up` what it has sent.
    printf '#!/bin/sh\nexec 5>&4\n"%s" "$@" 4>&1 | tee -a "%s/up" >&5\n' "$NATIVE/gaspipe-worker" \
        "$PWD" > worker
    chmod +x worker
    # Nothing reads gaspipe's messages, and the pipe is full.
    mkfifo words
    exec {words}<> words
    dd if=/dev/zero of=words oflag=nonblock bs=4096 count=1000 2> /dev/null || true
    "$NATIVE/gaspipe" run --json --counter none --sandbox off --worker ./worker --delivery-timeout 1 --retries 0 \
        --vat say=say.js - <<< '{"vat":"say","method":"say"}' > out 2> words 3>&- &
    gaspipe=$!
    wait_for 60 grep -q said up
    # The time limit is long over by then.
    sleep 2.5
    tr -d '\0' < words > err {words}>&- 3>&- &
    exec {words}>&-
    wait "$gaspipe" || fail "$(cat err)"
    wait
    assert_equal "$(complaints < err)" 'gaspipe: say: a word'
    grep -q '"fulfilled","value":"said"' out
}

@test "a promise that is never settled fails its delivery, and the vat continues" {
    spin_run --counter none < <(spin_method never)
    assert_status 1
    assert_equal "$(ended)" \
        '["spin","error","the method'"'"'s promise was not settled when nothing was left to do"]
["token","ok",null]
["spin","ok",null]'
}

@test "an unhandled rejection is shown and harms nothing" {
    spin_run --counter none < <(spin_method reject)
    assert_status 0
    [[ $stderr == *"spin: "*"nobody waits"* ]] || fail "not shown:" "$stderr"
}

# spinning TIMES: so often a worker has begun a delivery that does not end, as its words in
# the file `err` tell.
spinning() {
    [ "$(grep -c 'spin: spins' err)" -eq "$1" ]
}

@test "a worker that is killed is started again, and what it had changed is undone" {
    printf '{"vat":"spin","method":"%s","args":["%s"]}\n' set before spinAfterSet lost > in
    "$NATIVE/gaspipe" run --json --counter none --compute-limit 0 --retries 1 --store store \
        --vat spin=spin.js in > out 2> err &
    local gaspipe=$!
    wait_for 60 spinning 1
    pkill -KILL -P "$gaspipe"
    wait_for 60 spinning 2
    grep -q 'killed by signal 9 (Killed); tried again, 1 of 1' err
    pkill -KILL -P "$gaspipe"
    status=0
    wait "$gaspipe" || status=$?
    assert_status 4
    grep -q 'vat spin, crank 5: .* signal 9 (Killed); failed after 2 tries' err || fail "$(cat err)"
    assert_equal "$(sqlite3 store/gaspipe.sqlite 'SELECT value FROM vatstore')" before
}

@test "a worker that is killed while it waits restarts at the next delivery" {
    mkfifo in
    "$BUILD/gaspipe" run --json --counter none --slog slog --snapshot-interval 0 \
        --vat spin=spin.js in > out 2> err &
    local gaspipe=$!
    exec {feed}> in
    echo '{"vat":"spin","method":"set","args":["before"]}' >&"$feed"
    wait_for 60 grep -q '"deliveryNum":2' out
    kill -KILL "$(pgrep -P "$gaspipe")"
    wait_for 60 workers_of "$gaspipe" 0
    echo '{"vat":"spin","method":"get"}' >&"$feed"
    exec {feed}>&-
    status=0
    wait "$gaspipe" || status=$?
    assert_status 0
    assert_equal "$(jq -c 'select(.deliveryNum == 3) | .result' out)" '"before"'
    grep -q 'killed by signal 9 (Killed); the vat restarts' err || fail "$(cat err)"
    assert_equal "$(jq -c 'select(.type == "deliver" and .replay) | [.vatID, .deliveryNum]' slog)" \
        $'["v1",1]\n["v1",2]'
}

# interrupted SIGNAL STATUS OPTIONS...: in mid-delivery.
interrupted() {
    local store=store-$1-$3 input=input-$1-$3 feed

    rm -f in
    mkfifo in
    "$BUILD/gaspipe" run --json --compute-limit 0 --store "$store" --slog "slog-$1-$3" \
        --counter "$3" --vat spin=spin.js in > out 2> err &
    local gaspipe=$!
    exec {feed}> in
    printf '{"vat":"spin","method":"%s","args":["%s"]}\n' set kept spinAfterSet lost > "$input"
    head -n 1 "$input" >&"$feed"
    wait_for 60 grep -q '"deliveryNum":2' out
    tail -n 1 "$input" >&"$feed"
    wait_for 60 spinning 1
    local workers
    workers=$(pgrep -P "$gaspipe")
    kill -"$1" "$gaspipe"
    status=0
    wait "$gaspipe" || status=$?
    exec {feed}>&-
    assert_status "$2"
    for worker in $workers; do
        has_ended "$worker" || fail "worker $worker is left behind"
    done
    jq -c .type "slog-$1-$3" > /dev/null
    assert_equal "$(sqlite3 "$store/gaspipe.sqlite" \
        'SELECT value FROM vatstore WHERE CAST(key AS TEXT) = '"'value'")" kept
    # The interrupted delivery runs again, under the same number; and without the limit
    # that its vat was not made with.
    run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --compute-limit 1000000 \
        --delivery-timeout 1 --retries 0 --store "$store" --vat spin=spin.js "$input"
    assert_status 5
    [[ $stderr == *'vat spin, crank 5: it took longer than 1 s; failed after 1 try'* ]] ||
        fail "$stderr"
}

@test "an interrupt in mid-delivery leaves no worker, and keeps what was done" {
    interrupted INT 130 none
    interrupted TERM 143 none
    interrupted TERM 143 qemu
}

@test "a supervisor that is killed takes its workers along" {
    local counter feed gaspipe workers

    for counter in none qemu; do
        rm -f in out err
        mkfifo in
        "$BUILD/gaspipe" run --json --compute-limit 0 --counter $counter --vat spin=spin.js in \
            > out 2> err &
        gaspipe=$!
        exec {feed}> in
        echo '{"vat":"spin","method":"spinAfterSet","args":["it"]}' >&"$feed"
        wait_for 60 spinning 1
        workers=$(pgrep -P "$gaspipe")
        kill -KILL "$gaspipe"
        for worker in $workers; do
            wait_for 60 has_ended "$worker"
        done
        exec {feed}>&-
        wait "$gaspipe" || true
    done
}

@test "nothing is left open or running when a run ends" {
    run bash -c '"$0" "$@" & wait $!; pgrep -c -P $$' "$NATIVE/gaspipe" run --json --counter none \
        --vat "$token" "$ROOT/examples/token/deliveries.jsonl"
    assert_equal "${lines[-1]}" 0
}

@test "the next run prints committed results that could not be printed, once" {
    local line options=(--json --counter none --store store --vat "$token" --resume input)

    for line in 5 6 7; do
        echo "{\"vat\":\"token\",\"method\":\"mint\",\"args\":[\"a\",$line]}"
    done > input
    echo '{"vat":"token","method":"transfer","args":["b","a",1]}' >> input
    # Each run fails at its first output; how many cranks are committed by then depends on the disk.
    for _ in 1 2 3 4 5; do
        status=0
        "$NATIVE/gaspipe" run "${options[@]}" > /dev/full 2> err || status=$?
        assert_equal "$status" 4
        grep -q 'cannot write the results' err
    done
    run --separate-stderr "$NATIVE/gaspipe" run "${options[@]}"
    assert_status 1
    # The first was certainly printed before.
    assert_equal "$(jq -c 'select(.place == "input:1") | .again' <<< "$output")" true
    assert_equal "$(jq -c 'select(.kind == "result") | [.place, .status, .value // .value["#error"]]' \
        <<< "$output" | cut -c1-40)" '["input:1","fulfilled",{"@bigint":"5"}]
["input:2","fulfilled",{"@bigint":"11"}]
["input:3","fulfilled",{"@bigint":"18"}]
["input:4","rejected",{"#error":"RangeEr'
    run --separate-stderr "$NATIVE/gaspipe" run "${options[@]}"
    assert_status 0
    assert_equal "$(jq -c 'select(.kind == "result")' <<< "$output")" ""
}

@test "limits other than those that a vat was made with are said not to be taken" {
    local options=(--counter none --store store --vat "$token" -)

    run --separate-stderr "$NATIVE/gaspipe" run --compute-limit 5000000 --max-syscalls 9 \
        "${options[@]}" < /dev/null
    assert_status 0
    assert_equal "$(complaints <<< "$stderr")" ""
    run --separate-stderr "$NATIVE/gaspipe" run --compute-limit 7 --max-syscalls 9 \
        --max-store-bytes 1K "${options[@]}" < /dev/null
    assert_status 0
    assert_equal "$(complaints <<< "$stderr")" \
        'gaspipe: vat token: --compute-limit 7 is ignored; the vat keeps 5000000
gaspipe: vat token: --max-store-bytes 1024 is ignored; the vat keeps 0 (no limit)'
    # No option asked for another.
    run --separate-stderr "$NATIVE/gaspipe" run "${options[@]}" < /dev/null
    assert_equal "$(complaints <<< "$stderr")" ""
}

@test "what a delivery cost that met its limit is in the table, the slogfile and its sums, and replayed" {
    cd "$BATS_TEST_TMPDIR"
    echo 'export const spin = () => { for (;;) {} };' > spin.js
    echo '{"vat":"spin","method":"spin"}' > deliveries
    run "$NATIVE/gaspipe" run --counter none --compute-limit 1000000 --slog slog --vat spin=spin.js deliveries
    assert_status 1
    assert_output_has ' error     1,000,00'
    assert_output_has 'more than the 1000000 computrons that a delivery may use (--compute-limit)'
    sum=$("$BUILD/slogreport" summary --json --by all slog | jq -r 'select(.column == "compute") | .total')
    [ "$sum" -gt 1000000 ]
    assert_output_has "; $(sed -E 's/([0-9])([0-9]{3})([0-9]{3})$/\1,\2,\3/' <<< "$sum") computrons"
    assert_equal "$(jq -c 'select(.type == "deliver-result" and .dr[0] == "error") | [.dr[1], .dr[2].compute > 1000000, .dr[2].limited]' slog)" \
        '["Compute meter exceeded",true,null]'
    run "$NATIVE/gaspipe" replay --counter none slog
    assert_status 0
}

# cost_of_refused: computrons, in the slogfile, of the first delivery that failed.
cost_of_refused() {
    jq -s 'map(select(.type == "deliver-result" and .dr[0] == "error"))[0].dr[2].compute' slog
}

# refused METHOD OPTION...: a delivery in which the kernel refuses a syscall has the same cost printed
# and in the slogfile, with and without the counter, and it is part of the sums.
refused() {
    local counter method=$1 first costs=()

    printf '{"vat":"c","method":"%s"}\n' get "$method" get > deliveries
    for counter in none qemu; do
        rm -f slog
        run --separate-stderr "$BUILD/gaspipe" run --json --counter $counter --slog slog \
            --vat c=refused.js "${@:2}" deliveries
        assert_status 1
        first=$(jq -sc 'map(select(.kind == "delivery" and .error != null))[0]' <<< "$output")
        costs+=("$(jq .compute <<< "$first")")
        assert_equal "$(jq -c '[.instructions > 10000, .limited]' <<< "$first")" \
            "[$([ $counter = qemu ] && echo true || echo false),null]"
        assert_equal "$(jq -sc 'map(select(.kind == "summary"))[0] as $sum |
            map(select(.kind == "delivery")) | [(map(.compute) | add), (map(.instructions) | add)] ==
            [$sum | .compute, .instructions]' <<< "$output")" true "the summary is the sum"
        assert_equal "$(cost_of_refused)" "${costs[-1]}" "the cost in the slogfile"
        run "$BUILD/slogreport" --strict slog
        assert_status 0
        [ $counter = qemu ] || "$NATIVE/gaspipe" replay --counter none slog
    done
    [ "${costs[0]}" -gt 1000 ] || fail "it cost ${costs[0]}"
    assert_equal "${costs[0]}" "${costs[1]}" "computrons natively and under QEMU"
}

@test "a delivery in which the kernel refuses a syscall costs what it used up to there" {
    local few

    cat > refused.js << 'END'
export const get = () => store.get('value') ?? null;
export const ask = () => { for (let i = 0;; i += 1) store.get(`${i}`); };
export const fill = () => { for (let i = 0;; i += 1) store.set(`${i}`, 'x'.repeat(100)); };
END
    refused ask --max-syscalls 20
    few=$(cost_of_refused)
    refused ask --max-syscalls 60
    [ "$(cost_of_refused)" -gt $((2 * few)) ] || fail "$(cost_of_refused) for 60 syscalls, $few for 20"
    refused fill --max-store-bytes 3000
    refused fill --max-message-bytes 90
}

@test "a last commit that fails is an error, and the next run does its cranks again" {
    local options=(--json --counter none --store store --cranks-per-commit 1000 --vat it=big.js --resume input)

    echo 'export const put = name => { store.set(name, "x".repeat(200000)); return name; };' > big.js
    for name in {a..z}; do
        echo "{\"vat\":\"it\",\"method\":\"put\",\"args\":[\"$name\"]}"
    done > input
    run --separate-stderr bash -c 'ulimit -f 2048; exec "$@"' run "$NATIVE/gaspipe" run "${options[@]}"
    assert_status 4
    [[ $stderr == *'the last cranks are lost: '* ]] || fail "$stderr"
    [ "$(jq -c 'select(.kind == "result")' <<< "$output")" = '' ]
    run --separate-stderr "$NATIVE/gaspipe" run "${options[@]}"
    assert_status 0
    assert_equal "$(jq -c 'select(.kind == "result")' <<< "$output" | wc -l)" 26
}

@test "run: where no thread can be started, commits are synced all the same" {
    [ "$BUILD" = "$NATIVE" ] || skip 'a sanitized program takes more than the limit allows'
    run --separate-stderr prlimit --stack=67108864 --data=200000000 \
        setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource \
        "$BUILD/gaspipe" run --json --counter none --store store --vat spin=spin.js - \
        <<< '{"vat":"spin","method":"set","args":["a"]}'
    assert_status 0
    run "$BUILD/gaspipe" verify --store store
    assert_status 0
}
