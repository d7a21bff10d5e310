import { beforeEach, describe, expect, it } from 'vitest';
import { type ChatAnswer, chat } from '../client/chat.ts';
import { relay, responsesBody } from '../client/relay.ts';
import { type LoggedRequestJson, loggedRequestsOf } from '../client/request-log.ts';
import { issueToken, type TestToken } from '../client/tokens.ts';
import { gatewayctl } from '../topologies/gateway-process.ts';
import { commandLineSettings, type Topology } from '../topologies/topology.ts';

/** Why a request went where it went: operators see all of it, clients nothing. */
export function tracesBehaviour(gateway: () => Topology): void {
  describe('the log of a request', () => {
    let token: TestToken = { tokenId: '', text: '' };
    beforeEach(async () => {
      token = await issueToken(gateway(), { kind: 'personal' });
      logged = 0;
    });

    const ask = (session: string) =>
      chat(gateway(), token.text, { model: 'gateway/traced' }, { headers: { 'session-id': session } });
    let logged = 0;
    /** The log's entry of the token's latest request, once it exists. */
    const lastLogged = async (): Promise<LoggedRequestJson> => {
      const requests = await loggedRequestsOf(gateway(), token.tokenId, logged + 1);
      expect(requests.length).toBeGreaterThan(logged);
      logged = requests.length;
      return requests[0] ?? expect.fail('the log has no request of the token');
    };
    /** Limits the account for longer than a test, and shorter than the suite. */
    const limit = (account: string) =>
      gateway().simulator.faults.add({
        account,
        times: 1,
        fault: { preset: 'rate_limited_retry_after', resetAfterSeconds: 12 },
      });
    const untilAllAreBack = () =>
      expect
        .poll(() => gateway().operator.accountsOf('traced'), { interval: 200 })
        .toMatchObject([{ cooldowns: [] }, { cooldowns: [] }]);
    const poolStatus = () => gatewayctl(['pool', 'status', 'traced'], commandLineSettings(gateway()));
    const request = (...args: string[]) => gatewayctl(['request', ...args], commandLineSettings(gateway()));

    it('lists what was removed from a request', async () => {
      const model = 'gpt-traced';
      const encrypted = { type: 'reasoning', summary: [], encrypted_content: `gAAAAA${'x'.repeat(100)}` };
      const { input } = responsesBody(model, 'go on');
      const answer = await relay(gateway(), token.text, {
        path: '/v1/responses',
        body: { model, input: [encrypted, ...input] },
      });
      expect(answer.status, answer.text).toBe(200);
      expectNothingOfIt(answer);
      expect((await lastLogged()).attempts).toMatchObject([
        { result: 'ATTEMPT_RESULT_SUCCEEDED', amended: expect.stringMatching(/./) },
      ]);
    });

    it('shows that the client left, and the recorded usage', async () => {
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
      controller.abort();
      expect(await lastLogged()).toMatchObject({
        ending: 'REQUEST_ENDING_ABORTED',
        status: 499,
        attempts: [{ cancelReason: 'CANCEL_REASON_CLIENT_LEFT', usage: { outputTokens: expect.any(Number) } }],
      });
    });

    it('has no requests without a valid token', async () => {
      await chat(gateway(), `${token.text}x`, { model: 'gateway/traced' });
      await chat(gateway(), token.text, { model: 'gateway/traced' });
      expect(await loggedRequestsOf(gateway(), token.tokenId)).toMatchObject([{ ending: 'REQUEST_ENDING_COMPLETED' }]);
    });

    it('does not have a request that was never made, and says so', async () => {
      const { exitCode, stderr } = await request('00000000-0000-7000-8000-000000000000');
      expect(exitCode).toBe(1);
      expect(stderr).toContain('does not have this request');
    });

    it('can be had before the request: which account would serve it', async () => {
      const { stdout } = await gatewayctl(['pool', 'explain', 'gateway/traced'], commandLineSettings(gateway()));
      expect(stdout).toMatch(/1\. gpt-5\.5 of traced/);
      expect(stdout).toMatch(/traced\/[ab] would serve it\./);
    });

    // Tests that limit accounts, which pause for a while, are the last.

    it("shows a failover: both accounts, the reasons, the provider's words; the client sees none of it", async () => {
      const session = crypto.randomUUID();
      await ask(session);
      const [first] = (await lastLogged()).attempts ?? [];
      const limited = first?.accountId ?? '';
      const other = limited === 'traced/a' ? 'traced/b' : 'traced/a';
      limit(limited.replace('/', '-'));

      const answer = await ask(session);
      expect(answer.status).toBe(200);
      expectNothingOfIt(answer);
      // Asked at once: the account pauses for a few seconds only, and each command takes time.
      const [{ stdout }, entry] = await Promise.all([poolStatus(), lastLogged()]);
      expect(entry).toMatchObject({
        ending: 'REQUEST_ENDING_COMPLETED',
        status: 200,
        attempts: [
          {
            accountId: limited,
            reason: 'because its session is bound to it',
            result: 'ATTEMPT_RESULT_RATE_LIMITED',
            upstreamStatus: 429,
            retryAtMs: expect.any(Number),
          },
          {
            accountId: other,
            reason: 'as the only eligible account',
            result: 'ATTEMPT_RESULT_SUCCEEDED',
            skipped: [{ pool: 'traced', count: 1, reason: expect.stringContaining('cooling after 429') }],
            usage: { inputTokens: expect.any(Number), outputTokens: expect.any(Number) },
          },
        ],
      });

      expect(stdout).toContain('pool traced: 2 of 2 accounts available');
      expect(stdout).toMatch(/cooling for gpt-5\.5 until .* after rate_limited \(reset named by the provider\)/);

      // The id of a chat completion contains the request's id.
      const shown = await request((answer.json as { readonly id: string }).id);
      // On a slow machine the sentence says that the broker was slow.
      const story = shown.stdout.replaceAll(/; the broker took [\d.]+ m?s to select it/g, '');
      expect(story).toContain(`1. Sent to ${limited} (because its session is bound to it).`);
      expect(story).toContain(`2. Sent to ${other} (as the only eligible account). The provider answered.`);
      const listed = await request('list', '--status', 'moved', '--token', token.tokenId);
      expect(listed.stdout).toContain(`${limited} → ${other}`);
    });

    it('has why no account took a request', async () => {
      await untilAllAreBack();
      limit('traced-a');
      limit('traced-b');
      const answer = await ask('');
      expect(answer.status).toBe(429);
      expectNothingOfIt(answer);
      const last = await lastLogged();
      expect(last).toMatchObject({
        ending: 'REQUEST_ENDING_FAILED',
        status: 429,
        errorCode: 'pool_exhausted',
        noAccount: { cause: 'NO_ACCOUNT_CAUSE_EXHAUSTED', retryAtMs: expect.any(Number) },
      });
      expect(last.attempts?.map(({ accountId }) => accountId).sort()).toEqual(['traced/a', 'traced/b']);
      const { stdout } = await request('list', '--status', 'failed', '--token', token.tokenId, '-o', 'json');
      expect(JSON.parse(stdout)).toMatchObject([{ request: { requestId: last.requestId } }]);
    });
  });
}

/** Neither head nor body name an account, its credential, or the provider's words. */
function expectNothingOfIt({ headers, text }: ChatAnswer): void {
  const answer = `${JSON.stringify([...headers])}\n${text}`;
  for (const secret of ['traced/', 'traced-', 'Simulated', 'limit reached', 'its session is bound']) {
    expect(answer).not.toContain(secret);
  }
}
