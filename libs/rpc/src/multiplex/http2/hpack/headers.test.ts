import { once } from 'node:events';
import { connect as connectHttp2, createServer as createHttp2Server, type IncomingHttpHeaders } from 'node:http2';
import { type AddressInfo, connect, createServer } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameReader } from '../frame-reader.ts';
import { headersFrame, settingsAckFrame, settingsFrame } from '../frames.ts';
import { HeaderBlocks } from '../header-blocks.ts';
import { ConnectionError, clientPreface, errorCode, frameType } from '../protocol.ts';
import { HeaderDecoder } from './header-decoder.ts';
import { encodeHeaders } from './header-encoder.ts';

const letters = 'abcdefghijklmnopqrstuvwxyz0123456789-'.split('');
const name = fc.string({ unit: fc.constantFrom(...letters), minLength: 1, maxLength: 20 }).map((text) => `x-${text}`);
/** Few values, so that they come again and are referred to; any bytes that a header may have; and long ones. */
const value = fc.oneof(
  fc.constantFrom('one', 'two', 'application/grpc'),
  fc.string({
    unit: fc
      .integer({ min: 0x21, max: 0xff })
      .filter((byte) => byte !== 0x7f)
      .map((byte) => String.fromCharCode(byte)),
  }),
  fc.integer({ min: 0, max: 3_000 }).map((length) => 'v'.repeat(length)),
);
const headers = fc.dictionary(name, value, { maxKeys: 8, noNullPrototype: true });

describe('header blocks that Node writes', () => {
  it('are read as they were meant, over many requests and whatever room the table has', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(headers, { minLength: 1, maxLength: 6 }),
        fc.constantFrom(undefined, 0, 100, 4_096),
        async (requests, tableBytes) => {
          expect(await asRead(requests, tableBytes)).toEqual(requests);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('header blocks that are written here', () => {
  it('are read by Node as they were meant', async () => {
    await fc.assert(
      fc.asyncProperty(headers, async (fields) => {
        expect(ownFieldsOf(await asReadByNode(fields))).toEqual(fields);
      }),
      { numRuns: 60 },
    );
  });

  it('are read here as they were meant', () => {
    fc.assert(
      fc.property(headers, (fields) => {
        const list = Object.entries(fields).map(([name, value]) => ({ name, value }));
        expect(Object.fromEntries(new HeaderDecoder().decode(encodeHeaders(list)))).toEqual(fields);
      }),
    );
  });
});

describe('a header block', () => {
  it.each([
    ['refers to a field that is not there', 'be'],
    ['refers to no field', '80'],
    ['ends within a number', '7f'],
    ['ends within a string', '000361'],
    ['has a number beyond all bounds', '7fffffffffff7f'],
    ['has a number without an end', '7f80808080808080808080808000'],
    ['makes the table larger than it may be', '3fe21f'],
    ['resizes the table after a field', '8220'],
  ])('is refused when it %s', (_, hex) => {
    expect(() => new HeaderDecoder().decode(Buffer.from(hex, 'hex'))).toThrow(
      expect.objectContaining({ name: 'ConnectionError', code: errorCode.compressionError }),
    );
  });

  it('is refused when a few bytes of it stand for many', () => {
    const decoder = new HeaderDecoder();
    const large = Buffer.concat([Buffer.from('40016b7fd10f', 'hex'), Buffer.alloc(2_128, 'v')]);
    expect([...decoder.decode(large)]).toEqual([['k', 'v'.repeat(2_128)]]);
    expect(() => decoder.decode(Buffer.alloc(100, 0xbe))).toThrow(ConnectionError);
  });

  it('is never read beyond its end, whatever its bytes are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          new HeaderDecoder().decode(Buffer.from(bytes));
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(ConnectionError);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

/** The fields of requests that Node's client has sent on one connection. */
async function asRead(requests: readonly IncomingHttpHeaders[], tableBytes: number | undefined) {
  const read: Record<string, string>[] = [];
  const all = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    const blocks = new HeaderBlocks();
    const reader = new FrameReader(
      {
        onDataBegin: () => undefined,
        onData: () => undefined,
        onDataEnd: () => undefined,
        onFrame: (frame) => {
          if (frame.type !== frameType.headers && frame.type !== frameType.continuation) return;
          const complete = blocks.onFrame(frame);
          if (complete !== undefined) read.push(ownFieldsOf(Object.fromEntries(complete.fields)));
          if (read.length === requests.length) all.resolve();
        },
      },
      { maxFrameBytes: 16_384, maxControlBytes: 16_384 },
    );
    let opening = clientPreface.length;
    socket.on('error', () => undefined);
    socket.on('data', (bytes: Buffer) => {
      const skipped = Math.min(opening, bytes.length);
      opening -= skipped;
      reader.read(bytes.subarray(skipped));
    });
    socket.write(Buffer.concat([settingsFrame(tableBytes === undefined ? [] : [[1, tableBytes]]), settingsAckFrame]));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connectHttp2(`http://127.0.0.1:${portOf(server.address())}`);
  await once(client, 'remoteSettings');
  for (const fields of requests) client.request(fields).on('error', () => undefined);
  await all.promise;
  client.destroy();
  server.close();
  return read;
}

/** The fields as Node's server sees them. */
async function asReadByNode(fields: Readonly<Record<string, string>>): Promise<IncomingHttpHeaders> {
  const server = createHttp2Server().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect(portOf(server.address()), '127.0.0.1');
  const list = { ':method': 'GET', ':scheme': 'http', ':path': '/', ':authority': 'here', ...fields };
  const block = encodeHeaders(Object.entries(list).map(([name, value]) => ({ name, value })));
  socket.write(Buffer.concat([clientPreface, settingsFrame([]), headersFrame(1, block, true)]));
  const [, headers] = await once(server, 'stream');
  socket.destroy();
  server.close();
  return headers;
}

function ownFieldsOf(fields: IncomingHttpHeaders | Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (name.startsWith('x-') ? [[name, String(value)]] : [])),
  );
}

function portOf(address: string | AddressInfo | null): number {
  return typeof address === 'object' && address !== null ? address.port : 0;
}
