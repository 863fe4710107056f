// SPDX-License-Identifier: Apache-2.0
// A collector of OTLP/HTTP for tests.
// usage: node otlp_collector.mjs DIRECTORY [ANSWER...]
// Requests get the ANSWERs one after the other, and 200 when these have run out; the
// last one for ever when it ends in `!`: 200, 503, 503:1 (Retry-After: 1), 400,
// max:9000 (413 when the body has more bytes, else 200), partial:3 (three spans
// rejected), reset (the connection is cut without an answer).
// DIRECTORY/port has the port once it listens. DIRECTORY/taken gets the bodies that were
// answered with 200, DIRECTORY/log a line of JSON for each request.
import { appendFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [directory, ...answers] = process.argv.slice(2);

const nextAnswer = () => {
    const answer = answers[0] ?? '200';
    if (answer.endsWith('!')) return answer.slice(0, -1);
    answers.shift();
    return answer;
};

const reply = (response, status, headers, body) => {
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
};

const answerWith = (answer, body, request, response) => {
    let [word, number] = answer.split(':');
    if (word === 'max') [word, number] = [body.length > Number(number) ? '413' : '200', undefined];
    if (word === 'reset') return void request.socket.destroy();
    if (word === '200' || word === 'partial') appendFileSync(`${directory}/taken`, body);
    if (word === '200') return reply(response, 200, {}, {});
    if (word === 'partial') {
        const partialSuccess = { rejectedSpans: number, errorMessage: 'too old\u001b[1m' };
        return reply(response, 200, {}, { partialSuccess });
    }
    const headers = number === undefined ? {} : { 'Retry-After': number };
    return reply(response, Number(word), headers, { code: 3, message: 'not today' });
};

const server = createServer((request, response) => {
    const pieces = [];
    request.on('data', piece => pieces.push(piece));
    request.on('end', () => {
        const body = Buffer.concat(pieces);
        const answer = nextAnswer();
        const { method, url, headers } = request;
        appendFileSync(`${directory}/log`, `${JSON.stringify({ method, url, headers, answer })}\n`);
        answerWith(answer, body, request, response);
    });
});

server.listen(0, '127.0.0.1', () => {
    writeFileSync(`${directory}/port.new`, `${server.address().port}`);
    renameSync(`${directory}/port.new`, `${directory}/port`);
});
