import { create } from '@bufbuild/protobuf';
import { UsagePartSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { LimitName } from '@gateway/proto/limiter/v2/limit_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import {
  CancelReason,
  NoAccountCause,
  RequestEnding,
  type RequestRecorded,
  RequestRecordedSchema,
} from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { describe, expect, it } from 'vitest';
import { commandLineOver, movedId, movedRequest } from './__fixtures__/moved-request.ts';

async function shown(
  requests: readonly RequestRecorded[],
  { named = movedId, args = [] }: { named?: string; args?: string[] } = {},
) {
  return await commandLineOver(requests).line.run('request', named, ...args);
}
const textOf = async (request: RequestRecorded) => (await shown([request])).printed;

describe('gatewayctl request', () => {
  it('shows a request: its facts, each attempt, and the reasons', async () => {
    const { exitCode, printed: text } = await shown([movedRequest()]);
    expect(exitCode).toBe(0);
    expect(text).toMatch(/token +ci \(token-1\)/);
    expect(text).toContain('completed 200 (failed over)');
    expect(text).toContain('1200 in (1000 cached, 100 written to a cache), 80 out');
    expect(text).toMatch(/cost +1\.250000 in the currency of the prices/);
    expect(text).toContain('admitted after 0.5 ms, body read after 1.0 ms, first attempt after 2.0 ms');
    expect(text).toContain('ended after 2.1 s, in the ledger after 2.4 s');
    expect(text).toMatch(/^1 +responses\/team-a +gpt-5\.5 +rate_limited +429 +2\.0 ms +– +120 ms$/m);
    expect(text).toMatch(/^2 +responses\/team-b +gpt-5\.5 +succeeded +200 +123 ms +217 ms +2\.0 s$/m);
    expect(text).toContain(
      '1. Sent to responses/team-a (because its session is bound to it). The provider rate limited the account (429); the account is available again at 2026-11-21 11:00:00 UTC.',
    );
    expect(text).toContain(
      '2. Sent to responses/team-b (as the only eligible account). The provider answered. The gateway resent it without the feature that the provider rejected (encrypted_reasoning). Skipped: 4 of responses for gpt-5.5: cooling after 429.',
    );
  });

  it('shows the parts of its cost, and what of it has no price', async () => {
    const request = movedRequest();
    const toolCalls = [
      { tool: 'web_search', calls: 3, costMicros: 30_000 },
      { tool: 'web_fetch', calls: 2 },
    ];
    const parts = [
      { inputTokens: 23_000, outputTokens: 1_000, costMicros: 70_000, toolCalls },
      { kind: 'compaction', model: 'm', speed: 'fast', inputTokens: 180_000, outputTokens: 3_500 },
    ].map((part) => create(UsagePartSchema, part));
    const usage = request.attempts.at(-1)?.usage;
    if (usage !== undefined) usage.parts = parts;
    const text = await textOf(request);
    expect(text).toMatch(
      /cost +1\.250000 in the currency of the prices \+ 183500 tokens and 2 tool calls without a price/,
    );
    expect(text).toMatch(
      /parts +answer: 23000 in, 1000 out, 0\.070000; web_search: 3 calls, 0\.030000; web_fetch: 2 calls, no price; compaction by m \(fast\): 180000 in, 3500 out, no price/,
    );
  });

  it('says why there was no account', async () => {
    const failed = { ending: RequestEnding.FAILED, attempts: [] };
    const retryAtMs = movedRequest().attempts[0]?.retryAtMs;
    const exhausted = await textOf(
      movedRequest({
        ...failed,
        status: 429,
        errorCode: 'pool_exhausted',
        noAccount: { cause: NoAccountCause.EXHAUSTED, ...(retryAtMs === undefined ? {} : { retryAtMs }) },
      }),
    );
    expect(exhausted).toContain('failed 429 pool_exhausted');
    expect(exhausted).toContain(
      'No account served it: all eligible accounts are rate limited, the first until 2026-11-21 11:00:00 UTC.',
    );
    const away = { cause: NoAccountCause.BROKER_AWAY, asked: 1, answered: 1_001 };
    expect(await textOf(movedRequest({ ...failed, noAccount: away }))).toContain('did not answer within 1.0 s');
    const spent = { cause: NoAccountCause.UNAVAILABLE, reason: 'it had spent its attempts' };
    const afterOne = movedRequest({ noAccount: spent });
    expect(await textOf(afterOne)).toContain('No other account served it: it had spent its attempts.');
  });

  it('names the cause at each account that failed, and who else was skipped', async () => {
    const text = await textOf(
      movedRequest({
        ...{ ending: RequestEnding.FAILED, status: 503, errorCode: 'providers_unavailable' },
        attempts: [
          { accountId: 'responses/team-a', result: AttemptResult.UNAUTHORIZED, upstreamStatus: 401 },
          {
            accountId: 'messages/team-a',
            result: AttemptResult.NETWORK_ERROR,
            cause: 'connection refused by 127.0.0.1:9',
          },
        ],
        noAccount: {
          cause: NoAccountCause.UNAVAILABLE,
          skipped: [
            { pool: 'responses', model: 'm', reason: 'cooling', count: 2, names: ['team-a', 'team-b'] },
            { pool: 'messages', model: 'm', reason: 'cooling', count: 1, names: ['team-a'] },
          ],
        },
      }),
    );
    expect(text).toContain('1. Sent to responses/team-a. The provider rejected the account (401).\n');
    expect(text).toContain(
      '2. Sent to messages/team-a. The provider was unreachable, or the connection broke: connection refused by 127.0.0.1:9.\n',
    );
    expect(text).toContain('No other account was available. Skipped: 1 of responses for m (team-b): cooling.\n');
  });

  it('says which limit refused a request, and until when', async () => {
    const { attempts } = movedRequest();
    const refusal = {
      limit: LimitName.REQUESTS_PER_MINUTE,
      ...(attempts[0]?.retryAtMs && { retryAtMs: attempts[0].retryAtMs }),
    };
    const refused = { ending: RequestEnding.REFUSED, status: 429, attempts: [], refusal };
    expect(await textOf(movedRequest(refused))).toContain(
      'The token reached its limit of requests per minute. Retry at 2026-11-21 11:00:00 UTC or later.',
    );
  });

  it.each([
    [{ cancelReason: CancelReason.CLIENT_LEFT, result: AttemptResult.CANCELLED }, 'The client disconnected.'],
    [
      { cancelReason: CancelReason.CLIENT_STALLED, result: AttemptResult.SUCCEEDED },
      'The client stopped reading the answer and was disconnected.',
    ],
    [{ result: AttemptResult.UNSPECIFIED }, 'In progress.'],
    [
      { result: AttemptResult.SERVER_ERROR, firstByte: 5 },
      'The provider returned a server error in the middle of the answer.',
    ],
    [{ result: AttemptResult.SUCCEEDED, acquired: 2_001, asked: 1 }, 'the broker took 2.0 s to select it'],
  ])('has an attempt %j', async (attempt, sentence) => {
    expect(await textOf(movedRequest({ attempts: [attempt] }))).toContain(sentence);
  });

  it('finds a request by the id of its answer, or the beginning of it', async () => {
    for (const named of [`chatcmpl-${movedId}`, movedId.slice(0, 8), `${movedId.slice(0, 8)}…`]) {
      expect(await shown([movedRequest()], { named })).toMatchObject({ exitCode: 0, notes: '' });
    }
  });

  it('can be JSON', async () => {
    const { json } = await shown([movedRequest()], { args: ['-o', 'json'] });
    expect(json()).toMatchObject({
      request: {
        request: {
          requestId: movedId,
          attempts: [{ accountId: 'responses/team-a' }, { usage: { inputTokens: 1_200 } }],
        },
      },
      inLedger: true,
    });
  });

  it("shows the ledger's record if the log does not have the request", async () => {
    const { exitCode, printed, notes } = await shown([ofLedger]);
    expect(exitCode).toBe(0);
    expect(notes).toContain('The request log does not have this request');
    expect(printed).toMatch(/outcome +aborted/);
    expect(printed).toMatch(/tokens +10 in, 5 out, estimated/);
  });

  it('says so when neither has the request', async () => {
    expect(await shown([])).toMatchObject({
      exitCode: 1,
      printed: '',
      notes: expect.stringMatching(/does not have this request.*the ledger has no request 01a1.* either/s),
    });
  });
});

const ofLedger = create(RequestRecordedSchema, {
  requestId: movedId,
  tokenId: 'token-1',
  attempts: [
    { provider: 'provider_a', model: 'gpt-5.5', usage: { inputTokens: 10, outputTokens: 5, estimated: true } },
  ],
  ending: RequestEnding.ABORTED,
});
