#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe run on bad input: one clear line and the documented exit status.

load common

setup() {
    token=token=$ROOT/examples/token/contract.js
    mint='{"vat":"token","method":"mint","args":["a",1]}'
    cd "$BATS_TEST_TMPDIR" || return 1
}

# gaspipe_run OPTIONS...: deliveries from stdin.
gaspipe_run() {
    run --separate-stderr "$NATIVE/gaspipe" run --counter none "$@"
}

@test "a contract's file that is missing, a directory, or no text" {
    gaspipe_run --vat c=nowhere.js - < /dev/null
    assert_bad_input 3 'nowhere.js: No such file'
    gaspipe_run --vat c=. - < /dev/null
    assert_bad_input 3 'is a directory'
    printf '\xff\xfe' > bytes.js
    gaspipe_run --vat c=bytes.js - < /dev/null
    assert_bad_input 3 'bytes.js: is not UTF-8'
}

@test "a contract that does not parse: file and line" {
    printf 'export const f = () => 1;\n\nexport const g = @;\n' > bad.js
    gaspipe_run --vat c=bad.js - < /dev/null
    assert_bad_input 3 'bad.js:3: SyntaxError: invalid character @'
    printf 'export const f = (' > open.js
    gaspipe_run --vat c=open.js - < /dev/null
    assert_bad_input 3 'open.js:1: SyntaxError'
}

@test "a contract that throws when it is loaded: file and line" {
    printf '\n\nthrow Error("no ground");\nexport const f = () => 1;\n' > throws.js
    gaspipe_run --vat c=throws.js - < /dev/null
    assert_bad_input 3 'throws.js:3: Error: no ground'
}

@test "an empty contract, such as a bundle whose bundler failed" {
    for name in a.bundle a.js a.wasm a.so; do
        printf '\n \n' > "$name"
        gaspipe_run --vat "c=$name" - < /dev/null
        assert_bad_input 3 "$name: is empty"
    done
}

@test "a contract without methods, and one that imports" {
    echo 'export const answer = 42;' > none.js
    gaspipe_run --vat c=none.js - < /dev/null
    assert_bad_input 3 'none.js: TypeError: the contract exports no function'
    echo 'import { f } from "./other.js"; export { f };' > imports.js
    gaspipe_run --vat c=imports.js - < /dev/null
    assert_bad_input 3 'imports.js:1: TypeError: "./other.js" cannot be imported'
    printf "\nimport { Far } from '@endo/far';\nexport const f = () => Far;\n" > far.js
    gaspipe_run --vat c=far.js - < /dev/null
    assert_bad_input 3 'far.js:2: TypeError: "@endo/far" cannot be imported' 'npx @endo/bundle-source'
}

# The same with and without the sandbox, also where the file is there.
@test "import() in a contract rejects with what to do, however it is written" {
    echo 'export default 7;' > other.js
    cat > dynamic.js << 'END'
const outcome = promise => promise.then(({ default: it }) => `loaded ${it}`, String);
export const direct = name => outcome(import(name));
export const evaluated = name => outcome(eval(`import(${JSON.stringify(name)})`));
export const constructed = name => outcome(new Function('name', 'return import(name)')(name));
export const required = name => require(name);
END
    for name in ./other.js ../other.js "$PWD/other.js" other.js fs node:fs @endo/far; do
        for method in direct evaluated constructed; do
            echo "{\"vat\":\"c\",\"method\":\"$method\",\"args\":[\"$name\"]}"
        done
    done > lines.jsonl
    for sandbox in basic off; do
        run --separate-stderr "$NATIVE/gaspipe" run --json --counter none --sandbox $sandbox --vat c=dynamic.js lines.jsonl
        assert_status 0
        assert_equal "$(jq -r 'select(.kind == "result") | .value' <<< "$output" |
            grep -c '^TypeError: "[^"]*" cannot be imported: a plain contract is one file; bundle it with its imports')" 21
        echo '{"vat":"c","method":"required","args":["fs"]}' > required.jsonl
        run "$NATIVE/gaspipe" run --counter none --sandbox $sandbox --vat c=dynamic.js required.jsonl
        assert_status 1
        assert_output_has 'require is not available: a contract is one file; bundle it with what it imports'
    done
}

