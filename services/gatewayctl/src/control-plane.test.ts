import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openUsagePlane } from './control-plane.ts';
import { isUnimplemented, servedBy } from './failures.ts';

const day = { firstDay: '2026-11-20', lastDay: '2026-11-20' };

describe('what the commands on usage work on', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatewayctl-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('is the database itself when no gateway runs', async () => {
    // Nothing listens at port 1.
    await using plane = await openUsagePlane({ ADMIN_PORT: '1', GATEWAY_DATA: folder });
    expect((await plane.report.reportUsage(day)).rows).toEqual([]);
    expect(await plane.ledger.reconcileDay({ localDay: '2026-11-20' })).toMatchObject({ eventsKept: true });
    expect((await plane.identity.list({})).tokens).toEqual([]);
    expect(plane).toMatchObject({ limiter: undefined, countersMayExist: false });
  });

  it('is the process at GATEWAY_ADMIN_URL, which may not serve it', async () => {
    await using server = await listen();
    await using plane = await openUsagePlane({ GATEWAY_ADMIN_URL: server.url });
    const failure: unknown = await plane.report.reportUsage(day).catch((thrown: unknown) => thrown);
    expect(isUnimplemented(failure)).toBe(true);
    await expect(servedBy('usage-query', plane.report.reportUsage(day))).rejects.toThrow(/admin port of usage-query/);
  });

  it('needs a URL for a limiter', async () => {
    const opening = openUsagePlane({ ADMIN_PORT: '1', GATEWAY_DATA: folder }, { limiter: 'localhost' });
    await expect(opening).rejects.toThrow(/--limiter is not a URL/);
    await expect(openUsagePlane({}, { identity: 'localhost' })).rejects.toThrow(/--identity is not a URL/);
  });
});

/** A server that has nothing of what it is asked for. */
async function listen() {
  const server = createServer((_request, response) => response.writeHead(404).end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // It listens on TCP.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
