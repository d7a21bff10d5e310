import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { gather, requestFrames, startAdapter } from './__fixtures__/adapter-under-test.ts';

/** What the adapter reports of an answer by a provider whose clock is ahead of this machine's. */
async function reportOf(aheadMs: number, answer: (response: ServerResponse, inSeconds: (s: number) => number) => void) {
  const nowMs = () => Date.now() + aheadMs;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.setHeader('date', new Date(nowMs()).toUTCString());
      answer(response, (seconds) => Math.round(nowMs() / 1_000) + seconds);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  const adapter = startAdapter(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => adapter[Symbol.asyncDispose]());
  const body = JSON.stringify({ model: 'gpt-5.5', stream: true, input: 'Hi.' });
  const { outcome } = await gather(adapter.client.execute(requestFrames({ dialect: Dialect.RESPONSES, body })));
  return outcome?.attempt ?? expect.fail('there is no report');
}

const about = (milliseconds: number, actual: number | undefined) =>
  expect(Math.abs((actual ?? Number.NaN) - milliseconds)).toBeLessThanOrEqual(10_000);

describe.each([0, 600_000, -600_000])('a provider whose clock is %i ms ahead', (aheadMs) => {
  it('names an end in its error', async () => {
    const { retryAfterMs } = await reportOf(aheadMs, (response, inSeconds) => {
      const error = { type: 'usage_limit_reached', message: '', resets_at: inSeconds(3_600) };
      response.writeHead(429, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
    });
    about(3_600_000, retryAfterMs);
  });

  it('names a date to retry after', async () => {
    const { retryAfterMs } = await reportOf(aheadMs, (response, inSeconds) => {
      response.writeHead(429, { 'retry-after': new Date(inSeconds(120) * 1_000).toUTCString() }).end('{}');
    });
    about(120_000, retryAfterMs);
  });

  it('names a duration', async () => {
    const { retryAfterMs } = await reportOf(aheadMs, (response) => {
      response.writeHead(429, { 'retry-after': '120' }).end('{}');
    });
    about(120_000, retryAfterMs);
  });

  it('names the reset of a window in its headers, and a later one in an event', async () => {
    const { windows } = await reportOf(aheadMs, (response, inSeconds) => {
      const primary = { used_percent: 40, window_minutes: 10_080, reset_at: inSeconds(86_400) };
      const events = [
        { type: 'codex.rate_limits', rate_limits: { primary } },
        { type: 'response.completed', response: { id: 'r', status: 'completed', output: [] } },
      ];
      response.writeHead(200, {
        'content-type': 'text/event-stream',
        'x-codex-primary-used-percent': '50',
        'x-codex-primary-window-minutes': '300',
        'x-codex-primary-reset-at': `${inSeconds(7_200)}`,
      });
      response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
    });
    const afterMs = new Map(windows.map(({ name, resetsAfterMs }) => [name, resetsAfterMs]));
    about(7_200_000, afterMs.get('5h'));
    about(86_400_000, afterMs.get('7d'));
  });
});
