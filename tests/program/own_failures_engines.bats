#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034 # own_failures.bash reads what is set here
# own_failures.bats with contracts in WebAssembly and in native code: a vat that cannot be saved, restored or
# replayed, or whose contract crashes, fails alone.

load common
load store_contents
load own_failures

setup_file() {
    local name flags

    cd "$BATS_FILE_TMPDIR" || return
    # `better` answers again() too; `other` is a larger bundle.
    for name in keeper other better; do
        flags="-O1 -I$ROOT -D${name^^}"
        [ $name != other ] || flags="-O0 -g ${flags#-O1}"
        # shellcheck disable=SC2086 # several flags
        clang-19 $flags --target=wasm32 -nostdlib -Wl,--no-entry "$ROOT/tests/program/contracts/keeper.c" \
            -o $name.wasm
        # shellcheck disable=SC2086
        cc $flags -fPIC -shared "-I$ROOT/worker/native" "$ROOT/tests/program/contracts/keeper.c" -o $name.so
    done
    cc -std=gnu17 -D_GNU_SOURCE "-I$ROOT" "$ROOT/tests/program/faulty_worker.c" "$ROOT/proto/netstring.c" \
        "$ROOT"/base/{buf,error,io,text/format}.c -o faulty_worker
}

setup() {
    [ "$NATIVE" = "$BUILD" ] || skip 'a sanitized worker ends otherwise when its contract crashes'
    cd "$BATS_TEST_TMPDIR" || return
}

# of_kind KIND: the vats are of the kind `wasm` or `so`; the worker of such contracts is $worker.
of_kind() {
    kind=$1
    vats=(--vat "bad=$BATS_FILE_TMPDIR/keeper.$kind" --vat "good=$BATS_FILE_TMPDIR/other.$kind")
    better=$BATS_FILE_TMPDIR/better.$kind
    worker=gaspipe-worker-wasm
    [ "$kind" = wasm ] || worker=gaspipe-worker-native
    unset bin
    rm -rf store programs
}

line() {
    printf '{"vat":"%s","method":"%s","args":["%s %s %s"]}\n' "$1" "$2" "$3" "$4" "${5:-}"
}

# other_programs: $bin has gaspipe and the vats' worker, which is to be replaced.
other_programs() {
    mkdir programs
    cp "$NATIVE"/gaspipe{,-worker,-sandbox} programs
    bin=programs
}

@test "a snapshot that cannot be written" {
    local kind way i mark

    for kind in wasm so; do
        of_kind $kind
        other_programs
        ln -s "$NATIVE/$worker" programs/real
        cp "$BATS_FILE_TMPDIR/faulty_worker" programs/$worker
        for way in kill garbage half; do
            rm -rf store
            for i in one two three; do
                mark=
                # Five syscalls, the result, and then the snapshot.
                [ $i = three ] && mark=faulty:$way:7:tally
                line bad keep name $i "$mark"
                line good remember name $i
            done > lines
            line bad get name '' >> lines
            head -c 100 /dev/zero > programs/tally
            runs store --sandbox off "${vats[@]}" lines
            assert_status 5
            said 'vat bad, its snapshot: ' 'failed after 2 tries: the vat is in quarantine' \
                'vat bad is in quarantine: its snapshot cannot be ' '--release' '--upgrade' '--terminate'
            assert_equal "$(deliveries | grep -c bad)" 3 "$kind, $way: deliveries to bad"
            assert_equal "$(deliveries | grep -c good)" 3 "$kind, $way: deliveries to good"
            good_goes_on store --sandbox off
        done
        unset bin
        decisions store 0 "$NATIVE/gaspipe" verify --store decided
        released store
    done
}

@test "a damaged snapshot, and one that is gone" {
    local kind harm

    for kind in wasm so; do
        of_kind $kind
        whole_store
        for harm in 'UPDATE snapshot_content SET bytes = zeroblob(length(bytes)) WHERE' \
            'DELETE FROM snapshot_content WHERE'; do
            rm -rf harmed
            cp -r store harmed
            store_edit harmed "$harm $(contents 2)"
            run "$NATIVE/gaspipe" verify --store harmed
            assert_status 4
            assert_output_has 'vat v1 (bad) cannot be resumed from its last snapshot: '
            cp -r harmed kept
            good_goes_on harmed
            said 'it cannot be restored: '
            decisions harmed 0
            released harmed --from-start
            decisions kept 0
            rm -rf kept
        done
    done
}

