import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type RawServer, startRawServer } from '../__fixtures__/raw-server.ts';
import { createUpstream, record, requestTo } from '../__fixtures__/upstream-under-test.ts';
import type { UpstreamClient } from './upstream-client.ts';

const continues = 'HTTP/1.1 100 Continue\r\n\r\n';
const withFields = 'HTTP/1.1 100 Continue\r\ndate: today\r\nx-proxy: a\r\n\r\n';
const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n';
const processing = 'HTTP/1.1 102 Processing\r\n\r\n';
/** Its body looks like what is skipped. */
const answer = `HTTP/1.1 200 OK\r\ncontent-length: ${continues.length}\r\n\r\n${continues}`;

describe('unasked informational answers', () => {
  let server: RawServer;
  let upstream: UpstreamClient;
  beforeEach(async () => {
    server = await startRawServer();
    upstream = createUpstream();
  });
  afterEach(async () => {
    await upstream[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  it.each([
    ['one', continues],
    ['one with fields', withFields],
    ['several', continues + withFields + continues],
    ['one before and after others', continues + hints + continues + processing],
    ['others', processing + hints],
  ])('are skipped in any pieces, on a new and a used connection: %s', async (_which, before) => {
    for (const pieceBytes of [1_000, 1, 7, 26]) {
      server.onData = async (socket, received) => {
        if (!received.endsWith('{}')) return;
        const bytes = before + answer;
        for (let at = 0; at < bytes.length; at += pieceBytes) {
          socket.write(bytes.slice(at, at + pieceBytes));
          await sleep(pieceBytes === 1 ? 0 : 1);
        }
      };
      expect(await record(upstream.send(requestTo(server.origin)))).toMatchObject({ status: 200, body: continues });
    }
    expect(server.sockets.length).toBeLessThan(4);
  });

  it('are skipped before the request has arrived as a whole', async () => {
    let isGreeted = false;
    server.onData = (socket, received) => {
      if (!isGreeted) socket.write(continues);
      isGreeted = true;
      if (received.endsWith('end')) socket.write(answer);
    };
    const body = [Buffer.alloc(3_000_000, 'x'), Buffer.from('end')];
    expect(await record(upstream.send(requestTo(server.origin, { body })))).toMatchObject({ status: 200 });
  });

  it('are the end of it when nothing follows', async () => {
    server.onData = (socket) => socket.end(continues);
    expect((await record(upstream.send(requestTo(server.origin)))).error?.kind).toBe('network');
    server.onData = (socket) => socket.end(continues.slice(0, -2));
    expect((await record(upstream.send(requestTo(server.origin)))).error?.kind).toBe('network');
  });
});
