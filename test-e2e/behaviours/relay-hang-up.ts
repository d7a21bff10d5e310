import { roomMs } from '@gateway/testkit/room';
import { describe, expect, it } from 'vitest';
import { messagesBody, relayHeaders, responsesBody } from '../client/relay.ts';
import { issueToken } from '../client/tokens.ts';
import { usageOf } from '../client/usage.ts';
import type { Topology } from '../topologies/topology.ts';

const cases = [
  { path: '/v1/messages', account: 'leaving-a', make: messagesBody, model: 'gateway/leaving' },
  { path: '/v1/responses', account: 'responses-gpt-leaving-a', make: responsesBody, model: 'gpt-leaving' },
] as const;

/** Clients of a relay that hang up before the end. */
export function relayHangUpBehaviour(gateway: () => Topology): void {
  describe.each(cases)('a client of $path that hangs up', ({ path, account, make, model }) => {
    const lastRequest = () => gateway().simulator.requests({ account, path, limit: 1 })[0];
    const start = (token: string, text: string) => {
      const controller = new AbortController();
      const response = fetch(`${gateway().baseUrl}${path}`, {
        method: 'POST',
        headers: relayHeaders(token, path),
        body: JSON.stringify(make(model, text, { stream: true })),
        signal: controller.signal,
      });
      response.catch(() => undefined);
      return { controller, response };
    };
    const expectCancelled = async (leftAtMs: number) => {
      await expect.poll(() => lastRequest()?.outcome, { interval: 20 }).toBe('cancelled');
      expect((lastRequest()?.endedAtMs ?? Number.POSITIVE_INFINITY) - leftAtMs).toBeLessThan(roomMs(1_000));
    };

    it('mid-stream has its provider cancelled within a second and its usage recorded', async () => {
      const token = await issueToken(gateway(), { tokensPerDay: 1_000_000 });
      gateway().simulator.faults.add({ account, times: 1, fault: { kind: 'delay', betweenEventsMs: 20 } });
      const { controller, response } = start(token.text, '#long 900');
      const reader = (await response).body?.getReader();
      for (let n = 0; n < 4; n++) await reader?.read();
      const leftAtMs = Date.now();
      controller.abort();
      await expectCancelled(leftAtMs);

      await expect.poll(async () => (await usageOf(gateway(), token.text)).today.requests).toBe(1);
      const { today, limits } = await usageOf(gateway(), token.text);
      expect(today.inputTokens).toBeGreaterThan(0);
      expect(today.outputTokens).toBeGreaterThan(0);
      expect(today.outputTokens).toBeLessThan(900);
      expect(limits.tokensPerDay?.remaining).toBe(1_000_000 - today.totalTokens);
    });

    it('before the first byte has its provider cancelled as well', async () => {
      const token = await issueToken(gateway(), { kind: 'personal' });
      gateway().simulator.faults.add({ account, times: 1, fault: { kind: 'delay', beforeHeadersMs: 60_000 } });
      const seenId = lastRequest()?.id ?? 0;
      const { controller } = start(token.text, 'hello');
      await expect.poll(() => lastRequest()?.id ?? 0, { interval: 20 }).toBeGreaterThan(seenId);
      await expect.poll(() => lastRequest()?.faults, { interval: 20 }).toEqual(['delay']);
      const leftAtMs = Date.now();
      controller.abort();
      await expectCancelled(leftAtMs);
    });
  });
}
