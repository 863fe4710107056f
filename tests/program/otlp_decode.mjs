// SPDX-License-Identifier: Apache-2.0
// Holds requests against OpenTelemetry's own protobuf definitions.
// usage: node otlp_decode.mjs NODE_MODULES FILE...
// Each line goes through @opentelemetry/otlp-transformer's ExportTraceServiceRequest
// into protobuf's binary form and back, and must come out as it was: fields that the
// definitions do not have, or have with another type, would not. Prints how many
// spans each file has.
import { deepStrictEqual } from 'node:assert';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

const [modules, ...files] = process.argv.slice(2);
const require = createRequire(import.meta.url);
const root = require(
    resolve(modules, '@opentelemetry/otlp-transformer/build/src/generated/root.js'),
);
const Request = root.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;

// OTLP's JSON has ids in hexadecimal where protobuf's has base64.
const idKeys = new Set(['traceId', 'spanId', 'parentSpanId']);
const idLengths = { traceId: 16, spanId: 8, parentSpanId: 8 };

const toBase64 = (key, value) => {
    if (!idKeys.has(key)) return value;
    const bytes = Buffer.from(value, 'hex');
    deepStrictEqual(bytes.toString('hex'), value, `${key} in lower-case hexadecimal`);
    deepStrictEqual(bytes.length, idLengths[key], `${key}'s length`);
    return bytes.toString('base64');
};

// An empty list and none are the same in protobuf.
const withoutEmptyLists = (key, value) =>
    Array.isArray(value) && value.length === 0 ? undefined : value;

const plain = text => JSON.parse(JSON.stringify(JSON.parse(text, toBase64), withoutEmptyLists));

for (const file of files) {
    let spans = 0;
    for (const line of readFileSync(file, 'utf8').trimEnd().split('\n')) {
        const request = plain(line);
        const binary = Request.encode(Request.fromObject(request)).finish();
        const back = Request.toObject(Request.decode(binary), {
            longs: String,
            enums: Number,
            bytes: String,
        });
        deepStrictEqual(JSON.parse(JSON.stringify(back)), request);
        for (const { scopeSpans } of request.resourceSpans)
            for (const scope of scopeSpans) spans += scope.spans.length;
    }
    console.log(spans);
}
