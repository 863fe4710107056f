#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# gaspipe convert: SwingSet's configurations become files for gaspipe run.

load common
load vats

# A directory with a configuration, and packages above it: bundle-source takes bundles that are made
# already.
setup() {
    local vats=project/node_modules/@agoric/swingset-vat/src/vats

    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir -p project/{node_modules/.bin,config/src} "$vats/vat-admin" "$vats/timer"
    touch project/config/src/{maker,mint}.js "$vats/vat-admin/vat-vat-admin.js" "$vats/timer/vat-timer.js"
    cp "$VATS/tests/ledger.bundle" project/config/
    cat > project/node_modules/.bin/bundle-source << END
#!/bin/sh
name=\$(basename "\$1" .js)
echo "\$@" >> "$BATS_TEST_TMPDIR/bundled"
cat "$VATS/tests/\$name.bundle" 2> /dev/null || cat "$VATS/swingset/\$name.bundle"
END
    chmod +x project/node_modules/.bin/bundle-source
    jq --slurpfile conductor "$VATS/tests/conductor.bundle" '{
        bootstrap: "conductor",
        vats: {
            mint: ({bundleName: "minting"} + .vatOptions.mint),
            maker: ({sourceSpec: "./src/maker.js"} + .vatOptions.maker),
            ledger: {bundleSpec: "./ledger.bundle"},
            conductor: {bundle: $conductor[0]}
        },
        bundles: {minting: {sourceSpec: "./src/mint.js"}},
        devices: {timer: {sourceSpec: "@agoric/swingset-vat/src/devices/timer/device-timer.js"},
            echo: {sourceSpec: "./echo.js"}},
        defaultManagerType: "xs-worker", defaultReapInterval: .reapInterval,
        snapshotInitial, snapshotInterval, coreProposals: []
    }' "$ROOT/tests/swingset/small.json" > project/config/small.json
}

convert() {
    run --separate-stderr "$BUILD/gaspipe" convert "$@"
}

# The last line on stderr has these words.
says() {
    [[ ${stderr_lines[-1]} == *"$1"* ]] || fail "no '$1' in:" "$stderr"
}

@test "a configuration becomes options, bundles and a line, and the run does what SwingSet does" {
    convert project/config/small.json -o out
    assert_status 0
    assert_equal "$output" '6 vats; gaspipe run --config out/gaspipe.json out/bootstrap.jsonl'
    assert_equal "$stderr" "gaspipe: project/config/small.json: devices.echo: vats get gaspipe's own, with echo, add, fail and subscribe
gaspipe: project/config/small.json: \"coreProposals\" is ignored
gaspipe: project/config/small.json: comms and vattp, which SwingSet adds, are left out: gaspipe has no remote machines"
    assert_equal "$(jq -c '[."reap-interval", ."snapshot-initial", (.vat | keys_unsorted), .vat.mint, .bundle, ."vat-options".conductor]' out/gaspipe.json)" \
        '[5,1000,["conductor","vatAdmin","timer","ledger","maker","mint"],"bundle-minting.bundle",{"minting":"bundle-minting.bundle"},{"parameters":{"argv":[]}}]'
    # Each source is bundled once.
    assert_equal "$(sed 's|.*/||' bundled | sort | paste -sd ' ')" 'maker.js mint.js vat-timer.js vat-vat-admin.js'

    tail -n +2 "$ROOT/tests/swingset/small.jsonl" | cat out/bootstrap.jsonl - > small.jsonl
    run --separate-stderr "$BUILD/gaspipe" run --json --counter none --config out/gaspipe.json small.jsonl
    assert_status 1
    # The root of SwingSet's timer vat moves the numbers of objects.
    diff <(grep -v '"@ref"' "$ROOT/tests/swingset/small.expected") \
        <(jq -cS 'select(.kind == "result") | [.place, .status, .value]' <<< "$output" | grep -v '"@ref"')
}

