import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { RawClient } from '../http/__fixtures__/raw-client.ts';
import { AnswerBody, type ByteSource } from './answer-body.ts';

const question = 'POST / HTTP/1.1\r\nHost: gateway\r\nContent-Length: 0\r\n\r\n';
const closing = question.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');

const tireless: ByteSource = { pause: () => undefined, resume: () => undefined };

describe('AnswerBody', () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close().closeAllConnections();
  });

  async function serve(listener: RequestListener): Promise<number> {
    const server = createServer(listener);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  }

  function begin(response: ServerResponse, status = 200, source: ByteSource = tireless): AnswerBody {
    response.writeHead(status, ['content-type', 'text/event-stream']);
    return new AnswerBody(response, source);
  }

  it('carries any bytes in any pieces, at any time, and leaves the connection free for the next request', async () => {
    const piece = fc.uint8Array({ maxLength: 40 });
    const large = fc.integer({ min: 3_900, max: 70_000 }).map((length) => new Uint8Array(length).fill(length));
    const pieces = fc.array(fc.record({ bytes: fc.oneof(piece, large), inNewTurn: fc.boolean() }), { maxLength: 12 });
    let current: readonly { readonly bytes: Uint8Array; readonly inNewTurn: boolean }[] = [];
    let last: Uint8Array = new Uint8Array();
    const port = await serve(async (_request, response) => {
      const body = begin(response);
      for (const { bytes, inNewTurn } of current) {
        if (inNewTurn) await new Promise((resolve) => setImmediate(resolve));
        body.write(bytes);
      }
      body.end(last);
    });
    await fc.assert(
      fc.asyncProperty(pieces, fc.oneof(piece, large), async (some, end) => {
        current = some;
        last = end;
        const response = await fetch(`http://127.0.0.1:${port}`, { method: 'POST' });
        const expected = Buffer.concat([...some.map(({ bytes }) => bytes), end]);
        expect(Buffer.from(await response.arrayBuffer()).equals(expected)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it('sends chunks as HTTP/1.1 has them, one after the other, and the empty one last', async () => {
    const port = await serve((_request, response) => {
      const body = begin(response);
      body.write(Buffer.from('first'));
      body.write(new Uint8Array());
      setImmediate(() => {
        body.write(Buffer.from('the second of them'));
        setImmediate(() => body.end(Buffer.from('third')));
      });
    });
    using client = new RawClient(port);
    const text = await client.send(question).until('0\r\n\r\n');
    expect(text).toMatch(/\r\nTransfer-Encoding: chunked\r\n/);
    expect(text.slice(text.indexOf('\r\n\r\n') + 4)).toBe(
      '5\r\nfirst\r\n12\r\nthe second of them\r\n5\r\nthird\r\n0\r\n\r\n',
    );
  });

  it('sends a client of HTTP/1.0 the bytes alone, and then closes', async () => {
    const port = await serve((_request, response) => {
      const body = begin(response);
      body.write(Buffer.from('first,'));
      setImmediate(() => body.end(Buffer.from('last')));
    });
    using client = new RawClient(port);
    const text = await client.send('POST / HTTP/1.0\r\nContent-Length: 0\r\n\r\n').answer();
    expect(text).not.toMatch(/transfer-encoding/i);
    expect(text.slice(text.indexOf('\r\n\r\n') + 4)).toBe('first,last');
  });

  it('closes after the last chunk when the client asked for that', async () => {
    const port = await serve((_request, response) => begin(response).end(Buffer.from('all')));
    using client = new RawClient(port);
    const text = await client.send(closing).answer();
    expect(text).toMatch(/3\r\nall\r\n0\r\n\r\n$/);
  });

  it('sends no body where there is none', async () => {
    const port = await serve((request, response) => {
      const body = begin(response, request.method === 'HEAD' ? 200 : 204);
      body.write(Buffer.from('not to be sent'));
      body.end(Buffer.from('nor this'));
    });
    using head = new RawClient(port);
    head.send('HEAD / HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n');
    expect(await head.answer()).toMatch(/\r\n\r\n$/);
    using none = new RawClient(port);
    expect(await none.send(closing).answer()).toMatch(/^HTTP\/1\.1 204 [\s\S]*\r\n\r\n$/);
  });

  it('keeps answers of pipelined requests in the order of the requests', async () => {
    const bodies: AnswerBody[] = [];
    const port = await serve((_request, response) => {
      bodies.push(begin(response));
      if (bodies.length < 2) return;
      // The second is there as a whole before the first has begun, and goes on after it.
      const [first, second] = bodies;
      second?.write(Buffer.from('b1'));
      setImmediate(() => {
        second?.write(Buffer.from('b2'));
        first?.write(Buffer.from('a1'));
        setImmediate(() => {
          first?.end(Buffer.from('a2'));
          setImmediate(() => second?.end(Buffer.from('b3')));
        });
      });
    });
    using client = new RawClient(port);
    const text = await client.send(question + question).until('2\r\nb3\r\n0\r\n\r\n');
    const bare = text.replace(/HTTP\/1\.1 200[\s\S]*?\r\n\r\n/g, '|');
    expect(bare).toBe('|2\r\na1\r\n2\r\na2\r\n0\r\n\r\n|2\r\nb1\r\n2\r\nb2\r\n2\r\nb3\r\n0\r\n\r\n');
  });

  it('sends what is written in one turn as one chunk', async () => {
    const port = await serve((_request, response) => {
      const body = begin(response);
      for (const text of ['a', 'b', 'c']) body.write(Buffer.from(text));
      setImmediate(() => {
        for (const text of ['d', 'e']) body.write(Buffer.from(text));
        body.end(Buffer.from('f'));
      });
    });
    using client = new RawClient(port);
    const text = await client.send(question).until('0\r\n\r\n');
    expect(text).toMatch(/\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n$/);
  });

  it('pauses its source while the client reads slower than we write, once, and then goes on', async () => {
    const paused = Promise.withResolvers<void>();
    const told: string[] = [];
    let count = 0;
    const port = await serve((_request, response) => {
      const source: ByteSource = {
        pause() {
          told.push('paused');
          // As frames that are on their way already.
          body.write(new Uint8Array(60_000));
          count += 1;
          paused.resolve();
        },
        resume() {
          told.push('resumed');
          body.end(new Uint8Array(1));
        },
      };
      const body = begin(response, 200, source);
      const write = () => {
        if (told.length > 0) return;
        body.write(new Uint8Array(60_000));
        count += 1;
        setImmediate(write);
      };
      write();
    });
    const response = await fetch(`http://127.0.0.1:${port}`, { method: 'POST' });
    await paused.promise;
    expect((await response.arrayBuffer()).byteLength).toBe(count * 60_000 + 1);
    expect(told).toEqual(['paused', 'resumed']);
  });

  it('writes nothing to a connection that is gone', async () => {
    const closed = Promise.withResolvers<void>();
    const port = await serve((_request, response) => {
      const body = begin(response);
      body.write(Buffer.from('first'));
      response.on('close', () => {
        body.write(Buffer.from('second'));
        setImmediate(() => {
          body.write(Buffer.from('third'));
          body.end(Buffer.from('last'));
          closed.resolve();
        });
      });
    });
    using client = new RawClient(port);
    await client.send(question).until('first');
    client.reset();
    await closed.promise;
    expect(client.text).toMatch(/first\r\n$/);
  });
});
