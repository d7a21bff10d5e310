import { setTimeout as sleep } from 'node:timers/promises';
import { roomMs } from '@gateway/testkit/room';
import { describe, expect, it } from 'vitest';
import { messagesBody, relayHeaders, responsesBody } from '../client/relay.ts';
import { issueToken } from '../client/tokens.ts';
import { type UsageObject, usageOf } from '../client/usage.ts';
import type { Topology } from '../topologies/topology.ts';

const chatBody = (model: string, text: string) => ({ model, messages: [{ role: 'user', content: text }] });
const bearer = (token: string) => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' });

const cases = [
  {
    path: '/v1/chat/completions',
    headers: bearer,
    body: (text: string, stream: boolean) => ({ ...chatBody('gateway/leaving', text), stream }),
  },
  {
    path: '/v1/messages',
    headers: (token: string) => relayHeaders(token, '/v1/messages'),
    body: (text: string, stream: boolean) => messagesBody('gateway/leaving', text, { stream }),
  },
  {
    path: '/v1/responses',
    headers: bearer,
    body: (text: string) => responsesBody('gpt-leaving', text),
  },
] as const;

const dayBudget = 10_000_000;
const requests = 40;
/** The time after which an answer is complete. */
const answerMs = roomMs(12);

/**
 * Clients that hang up at any time: a request that reached a provider is recorded once, any other
 * is not.
 */
export function hangUpRacesBehaviour(gateway: () => Topology): void {
  describe.each(cases)('clients of $path that hang up', ({ path, headers, body }) => {
    const recordsOf = (marker: string) =>
      gateway()
        .simulator.requests()
        .filter((request) => Buffer.from(request.body).includes(marker));
    const ask = (token: string, text: string, stream = true) => {
      const controller = new AbortController();
      const response = fetch(`${gateway().baseUrl}${path}`, {
        method: 'POST',
        headers: headers(token),
        body: JSON.stringify(body(text, stream)),
        signal: controller.signal,
      });
      const over = response.then((answer) => answer.text()).catch(() => undefined);
      return { controller, over };
    };
    /** The usage once it has not changed for a while. */
    const settledUsage = async (token: string): Promise<UsageObject> => {
      for (let before = await usageOf(gateway(), token); ; ) {
        await sleep(roomMs(1_000));
        const now = await usageOf(gateway(), token);
        if (now.today.requests === before.today.requests && now.today.totalTokens === before.today.totalTokens)
          return now;
        before = now;
      }
    };

    it.each([
      ['streamed', true],
      ['in one piece', false],
    ])('before the first event have their input recorded: %s', async (_form, stream) => {
      const token = await issueToken(gateway(), { tokensPerDay: dayBudget });
      const marker = `silent-${crypto.randomUUID()}`;
      gateway().simulator.faults.add({ times: 1, fault: { kind: 'delay', beforeHeadersMs: 60_000 } });
      const { controller, over } = ask(token.text, `${marker} ${'word '.repeat(400)}`, stream);
      await expect.poll(() => recordsOf(marker)[0]?.faults, { interval: 20 }).toEqual(['delay']);
      controller.abort();
      await over;
      await expect.poll(() => recordsOf(marker)[0]?.outcome, { interval: 20 }).toBe('cancelled');
      const { today, limits } = await settledUsage(token.text);
      expect(today).toMatchObject({ requests: 1, outputTokens: 0 });
      // Two thousand characters, at about four for each token.
      expect(today.inputTokens).toBeGreaterThan(400);
      expect(today.inputTokens).toBeLessThan(700);
      expect(limits.tokensPerDay?.remaining).toBe(dayBudget - today.totalTokens);
    });

    it('before anything was sent to a provider are not recorded', async () => {
      const token = await issueToken(gateway(), { tokensPerDay: dayBudget });
      const marker = `unsent-${crypto.randomUUID()}`;
      const controller = new AbortController();
      const upload = new ReadableStream<Uint8Array>({
        start: (sink) => sink.enqueue(Buffer.from(`{"model":"gateway/leaving","metadata":"${marker}",`)),
      });
      const response = fetch(`${gateway().baseUrl}${path}`, {
        method: 'POST',
        headers: headers(token.text),
        body: upload,
        duplex: 'half',
        signal: controller.signal,
      });
      response.catch(() => undefined);
      await sleep(200);
      controller.abort();
      const { today, limits } = await settledUsage(token.text);
      expect(today).toMatchObject({ requests: 0, totalTokens: 0 });
      expect(limits.tokensPerDay?.remaining).toBe(dayBudget);
      expect(recordsOf(marker)).toEqual([]);
    });

    it('at any time, also as the answer ends, are each recorded once', async () => {
      const token = await issueToken(gateway(), { tokensPerDay: dayBudget });
      const marker = `racing-${crypto.randomUUID()}`;
      for (let n = 0; n < requests; n++) {
        const { controller, over } = ask(token.text, marker, n % 2 === 0);
        await sleep((n / requests) * 2 * answerMs);
        controller.abort();
        await over;
      }
      await expect.poll(() => recordsOf(marker).filter(({ outcome }) => outcome === 'running')).toEqual([]);
      const { today, limits } = await settledUsage(token.text);
      // A request that was cut off while it was sent may not reach the provider.
      expect(today.requests).toBeGreaterThanOrEqual(recordsOf(marker).length);
      expect(today.requests).toBeLessThanOrEqual(requests);
      // Each costs more than nothing, and none costs more than the whole answer.
      const [most] = recordsOf(marker).filter(({ outcome }) => outcome === 'completed');
      const ofOne = (most?.billed.inputTokens ?? 0) + (most?.billed.outputTokens ?? 0);
      expect(today.inputTokens).toBeGreaterThanOrEqual(today.requests * 5);
      if (most !== undefined) expect(today.totalTokens).toBeLessThanOrEqual(today.requests * (ofOne + 100));
      expect(limits.tokensPerDay?.remaining).toBe(dayBudget - today.totalTokens);
    });
  });
}