@test "an error of a plain contract: line, source and stack, the same with several jobs" {
    cat > wrong.js << 'EOF'
export const clock = () => {
  const now = Date.now();
};
export const timer = () => setTimeout(clock, 1);
const inner = () => {
  throw RangeError('too deep');
};
export const outer = async () => {
  inner();
};
export const text = () => {
  throw 'no error';
};
export const poisoned = () => {
  throw Object.defineProperty({}, 'stack', { get: inner });
};
export const put = () => store.put('key', 'value');
EOF
    printf '{"vat":"c","method":"%s"}\n' clock timer outer text poisoned put > wrong.jsonl
    gaspipe_run --vat c=wrong.js wrong.jsonl
    assert_status 1
    assert_output_has 'wrong.jsonl:1: wrong.js:2: TypeError: Date.now is not available: results must be the same on every replay; take the time from'
    assert_output_has 'wrong.jsonl:6: wrong.js:17: TypeError: put: no function: store.put  in: export const put'
    assert_output_has 'wrong.jsonl:2: wrong.js:4: ReferenceError: timer: get setTimeout: undefined variable; setTimeout is not available: a contract runs only in its deliveries; have a later delivery call a method  in: export const timer'
    assert_output_has 'wrong.jsonl:3: wrong.js:6: RangeError: too deep  in: throw RangeError('
    assert_output_has 'wrong.jsonl:4: no error'
    assert_output_has 'wrong.jsonl:5: {}'
    local jobs
    for jobs in 1 4; do
        gaspipe_run --json --jobs "$jobs" --vat c=wrong.js wrong.jsonl
        assert_status 1
        jq -c 'select(.status == "error") | [.error, .source, .stack]' <<< "$output" > "errors.$jobs"
    done
    cmp errors.1 errors.4
    assert_equal "$(jq -r '.[2] // "none" | split(" at sendMessage")[0]' errors.1 | sed -E 's/(plain.js):[0-9]+/\1/')" \
        "TypeError: Date.now is not available: results must be the same on every replay; take the time from the method's arguments
 at refuse (gaspipe/plain.js)
 at refuseInMethods (gaspipe/plain.js)
 at clock (contract.js:2)

ReferenceError: timer: get setTimeout: undefined variable
 at timer (contract.js:4)

RangeError: too deep
 at inner (contract.js:6)
 at outer (contract.js:9)
 at outer (contract.js:8)

none
none
TypeError: put: no function
 at put (contract.js:17)"
    assert_equal "$(sed -n 1p errors.1 | jq -r '.[1]')" 'const now = Date.now();'
}

@test "the stack of an error costs no computrons, however long it is" {
    cat > stacks.js << 'EOF'
const make = depth => (depth > 0 ? [make(depth - 1)][0] : Error('made before'));
const errors = [make(1), make(40)];
export const near = () => { throw errors[0]; };
export const away = () => { throw errors[1]; };
EOF
    printf '{"vat":"c","method":"%s"}\n' near away > stacks.jsonl
    gaspipe_run --json --vat c=stacks.js stacks.jsonl
    assert_equal "$(jq -c 'select(.stack) | .stack | split("\n") | length > 40' <<< "$output")" $'false\ntrue'
    assert_equal "$(jq -c 'select(.stack) | .compute' <<< "$output" | uniq | wc -l)" 1
}

