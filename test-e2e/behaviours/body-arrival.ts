import { setTimeout as wait } from 'node:timers/promises';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { longContent } from '../client/long-content.ts';
import { head, RawConnection } from '../client/raw-http.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';

const endpoints = [
  { path: '/v1/chat/completions', takesCompression: true },
  { path: '/v1/messages', takesCompression: false },
  { path: '/v1/messages/count_tokens', takesCompression: false },
  { path: '/v1/responses', takesCompression: true },
] as const;

type Endpoint = (typeof endpoints)[number];

const plain = { name: 'plain', encoding: 'identity', compress: (bytes: Buffer) => bytes } as const;
const encodings = [
  { name: 'gzip', encoding: 'gzip', compress: gzipSync },
  { name: 'deflate', encoding: 'deflate', compress: deflateSync },
  { name: 'br', encoding: 'br', compress: (bytes: Buffer) => brotliCompressSync(bytes, fast) },
  { name: 'zstd', encoding: 'zstd', compress: zstdCompressSync },
] as const;
/** The best brotli takes seconds for some of these bodies. */
const fast = { params: { 1: 3 } } as const;

/** Around the sizes at which sockets, parsers and buffer pools start a new piece. */
const sizes = [
  200, 1_000, 16_384, 65_000, 65_536, 65_537, 70_000, 90_000, 110_000, 130_000, 200_000, 1_000_000, 3_000_000,
] as const;
const counts = [1, 2, 3, 4, 5] as const;
/** Milliseconds between two packets; 0.3 is a busy client's pause. */
const gapsMs = [0, 0.3, 1, 2, 5] as const;
const framings = ['content-length', 'chunked'] as const;

/**
 * Valid bodies of any size are accepted, however they arrive. Only the edge decodes them: one
 * wiring is enough, with `compressed`.
 */
export function bodyArrivalBehaviour(gateway: () => Topology, { compressed }: { readonly compressed: boolean }): void {
  describe.each(endpoints)('a body sent to $path', (endpoint) => {
    /**
     * The limiter admits a request of a service token while its body arrives; a request of a
     * personal token needs no admission.
     */
    const tokenText = async (kind: 'service' | 'personal') =>
      (await issueToken(gateway(), kind === 'service' ? { kind, requestsPerMinute: 1_000_000 } : { kind })).text;

    it.each(compressed && endpoint.takesCompression ? [plain, ...encodings] : [plain])(
      'is taken in any number of packets: $name',
      async ({ encoding, compress }) => {
        const token = await tokenText('service');
        const refused: string[] = [];
        const bodies = sizes.map((size) => ({ size, bytes: compress(bodyOf(endpoint, size)) }));
        // One connection for many requests, as clients use it.
        using connection = new RawConnection(gateway());
        for (const [m, framing] of framings.entries()) {
          for (const count of counts) {
            for (const [n, { size, bytes }] of bodies.entries()) {
              // Large ones take long: each count in one framing.
              if (size > 200_000 && (n + count + m) % 2 === 0) continue;
              const gapMs = gapsMs[(n + count) % gapsMs.length] ?? 0;
              const answer = await post(connection, { endpoint, token, encoding, framing, bytes, count, gapMs });
              if (answer.status === 200) continue;
              refused.push(
                `${size} B in ${count} packets ${gapMs} ms apart, ${framing}: ${answer.status} ${answer.text}`,
              );
              if (answer.headers.get('connection') === 'close') throw new Error(refused.join('\n'));
            }
          }
        }
        expect(refused).toEqual([]);
      },
    );

    it('is taken as the first request of a token and as a later one', async () => {
      const refused: string[] = [];
      for (const size of [1_000, 66_000, 100_000, 129_000, 1_000_000]) {
        for (const [kind, count] of [
          ['service', 1],
          ['service', 2],
          ['personal', 1],
          ['personal', 2],
        ] as const) {
          const token = await tokenText(kind);
          for (const request of ['first', 'second', 'third']) {
            // A connection of its own: any worker may get it.
            using connection = new RawConnection(gateway());
            const bytes = bodyOf(endpoint, size);
            const framing = 'content-length';
            const sent = { endpoint, token, encoding: 'identity', framing, bytes, count, gapMs: 1 } as const;
            const { status, text } = await post(connection, sent);
            if (status !== 200)
              refused.push(`${request} (${kind}) of ${size} B in ${count} packets: ${status} ${text}`);
          }
        }
      }
      expect(refused).toEqual([]);
    });

    it('of a single byte is read unchanged', async () => {
      const token = await tokenText('personal');
      const types = { '1': 'invalid_request', '{': 'invalid_json' };
      for (const [text, code] of Object.entries(types)) {
        for (const framing of framings) {
          using connection = new RawConnection(gateway());
          const bytes = Buffer.from(text);
          const sent = { endpoint, token, encoding: 'identity', framing, bytes, count: 1, gapMs: 0 } as const;
          const answer = await post(connection, sent);
          expect(answer.status).toBe(400);
          expect(answer.json).toMatchObject({
            error: endpoint.path.startsWith('/v1/messages') ? { type: 'invalid_request_error' } : { code },
          });
        }
      }
    });
  });
}

interface Sent {
  readonly endpoint: Endpoint;
  readonly token: string;
  readonly encoding: string;
  readonly framing: (typeof framings)[number];
  readonly bytes: Buffer;
  /** The number of packets. */
  readonly count: number;
  readonly gapMs: number;
}

async function post(
  connection: RawConnection,
  { endpoint, token, encoding, framing, bytes, count, gapMs }: Sent,
): ReturnType<RawConnection['answer']> {
  const length: Record<string, string> =
    framing === 'chunked' ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(bytes.length) };
  const headers = { host: 'gateway', authorization: `Bearer ${token}`, 'content-encoding': encoding, ...length };
  connection.send(head(`POST ${endpoint.path}`, headers));
  const packetBytes = Math.ceil(bytes.length / count);
  for (let at = 0; at < bytes.length; at += packetBytes) {
    await pause(gapMs);
    const packet = bytes.subarray(at, at + packetBytes);
    connection.send(framing === 'chunked' ? chunkOf(packet) : packet);
  }
  if (framing === 'chunked') connection.send('0\r\n\r\n');
  return connection.answer();
}

/** Timers have whole milliseconds; a shorter gap is spent in turns of the event loop. */
async function pause(gapMs: number): Promise<void> {
  if (gapMs >= 1) return wait(gapMs);
  const endsAtMs = performance.now() + gapMs;
  while (performance.now() < endsAtMs) await new Promise((resolve) => setImmediate(resolve));
}

function chunkOf(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}

/** A body of exactly this size, whose text compresses about as well as prose. */
function bodyOf(endpoint: Endpoint, bytes: number): Buffer {
  const of = (text: string) => Buffer.from(JSON.stringify(longContent(endpoint.path, text)));
  return of(prose(bytes - of('').length));
}

function prose(length: number): string {
  let text = '';
  for (let n = 0; text.length < length; n += 1) text += `word${(n * 7_919) % 10_007} `;
  return text.slice(0, length);
}
