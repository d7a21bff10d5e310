import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

/** A received span, with ids in hexadecimal. */
export interface ReceivedSpan {
  /** `service.name` of the span's resource. */
  readonly service: string;
  readonly resource: Readonly<Record<string, unknown>>;
  readonly traceId: string;
  readonly spanId: string;
  /** Absent for the first span of a trace. */
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  readonly startMs: number;
  readonly durationMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly { readonly name: string; readonly attributes: Readonly<Record<string, unknown>> }[];
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  /** The status message of a failed span. */
  readonly error: string | undefined;
}

/** How the endpoint answers: correctly, with a status, with meaningless bytes, or never. */
export type OtlpAnswer = 'success' | 'nonsense' | 'never' | number;

/**
 * An OTLP endpoint over HTTP, in protobuf, that keeps the spans it receives:
 * `OTEL_EXPORTER_OTLP_ENDPOINT=${receiver.url}`.
 */
export class OtlpReceiver implements AsyncDisposable {
  readonly spans: ReceivedSpan[] = [];
  /** The headers of all requests. */
  readonly requests: IncomingMessage['headers'][] = [];
  answer: OtlpAnswer = 'success';
  readonly #server = createServer((request, response) => void this.#take(request, response));

  static async listen(answer: OtlpAnswer = 'success', port = 0): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver();
    receiver.answer = answer;
    await once(receiver.#server.listen(port, '127.0.0.1'), 'listening');
    return receiver;
  }

  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  }

  /**
   * Waits for spans with these names and returns them.
   * @throws after `timeoutMs`, with the names of the received spans.
   */
  async until(
    isThere: (spans: readonly ReceivedSpan[]) => boolean,
    timeoutMs = 10_000,
  ): Promise<readonly ReceivedSpan[]> {
    const endMs = performance.now() + timeoutMs;
    while (!isThere(this.spans)) {
      if (performance.now() > endMs) throw new Error(`only these spans came: ${this.spans.map(({ name }) => name)}`);
      await sleep(20);
    }
    return this.spans;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    if (this.#server.listening) await once(this.#server.close(), 'close');
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests.push(request.headers);
    const body = await buffer(request).catch(() => undefined);
    if (body === undefined || this.answer === 'never') return;
    if (typeof this.answer === 'number') return void response.writeHead(this.answer).end();
    if (request.url !== '/v1/traces') return void response.writeHead(404).end();
    this.spans.push(...spansIn(request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body));
    response.writeHead(200, { 'content-type': 'application/x-protobuf' });
    response.end(this.answer === 'nonsense' ? '\u00ff\u00ffno protobuf' : undefined);
  }
}

/**
 * @see https://github.com/open-telemetry/opentelemetry-proto: the numbers of
 *   ExportTraceServiceRequest and the messages in it
 */
function spansIn(body: Uint8Array): readonly ReceivedSpan[] {
  return messagesIn(fieldsOf(body), 1).flatMap((ofResource) => {
    const resource = attributesIn(messagesIn(ofResource, 1)[0], 1);
    const service = String(resource['service.name']);
    const spans = messagesIn(ofResource, 2).flatMap((scope) => messagesIn(scope, 2));
    return spans.map((span) => ({ service, resource, ...spanOf(span) }));
  });
}

function spanOf(span: Fields) {
  const startMs = numberIn(span, 7) / 1e6;
  const [status] = messagesIn(span, 15);
  return {
    ...idsIn(span),
    parentSpanId: hexIn(span, 4) || undefined,
    name: textIn(span, 5),
    kind: kinds[numberIn(span, 6) - 1] ?? 'internal',
    startMs,
    durationMs: numberIn(span, 8) / 1e6 - startMs,
    attributes: attributesIn(span, 9),
    events: messagesIn(span, 11).map((event) => ({ name: textIn(event, 2), attributes: attributesIn(event, 3) })),
    links: messagesIn(span, 13).map(idsIn),
    error: status && numberIn(status, 3) === 2 ? textIn(status, 2) : undefined,
  };
}

const kinds = ['internal', 'server', 'client', 'producer', 'consumer'] as const;

function idsIn(fields: Fields) {
  return { traceId: hexIn(fields, 1), spanId: hexIn(fields, 2) };
}

function attributesIn(fields: Fields | undefined, number: number): Readonly<Record<string, unknown>> {
  if (fields === undefined) return {};
  return Object.fromEntries(
    messagesIn(fields, number).map((pair) => [textIn(pair, 1), anyValue(messagesIn(pair, 2)[0] ?? new Map())]),
  );
}

/** An AnyValue: string, boolean, integer, double, or an array of them. */
function anyValue(value: Fields): unknown {
  if (value.has(1)) return textIn(value, 1);
  if (value.has(2)) return numberIn(value, 2) === 1;
  if (value.has(3)) return numberIn(value, 3);
  if (value.has(4)) return new DataView(new BigUint64Array([bitsIn(value, 4)]).buffer).getFloat64(0, true);
  return messagesIn(value, 5).flatMap((list) => messagesIn(list, 1).map(anyValue));
}

/** The values in a message, by field number. */
type Fields = ReadonlyMap<number, readonly (Uint8Array | bigint)[]>;

function fieldsOf(bytes: Uint8Array): Fields {
  const fields = new Map<number, (Uint8Array | bigint)[]>();
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    const values = fields.get(number) ?? [];
    fields.set(number, values);
    if (type === WireType.LengthDelimited) values.push(reader.bytes());
    else if (type === WireType.Varint) values.push(BigInt(reader.uint64()));
    else if (type === WireType.Bit64) values.push(BigInt(reader.fixed64()));
    else reader.skip(type, number);
  }
  return fields;
}

function messagesIn(fields: Fields, number: number): readonly Fields[] {
  return bytesIn(fields, number).map(fieldsOf);
}

function bytesIn(fields: Fields, number: number): readonly Uint8Array[] {
  return (fields.get(number) ?? []).filter((value) => value instanceof Uint8Array);
}

function bitsIn(fields: Fields, number: number): bigint {
  const value = fields.get(number)?.[0];
  return typeof value === 'bigint' ? value : 0n;
}

function numberIn(fields: Fields, number: number): number {
  return Number(bitsIn(fields, number));
}

function textIn(fields: Fields, number: number): string {
  return Buffer.from(bytesIn(fields, number)[0] ?? []).toString();
}

function hexIn(fields: Fields, number: number): string {
  return Buffer.from(bytesIn(fields, number)[0] ?? []).toString('hex');
}