@test "a contract that cannot be started: line, source and stack in JSON" {
    printf 'export const f = () => 1;\n\nexport const g = @;\n' > bad.js
    gaspipe_run --json --vat c=bad.js - < /dev/null
    assert_status 3
    assert_equal "$(jq -r 'select(.kind == "delivery") | .error, .source, (.stack | split("\n at ()")[0])' <<< "$output")" \
        'contract.js:3: SyntaxError: invalid character @
export const g = @;
SyntaxError: invalid character @
 at (contract.js:3)'
    printf 'store.put();\nexport const f = () => 1;\n' > starts.js
    gaspipe_run --json --vat c=starts.js - < /dev/null
    assert_status 3
    assert_equal "$(jq -c 'select(.kind == "delivery") | [.source, .callee, .status]' <<< "$output")" \
        '["store.put();","store.put","error"]'
}

@test "a delivery line that is not JSON is named; what came before it is done" {
    gaspipe_run --json --vat "$token" - < <(printf '%s\n\n{"vat":"token", oops}\n' "$mint")
    assert_bad_input 3 'stdin:3: not JSON'
    assert_equal "$(jq -c 'select(.kind == "delivery") | .status' <<< "$output")" $'"ok"\n"ok"'
}

@test "compressed delivery lines are refused before a contract starts, with what decompresses them" {
    echo "$mint" | gzip > lines.gz
    gaspipe_run --store store --vat "$token" lines.gz
    assert_bad_input 3 'lines.gz: is compressed with gzip; decompress it with gzip -dc'
    assert_equal "$output" ''
    echo "$mint" | zstd -q > lines.zst
    gaspipe_run --vat "$token" - < <(cat lines.zst)
    assert_bad_input 3 'stdin: is compressed with Zstandard; decompress it with zstd -dc'
}

@test "delivery lines of a wrong shape" {
    local line

    while read -r line; do
        gaspipe_run --vat "$token" - < <(echo "$line")
        assert_bad_input 3 'stdin:1: '
    done << 'EOF'
[]
"text"
{}
{"vat":1,"method":"mint"}
{"vat":"token"}
{"vat":"token","method":5}
{"vat":"token","method":"mint","args":{}}
{"vat":"token","method":"mint","arguments":[]}
{"vat":"token","method":"mint","vat":"token"}
{"vat":"token","deliver":["notify",[]]}
{"vat":"token","deliver":["message","o+0",{"methargs":{"body":1,"slots":[]},"result":null}]}
{"vat":"token","deliver":["message","o+0",{"methargs":{"body":"#[]","slots":[]},"result":null}],"method":"x"}
EOF
}

@test "a vat that no option named" {
    gaspipe_run --vat "$token" - < <(echo '{"vat":"bank","method":"x"}')
    assert_bad_input 3 'stdin:1: no vat "bank"' '--vat bank=FILE'
}

@test "a method that is not there fails its delivery, and the run continues" {
    gaspipe_run --vat "$token" - < <(printf '%s\n' '{"vat":"token","method":"nope"}' "$mint")
    assert_status 1
    assert_equal "$(complaints <<< "$stderr")" ""
    assert_output_has 'stdin:1: TypeError: no method "nope"; there are: balance, holders, mint, transfer'
    assert_output_has '3 deliveries, 1 failed'
}

@test "a plain contract that is sent a reference fails its delivery" {
    gaspipe_run --vat "$token" - << 'EOF'
{"vat":"token","method":"mint","args":[{"@vat":"token"}]}
EOF
    assert_status 1
    assert_output_has 'takes data only'
}

@test "references to what there is not" {
    local line

    while read -r line; do
        gaspipe_run --vat "$token" - < <(echo "$line")
        assert_bad_input 3 'stdin:1: '
    done << 'EOF'
{"vat":"token","method":"mint","args":[{"@vat":"nobody"}]}
{"vat":"token","method":"mint","args":[{"@device":"nothing"}]}
{"vat":"token","method":"mint","args":[{"@result":"never"}]}
{"vat":"token","method":"mint","args":[{"@thing":"token"}]}
{"to":{"@result":"never"},"method":"mint"}
{"vat":"token","deliver":["message","o+9",{"methargs":{"body":"#[]","slots":[]},"result":null}]}
EOF
}

