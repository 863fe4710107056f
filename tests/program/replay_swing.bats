#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe replay of Agoric's swing-store. The one here has its tables, filled from a run of
# gaspipe's; make check-npm replays one that SwingSet's own kernel made.

load common
load vats

# entry KIND JSON: a pseudo-delivery of SwingSet's, of that kind, with that description.
entry() {
    printf '{"d":["%s"%s],"sc":[],"r":{"status":"ok"%s}}' "$1" "${2:+,$2}" "${3:+,$3}"
}

# The first vat of the run that has a snapshot and later deliveries: as two spans, the second
# from the snapshot, in $BATS_FILE_TMPDIR/swing.
setup_file() {
    local arguments hash id vat position

    cd "$BATS_FILE_TMPDIR"
    mkdir run
    vat_arguments small
    "$BUILD/gaspipe" run --counter none --store run/store "${arguments[@]}" --snapshot-initial 3 --snapshot-interval 5 \
        "$ROOT/tests/swingset/small.jsonl" > out 2> err || [ $? -eq 1 ]
    read -r vat position hash id < <(sqlite3 -separator ' ' run/store/gaspipe.sqlite "
        SELECT s.vat, s.position, s.hash, json_extract(k.value, '\$.bundleID')
        FROM snapshot s JOIN key k ON k.name = 'v' || s.vat || '.source'
        WHERE EXISTS (SELECT 1 FROM transcript t
                      WHERE t.vat = s.vat AND t.incarnation = s.incarnation AND t.position > s.position)
        LIMIT 1")
    echo "v$vat" > vat
    echo "$hash" > hash
    sqlite3 run/store/gaspipe.sqlite "SELECT json FROM bundle WHERE id = '$id'" > bundle.json
    jq -r .endoZipBase64 bundle.json | base64 -d > archive
    mkdir swing
    sqlite3 swing/swingstore.sqlite "
        CREATE TABLE kvStore (key TEXT, value TEXT, PRIMARY KEY (key));
        CREATE TABLE transcriptItems (vatID TEXT, position INTEGER, item TEXT, incarnation INTEGER,
            PRIMARY KEY (vatID, position));
        CREATE TABLE transcriptSpans (vatID TEXT, startPos INTEGER, endPos INTEGER, hash TEXT,
            isCurrent INTEGER CHECK (isCurrent = 1), incarnation INTEGER,
            PRIMARY KEY (vatID, startPos), UNIQUE (vatID, isCurrent));
        CREATE TABLE snapshots (vatID TEXT, snapPos INTEGER, inUse INTEGER CHECK(inUse = 1), hash TEXT,
            uncompressedSize INTEGER, compressedSize INTEGER, compressedSnapshot BLOB,
            PRIMARY KEY (vatID, snapPos), UNIQUE (vatID, inUse));
        CREATE TABLE bundles (bundleID TEXT, bundle BLOB, PRIMARY KEY (bundleID));
        ATTACH 'run/store/gaspipe.sqlite' AS g;
        INSERT INTO bundles VALUES ('$id', readfile('archive'));
        INSERT INTO kvStore VALUES ('v$vat.options', '{\"name\":\"tested\",\"workerOptions\":{\"type\":\"xsnap\"}}');
        INSERT INTO snapshots SELECT 'v$vat', $position + 1, 1, hash, size, length(bytes), bytes
            FROM g.snapshot_content WHERE hash = '$hash';
        INSERT INTO transcriptItems VALUES
            ('v$vat', 0, '$(entry initialize-worker "{\"source\":{\"bundleID\":\"$id\"}}")', 0),
            ('v$vat', $position + 1, '$(entry save-snapshot '' "\"snapshotID\":\"$hash\"")', 0),
            ('v$vat', $position + 2, '$(entry load-snapshot "{\"snapshotID\":\"$hash\"}")', 0);
        INSERT INTO transcriptItems SELECT 'v$vat', position + iif(position < $position, 1, 3),
            CAST(item AS TEXT), 0 FROM g.transcript WHERE vat = $vat;
        INSERT INTO transcriptSpans SELECT 'v$vat', 0, $position + 2, '', NULL, 0;
        INSERT INTO transcriptSpans SELECT 'v$vat', $position + 2, max(position) + 1, '', 1, 0
            FROM transcriptItems;"
    echo $((position + 2)) > second
}

setup() {
    cd "$BATS_TEST_TMPDIR"
    cp -r "$BATS_FILE_TMPDIR/swing" .
    vat=$(cat "$BATS_FILE_TMPDIR/vat")
    hash=$(cat "$BATS_FILE_TMPDIR/hash")
    second=$(cat "$BATS_FILE_TMPDIR/second")
}

# field KIND EXPRESSION: jq's answer for the object of that kind in $output.
field() {
    jq -r "select(.kind == \"$1\") | $2" <<< "$output"
}

replay() {
    run --separate-stderr "$BUILD/gaspipe" replay "$@"
}

change() {
    sqlite3 swing/swingstore.sqlite "$1"
}

@test "all of it comes out the same, from its file and from its directory" {
    replay --json swing
    assert_status 0
    assert_equal "$(field vat '"\(.vatID) \(.vat) \(.status) \(.snapshots)"')" "$vat tested same 1"
    [ "$(field summary '.deliveries == .computed and .deliveries > 3')" = true ]
    echo "$output" > whole
    replay --json swing/swingstore.sqlite
    assert_equal "$output" "$(cat whole)"
}

@test "each span comes out the same by itself, and all spans at once" {
    local whole

    replay --json swing
    whole=$(field summary '"\(.deliveries) \(.syscalls) \(.compute)"')
    replay --json --span "$second" swing
    assert_status 0
    assert_equal "$(field vat '"\(.status) \(.from) \(.snapshots)"')" "same $((second + 1)) 0"
    replay --json --parallel 2 swing
    assert_status 0
    assert_equal "$(field vat .status)" $'same\nsame'
    assert_equal "$(field summary '"\(.deliveries) \(.syscalls) \(.compute)"')" "$whole"
}

@test "--from and --to replay the span that they need" {
    replay --json --vat tested --from $((second + 1)) --to $((second + 1)) swing
    assert_status 0
    assert_equal "$(field vat '"\(.deliveries) \(.from) \(.to)"')" "1 $((second + 1)) $((second + 1))"
    replay --json --to 2 swing
    assert_status 0
    assert_equal "$(field vat '"\(.deliveries) \(.from) \(.to)"')" "2 1 2"
    replay --vat nobody swing
    assert_status 2
}

@test "--list shows spans, snapshots, bundles, and what is missing" {
    replay --list --json swing
    assert_status 0
    assert_equal "$(field span '"\(.vatID) \(.vat) \(.from) \(.snapshot) \(.current) \(.missing)"')" \
        "$vat tested 0 null false false"$'\n'"$vat tested $second $hash true false"
    [ "$(field bundle '.bytes > 1000')" = true ]
    change "UPDATE snapshots SET compressedSnapshot = NULL; UPDATE bundles SET bundle = NULL;
        DELETE FROM transcriptItems WHERE position < $second"
    replay --list swing
    assert_status 0
    assert_output_has 'its items are missing'
    assert_output_has "snapshot ${hash:0:12}, missing, current"
    assert_output_has 'is missing'
}

@test "what is missing is said, and what supplies it is taken" {
    sqlite3 swing/swingstore.sqlite "SELECT writefile('packed', compressedSnapshot) FROM snapshots" > /dev/null
    change "UPDATE snapshots SET compressedSnapshot = NULL; UPDATE bundles SET bundle = NULL"
    replay --span 0 swing
    assert_status 3
    assert_output_has 'not replayed: its bundle is missing; give it with --bundle: b1-'
    replay --json --span 0 --bundle "$BATS_FILE_TMPDIR/bundle.json" swing
    assert_status 0
    replay --span "$second" swing
    assert_status 3
    assert_output_has 'not replayed: the file does not hold the snapshot'
    mkdir by-place by-hash
    cp packed "by-place/snapshot.$vat.$((second - 1)).zst"
    zstd -dcq packed | gzip > "by-hash/$hash.gz"
    for directory in by-place by-hash; do
        replay --json --span "$second" --snapshots $directory swing
        assert_status 0
        assert_equal "$(field vat .status)" same
    done
    zstd -dcq packed | head -c 100000 > "by-hash/$hash"
    rm "by-hash/$hash.gz"
    replay --span "$second" --snapshots by-hash swing
    assert_bad_input 3 "by-hash/$hash: the SHA-256 of what it holds is"
}

@test "a changed item, count or snapshot is found and named" {
    change "UPDATE transcriptItems SET item = replace(item, '\"computrons\":', '\"computrons\":1')
        WHERE position = $((second + 1))"
    replay --json --parallel 2 swing
    assert_status 1
    assert_equal "$(field difference '"\(.vatID) \(.deliveryNum) \(.aspect) \(.line)"')" \
        "$vat $((second + 1)) computrons $((second + 1))"
    change "UPDATE snapshots SET compressedSnapshot = CAST(substr(compressedSnapshot, 1, 5000) AS BLOB)"
    replay --span "$second" swing
    assert_status 3
    [[ $stderr == *swing* ]] || fail "$stderr"
}

@test "an exported transcript of a span, compressed, names vat and numbers in its file name" {
    mkdir archive snapshots
    sqlite3 swing/swingstore.sqlite "SELECT writefile('snapshots/$hash.zst', compressedSnapshot) FROM snapshots" > /dev/null
    sqlite3 swing/swingstore.sqlite "SELECT item FROM transcriptItems WHERE position >= $second ORDER BY position" |
        gzip > "archive/transcript.$vat.$second.999.gz"
    replay --json --snapshots snapshots "archive/transcript.$vat.$second.999.gz"
    assert_status 0
    assert_equal "$(field vat '"\(.vatID) \(.status) \(.from)"')" "$vat same $((second + 1))"
}

@test "a directory of archived transcripts is replayed, all of it or span by span" {
    mkdir archive
    for place in 0 "$second"; do
        sqlite3 swing/swingstore.sqlite "SELECT item FROM transcriptItems WHERE position >= $place
            AND ($place > 0 OR position < $second) ORDER BY position" | gzip \
            > "archive/transcript.$vat.$place.$((place > 0 ? 999 : second)).gz"
    done
    sqlite3 swing/swingstore.sqlite \
        "SELECT writefile('archive/snapshot.$vat.$((second - 1)).zst', compressedSnapshot) FROM snapshots" > /dev/null
    replay --json swing
    whole=$(field summary '"\(.deliveries) \(.syscalls) \(.compute)"')
    replay --json --list archive
    assert_equal "$(field span '"\(.from) \(.missing)"')" "$(printf '1 true\n%s false' $((second + 1)))"
    replay --json --bundle "$BATS_FILE_TMPDIR/bundle.json" archive
    assert_status 0
    assert_equal "$(field summary '"\(.deliveries) \(.syscalls) \(.compute)"')" "$whole"
    # Bundles as swing-store exports them, next to its transcripts.
    sqlite3 swing/swingstore.sqlite "SELECT writefile('archive/bundle.' || bundleID, bundle) FROM bundles" > /dev/null
    replay --json --list archive
    assert_equal "$(field span .missing)" $'false\nfalse'
    replay --json --parallel 2 archive
    assert_status 0
    assert_equal "$(field summary '"\(.deliveries) \(.syscalls) \(.compute)"')" "$whole"
    replay --json --span "$second" archive
    assert_status 0
    assert_equal "$(field vat '"\(.status) \(.from)"')" "same $((second + 1))"
    replay --span 1 archive
    assert_bad_input 3 'no such span'
    mkdir empty
    replay empty
    assert_bad_input 3 'empty: no swingstore.sqlite, transcript.VAT.FIRST.END or transcript-VAT.sst'
    touch empty/gaspipe.sqlite
    replay empty
    assert_bad_input 3 'empty: is a store of gaspipe; replay it with --store empty VAT'
}

# local_replay: what a replay of all spans here prints, in the file local.
local_replay() {
    if [ ! -e "$BATS_FILE_TMPDIR/local" ]; then
        replay --json --parallel 2 swing
        echo "$output" > "$BATS_FILE_TMPDIR/local"
    fi
    cp "$BATS_FILE_TMPDIR/local" .
}

@test "a fleet replays its spans one by one, with the same results" {
    local_replay
    "$BUILD/gaspipe" fleet submit --to fleet swing
    [ "$(find fleet/waiting -type f | wc -l)" -eq 2 ]
    "$BUILD/gaspipe" fleet work --from fleet --slots 2 2> err
    run --separate-stderr "$BUILD/gaspipe" fleet collect --json --spans --from fleet
    assert_status 0
    assert_equal "$output" "$(cat local)"
    # A wrong bit in the snapshot, which the second span begins with.
    dd if=/dev/zero of="fleet/objects/$hash.zst" bs=1 seek=5000 count=1 conv=notrunc status=none
    rm fleet/results/*
    "$BUILD/gaspipe" fleet submit --to fleet --run again swing
    "$BUILD/gaspipe" fleet work --from fleet 2> err
    run --separate-stderr "$BUILD/gaspipe" fleet collect --json --spans --from fleet --run again
    assert_status 4
    [[ $stderr == *"failed: $vat: $vat, deliveries $((second + 1)) to "*": the snapshot: "* ]] || fail "$stderr"
}

@test "a fleet cuts spans out of a source in a shared directory, and believes what has the hash of the job" {
    local fleet=("$BUILD/gaspipe" fleet)

    local_replay
    mkdir -p here/archive
    cp -r swing here
    sqlite3 swing/swingstore.sqlite "SELECT writefile('here/archive/$hash.zst', compressedSnapshot) FROM snapshots;
        SELECT writefile('here/archive/transcript.$vat.' || startPos || '.' || endPos,
            (SELECT group_concat(item || char(10), '') FROM (SELECT item FROM transcriptItems
             WHERE position BETWEEN startPos AND endPos - 1 ORDER BY position))) FROM transcriptSpans" > /dev/null
    "${fleet[@]}" submit --to fleet --run store --shared here here/swing
    cp "$BATS_FILE_TMPDIR/bundle.json" here
    "${fleet[@]}" submit --to fleet --run archive --shared here --span "$second" --bundle here/bundle.json here/archive
    run --separate-stderr "${fleet[@]}" submit --to fleet --shared here --store "$BATS_FILE_TMPDIR/run/store" "$vat"
    assert_bad_input 3 'is not in the directory --shared here'
    cp -r "$BATS_FILE_TMPDIR/run/store" here
    "${fleet[@]}" submit --to fleet --run stored --shared here --store here/store "$vat"
    [ "$(find fleet/objects -type f | wc -l)" -eq 0 ]
    mv here there
    "${fleet[@]}" work --from fleet --shared there 2> err
    run --separate-stderr "${fleet[@]}" collect --json --spans --from fleet --run store
    assert_status 0
    assert_equal "$output" "$(cat local)"
    run --separate-stderr "${fleet[@]}" collect --json --spans --from fleet --run archive
    assert_status 0
    assert_equal "$(field vat .from)" $((second + 1))
    "${fleet[@]}" collect --from fleet --run stored
    # Further deliveries do not change the spans before them; other ones do.
    sqlite3 there/swing/swingstore.sqlite "
        INSERT INTO transcriptItems SELECT vatID, position + 1, item, 0 FROM transcriptItems
        WHERE position = (SELECT max(position) FROM transcriptItems);
        UPDATE transcriptSpans SET endPos = endPos + 1 WHERE isCurrent = 1;
        UPDATE transcriptItems SET item = replace(item, '\"status\":\"ok\"', '\"status\":\"OK\"')
        WHERE position = 1"
    rm fleet/results/*
    run --separate-stderr "${fleet[@]}" submit --to fleet --shared here swing
    assert_bad_input 3 '--shared here: No such file'
    mkdir here
    cp -r swing here
    "${fleet[@]}" submit --to fleet --run again --shared here here/swing
    "${fleet[@]}" work --from fleet --shared there 2> err
    run --separate-stderr "${fleet[@]}" collect --json --spans --from fleet --run again
    assert_status 4
    [[ $stderr == *"failed: $vat: $vat, deliveries 1 to "*': its source changed since submission'* ]] ||
        fail "$stderr"
    assert_equal "$(field vat '"\(.status) \(.from)"')" "same $((second + 1))"
}

@test "--against compares two workers with each other" {
    local theirs=$ROOT/build/xs/package/xsnap-native/xsnap/build/bin/lin/release/xsnap-worker

    replay --json --against "$theirs" swing
    assert_status 0
    [ "$(field vat '.against == .deliveries and .deliveries > 3')" = true ]
    # One that says of its computrons what it allocated.
    sed 's/"compute":%u,"allocate":%u/"allocate":%u,"compute":%u/' "$theirs" > other
    chmod +x other
    replay --json --against ./other swing
    assert_status 1
    assert_equal "$(field difference '"\(.aspect) \(.against)"')" 'computrons true'
    replay --against ./other --tolerate computrons swing
    assert_status 0
    assert_output_has 'same; '
    replay --against ./other swing
    assert_output_has '  against: '
    replay --against absent swing
    assert_bad_input 3 'absent'
}

@test "another worker and another runtime: the same, and what differs is named" {
    local theirs=$ROOT/build/xs/package/xsnap-native/xsnap/build/bin/lin/release/xsnap-worker

    replay --json --worker "$theirs" swing
    assert_status 0
    assert_equal "$(field vat .status)" same
    replay --json --lockdown "$ROOT/build/swingset-lockdown.bundle" \
        --supervisor "$ROOT/build/swingset-supervisor.bundle" swing
    assert_status 0
    jq -c '.source |= sub("^function"; "function ") | .source |= sub("\\{"; "{globalThis.more = [1, 2, 3];")' \
        "$ROOT/build/swingset-lockdown.bundle" > lockdown.json
    replay --json --lockdown lockdown.json --supervisor "$ROOT/build/swingset-supervisor.bundle" swing
    assert_status 1
    replay --lockdown lockdown.json swing
    assert_bad_input 2 '--lockdown and --supervisor go together'
    replay --worker "$theirs" --counter qemu swing
    assert_bad_input 2 '--worker'
}
