import { createHmac } from 'node:crypto';
import { Secret } from '@gateway/config';
import { ManualTime } from '@gateway/time/simulated';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { alertReceiver } from '../__fixtures__/alert-receiver.ts';
import { AlertSender, mostAttempts } from './alert-sender.ts';
import type { AlertRow } from './alert-store.ts';
import type { Receiver } from './receiver.ts';

const nowMs = Date.parse('2026-11-27T10:00:00.500Z');
const key = Buffer.alloc(32, 'key');
const row: AlertRow = {
  ...{ alert_id: 'msg_1', receiver: 'ops', cause: 'c', period: 'day 2026-11-27', kind: 'budget', subject: 'g1' },
  ...{ text: 'The group <a> & co used 82 %.', link: '/tokens/t', details: '{"threshold":80}', state: 'waiting' },
  ...{ attempts: 1, answer: '', created_at_ms: nowMs - 5_000, due_at_ms: nowMs, ended_at_ms: null },
};

beforeEach(() => {
  const time = new ManualTime(nowMs);
  return () => time[Symbol.dispose]();
});

function senderTo(url: string, { format = 'json', ...more }: Partial<Receiver> = {}) {
  const proxies = { httpsProxy: '', httpProxy: '', noProxy: '' };
  const sender = new AlertSender({ proxies, publicUrl: 'https://admin.example' });
  onTestFinished(() => sender[Symbol.asyncDispose]());
  const receiver: Receiver = {
    name: 'ops',
    format,
    url: new Secret(url),
    secret: undefined,
    kinds: new Set(),
    ...more,
  };
  return (attempts = 1, signal = new AbortController().signal) =>
    sender.attempt({ ...row, attempts }, receiver, signal);
}

describe('a warning', () => {
  it('is a signed object, by the scheme of Standard Webhooks', async () => {
    const { url, received } = await alertReceiver();
    const send = senderTo(url, { secret: new Secret(`whsec_${key.toString('base64')}`) });
    expect(await send()).toEqual({ state: 'sent', answer: '200' });
    const [{ headers, body } = expect.fail()] = received;
    expect(JSON.parse(body)).toEqual({
      type: 'gateway.alert.budget',
      timestamp: '2026-11-27T09:59:55.500Z',
      data: {
        ...{ threshold: 80, subject: 'g1', period: 'day 2026-11-27', text: 'The group <a> & co used 82 %.' },
        url: 'https://admin.example/tokens/t',
      },
    });
    const timestamp = String(Math.floor(nowMs / 1_000));
    const signature = createHmac('sha256', key).update(`msg_1.${timestamp}.${body}`).digest('base64');
    expect(headers).toMatchObject({
      ...{ 'webhook-id': 'msg_1', 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` },
      'content-type': 'application/json',
    });
  });

  it('is a text for Slack, in which no name becomes a link or a mention', async () => {
    const { url, received } = await alertReceiver();
    await senderTo(url, { format: 'slack' })();
    expect(JSON.parse(received[0]?.body ?? '')).toEqual({
      text: 'The group &lt;a&gt; &amp; co used 82 %. <https://admin.example/tokens/t|Open the console>',
    });
    expect(received[0]?.headers).not.toHaveProperty('webhook-signature');
  });

  it.each([302, 400, 404, 410])('is not repeated, and follows nothing, after a status of %i', async (status) => {
    const { url, received } = await alertReceiver(status);
    expect(await senderTo(url)()).toEqual({ state: 'failed', answer: String(status) });
    expect(received).toHaveLength(1);
  });

  it.each([408, 429, 500, 503])(
    'is repeated after a status of %i, at growing intervals, until the last attempt',
    async (status) => {
      const { url } = await alertReceiver(...Array.from({ length: mostAttempts }, () => status));
      const send = senderTo(url);
      const leastMs = status === 429 ? 30_000 : 0;
      for (let attempt = 1; attempt < mostAttempts; attempt++) {
        const ending = await send(attempt);
        expect(ending).toMatchObject({ state: 'retry', answer: String(status) });
        const pauseMs = (ending.dueAtMs ?? 0) - nowMs;
        const usualMs = 2_000 * 2 ** (attempt - 1);
        expect(pauseMs).toBeGreaterThanOrEqual(Math.max(leastMs, usualMs * 0.75));
        expect(pauseMs).toBeLessThanOrEqual(Math.max(leastMs, usualMs * 1.25));
      }
      expect(await send(mostAttempts)).toEqual({ state: 'failed', answer: String(status) });
    },
  );

  it('is repeated if the receiver is away, without a part of its URL in the answer', async () => {
    expect(await senderTo('http://127.0.0.1:1/secret')()).toMatchObject({ state: 'retry', answer: 'ECONNREFUSED' });
  });

  it('has no ending if the process stops meanwhile: its claim ends later', async () => {
    const { url } = await alertReceiver();
    await expect(senderTo(url)(1, AbortSignal.abort(new Error('stopping')))).rejects.toThrow('stopping');
  });
});
