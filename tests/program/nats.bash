# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# nats-servers on the loopback, for tests.

# Debian puts nats-server there, and not every user has it on PATH.
PATH=$PATH:/usr/sbin

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
    : > "$1.log" # one before it was ready, too
    nats-server -js -sd "$1" -a 127.0.0.1 -p "$2" "${@:3}" >> "$1.log" 2>&1 3>&- &
    served=$!
    echo $served >> servers
    wait_for 30 grep -q 'Server is ready' "$1.log"
}

# ---- a cluster of three, in a directory of its own ----

# cluster_server DIRECTORY NUMBER OPTION...: starts one, for the first time or again; its pid goes to DIRECTORY/pidNUMBER.
cluster_server() {
    local directory=$1 number=$2 ports routes

    read -ra ports < "$directory/ports"
    read -ra routes < "$directory/routes"
    nats-server -js -sd "$directory/js$number" -n "server$number" -a 127.0.0.1 -p "${ports[number]}" \
        --cluster_name test --cluster "nats://127.0.0.1:${routes[number]}" \
        --routes "$(printf ',nats://127.0.0.1:%s' "${routes[@]}" | cut -c 2-)" "${@:3}" \
        >> "$directory/server$number.log" 2>&1 3>&- &
    echo $! > "$directory/pid$number"
    echo $! >> "$BATS_FILE_TMPDIR/servers"
}

# start_cluster DIRECTORY [COUNT OPTION...]: its URL goes to DIRECTORY/url. COUNT: of the servers that are started now.
start_cluster() {
    local i count=${2:-3}

    mkdir "$1"
    echo "$(free_port) $(free_port) $(free_port)" > "$1/ports"
    echo "$(free_port) $(free_port) $(free_port)" > "$1/routes"
    for ((i = 0; i < count; i++)); do cluster_server "$1" $i "${@:3}"; done
    for ((i = 0; i < count; i++)); do wait_for 30 grep -q 'Server is ready' "$1/server$i.log"; done
    sed 's/^/nats:\/\/127.0.0.1:/; s/ /,nats:\/\/127.0.0.1:/g' "$1/ports" > "$1/url"
}

# ---- JSON web tokens, as nsc(1) of NATS makes them ----

# hex: stdin's last 32 bytes, which is the key where it is one in DER.
hex() {
    tail -c 32 | od -An -v -tx1 | tr -d ' \n'
}

# nkey_of HEX: bytes in the encoding of NATS's keys: base32, followed by a CRC-16 (XMODEM).
nkey_of() {
    local hex=$1 crc=0 i bit

    for ((i = 0; i < ${#hex}; i += 2)); do
        crc=$((crc ^ 16#${hex:i:2} << 8))
        for ((bit = 0; bit < 8; bit++)); do
            crc=$((crc & 0x8000 ? (crc << 1 ^ 0x1021) & 0xffff : crc << 1))
        done
    done
    printf '%b' "$(printf '%s%02x%02x' "$hex" $((crc & 255)) $((crc >> 8)) | sed 's/../\\x&/g')" | base32 -w 0 | tr -d =
}

# make_nkey NAME PREFIX: an Ed25519 key in NAME.pem, its public part in NAME.pub; PREFIX is the first byte:
# 70 of an operator, 00 of an account, a0 of a user.
make_nkey() {
    openssl genpkey -algorithm ed25519 -out "$1.pem"
    nkey_of "$2$(openssl pkey -in "$1.pem" -pubout -outform DER | hex)" > "$1.pub"
}

base64url() {
    base64 -w 0 | tr '+/' '-_' | tr -d =
}

# make_jwt NAME ISSUER CLAIMS: what the issuer says of it, in NAME.jwt.
make_jwt() {
    local text

    text=$(printf '{"typ":"JWT","alg":"ed25519-nkey"}' | base64url).$(
        jq -nj --arg name "$1" --arg iss "$(cat "$2.pub")" --arg sub "$(cat "$1.pub")" --argjson nats "$3" \
            '{jti: $name, iat: 1700000000, $iss, $name, $sub, $nats} | tojson' | base64url)
    printf %s "$text" > "$1.text"
    openssl pkeyutl -sign -inkey "$2.pem" -rawin -in "$1.text" -out "$1.signature"
    printf '%s.%s' "$text" "$(base64url < "$1.signature")" > "$1.jwt"
}

# make_creds NAME: NAME.creds, a user's token and seed.
make_creds() {
    {
        echo '-----BEGIN NATS USER JWT-----'
        cat "$1.jwt"
        printf '\n%s\n\n' '------END NATS USER JWT------'
        echo '-----BEGIN USER NKEY SEED-----'
        nkey_of "9500$(openssl pkey -in "$1.pem" -outform DER | hex)"
        printf '\n%s\n' '------END USER NKEY SEED------'
    } > "$1.creds"
}

# make_operator: an operator's server.conf, of which only users of the account `chain` have JetStream, and
# reader.creds and stranger.creds, a user of it and one that another account signed.
make_operator() {
    local limits='"subs":-1,"data":-1,"payload":-1,"imports":-1,"exports":-1,"wildcards":true,"conn":-1,"leaf":-1' name

    make_nkey operator 70
    for name in chain system other; do make_nkey $name 00; done
    for name in reader stranger; do make_nkey $name a0; done
    make_jwt operator operator '{"type":"operator","version":2}'
    for name in chain system; do
        make_jwt $name operator "{\"type\":\"account\",\"version\":2,\"limits\":{$limits$(
            [ $name = system ] || echo ',"mem_storage":-1,"disk_storage":-1,"streams":-1,"consumer":-1')}}"
    done
    make_jwt reader chain '{"type":"user","version":2,"subs":-1,"data":-1,"payload":-1}'
    make_jwt stranger other '{"type":"user","version":2,"subs":-1,"data":-1,"payload":-1}'
    make_creds reader
    make_creds stranger
    printf 'operator: %s\nsystem_account: %s\nresolver: MEMORY\nresolver_preload: {\n%s: %s\n%s: %s\n}\n' \
        "$(cat operator.jwt)" "$(cat system.pub)" "$(cat chain.pub)" "$(cat chain.jwt)" \
        "$(cat system.pub)" "$(cat system.jwt)" > server.conf
}

# For teardown_file.
end_servers() {
    # shellcheck disable=SC2046 # several
    kill -9 $(cat "$BATS_FILE_TMPDIR/servers") 2> /dev/null || true
}