@test "what cannot be converted names the file, the member and what would be right" {
    # refused CHANGE MESSAGE: the configuration after jq's CHANGE.
    refused() {
        jq "$1" project/config/small.json > project/config/bad.json
        convert project/config/bad.json -o out
        assert_status 3
        assert_equal "${stderr_lines[-1]}" "gaspipe: project/config/bad.json: $2"
    }
    refused 'del(.bootstrap)' 'no "bootstrap", which names the vat that gets bootstrap()'
    refused '.bootstrap = "conducter"' '"bootstrap" is "conducter", which is not in "vats"; did you mean conductor?'
    refused '.vats.maker = 1' 'vats.maker: must be an object such as {"sourceSpec":"./vat.js"}'
    refused 'del(.vats.maker.sourceSpec)' 'vats.maker: needs one of sourceSpec, bundleSpec, bundleName or bundle, and has 0'
    refused '.vats.maker.bundleName = "minting"' 'vats.maker: needs one of sourceSpec, bundleSpec, bundleName or bundle, and has 2'
    refused '.vats.mint.bundleName = "mint"' 'vats.mint: "bundles" has no "mint"'
    refused '.vats.mint.parameter = {}' "vats.mint: unknown member \"parameter\"; did you mean parameters?"
    refused '.vats.mint.creationOptions.enableSetup = true' \
        'vats.mint: unknown creation option "enableSetup"; gaspipe has reapInterval, reapGCKrefs and neverReap'
    refused '.vats.maker.sourceSpec = "./src/make.js"' \
        "vats.maker: $PWD/project/config/./src/make.js does not exist"
    refused '.vats.maker.sourceSpec = "@example/vats/make.js"' \
        "vats.maker: @example/vats/make.js is neither a file nor in node_modules of $PWD/project/config or above: npm install its package there, or give --modules DIR"
    refused '.vats.ledger.bundleSpec = "./small.json"' \
        "vats.ledger: $PWD/project/config/./small.json is not a bundle: bundle-source writes {\"moduleFormat\":...}"
    refused '.devices.mailbox = {}' 'devices.mailbox: gaspipe has only the devices timer, echo and vatAdmin; take it out, and what bootstrap() does with it'
    refused '.defaultReapInterval = "seldom"' '"defaultReapInterval" must be a positive integer or "never"'
    refused '.snapshotInitial = 0' '"snapshotInitial" must be a positive integer'
    refused '.vats["a b"] = .vats.maker' "vats: \"a b\" cannot be a name here: gaspipe's are made of letters, digits, '_', '-' and '.'"

    printf '{"bootstrap":\n"a",}' > project/config/bad.json
    convert project/config/bad.json -o out
    assert_status 3
    says 'project/config/bad.json:2: '
    convert project/config/none.json -o out
    assert_status 3
    convert project/config/small.json
    assert_status 2
    assert_equal "$stderr" 'gaspipe: convert: give a directory with -o DIR (see gaspipe convert --help)'
    convert project/config/small.json -o out $'\377'
    assert_status 2
    assert_equal "$stderr" 'gaspipe: an ARGUMENT is not UTF-8'
}

@test "bundle-source that is missing or fails is said; another directory of packages, and arguments" {
    mv project/node_modules modules
    convert project/config/small.json -o out
    assert_status 3
    says 'vats.vatAdmin: @agoric/swingset-vat/src/vats/vat-admin/vat-vat-admin.js is neither a file'
    convert --modules modules project/config/small.json -o out one two
    assert_status 0
    assert_equal "$(jq -c '."vat-options".conductor.parameters' out/gaspipe.json)" '{"argv":["one","two"]}'
    printf '#!/bin/sh\nexit 7\n' > modules/.bin/bundle-source
    convert --modules modules project/config/small.json -o out
    assert_status 3
    says 'modules/.bin/bundle-source cannot bundle '
    rm modules/.bin/bundle-source
    convert --modules modules project/config/small.json -o out
    assert_status 3
    says 'npm install @endo/bundle-source there, or give --modules DIR'
}