@test "a file of deliveries that is missing or a directory" {
    gaspipe_run --vat "$token" nowhere.jsonl
    assert_bad_input 3 'nowhere.jsonl: No such file'
    gaspipe_run --vat "$token" .
    assert_bad_input 3 'is a directory'
}

@test "a slogfile in a directory that is not there" {
    gaspipe_run --vat "$token" --slog nowhere/slog - < /dev/null
    assert_bad_input 4 'nowhere/slog: ' 'No such file'
}

@test "a slogfile on a full disk, at its beginning and in the middle" {
    gaspipe_run --vat "$token" --slog /dev/full - < /dev/null
    assert_bad_input 4 '/dev/full: ' 'No space left'
    # A file that may not grow beyond 1 MiB, which a worker's snapshot does not, stands for the disk.
    yes "$mint" | head -n 800 > many.jsonl
    run --separate-stderr bash -c 'ulimit -f 1024; exec "$0" "$@"' \
        "$NATIVE/gaspipe" run --json --counter none --vat "$token" --slog slog many.jsonl
    assert_bad_input 4 'slog: ' 'File too large (ulimit -f)'
    # Whole lines only, and what was printed was done.
    jq -c .type slog > /dev/null
    [ "$(grep -c '"kind":"delivery"' <<< "$output")" -lt 800 ]
    # SQLite's file, and its shared memory.
    for limit in 4 8; do
        run --separate-stderr bash -c 'ulimit -f "$1"; shift; exec "$@"' - $limit \
            "$NATIVE/gaspipe" run --counter none --store small --vat "$token" - < /dev/null
        assert_bad_input 4 'small/gaspipe.sqlite: a file of the store would be larger than permitted (ulimit -f)'
    done
    # A sanitized program reads /proc, too.
    if [ "$BUILD" = "$ROOT/build" ] && unshare -rm true 2> /dev/null; then
        run --separate-stderr unshare -rm sh -c 'mount -t tmpfs none /proc; "$@"' - \
            "$NATIVE/gaspipe" run --counter none --vat "$token" - < /dev/null
        assert_bad_input 4 'cannot read /proc/self/exe: No such file or directory; mount /proc'
    fi
}

@test "a store that is not gaspipe's, damaged, in use, or in no directory" {
    mkdir other text
    sqlite3 other/gaspipe.sqlite 'CREATE TABLE other (x)' 2> /dev/null ||
        printf 'SQLite format 3\0' > other/gaspipe.sqlite
    gaspipe_run --vat "$token" --store other - < /dev/null
    assert_bad_input 3 'other/gaspipe.sqlite: not a gaspipe store'
    seq 1000 > text/gaspipe.sqlite
    gaspipe_run --vat "$token" --store text - < /dev/null
    assert_bad_input 3 'text/gaspipe.sqlite: not a gaspipe store'
    gaspipe_run --vat "$token" --store nowhere/store - < /dev/null
    assert_bad_input 4 "nowhere/store: cannot make the store's directory"

    coproc "$NATIVE/gaspipe" run --json --counter none --store store --vat "$token" - 2> /dev/null
    # shellcheck disable=SC2154
    local pid=$COPROC_PID in=${COPROC[1]} line
    read -r -t 60 line <&"${COPROC[0]}"
    gaspipe_run --vat "$token" --store store - < /dev/null
    assert_bad_input 4 "store/gaspipe.sqlite: the store is in use by process $pid"
    exec {in}>&-
    wait "$pid"
}

