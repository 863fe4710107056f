# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# nats-servers on the loopback, for tests.

# free_port: a port that nothing listens on now.
free_port() {
    local port

    while :; do
        port=$((20000 + RANDOM % 12000))
        (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null || break
    done
    echo $port
}

# serve NAME PORT OPTION...: starts a server, whose files are NAME/ and NAME.log, and waits until
# it is ready; the pid goes to $served and the file servers.
serve() {
    nats-server -js -sd "$1" -a 127.0.0.1 -p "$2" "${@:3}" > "$1.log" 2>&1 3>&- &
    served=$!
    echo $served >> servers
    wait_for 30 grep -q 'Server is ready' "$1.log"
}

# For teardown_file.
end_servers() {
    # shellcheck disable=SC2046 # several
    kill -9 $(cat "$BATS_FILE_TMPDIR/servers") 2> /dev/null || true
}
