import { describe, expect, it } from 'vitest';
import { chat } from '../client/chat.ts';
import { head, RawConnection } from '../client/raw-http.ts';
import { issueToken } from '../client/tokens.ts';
import { usageOf } from '../client/usage.ts';
import type { Topology } from '../topologies/topology.ts';

interface CompletionUsage {
  readonly usage: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly prompt_tokens_details: { readonly cached_tokens: number };
  };
}

/** `GET /v1/usage`. @see spec "GET /v1/usage" */
export function usageBehaviour(gateway: () => Topology): void {
  describe('usage', () => {
    /** The queries of the edge that the ledger has answered. */
    const queriesMade = async () => {
      using connection = new RawConnection({ baseUrl: gateway().edgeAdminUrl });
      const { text } = await connection.send(head('GET /metrics', { host: 'localhost' })).answer();
      const samples = text.split('\n').filter((line) => line.startsWith('rpc_client_call_duration_seconds_count{'));
      const ofUsage = samples.filter((line) => line.includes('UsageQueryService/GetUsage'));
      return ofUsage.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
    };

    it("shows a request in the caller's next look, by provider and model, largest first", async () => {
      const token = await issueToken(gateway(), { requestsPerMinute: 100, tokensPerDay: 1_000_000 });
      const small = await chat(gateway(), token.text, { model: 'gateway/snel' });
      const messages = [{ role: 'user', content: 'please #long 200 #cached 3' }];
      const large = await chat(gateway(), token.text, { model: 'gateway/claude', messages });
      const of = ({ json }: { json: unknown }) => (json as CompletionUsage).usage;
      const totals = [large, small].map((answer) => ({
        requests: 1,
        inputTokens: of(answer).prompt_tokens,
        cachedTokens: of(answer).prompt_tokens_details.cached_tokens,
        outputTokens: of(answer).completion_tokens,
        totalTokens: of(answer).prompt_tokens + of(answer).completion_tokens,
      }));
      const sum = (key: keyof (typeof totals)[number]) => totals.reduce((total, entry) => total + entry[key], 0);

      const usage = await usageOf(gateway(), token.text);
      const expected = {
        since: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        requests: 2,
        inputTokens: sum('inputTokens'),
        cachedTokens: sum('cachedTokens'),
        outputTokens: sum('outputTokens'),
        totalTokens: sum('totalTokens'),
        byModel: [
          { provider: 'provider_b', model: 'claude-sonnet-5', ...totals[0] },
          { provider: 'provider_a', model: 'gpt-5.5-mini', ...totals[1] },
        ],
      };
      expect(totals[0]?.cachedTokens).toBeGreaterThan(0);
      expect(usage).toEqual({
        object: 'usage',
        token: { kind: 'service', label: 'e2e' },
        timezone: 'Europe/Amsterdam',
        today: expected,
        last7Days: expected,
        limits: {
          requestsPerMinute: { limit: 100, remaining: 98, resetsAt: expect.any(String) },
          tokensPerDay: { limit: 1_000_000, remaining: 1_000_000 - sum('totalTokens'), resetsAt: expect.any(String) },
        },
      });
    });

    it('shows every one of many requests, however they were answered', async () => {
      const token = await issueToken(gateway(), { kind: 'personal' });
      const models = ['gateway/snel', 'gateway/claude', 'gateway/sterk'];
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, n) =>
          chat(gateway(), token.text, { model: models[n % 3], stream: n % 2 === 0 }),
        ),
      );
      expect(answers.every(({ status }) => status === 200)).toBe(true);
      expect((await usageOf(gateway(), token.text)).today.requests).toBe(30);
    });

    it('does not count refused requests, and costs nothing itself', async () => {
      const token = await issueToken(gateway(), { requestsPerMinute: 3 });
      await chat(gateway(), token.text, { model: 'gateway/nothing' });
      await chat(gateway(), token.text, { model: 'gateway/snel', messages: [] });
      for (let n = 0; n < 5; n++) {
        const usage = await usageOf(gateway(), token.text);
        expect(usage.today).toMatchObject({ requests: 0, totalTokens: 0, byModel: [] });
        expect(usage.limits.requestsPerMinute).toMatchObject({ limit: 3, remaining: 1 });
        expect(usage.limits.tokensPerDay).toBeNull();
      }
    });

    it('asks the ledger once at a time for a token, however often it is asked, and misses no request that has completed', async () => {
      const token = await issueToken(gateway(), { kind: 'personal' });
      const queriesBefore = await queriesMade();
      let asked = 0;
      let completed = 0;
      let isDone = false;
      const look = async () => {
        const least = completed;
        asked += 1;
        expect((await usageOf(gateway(), token.text)).today.requests).toBeGreaterThanOrEqual(least);
      };
      const lookers = Array.from({ length: 40 }, async () => {
        while (!isDone) {
          // A client that shares the query and hangs up does not affect the others.
          using leaving = new RawConnection(gateway());
          leaving.send(head('GET /v1/usage', { host: 'gateway', authorization: `Bearer ${token.text}` }));
          await look();
        }
      });
      for (; completed < 8; completed += 1) {
        expect((await chat(gateway(), token.text, { model: 'gateway/snel' })).status).toBe(200);
      }
      await look();
      isDone = true;
      await Promise.all(lookers);
      expect((await usageOf(gateway(), token.text)).today.requests).toBe(8);
      // Each process of the edge asks one at a time. Calls within one process are not measured.
      const queries = (await queriesMade()) - queriesBefore;
      expect(queries).toBeLessThan((gateway().edgeProcesses * asked) / 4);
    });

    it("never shows another token's requests", async () => {
      const [one, other] = await Promise.all([issueToken(gateway()), issueToken(gateway(), { kind: 'personal' })]);
      await chat(gateway(), one.text, { model: 'gateway/snel' });
      const usage = await usageOf(gateway(), other.text);
      expect(usage.today.requests).toBe(0);
      expect(usage.token.kind).toBe('personal');
      expect(usage.limits).toEqual({ requestsPerMinute: null, tokensPerDay: null });
    });
  });
}
