#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# scripts/setup and scripts/fetch-npm: what a newcomer's machine lacks is reported
# before anything is installed. Nothing is installed or fetched here: the commands
# are stand-ins that record how they were called.

load common

setup() {
    cd "$BATS_TEST_TMPDIR"
    mkdir scripts bin
    cp "$ROOT/scripts/setup" "$ROOT/scripts/fetch-npm" scripts/
    stand_in pkg-config 'exit 0'
    stand_in qemu-x86_64 'echo "-plugin  QEMU_PLUGIN"'
    stand_in apt-get 'echo "apt-get $*" >> calls; [ "$1" = update ] || touch installed'
    for command in gcc make npm patch openssl; do
        command -v "$command" > /dev/null || stand_in "$command" 'exit 0'
    done
    PATH=$PWD/bin:$PATH
}

# stand_in NAME SCRIPT: a command NAME, found before the system's. It replaces a link, and does not write into
# the program that the link names.
stand_in() {
    rm -f "bin/$1"
    printf '#!/bin/sh\n%s\n' "$2" > "bin/$1"
    chmod +x "bin/$1"
}

# libuv is there only once something was installed.
without_libuv() {
    stand_in pkg-config '[ "$2" != libuv ] || [ -e installed ]'
}

@test "setup is silent if nothing is missing" {
    run scripts/setup
    assert_status 0
    assert_equal "$output" ""
    [ ! -e calls ]
}

@test "setup finds a server in /usr/sbin, which is not on every user's PATH" {
    # The group of tests also requires what this machine may lack; only the server matters here.
    [ -x /usr/sbin/nats-server ] || skip "nats-server is not in /usr/sbin"
    stand_in id 'echo 1000'
    PATH=$PWD/bin:/usr/bin:/bin run scripts/setup --test
    [[ $output != *nats-server* ]]
}

@test "setup without root privileges prints the one command, and runs nothing" {
    without_libuv
    stand_in id 'echo 1000'
    run scripts/setup
    assert_status 4
    assert_output_has 'libuv1-dev       event loop, processes, pipes'
    assert_output_has "apt-get install --yes --no-install-recommends libuv1-dev'"
    [ ! -e calls ]
}

@test "setup as root lists what it installs, then installs only that" {
    without_libuv
    stand_in id 'echo 0'
    run scripts/setup
    assert_status 0
    assert_output_has 'libuv1-dev       event loop, processes, pipes'
    assert_equal "$(tail -n 1 calls)" 'apt-get install --yes --no-install-recommends libuv1-dev'
}

@test "setup shows the last output of an apt-get that failed" {
    without_libuv
    stand_in id 'echo 0'
    stand_in apt-get 'echo "E: no route to the mirror"; exit 100'
    run scripts/setup
    assert_status 4
    assert_output_has 'E: no route to the mirror'
}

@test "setup fails if installing did not help" {
    stand_in pkg-config '[ "$2" != libuv ]'
    stand_in id 'echo 0'
    run scripts/setup
    assert_status 4
    assert_output_has 'still missing after installing: libuv1-dev'
}

# release NAME: this system is that release of Debian.
release() {
    echo "VERSION_CODENAME=$1" > os-release
    export OS_RELEASE=$PWD/os-release
}

@test "setup reports a QEMU that takes no plugins" {
    release bookworm
    stand_in qemu-x86_64 'echo "-cpu model"'
    run scripts/setup
    assert_status 4
    assert_output_has 'takes no plugins'
}

@test "setup builds QEMU where Debian's takes no plugins, once; QEMU=no continues without" {
    release trixie
    stand_in qemu-x86_64 'echo "-cpu model"'
    stand_in python3 'exit 0'
    stand_in ninja 'exit 0'
    stand_in xz 'exit 0'
    printf '%s\n' '#!/bin/sh' 'echo "$*" >> built' 'mkdir -p build/qemu/bin' \
        'printf "#!/bin/sh\\necho -plugin\\n" > build/qemu/bin/qemu-x86_64' \
        'chmod +x build/qemu/bin/qemu-x86_64' > scripts/build-qemu
    chmod +x scripts/build-qemu
    QEMU=no run scripts/setup
    assert_status 0
    assert_output_has '--counter qemu does not work'
    [ ! -e built ]
    run scripts/setup
    assert_status 0
    assert_output_has 'QEMU=no continues without'
    run scripts/setup
    assert_status 0
    assert_equal "$output" ''
    assert_equal "$(cat built)" build/qemu
}

@test "setup --unit needs no QEMU, and npm only with --xs" {
    stand_in qemu-x86_64 'exit 1'
    run scripts/setup --unit
    assert_status 0
    # Nothing but these is found: what remains of the requirements is reported.
    for command in cat cut dirname grep id sed sort sh tr; do
        ln -sf "$(command -v "$command")" "bin/$command"
    done
    rm -f bin/npm bin/patch bin/openssl
    stand_in id 'echo 1000'
    PATH=$PWD/bin run scripts/setup --unit
    assert_output_lacks npm
    PATH=$PWD/bin run scripts/setup --unit --xs
    assert_status 4
    assert_output_has 'npm              fetches'
}

@test "setup --cross installs what runs programs of aarch64, also where QEMU for this machine is built" {
    stand_in id 'echo 1000'
    for command in cat cut dirname grep id sed sort sh tr; do
        [ -e "bin/$command" ] || ln -s "$(command -v "$command")" bin
    done
    QEMU=no PATH=$PWD/bin run scripts/setup --cross
    assert_status 4
    assert_output_has 'qemu-user        runs programs of the second machine'
}

@test "setup: an unknown option is a usage error" {
    run scripts/setup --everything
    assert_status 2
}

# A registry of one package, thing 1.0.0; its hash is $integrity.
registry() {
    mkdir -p publish/package
    echo hello > publish/package/file
    tar czf publish/some-thing-1.0.0.tgz -C publish package
    integrity=sha512-$(openssl dgst -sha512 -binary publish/some-thing-1.0.0.tgz | openssl base64 -A)
    stand_in npm "cp '$PWD/publish/some-thing-1.0.0.tgz' ."
}

@test "fetch-npm unpacks what has the right hash" {
    registry
    run scripts/fetch-npm @some/thing 1.0.0 "$integrity" there
    assert_status 0
    assert_equal "$(cat there/package/file)" hello
}

@test "fetch-npm uses a tarball that is already there, without a registry" {
    registry
    mkdir there
    cp publish/some-thing-1.0.0.tgz there/
    stand_in npm 'exit 1'
    run scripts/fetch-npm @some/thing 1.0.0 "$integrity" there
    assert_status 0
    assert_equal "$(cat there/package/file)" hello
}

@test "fetch-npm refuses a wrong hash, unpacks nothing and keeps the tarball" {
    registry
    run scripts/fetch-npm @some/thing 1.0.0 sha512-AAAA there
    assert_status 3
    assert_output_has 'instead of      sha512-AAAA'
    [ ! -e there/package ]
    [ -e there/some-thing-1.0.0.tgz.refused ]
}

@test "fetch-npm says what to do if npm cannot fetch" {
    stand_in npm 'echo "npm ERR! ENOTFOUND registry.npmjs.org"; exit 1'
    run scripts/fetch-npm @some/thing 1.0.0 sha512-AAAA there
    assert_status 4
    assert_output_has 'ENOTFOUND'
    assert_output_has 'npm config set proxy'
    assert_output_has 'put some-thing-1.0.0.tgz into there/'
}
