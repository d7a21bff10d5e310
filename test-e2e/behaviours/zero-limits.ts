import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import { roomMs } from '@gateway/testkit/room';
import { describe, expect, it } from 'vitest';
import { adminClient } from '../client/operator.ts';
import { issueToken, setLimits, type TestToken } from '../client/tokens.ts';
import { type Limit, usageOf } from '../client/usage.ts';
import { authHeaders, endpoints } from '../contract/endpoints.ts';
import { gatewayctl } from '../topologies/gateway-process.ts';
import { commandLineSettings, type Topology } from '../topologies/topology.ts';

interface Refusal {
  readonly error: {
    readonly code?: string;
    readonly type?: string;
    readonly limit?: string;
    readonly retryAt?: string;
  };
}

const { chat, messages, countTokens, responses } = endpoints;

/** A limit of 0 refuses everything that it limits. */
export function zeroLimitsBehaviour(gateway: () => Topology): void {
  async function send(endpoint: (typeof endpoints)[keyof typeof endpoints], token: TestToken) {
    const response = await fetch(`${gateway().baseUrl}${endpoint.path}`, {
      method: 'POST',
      headers: { ...authHeaders(endpoint.authHeader, token.text), 'content-type': 'application/json' },
      body: JSON.stringify(endpoint.body(endpoint.model, 'Hello there')),
      signal: AbortSignal.timeout(roomMs(30_000)),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  async function listModels(token: TestToken) {
    const headers = authHeaders('authorization', token.text);
    const response = await fetch(`${gateway().baseUrl}/v1/models`, {
      headers,
      signal: AbortSignal.timeout(roomMs(30_000)),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  const limitsOf = async (token: TestToken) => (await usageOf(gateway(), token.text)).limits;
  const refusalOf = (text: string): Refusal['error'] => (JSON.parse(text) as Refusal).error;
  const isMessages = (path: string) => path.startsWith('/v1/messages');

  describe('a token with a limit of 0', () => {
    it('requests per minute: is refused everywhere, for 60 seconds', async () => {
      const token = await issueToken(gateway(), { requestsPerMinute: 0, tokensPerDay: 1_000 });
      for (const endpoint of [chat, messages, countTokens, responses, undefined]) {
        const sentMs = Date.now();
        const { status, headers, text } = await (endpoint === undefined ? listModels(token) : send(endpoint, token));
        expect([endpoint?.path, status]).toEqual([endpoint?.path, 429]);
        expectInAMinute(sentMs, Date.now() + Number(headers.get('retry-after')) * 1_000);
        const error = refusalOf(text);
        if (isMessages(endpoint?.path ?? '')) {
          expect(error.type).toBe('rate_limit_error');
        } else {
          expect(error).toMatchObject({ code: 'rate_limit_exceeded', limit: 'requests_per_minute' });
          expectInAMinute(sentMs, Date.parse(error.retryAt ?? ''));
        }
        if (endpoint === undefined) continue;
        expect(headers.get('x-ratelimit-limit-requests')).toBe('0');
        expect(headers.get('x-ratelimit-remaining-requests')).toBe('0');
        expect(headers.get('x-ratelimit-remaining-tokens')).toBe('1000');
      }
      const readMs = Date.now();
      const { requestsPerMinute } = await limitsOf(token);
      expect(requestsPerMinute).toMatchObject({ limit: 0, remaining: 0 });
      expectInAMinute(readMs, Date.parse(requestsPerMinute?.resetsAt ?? ''));
    });

    it('tokens per day: is refused until midnight, and may count tokens and list models', async () => {
      const token = await issueToken(gateway(), { requestsPerMinute: 100, tokensPerDay: 0 });
      const { tokensPerDay } = await limitsOf(token);
      expect(tokensPerDay).toMatchObject({ limit: 0, remaining: 0 });
      for (const endpoint of [chat, messages, responses]) {
        const { status, headers, text } = await send(endpoint, token);
        expect([endpoint.path, status]).toEqual([endpoint.path, 429]);
        expectUntil(tokensPerDay, headers);
        const error = refusalOf(text);
        if (isMessages(endpoint.path)) expect(error.type).toBe('rate_limit_error');
        else expect(error).toMatchObject({ limit: 'tokens_per_day', retryAt: tokensPerDay?.resetsAt });
        expect(headers.get('x-ratelimit-remaining-requests')).toBe('100');
        expect(headers.get('x-ratelimit-limit-tokens')).toBe('0');
      }
      expect((await send(countTokens, token)).status).toBe(200);
      expect((await listModels(token)).status).toBe(200);
    });

    it('both: names the one that ends later', async () => {
      const token = await issueToken(gateway(), { requestsPerMinute: 0, tokensPerDay: 0 });
      const { tokensPerDay } = await limitsOf(token);
      expect(refusalOf((await send(chat, token)).text)).toMatchObject({
        limit: 'tokens_per_day',
        retryAt: tokensPerDay?.resetsAt,
      });
    });

    it('is listed among tokens that have reached a limit, and one with room is not', async () => {
      const [room, ...full] = await Promise.all([
        issueToken(gateway(), { requestsPerMinute: 5, tokensPerDay: 5 }),
        issueToken(gateway(), { requestsPerMinute: 0 }),
        issueToken(gateway(), { tokensPerDay: 0 }),
      ]);
      const { tokens } = await adminClient(TokenService, gateway()).listTokens(
        { atLimit: true, pageSize: 1_000 },
        { timeoutMs: roomMs(10_000) },
      );
      const listed = tokens.map(({ token }) => token?.tokenId);
      expect(listed).toEqual(expect.arrayContaining(full.map(({ tokenId }) => tokenId)));
      expect(listed).not.toContain(room.tokenId);
    });

    it('may be issued and set by operators, also by command', async () => {
      const env = commandLineSettings(gateway());
      const flags = ['--label', 'nothing', '--rpm', '0', '--tpd', '0'];
      const created = await gatewayctl(['token', 'create', ...flags], env);
      expect(created).toMatchObject({ exitCode: 0 });
      const text = created.stdout.trim();
      expect(await limitsOf({ tokenId: '', text })).toMatchObject({
        requestsPerMinute: { limit: 0 },
        tokensPerDay: { limit: 0 },
      });

      const token = await issueToken(gateway(), { requestsPerMinute: 5 });
      expect((await send(chat, token)).status).toBe(200);
      await setLimits(gateway(), token.tokenId, { requestsPerMinute: 0 });
      const status = async () => (await send(chat, token)).status;
      await expect.poll(status, { interval: 200 }).toBe(429);
      const readMs = Date.now();
      expectInAMinute(readMs, Date.parse((await limitsOf(token)).requestsPerMinute?.resetsAt ?? ''));
    });
  });
}

/** Sixty seconds after an event between then and now. */
function expectInAMinute(sinceMs: number, atMs: number): void {
  expect(atMs).toBeGreaterThanOrEqual(sinceMs + 59_000);
  expect(atMs).toBeLessThanOrEqual(Date.now() + 61_000);
}

/** `retry-after` names the time at which the limit is reset. */
function expectUntil(limit: Limit | null, headers: Headers): void {
  const retryAtMs = Date.now() + Number(headers.get('retry-after')) * 1_000;
  expect(Math.abs(retryAtMs - Date.parse(limit?.resetsAt ?? ''))).toBeLessThan(roomMs(5_000));
}
