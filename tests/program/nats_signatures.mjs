// SPDX-License-Identifier: Apache-2.0
// A server of NATS that checks signatures of nonces and has no JetStream.
// usage: node nats_signatures.mjs DIRECTORY KEY.pem
// The first nonce's signature begins with a byte 0, later ones' do not. DIRECTORY/port has the port
// once it listens; DIRECTORY/connections gets a line for each CONNECT: "signed" or "unsigned".
import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';

const [directory, pem] = process.argv.slice(2);
const key = createPrivateKey(readFileSync(pem));
const publicKey = createPublicKey(key);

const nonceWhere = (accepts) => {
    for (let i = 0; ; i++) {
        const nonce = `nonce${i}`;
        if (accepts(sign(null, Buffer.from(nonce), key)[0])) return nonce;
    }
};
const nonces = [nonceWhere((first) => first === 0), nonceWhere((first) => first !== 0)];

const isSigned = (nonce, connect) => {
    const { sig } = JSON.parse(connect);
    return sig !== undefined && verify(null, Buffer.from(nonce), publicKey, Buffer.from(sig, 'base64url'));
};

const server = createServer((socket) => {
    const nonce = nonces.length > 1 ? nonces.shift() : nonces[0];
    let text = '';

    socket.on('error', () => {});
    socket.write(
        `INFO ${JSON.stringify({ server_id: 'S', version: '2.9.10', proto: 1, headers: true, max_payload: 1048576, nonce })}\r\n`,
    );
    socket.on('data', (data) => {
        text += data;
        for (let end = text.indexOf('\r\n'); end >= 0; end = text.indexOf('\r\n')) {
            const [word, first, reply] = text.slice(0, end).split(' ');
            const line = text.slice(0, end);
            text = text.slice(end + 2);
            if (word === 'CONNECT') {
                const signed = isSigned(nonce, line.slice(word.length));
                appendFileSync(`${directory}/connections`, signed ? 'signed\n' : 'unsigned\n');
                if (!signed) socket.end("-ERR 'Authorization Violation'\r\n");
            } else if (word === 'PING') {
                socket.write('PONG\r\n');
            } else if (word === 'PUB' && first.startsWith('$JS.')) {
                const body = JSON.stringify({ error: { code: 503, err_code: 10076, description: 'JetStream not enabled' } });
                socket.write(`MSG ${reply} 1 ${body.length}\r\n${body}\r\n`);
            }
        }
    });
});

server.listen(0, '127.0.0.1', () => {
    writeFileSync(`${directory}/port.part`, `${server.address().port}\n`);
    renameSync(`${directory}/port.part`, `${directory}/port`);
});
