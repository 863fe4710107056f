#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# examples/turns: players in libraries, each turn counted and bounded.

load common

setup() {
    [ -x "$ROOT/build/gaspipe-meter" ] || skip 'LLVM is not there; scripts/setup --meter installs it'
    cd "$BATS_TEST_TMPDIR"
}

# build OPTION...: the game and its players into the directory `game`.
build() {
    local name

    mkdir -p game
    "$ROOT/build/gaspipe-c++" "$@" "$ROOT/examples/turns/game.cc" -o game/game
    for name in walker thinker looper; do
        "$ROOT/build/gaspipe-c++" "$@" -shared -fPIC "$ROOT/examples/turns/$name.cc" -o "game/$name.so"
    done
}

@test "each turn has its cost, a player that loops is stopped, the others continue" {
    build -O2
    run game/game game/walker.so game/thinker.so game/looper.so
    assert_status 0
    assert_output_has 'turn 5  walker.so'
    assert_output_has 'turn 5  thinker.so'
    assert_output_has 'turn 3  looper.so    stopped after'
    assert_output_lacks 'turn 4  looper.so'
    printf '%s\n' "$output" > first
    build -O0
    assert_equal "$(game/game game/walker.so game/thinker.so game/looper.so)" "$(cat first)" '-O0'
    [ -e /usr/aarch64-linux-gnu/include/c++ ] || return 0
    build -O2 --target=aarch64-linux-gnu
    assert_equal "$(qemu-aarch64 -L /usr/aarch64-linux-gnu game/game game/walker.so game/thinker.so \
        game/looper.so)" "$(cat first)" aarch64
}