@test "too few open files are said at the start, with how many are needed" {
    local limit

    # Bats leaves some of its own open.
    for limit in 30 52; do
        run --separate-stderr bash -c 'ulimit -n "$1"; shift; "$@"' bash $limit \
            "$BUILD/gaspipe" run --counter none --store store --vat "$token" - <<< "$mint"
        assert_bad_input 4 "open files are limited to $limit (ulimit -n); 1 worker needs 54"
        assert_equal "$output" ''
    done
    run --separate-stderr bash -c 'for fd in {4..18}; do eval "exec $fd< /dev/null"; done; ulimit -n 20; "$@"' bash \
        "$BUILD/gaspipe" run --counter none --vat "$token" - <<< "$mint"
    [[ $stderr =~ ^'gaspipe: open files are limited to 20, and gaspipe needs at least '[0-9]+' (ulimit -n)'$ ]]
    assert_status 4
    # A soft limit is raised, also where what started gaspipe has left descriptors open.
    run --separate-stderr bash -c 'for fd in {4..18}; do eval "exec $fd< /dev/null"; done; ulimit -S -n 20; "$@"' bash \
        "$BUILD/gaspipe" run --counter none --store store --vat "$token" - <<< "$mint"
    assert_status 0
}

@test "results that cannot be written end the run" {
    run --separate-stderr bash -c 'exec "$0" "$@" > /dev/full' "$BUILD/gaspipe" run --json \
        --counter none --vat "$token" - < <(echo "$mint")
    assert_status 4
    [[ $stderr == *'cannot write the results to stdout: No space left'* ]]
}

