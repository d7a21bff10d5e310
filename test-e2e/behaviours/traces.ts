import { beforeEach, describe, expect, it } from 'vitest';
import { type ChatAnswer, chat } from '../client/chat.ts';
import { relay, responsesBody } from '../client/relay.ts';
import { issueToken, type TestToken } from '../client/tokens.ts';
import { type TraceJson, tracesOf } from '../client/traces.ts';
import { gatewayctl } from '../topologies/gateway-process.ts';
import type { Topology } from '../topologies/topology.ts';

/** Why a request went where it went: told to operators, in whole, and to clients not at all. */
export function tracesBehaviour(gateway: () => Topology): void {
  describe('the trace of a request', () => {
    let token: TestToken = { tokenId: '', text: '' };
    beforeEach(async () => {
      token = await issueToken(gateway(), { kind: 'personal' });
    });

    const ask = (session: string) =>
      chat(gateway(), token.text, { model: 'gateway/traced' }, { headers: { 'session-id': session } });
    /** The newest trace of the token, once its request has ended. */
    const lastTrace = async (): Promise<TraceJson> => {
      let last: TraceJson | undefined;
      await expect
        .poll(async () => {
          [last] = await tracesOf(gateway(), token.tokenId);
          return last?.ending ?? 'REQUEST_ENDING_RUNNING';
        })
        .not.toBe('REQUEST_ENDING_RUNNING');
      return last ?? expect.fail('the edge knows no request of the token');
    };
    /** Limits the account for a time that outlasts a test, and not the suite. */
    const limit = (account: string) =>
      gateway().simulator.faults.add({
        account,
        times: 1,
        fault: { preset: 'rate_limited_retry_after', resetAfterSeconds: 8 },
      });
    const untilAllAreBack = () =>
      expect
        .poll(async () => JSON.parse((await poolStatus(['--json'])).stdout).accounts, {
          timeout: 20_000,
          interval: 500,
        })
        .toMatchObject([{ cooldowns: [] }, { cooldowns: [] }]);
    const poolStatus = (more: readonly string[] = []) =>
      gatewayctl(['pool', 'status', 'traced', ...more], { GATEWAY_ADMIN_URL: gateway().brokerAdminUrl });
    const request = (...args: string[]) => gatewayctl(['request', ...args, '--edge', gateway().edgeAdminUrl], {});

    it('tells of a move: both accounts, why each, what the provider said; the client is told nothing of it', async () => {
      const session = crypto.randomUUID();
      await ask(session);
      const [first] = (await lastTrace()).attempts ?? [];
      const limited = first?.accountId ?? '';
      const other = limited === 'traced/a' ? 'traced/b' : 'traced/a';
      limit(limited.replace('/', '-'));

      const answer = await ask(session);
      expect(answer.status).toBe(200);
      expectNothingTold(answer);
      expect(await lastTrace()).toMatchObject({
        ending: 'REQUEST_ENDING_COMPLETED',
        status: 200,
        moved: true,
        usage: { inputTokens: expect.any(String), outputTokens: expect.any(String) },
        attempts: [
          {
            accountId: limited,
            reason: 'its session is bound to it',
            result: 'ATTEMPT_RESULT_RATE_LIMITED',
            upstreamStatus: 429,
            retryAt: expect.any(String),
          },
          {
            accountId: other,
            reason: 'the only one that could',
            result: 'ATTEMPT_RESULT_SUCCEEDED',
            skipped: [{ pool: 'traced', count: 1, reason: expect.stringContaining('cooling after 429') }],
          },
        ],
      });

      // Asked first: it is cool for a few seconds only, and each command takes its time.
      const { stdout } = await poolStatus();
      expect(stdout).toContain('pool traced: 2 of 2 accounts available');
      expect(stdout).toMatch(/cools for gpt-5\.5 until .* after rate_limited, as the provider said/);

      // The id of a chat completion has the request's in it.
      const shown = await request((answer.json as { readonly id: string }).id);
      expect(shown.stdout).toContain(`1. It went to ${limited} (its session is bound to it).`);
      expect(shown.stdout).toContain(`2. It went to ${other} (the only one that could). The provider answered.`);
      const listed = await request('list', '--status', 'moved', '--token', token.tokenId);
      expect(listed.stdout).toContain(`${limited} → ${other}`);
      await untilAllAreBack();
    });

    it('tells why no account took a request', async () => {
      limit('traced-a');
      limit('traced-b');
      const answer = await ask('');
      expect(answer.status).toBe(429);
      expectNothingTold(answer);
      const trace = await lastTrace();
      expect(trace).toMatchObject({
        ending: 'REQUEST_ENDING_FAILED',
        status: 429,
        errorCode: 'pool_exhausted',
        noAccount: { cause: 'NO_ACCOUNT_CAUSE_EXHAUSTED', retryAt: expect.any(String) },
      });
      expect(trace.attempts?.map(({ accountId }) => accountId).sort()).toEqual(['traced/a', 'traced/b']);
      const { stdout } = await request('list', '--status', 'failed', '--token', token.tokenId, '--json');
      expect(JSON.parse(stdout)).toMatchObject({ requestId: trace.requestId });
      await untilAllAreBack();
    });

    it('tells what a request had to go on without', async () => {
      const model = 'gpt-traced';
      const sealed = { type: 'reasoning', summary: [], encrypted_content: `gAAAAA${'x'.repeat(100)}` };
      const { input } = responsesBody(model, 'go on');
      const answer = await relay(gateway(), token.text, {
        path: '/v1/responses',
        body: { model, input: [sealed, ...input] },
      });
      expect(answer.status, answer.text).toBe(200);
      expectNothingTold(answer);
      expect((await lastTrace()).attempts).toMatchObject([
        { result: 'ATTEMPT_RESULT_SUCCEEDED', amended: expect.stringMatching(/./) },
      ]);
    });

    it('tells that the client left, and what was booked', async () => {
      const controller = new AbortController();
      const response = await fetch(`${gateway().baseUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token.text}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'gateway/traced',
          stream: true,
          messages: [{ role: 'user', content: '#long 200000' }],
        }),
        signal: controller.signal,
      });
      await response.body?.getReader().read();
      expect((await tracesOf(gateway(), token.tokenId))[0]?.ending).toBe('REQUEST_ENDING_RUNNING');
      controller.abort();
      expect(await lastTrace()).toMatchObject({
        ending: 'REQUEST_ENDING_ABORTED',
        status: 499,
        usage: { outputTokens: expect.any(String) },
        attempts: [{ givenUp: 'ATTEMPT_GIVEN_UP_CLIENT_LEFT' }],
      });
    });

    it('is of no use to others: whoever has no token leaves none', async () => {
      await chat(gateway(), `${token.text}x`, { model: 'gateway/traced' });
      expect(await tracesOf(gateway(), token.tokenId)).toEqual([]);
    });

    it('of a request that nobody knows is said to be unknown', async () => {
      const { exitCode, stderr } = await request('00000000-0000-7000-8000-000000000000');
      expect(exitCode).toBe(1);
      expect(stderr).toContain('does not know the request');
    });

    it('can be had before the request: which account would serve it', async () => {
      const { stdout } = await gatewayctl(['pool', 'explain', 'gateway/traced'], {
        GATEWAY_ADMIN_URL: gateway().brokerAdminUrl,
      });
      expect(stdout).toMatch(/1\. gpt-5\.5 of traced/);
      expect(stdout).toMatch(/traced\/[ab] would take it\./);
    });
  });
}

/** Neither head nor body name an account, its credential, or what the provider said. */
function expectNothingTold({ headers, text }: ChatAnswer): void {
  const told = `${JSON.stringify([...headers])}\n${text}`;
  for (const secret of ['traced/', 'traced-', 'Simulated', 'limit reached', 'its session is bound']) {
    expect(told).not.toContain(secret);
  }
}
