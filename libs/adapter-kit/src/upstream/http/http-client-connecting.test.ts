import { setImmediate as nextTurn, setTimeout as passed } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FullListener, startFullListener } from '../../__fixtures__/full-listener.ts';
import { RecordedResponse } from '../../__fixtures__/recorded-response.ts';
import { HttpClient } from './http-client.ts';
import type { HttpCall } from './http-exchange.ts';

const connectTimeoutMs = 200;
let listener: FullListener;
let client: HttpClient;
let openBefore = 0;

beforeEach(async () => {
  listener = await startFullListener();
  client = new HttpClient(connectTimeoutMs);
  openBefore = openSockets();
});

afterEach(async () => {
  client[Symbol.dispose]();
  await listener[Symbol.asyncDispose]();
});

describe('a connection that is not made', () => {
  // Timers that are due in one turn fire in their order: how busy the machine is makes no difference here.
  it('breaks its call off when its time has passed, not before, and is given up', async () => {
    const { response } = send();
    await passed(connectTimeoutMs - 50);
    expect(response.isOver).toBe(false);
    expect(openSockets()).toBe(openBefore + 1);
    await Promise.race([response.over(), passed(2 * connectTimeoutMs)]);
    expect(response.error).toMatchObject({ name: 'UpstreamError', kind: 'timeout' });
    await expect.poll(openSockets).toBe(openBefore);
  });

  it.each(['at once', 'while it waits'])('is given up with its call, of which nothing is told: %s', async (when) => {
    const { call, response } = send();
    expect(openSockets()).toBe(openBefore + 1);
    if (when === 'while it waits') await passed(connectTimeoutMs - 100);
    call.abort();
    await nextTurn();
    await nextTurn();
    expect(openSockets()).toBe(openBefore);
    await passed(2 * connectTimeoutMs);
    expect(response).toMatchObject({ status: undefined, isOver: false });
  });

  it('is given up with its client', async () => {
    const { response } = send();
    client[Symbol.dispose]();
    expect(response.error).toMatchObject({ kind: 'network' });
    await expect.poll(openSockets).toBe(openBefore);
  });
});

function send(): { readonly call: HttpCall; readonly response: RecordedResponse } {
  const response = new RecordedResponse();
  const request = { method: 'POST', path: '/', headers: {}, body: '{}' } as const;
  return { call: client.send(listener.origin, request, response), response };
}

/** Sockets of this process, those that are being connected too. */
function openSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
}