@test "without QEMU, or with one that takes no plugins, it says how to get it" {
    mkdir bin
    # Away from a QEMU that was built.
    cp "$BUILD"/gaspipe* "$BUILD"/*.so .
    rm -f gaspipe-qemu
    run --separate-stderr env PATH="$PWD/bin" ./gaspipe run --vat "$token" - < /dev/null
    assert_bad_input 4 'qemu-x86_64' 'apt-get install qemu-user'
    cp "$(type -P true)" bin/qemu-x86_64
    run --separate-stderr env PATH="$PWD/bin" ./gaspipe run --vat "$token" - < /dev/null
    assert_bad_input 4 'takes no plugins' 'apt-get install qemu-user'
}

@test "wrong usage" {
    local words

    while read -r words; do
        # shellcheck disable=SC2086
        run --separate-stderr "$BUILD/gaspipe" $words < /dev/null
        assert_status 2
        [ -n "$stderr" ] || fail "nothing said to: $words"
    done << 'EOF'

fly
run
run -
run --vat c
run --vat c=x.js
run --vat c=x.js a b
run --vat =x.js -
run --vat a/b=x.js -
run --bogus
run --vat
run --counter maybe --vat c=x.js -
run --compute-limit -1 --vat c=x.js -
run --compute-limit 1e8 --vat c=x.js -
run --compute-limit 99999999999 --vat c=x.js -
run --max-instructions many --vat c=x.js -
run --counter none --max-instructions 5 --vat c=x.js -
run --delivery-timeout soon --vat c=x.js -
run --delivery-timeout -1 --vat c=x.js -
EOF
    gaspipe_run --vat "$token" --vat "$token" - < /dev/null
    assert_bad_input 2 "two vats are named 'token'"
    run --separate-stderr "$BUILD/gaspipe" run --vat token= /dev/null
    assert_bad_input 2 "--vat needs NAME=FILE, not 'token='"
}

@test "--help and --version" {
    run "$BUILD/gaspipe" --help
    assert_status 0
    assert_output_has 'usage: gaspipe'
    run "$BUILD/gaspipe" --version
    assert_equal "$output" "gaspipe $(cat "$ROOT/VERSION")"
    run "$BUILD/gaspipe" run --help
    assert_status 0
    assert_output_has 'usage: gaspipe run'
}

@test "names are checked before anything is made" {
    echo 'export const get = () => 1;' > contract.js
    printf '{"vat":"%s","method":"get"}\n' other token > lines
    run --separate-stderr "$BUILD/gaspipe" run --counter none --store store --vat tokn=contract.js --vat other=contract.js lines
    assert_bad_input 3 'lines:2: no vat "token"; name its contract with --vat token=FILE; did you mean tokn?'
    assert_equal "$output" ''
    [ ! -e store ]
    mkdir directory
    run --separate-stderr "$BUILD/gaspipe" run --counter none --store directory --vat tokn=contract.js lines
    assert_bad_input 3 'lines:1: no vat "other"'
    assert_equal "$(ls -A directory)" ''
    # Nor does a refused contract.
    echo 'syntax(' > wrong.js
    run --separate-stderr "$BUILD/gaspipe" run --counter none --store store --vat wrong=wrong.js - < /dev/null
    assert_bad_input 3 'wrong.js:1: SyntaxError'
    [ ! -e store ]
    for store in directory absent; do
        run --separate-stderr "$BUILD/gaspipe" run --counter none --store $store lines
        assert_bad_input 2 "$store: no such store; to make one, give at least one --vat NAME=FILE"
    done
    assert_equal "$(ls -A directory)" ''
    [ ! -e absent ]
}

# ends_quietly COMMAND...: with a stdout that nobody reads, it prints nothing and ends as by SIGPIPE.
ends_quietly() {
    local status

    # The pipe's reader is closed before the command begins.
    python3 -c 'import os, subprocess, sys
r, w = os.pipe()
os.close(r)
status = subprocess.run(sys.argv[1:], stdout=w, stderr=open("errors", "w")).returncode
print(status if status >= 0 else 128 - status)' "$@" > status
    read -r status < status
    [ "$status" -eq 141 ] || [ "$status" -eq 0 ] || fail "$*: status $status"
    assert_equal "$(cat errors)" ''
}

@test "a closed stdout ends every command quietly, and a store directory needs no --store" {
    echo 'export const get = () => 1;' > contract.js
    echo '{"vat":"a","method":"get"}' > lines
    ends_quietly "$BUILD/gaspipe" run --counter none --store store --vat a=contract.js lines
    run -0 "$BUILD/gaspipe" verify store
    assert_output_has ': whole'
    for command in status verify; do
        ends_quietly "$BUILD/gaspipe" $command store
        run --separate-stderr "$BUILD/gaspipe" $command store other
        assert_bad_input 2 'give the directory of one store'
    done
    ends_quietly "$BUILD/gaspipe" replay --counter none --store store a
    ends_quietly "$BUILD/slogreport" "$ROOT/tests/data/small.slog.gz"
    ends_quietly "$BUILD/slogreport" summary "$ROOT/tests/data/small.slog.gz"
    "$BUILD/gaspipe" fleet submit --to fleet --counter none --store store a > /dev/null
    ends_quietly "$BUILD/gaspipe" fleet status --from fleet
    "$BUILD/gaspipe" fleet work --from fleet 2> /dev/null
    ends_quietly "$BUILD/gaspipe" fleet collect --from fleet
    ends_quietly "$BUILD/gaspipe" ping --counter none --count 5
    # A full disk is one line and a status, whatever the command prints.
    while read -r command; do
        # shellcheck disable=SC2086 # words
        run --separate-stderr bash -c '"$@" > /dev/full' - "$BUILD"/$command
        assert_equal "$command: $status" "$command: 4"
        assert_equal "$stderr" "${command%% *}: cannot write ${stderr#*: cannot write }"
        assert_has "$stderr" ': No space left on device'
    done << END
gaspipe run --counter none --vat a=contract.js lines
gaspipe run --counter none --json --vat a=contract.js lines
gaspipe replay --counter none --store store a
gaspipe status store
gaspipe verify --quick --json store
gaspipe fleet status --from fleet
gaspipe fleet collect --from fleet
gaspipe ping --counter none --count 5
slogreport $ROOT/tests/data/small.slog.gz
slogreport summary --by vat $ROOT/tests/data/small.slog.gz
slogreport stalls --json $ROOT/tests/data/small.slog.gz
slogreport extract --crank 9 $ROOT/tests/data/small.slog.gz
END
    run --separate-stderr "$BUILD/gaspipe" fleet sbmit
    assert_bad_input 2 "unknown command 'fleet sbmit'; did you mean submit?"
}
