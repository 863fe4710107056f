#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Our client for Node (make node, make check-npm).

load ../program/common

PACKAGE=$BUILD/node/package

client() {
    run --separate-stderr timeout 60 node --expose-gc "$ROOT/tests/npm/node.mjs" "$PACKAGE" "$@"
    echo "$stderr"
}

# lie TEXT: a worker that says that, and reads to the end.
lie() {
    printf '#!/bin/sh\nprintf "%%s" '\''%s'\'' >&4\n[ -n "%s" ] || exec 4>&-\nexec cat <&3 >/dev/null\n' \
        "$1" "${2-}" > "$BATS_TEST_TMPDIR/liar"
    chmod +x "$BATS_TEST_TMPDIR/liar"
    GASPIPE_WORKER=$BATS_TEST_TMPDIR/liar client lies
    assert_status 0
}

@test "the event loop turns while a worker computes, and while it reads nothing" {
    client loop
    assert_status 0
    [ "$output" = 'done' ]
}

@test "without a synchronous wait every frame goes through the loop" {
    client impatient
    assert_status 0
    [ "$output" = 'done' ]
}

@test "a placement that does not exist is refused" {
    GASPIPE_PLACEMENT=nowhere client missing
    assert_status 0
    [ "$output" = "Error -: placement 'nowhere' is none of same, none" ]
}

@test "the moments of both ends are in the meter, in their order" {
    client times
    assert_status 0
    [ "$output" = 'done' ]
}

@test "a pipe that the host closes ends the worker and what was asked of it, in xsnap's words" {
    client pipes
    assert_status 0
    assert_equal "$output" '["answering",[3],true,[2,null],"Got EOF on netstring read. Has parent died?\n"]
ExitCode 2: it exited: I/O error
["answering",[4],true,[2,null],"Caught SIGPIPE. Has parent died?\n"]
ExitCode 2: it exited: I/O error
["asking",[4],true,[2,null],"Caught SIGPIPE. Has parent died?\n"]
ExitCode 2: it exited: I/O error
["idle",[4,3],false,[0,null],""]
done'
}

@test "GASPIPE_METER=xsnap leaves out gaspipe's members of the meter" {
    GASPIPE_METER=xsnap client meter
    assert_status 0
    assert_equal "$output" 'meterType currentHeapCount compute allocate timestamps'
    client meter
    [[ $output == *' monotimes '*' clientMonotimes' ]]
    GASPIPE_METER=short client meter
    [[ $stderr == *'GASPIPE_METER=short is neither gaspipe nor xsnap'* ]]
}

@test "a worker that is killed settles what was asked of it" {
    client killed
    assert_status 0
    [ "${lines[0]}" = 'ExitSignal SIGKILL: it exited due to signal SIGKILL' ]
    [ "${lines[1]}" = 'ExitSignal SIGKILL: it exited due to signal SIGKILL' ]
    [ "${lines[2]}" = 'ExitSignal SIGKILL: it exited due to signal SIGKILL' ]
}

@test "a worker that sends no frames is reported with a line" {
    lie 'junk' stays
    [ "${lines[0]}" = "Error -: a frame's length needs decimal digits and then ':', not 'j'" ]
    lie '1001:' stays
    [ "${lines[0]}" = 'Error -: a frame is longer than the cap of 1000 bytes' ]
    lie '7:short'
    [ "${lines[0]}" = 'Error -: the worker ended inside a frame' ]
    lie '0:,' stays
    [ "${lines[0]}" = 'Error -: xsnap protocol error: received empty message' ]
    lie '4:what,' stays
    [ "${lines[0]}" = 'Error -: xsnap protocol error: received unknown message <<what>>' ]
    lie '4:!why,' stays
    [ "${lines[0]}" = 'Error -: Uncaught exception in it: why' ]
}

@test "a worker that is absent is reported with a line" {
    # Many times: which is met first, the error or the end of the pipes, differs.
    for _ in {1..10}; do
        GASPIPE_WORKER=/nonexistent/worker client missing
        assert_status 0
        [ "$output" = 'Error ENOENT: spawn /nonexistent/worker ENOENT' ]
    done
}

@test "another system, and a name that is an option, are refused" {
    client platform
    [ "${lines[0]}" = 'Error -: xsnap does not support platform Darwin' ]
    [ "${lines[1]}" = "Error -: name '-n' cannot start with hyphen" ]
}

@test "workers that have ended leave no descriptors" {
    client leaks
    assert_status 0
    [ "$output" = 'done' ]
}

@test "a snapshot that was written cannot be changed, and another one may follow" {
    client sealed
    assert_status 0
    [ "$output" = 'done' ]
}

@test "a snapshot that is abandoned blocks neither the worker nor its end" {
    mkdir "$BATS_TEST_TMPDIR/files"
    client abandoned "$BATS_TEST_TMPDIR/files"
    assert_status 0
    [ "$output" = 'done' ]
}

@test "a snapshot is asked for before its worker starts, and closed when none starts" {
    mkdir "$BATS_TEST_TMPDIR/files"
    client early "$BATS_TEST_TMPDIR/files"
    assert_status 0
    [ "$output" = 'done' ]
}

@test "results are not kept until the worker ends" {
    client forgotten
    assert_status 0
    [ "$output" = 'done' ]
}

@test "a session is recorded and replayed" {
    mkdir "$BATS_TEST_TMPDIR/session"
    client record "$BATS_TEST_TMPDIR/session"
    assert_status 0
    [ "${lines[0]}" = '00000-options.json 00001-evaluate.dat 00002-issueCommand.dat 00003-command.dat 00004-reply.dat' ]
    [ "${lines[1]}" = '1 evaluate, 2 issueCommand, 3 command, 4 reply' ]
}

@test "node-gyp builds the addon from the package alone; without it a line says how" {
    cp -r "$PACKAGE" "$BATS_TEST_TMPDIR/package"
    cd "$BATS_TEST_TMPDIR/package"
    rm channel.node
    PACKAGE=$PWD client times
    assert_status 1
    [[ $stderr == *'the addon is not built'*'build it with npm run build'* ]]
    npm_config_nodedir=$(dirname "$(dirname "$(realpath "$(command -v node)")")") npm run build > log 2>&1 || {
        cat log
        false
    }
    PACKAGE=$PWD client times
    assert_status 0
}

@test "a syncWait that is not a number is refused" {
    GASPIPE_SYNC_WAIT_US=soon client missing
    assert_status 0
    [ "$output" = 'Error -: GASPIPE_SYNC_WAIT_US=soon is not a number of microseconds' ]
    GASPIPE_SYNC_WAIT_US=99999999999999 client missing
    assert_status 0
    [[ $output == *'syncWait up to an hour'* ]]
}

@test "a channel that is closed leaves alone what has its descriptor's number by now" {
    client reused
    assert_status 0
    [ "$output" = 'there' ]
}

@test "a stream that begins late, or a snapshot that is never written, blocks no other worker" {
    client late
    assert_status 0
    [ "$output" = 'done' ]
}

@test "a hundred workers, each from the snapshot of the one before, leave nothing open" {
    client descendants
    assert_status 0
    [ "$output" = 'done' ]
}