@test "a worker that does not know the snapshots, and one that does not start" {
    local kind

    for kind in wasm so; do
        of_kind $kind
        whole_store
        other_programs
        # The other vat has the same worker, and is in quarantine for the same reason.
        sed 's/gaspipe \(wasm\|native\) \([0-9]\)$/gaspipe \1 x/' "$NATIVE/$worker" > programs/$worker
        chmod +x programs/$worker
        ! cmp -s programs/$worker "$NATIVE/$worker" || fail "$worker has no such words"
        cp -r store harmed
        line bad get name '' > lines
        runs harmed "${vats[@]}" lines
        assert_status 5
        said 'vat bad is in quarantine: it cannot be restored: '
        unset bin
        line bad get name '' > lines
        runs harmed --again --release bad --release good lines
        assert_status 0
        assert_equal "$(deliveries | tail -n 1)" '["bad","ok","three three"]'
        rm -rf harmed programs
    done
}

@test "a worker that ends at once concerns only the vats that need it, also those without a snapshot" {
    of_kind wasm
    printf '%s\n' 'let name;' 'export const get = () => name;' 'export const keep = text => {' \
        '  name = text;' '};' > good.js
    vats=(--vat "bad=$BATS_FILE_TMPDIR/keeper.wasm" --vat good=good.js)
    line good keep name zero > lines
    runs store "${vats[@]}" lines
    assert_status 0
    other_programs
    cp /bin/false programs/gaspipe-worker-wasm
    { line bad get name '' && line good get name ''; } > lines
    runs store lines
    assert_status 5
    said 'vat bad is in quarantine: it cannot be restored: '
    assert_equal "$(deliveries)" '["good","ok","name zero "]'
    unset bin
    runs store --release bad - < /dev/null
    assert_status 0
}

@test "a transcript that is damaged, or replayed differently, and a bundle that is gone" {
    local kind harm

    for kind in wasm so; do
        of_kind $kind
        whole_store
        for harm in 'DELETE FROM transcript WHERE vat = 1 AND position = 4' \
            "UPDATE transcript SET item = CAST(replace(CAST(item AS TEXT), 'name three', 'name thief') AS BLOB)
                WHERE vat = 1 AND position = 4;
             UPDATE transcript SET checksum = checksum(3, vat, incarnation, position, '', item)" \
            "DELETE FROM snapshot WHERE vat = 1; DELETE FROM bundle WHERE json =
                (SELECT json FROM bundle ORDER BY length(json) LIMIT 1)"; do
            rm -rf harmed
            cp -r store harmed
            store_edit harmed "$harm"
            cp -r harmed kept
            good_goes_on harmed
            said 'vat bad is in quarantine: it cannot be restored: '
            run "$NATIVE/gaspipe" verify --store kept
            assert_status 4
            assert_output_has 'the store is damaged: vat v1 has '
            [[ $harm == *bundle* ]] || decisions kept 0
            rm -rf kept
        done
    done
}

# A trap in WebAssembly corresponds to a crash, an exit or a forged frame in native code.
@test "a contract that crashes, takes memory without end, ends its worker, or writes to the pipe" {
    local method

    for method in null hog deep leave forge; do
        of_kind wasm
        { line bad keep name three; line bad $method '' ''; line good remember name x; line bad get '' ''; } > lines
        runs store --max-memory 150M "${vats[@]}" lines
        assert_status 1
        assert_equal "$(deliveries | jq -c '.[:2]' | paste -sd ' ')" \
            '["bad","ok"] ["bad","error"] ["good","ok"] ["bad","ok"]'
        of_kind so
        runs store --max-memory 150M "${vats[@]}" lines
        assert_status 5
        assert_equal "$(deliveries | jq -c '.[:2]' | paste -sd ' ')" '["bad","ok"] ["good","ok"]'
        said 'failed after 2 tries' 'vat bad is in quarantine: '
        good_goes_on store --max-memory 150M
        cp -r store kept
        runs kept --terminate bad - < /dev/null
        assert_status 0
        rm -rf kept
        cp -r store kept
        # The held delivery goes to the new contract, which does not know the method.
        runs kept --max-memory 150M --upgrade "bad=$better" - < /dev/null
        assert_status 1
        assert_equal "$(deliveries | jq -c '.[:2]' | paste -sd ' ')" '["bad","error"] ["bad","ok"]'
        rm -rf kept
        cp -r store kept
        runs kept --max-memory 150M --skip-delivery bad - < /dev/null
        assert_status 0
        assert_equal "$(deliveries | tail -n 1)" '["bad","ok","three three"]'
        runs store --max-memory 150M --set-limit bad=syscalls:1000 - < /dev/null
        assert_status 5
        said 'failed after 2 tries'
    done
}

@test "native code that asks the system for memory gets a gibibyte by default, the same in each run" {
    local first

    of_kind so
    { line bad room '' ''; line good remember name x; } > lines
    runs store "${vats[@]}" lines
    assert_status 0
    first=$(deliveries | head -n 1 | jq -r '.[2]')
    [ "${first#0}" -gt 900 ] && [ "${first#0}" -lt 1024 ] || fail "$first MiB"
    rm -r store
    runs store "${vats[@]}" lines
    assert_equal "$(deliveries | head -n 1 | jq -r '.[2]')" "$first"
}
