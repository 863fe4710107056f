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

@test "the Debian package has all parts, and says what it depends on" {
    local directory=$BATS_TEST_TMPDIR/root copy=$BATS_TEST_TMPDIR/copy deb package

    [ "$NATIVE" = "$BUILD" ] || skip "nobody installs sanitized programs"
    run env BUILD="$BUILD" scripts/make-deb
    assert_status 0
    deb=${lines[-1]}
    dpkg-deb -x "$deb" "$directory"
    dpkg-deb -e "$deb" "$copy"
    (cd "$directory" && md5sum --quiet -c "$copy/md5sums")
    for package in libuv1 libjansson4 libsqlite3-0 libcurl4 qemu-user; do
        grep -q "^Depends:.*\b$package\b" "$copy/control" || fail "does not depend on $package"
    done
    run "$directory/usr/bin/gaspipe" run --counter none --vat token="$directory/usr/share/doc/gaspipe/examples/token/contract.js" \
        "$directory/usr/share/doc/gaspipe/examples/token/deliveries.jsonl"
    assert_status 1
    assert_output_has '7 deliveries, 1 failed'
    zcat "$directory/usr/share/man/man1/slogreport.1.gz" | grep -q '^.Nm slogreport'
    [ -s "$directory/usr/share/bash-completion/completions/gaspipe" ]
    [ -s "$directory/usr/share/doc/gaspipe/copyright" ]
}

# XS's asserts contain file names: with the name of the directory in them, the length of that
# name moved what follows it, and the instruction counts changed.
@test "the worker does not know where it was built" {
    strip -o "$BATS_TEST_TMPDIR/worker" "$BUILD/gaspipe-worker"
    run grep -aoF "$ROOT/" "$BATS_TEST_TMPDIR/worker"
    assert_equal "$output" ""
}
