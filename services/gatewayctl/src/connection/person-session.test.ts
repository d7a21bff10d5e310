import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { personToken, signInPerson } from './person-session.ts';

async function serve(listener: RequestListener) {
  const home = await mkdtemp(join(tmpdir(), 'gatewayctl-person-'));
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await rm(home, { recursive: true, force: true });
  });
  return { env: { HOME: home }, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** Limits of time end at once. */
function withoutPatience() {
  const usual = AbortSignal.timeout.bind(AbortSignal);
  const spy = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => usual(1_000));
  onTestFinished(() => spy.mockRestore());
  return spy;
}

const grant = { device_code: 'd', user_code: 'ABCD-EFGH', verification_uri: 'http://x', expires_in: 600, interval: 0 };
const tokens = { access_token: 'a', refresh_token: 'r', expires_in: 3_600, email: 'dana@example.test' };

describe('the sign-in of a person', () => {
  it('says that the gateway is slow, not that its address is wrong', async () => {
    withoutPatience();
    const { env, url } = await serve(() => undefined);
    await expect(signInPerson(env, url, () => undefined)).rejects.toThrow(
      `${url} did not answer within 30 s. Try again.`,
    );
  });

  it('names the cause when there is no connection', async () => {
    const { env } = await serve(() => undefined);
    const url = 'http://127.0.0.1:1';
    await expect(signInPerson(env, url, () => undefined)).rejects.toThrow(/can't be reached \(.*\)\. Set GATEWAY_URL/);
  });

  it('goes on after a poll that was not answered in time', async () => {
    let polls = 0;
    const { env, url } = await serve((request, response) => {
      const isPoll = request.url === '/oauth/token';
      if (isPoll) polls += 1;
      if (isPoll && polls === 1) return;
      response.setHeader('content-type', 'application/json').end(JSON.stringify(isPoll ? tokens : grant));
    });
    withoutPatience();
    expect((await signInPerson(env, url, () => undefined)).email).toBe('dana@example.test');
    expect(polls).toBe(2);
    expect(await personToken(env, url)).toBe('a');
  });
});
