import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { chat, eventsOf } from '../client/chat.ts';
import { issueToken } from '../client/tokens.ts';
import { usageOf } from '../client/usage.ts';
import type { Topology } from '../topologies/topology.ts';

/** Accounts that are limited or down: the client sees one clean answer, or one clear error. */
export function failoverBehaviour(gateway: () => Topology): void {
  describe('when a provider fails', () => {
    let token = '';
    beforeAll(async () => {
      token = (await issueToken(gateway(), { kind: 'personal' })).text;
    });

    const requestsTo = (account: string) => gateway().simulator.requests({ account, path: '/v1/responses' });
    const accountsOf = (pool: string, letters: readonly string[]) => letters.map((letter) => `${pool}-${letter}`);
    /** Sends a request in a session and returns the account that answered it. */
    const accountOfSession = async (session: string, model: string, accounts: readonly string[]) => {
      const counts = accounts.map((account) => requestsTo(account).length);
      const { status } = await chat(gateway(), token, { model }, { headers: { 'session-id': session } });
      expect(status).toBe(200);
      return accounts.find((account, index) => requestsTo(account).length > (counts[index] ?? 0)) ?? 'none';
    };

    it('keeps a session on one account', async () => {
      const accounts = accountsOf('sticky', ['a', 'b', 'c']);
      const session = randomUUID();
      const first = await accountOfSession(session, 'gateway/sticky', accounts);
      for (let n = 0; n < 4; n++) expect(await accountOfSession(session, 'gateway/sticky', accounts)).toBe(first);
    });

    it('moves to the next account when the first is limited, and the client sees one clean answer', async () => {
      const accounts = accountsOf('rotating', ['a', 'b']);
      const session = randomUUID();
      const first = await accountOfSession(session, 'gateway/rotating', accounts);
      gateway().simulator.faults.add({
        account: first,
        fault: { preset: 'rate_limited_retry_after', resetAfterSeconds: 600 },
      });
      const headers = { 'session-id': session };
      const { status, text } = await chat(gateway(), token, { model: 'gateway/rotating', stream: true }, { headers });
      expect(status).toBe(200);
      expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
      expect(text).not.toContain('error');
      expect(requestsTo(first).at(-1)).toMatchObject({ status: 429 });
      const tried = requestsTo(first).length;
      for (let n = 0; n < 3; n++)
        expect((await chat(gateway(), token, { model: 'gateway/rotating' })).status).toBe(200);
      expect(requestsTo(first)).toHaveLength(tried);
    });

    it('moves to the next candidate when the first is down', async () => {
      gateway().simulator.faults.add({ account: 'down-a', fault: { kind: 'reset' } });
      const { status, headers, json } = await chat(gateway(), token, { model: 'gateway/failover' });
      expect(status).toBe(200);
      expect(headers.get('x-gateway-provider')).toBe('provider_b');
      expect(headers.get('x-gateway-model')).toBe('claude-sonnet-5');
      expect(json).toMatchObject({ model: 'claude-sonnet-5' });
    });

    it('moves on when the error comes inside a 200, before any content', async () => {
      const accounts = accountsOf('sticky', ['a', 'b', 'c']);
      const session = randomUUID();
      const first = await accountOfSession(session, 'gateway/sticky', accounts);
      gateway().simulator.faults.add({ account: first, times: 1, fault: { kind: 'error_event', afterEvents: 2 } });
      const second = await chat(
        gateway(),
        token,
        { model: 'gateway/sticky', stream: true },
        { headers: { 'session-id': session } },
      );
      expect(second.status).toBe(200);
      expect(second.text.endsWith('data: [DONE]\n\n')).toBe(true);
      expect(eventsOf(second.text).filter((event) => JSON.stringify(event).includes('"role"'))).toHaveLength(1);
    });

    it('answers 429 pool_exhausted with the earliest reset when every account is limited', async () => {
      const { faults } = gateway().simulator;
      faults.add({ account: 'exhausted-a', fault: { preset: 'rate_limited_retry_after', resetAfterSeconds: 300 } });
      faults.add({ account: 'exhausted-b', fault: { preset: 'usage_limit_reached', resetAfterSeconds: 120 } });
      const before = Date.now();
      for (const stream of [true, false]) {
        const { status, headers, json } = await chat(gateway(), token, { model: 'gateway/exhausted', stream });
        expect(status).toBe(429);
        expect(json).toEqual({
          error: { code: 'pool_exhausted', message: expect.any(String), retryAt: expect.any(String) },
        });
        const retryAtMs = Date.parse((json as { error: { retryAt: string } }).error.retryAt);
        expect(retryAtMs).toBeGreaterThan(before + 110_000);
        expect(retryAtMs).toBeLessThan(Date.now() + 130_000);
        const retryAfterSeconds = Number(headers.get('retry-after'));
        expect(retryAfterSeconds).toBeGreaterThan(100);
        expect(retryAfterSeconds).toBeLessThanOrEqual(121);
      }
    });

    it('answers 503 and when to retry while one account is limited and the other fails, and serves the retry', async () => {
      const { faults } = gateway().simulator;
      const rules = [
        { account: 'mixed-a', fault: { preset: 'rate_limited_retry_after', resetAfterSeconds: 2_100 } },
        { account: 'mixed-b', times: 1, fault: { kind: 'status', status: 500 } },
      ] as const;
      for (const rule of rules) faults.add(rule);
      const { status, headers, json } = await chat(gateway(), token, { model: 'gateway/mixed' });
      expect(status).toBe(503);
      expect(json).toEqual({ error: { code: 'providers_unavailable', message: expect.any(String) } });
      expect(headers.get('retry-after')).toBe('1');
      expect((await chat(gateway(), token, { model: 'gateway/mixed' })).status).toBe(200);
    });

    it('tells the client once and ends when the answer breaks off in the middle', async () => {
      const service = await issueToken(gateway(), { tokensPerDay: 1_000_000 });
      gateway().simulator.faults.add({ account: 'breaking-a', times: 1, fault: { kind: 'reset', afterEvents: 8 } });
      const messages = [{ role: 'user', content: 'a story #long 100' }];
      const { status, text } = await chat(gateway(), service.text, {
        model: 'gateway/breaking',
        messages,
        stream: true,
      });
      expect(status).toBe(200);
      const events = eventsOf(text);
      expect(events.length).toBeGreaterThan(1);
      expect(events.at(-1)).toEqual({ error: { code: 'providers_unavailable', message: expect.any(String) } });
      expect(text).not.toContain('[DONE]');
      expect(events.filter((event) => JSON.stringify(event).includes('"error"'))).toHaveLength(1);
      const { today } = await usageOf(gateway(), service.text);
      expect(today.requests).toBe(1);
      expect(today.inputTokens).toBeGreaterThan(0);
      expect(today.outputTokens).toBeGreaterThan(0);
    });

    it("passes on a refusal of the request with the provider's status, once, and without its words", async () => {
      const { faults, requests } = gateway().simulator;
      for (const account of accountsOf('rejecting', ['a', 'b']))
        faults.add({ account, fault: { preset: 'too_large' } });
      const { status, json, text } = await chat(gateway(), token, { model: 'gateway/rejecting' });
      expect(status).toBe(413);
      expect(json).toEqual({ error: { code: 'upstream_rejected', message: expect.any(String) } });
      expect(text).not.toContain('maximum size');
      const tried = accountsOf('rejecting', ['a', 'b']).flatMap((account) =>
        requests({ account, path: '/v1/responses' }),
      );
      expect(tried).toHaveLength(1);
    });
  });
}
