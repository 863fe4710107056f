#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The build itself: nothing is built twice, and an installation works.

load common

# The make that runs the tests passes SAN, CC and others in MAKEFLAGS; its
# own cores are busy with them, so the targets here build nothing.
setup() {
    cd "$ROOT"
}

# Prints every C file of the source directories; the meter's need LLVM.
sources() {
    find base proto worker counter sandbox store kernel supervisor slog tools bench tests/unit tests/fuzz \
        -name '*.c'
}

@test "a second make builds nothing" {
    [ "$NATIVE" = "$BUILD" ] || skip "a sanitized build asks for the ordinary worker each time"
    run make --no-print-directory -q all
    assert_status 0
}

@test "make unit TESTS=name builds that test and what its directory calls, without the engine" {
    local there=$BATS_TEST_TMPDIR/there

    run make --no-print-directory -n -k V=1 SAN= BUILD="$there" TESTS=test_buf unit-built
    assert_status 0
    assert_equal "$(grep -o -- "-o $there/tests/.*" <<< "$output")" "-o $there/tests/base/test_buf"
    assert_output_has "$there/lib/base.a"
    assert_output_lacks libxs.a
    assert_output_lacks "$there/lib/store.a"
}

@test "a metered worker keeps its own engine when the ordinary one is compiled again" {
    local there=$BATS_TEST_TMPDIR/metered

    mkdir "$there"
    touch "$there/libxs.a"
    run make --no-print-directory -n -W worker/xs/xs_interpreter.h SAN= BUILD="$there" \
        XS_ARCHIVE="$there/libxs.a" METERED_WORKER_OF=x86_64-linux-gnu "$there/gaspipe-worker"
    assert_status 0
    assert_output_has "-o $there/gaspipe-worker"
    assert_output_lacks 'compiling the engine'
}

@test "compile_commands.json contains the command for each file, with either compiler" {
    local there=$BATS_TEST_TMPDIR/there compiler file

    [ "$NATIVE" = "$BUILD" ] || skip "it makes nothing sanitized"

    for compiler in gcc clang; do
        command -v $compiler > /dev/null || continue
        run make --no-print-directory SAN= CC=$compiler BUILD="$there" compile-commands
        assert_status 0
        jq -r '.[].file' "$there/compile_commands.json" | sort > "$BATS_TEST_TMPDIR/files"
        assert_equal "$(sources | sort | comm -23 - "$BATS_TEST_TMPDIR/files")" "" "files that are missing"
        # One that needs XS, one that needs what the build generates, and an ordinary one.
        for file in worker/xs/xs_memory.c sandbox/syscall_name.c base/buf.c; do
            run bash -c "$(jq -r ".[] | select(.file == \"$file\") | .command" "$there/compile_commands.json")"
            assert_equal "$output" ""
            assert_status 0
            [ -e "$there/obj/${file%.c}.o" ]
        done
        rm -r "$there"
    done
}

@test "installed programs run and find their parts" {
    local dest=$BATS_TEST_TMPDIR/root

    run make --no-print-directory install PREFIX=/usr DESTDIR="$dest"
    assert_status 0
    run "$dest/usr/bin/gaspipe" --version
    assert_status 0
    assert_output_has "gaspipe $(cat VERSION)"
    run "$dest/usr/bin/slogreport" --version
    assert_status 0
    run --separate-stderr "$dest/usr/bin/gaspipe" run --json --vat digest=examples/digest/contract.js \
        examples/digest/deliveries.jsonl
    assert_status 0
    assert_equal "$(jq 'select(.kind == "delivery") | .instructions > 0' <<< "$output" | sort -u)" true
    run "$dest/usr/bin/gaspipe" replay --vat v4 tests/data/swingset.slog.zst
    assert_status 0
    run "$dest/usr/bin/gaspipe" estimate --deliveries javascript
    assert_status 0
    assert_output_has '"vat":'
    [ -s "$dest/usr/share/gaspipe/suites/near/ops.wasm" ]
    [ -e "$dest/usr/include/gaspipe/gascontract.h" ]
    [ -e "$dest/usr/share/man/man1/gaspipe-worker.1" ]
    [ -e "$dest/usr/share/man/man5/gaspipe-json.5" ]
    cmp "$dest/usr/share/man/man1/gaspipe-run.1" docs/man/gaspipe-run.1
    [ -e "$dest/usr/share/doc/gaspipe/contracts.md" ]
    [ -e "$dest/usr/include/gaspipe/gasmark.h" ]
    cmp "$dest/usr/share/bash-completion/completions/gaspipe" <("$BUILD/gaspipe" --completion bash)
    cmp "$dest/usr/share/bash-completion/completions/slogreport" <("$BUILD/slogreport" --completion bash)
    cmp "$dest/usr/share/zsh/site-functions/_gaspipe" <("$BUILD/gaspipe" --completion zsh)
    cmp "$dest/usr/share/fish/vendor_completions.d/slogreport.fish" <("$BUILD/slogreport" --completion fish)
    run make --no-print-directory uninstall PREFIX=/usr DESTDIR="$dest"
    assert_status 0
    assert_equal "$(find "$dest" ! -type d -o -name gaspipe)" ""
}

# depends PACKAGE NAME...: it depends on each of these, as named before or since time_t has 64 bits.
depends() {
    local name

    for name in "${@:2}"; do
        dpkg-deb -f "$BUILD/$1_"*.deb Depends | grep -qE "(^|, )$name(t64)?( |,|\$)" || fail "$1 does not depend on $name" || return
    done
}

@test "the Debian packages have all parts, and say what they depend on" {
    local directory=$BATS_TEST_TMPDIR/root deb name

    [ "$NATIVE" = "$BUILD" ] || skip "nobody installs sanitized programs"
    rm -f "$BUILD"/*.deb
    # Compressing takes a third of the time.
    run --separate-stderr env BUILD="$BUILD" DEB_COMPRESSION=none scripts/make-deb
    assert_status 0
    for deb in $output; do
        name=$(basename "${deb%%_*}")
        dpkg-deb -e "$deb" "$BATS_TEST_TMPDIR/$name"
        # Each file is in one package.
        dpkg-deb -c "$deb" | awk '!/\/$/ { print $6 }' | while read -r file; do [ ! -e "$directory/$file" ] || fail "$file twice"; done
        dpkg-deb -x "$deb" "$directory"
        (cd "$directory" && md5sum --quiet -c "$BATS_TEST_TMPDIR/$name/md5sums")
        [ -s "$directory/usr/share/doc/$name/copyright" ]
    done
    depends gaspipe libuv1 libjansson4 libsqlite3-0 libcurl4
    [ -e "$directory/usr/lib/gaspipe/gaspipe-qemu" ] || depends gaspipe qemu-user
    run "$directory/usr/bin/gaspipe" run --counter none --vat token="$directory/usr/share/doc/gaspipe/examples/token/contract.js" \
        "$directory/usr/share/doc/gaspipe/examples/token/deliveries.jsonl"
    assert_status 1
    assert_output_has '7 deliveries, 1 failed'
    assert_equal "$(cd "$directory/usr/share/doc/gaspipe" && find examples -type f | sort)" "$(git ls-files examples | sort)" 'examples'
    zcat "$directory/usr/share/man/man1/slogreport.1.gz" | grep -q '^.Nm slogreport'
    [ -s "$directory/usr/share/bash-completion/completions/gaspipe" ]
    # The headers' package is all that a native contract needs.
    dpkg-deb -x "$BUILD"/gaspipe-dev_*.deb "$BATS_TEST_TMPDIR/headers"
    cc -O2 -fPIC -shared -I"$BATS_TEST_TMPDIR/headers/usr/include/gaspipe" examples/native-token/token.c -o "$BATS_TEST_TMPDIR/token.so"
    [ -x build/gaspipe-meter ] || skip 'make metered has not built the compiler'
    depends gaspipe-meter libllvm19 clang-19 lld-19 gaspipe-dev
    run --separate-stderr "$directory/usr/bin/gaspipe" run --json --counter compiled \
        --vat token="$directory/usr/share/doc/gaspipe/examples/token/contract.js" \
        "$directory/usr/share/doc/gaspipe/examples/token/deliveries.jsonl"
    assert_equal "$(jq 'select(.kind == "delivery") | .blockCost > 0' <<< "$output" | sort -u)" true
    "$directory/usr/bin/gaspipe-cc" -O2 tests/program/meter/loops.c -o "$BATS_TEST_TMPDIR/loops"
    GASMETER_OUT="$BATS_TEST_TMPDIR/counts" "$BATS_TEST_TMPDIR/loops" > /dev/null
    [ -s "$BATS_TEST_TMPDIR/counts" ]
}

@test "the image for containers runs a delivery, counted" {
    local container
    export BUILDAH_ISOLATION=chroot

    [ "$NATIVE" = "$BUILD" ] || skip "nobody installs sanitized programs"
    command -v buildah > /dev/null || skip 'buildah is not installed (apt-get install buildah)'
    buildah pull -q --policy missing docker.io/library/debian:bookworm-slim > /dev/null 2>&1 ||
        skip 'there is no image debian:bookworm-slim here, nor a registry'
    [ -e "$(echo build/gaspipe_*.deb)" ] || scripts/make-deb
    run --separate-stderr scripts/make-image
    assert_status 0
    container=$(buildah from --pull-never "localhost/$output")
    run buildah run -v "$ROOT/examples/token:/work" "$container" gaspipe run --vat token=contract.js deliveries.jsonl
    buildah rm "$container"
    assert_output_has ' instructions'
    assert_output_has '7 deliveries, 1 failed'
    assert_equal "$(buildah images --format '{{.Size}}' "localhost/gaspipe:$(cat VERSION)" | awk '{ print $1 < 250, $2 }')" '1 MB'
}

# XS's asserts contain file names: with the name of the directory in them, the length of that
# name moved what follows it, and the instruction counts changed.
@test "the worker does not know where it was built" {
    strip -o "$BATS_TEST_TMPDIR/worker" "$BUILD/gaspipe-worker"
    run grep -aoF "$ROOT/" "$BATS_TEST_TMPDIR/worker"
    assert_equal "$output" ""
}
