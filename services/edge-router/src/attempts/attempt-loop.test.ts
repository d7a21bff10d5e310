import { once } from 'node:events';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { create } from '@bufbuild/protobuf';
import { GatewayError } from '@gateway/errors';
import { BufferList } from '@gateway/json';
import {
  AdapterService,
  Dialect,
  ExecuteHeadSchema,
  type ExecuteRequest,
  type ExecuteResponseSchema,
} from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { AttemptResult, LeaseSchema, ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import {
  type AcquireRequest,
  type AcquireResponseSchema,
  Lack,
  PoolBrokerService,
  PoolExhaustedSchema,
  PoolUnavailableSchema,
  type ReportRequest,
} from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { CancelReason, NoAccountCause } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { directClient, type Handlers, RpcError, serviceRoute } from '@gateway/rpc';
import { describe, expect, it, vi } from 'vitest';
import { admittedCall } from '../__fixtures__/test-call.ts';
import { callerKey } from '../authentication/authenticate.ts';
import { requestFrames } from '../endpoints/generate.ts';
import { type AttemptPlan, runAttempts } from './attempt-loop.ts';
import { Leases } from './leases.ts';

type Frame = MessageInitShape<typeof ExecuteResponseSchema>;
/** Functions are called for each attempt. */
type AdapterAnswer = readonly Frame[] | Error | (() => readonly Frame[] | Error);
type Acquired = MessageInitShape<typeof AcquireResponseSchema>['result'];

const lease = (account: string, format = ProviderFormat.RESPONSES) =>
  ({
    case: 'lease',
    value: create(LeaseSchema, { leaseId: `l-${account}`, accountId: account, format, model: 'm' }),
  }) as const;

const limited: Frame = {
  result: {
    attempt: { result: AttemptResult.RATE_LIMITED, upstreamStatus: 429 },
    error: { code: 'pool_exhausted', message: 'limited' },
  },
};
const answering: Frame = { head: { status: 200 }, body: new Uint8Array([1]) };

const lacking = (result: AttemptResult, code: string, upstreamStatus: number): Frame => ({
  result: { attempt: { result, upstreamStatus }, error: { code, message: 'its own words', upstreamStatus } },
});
const noModel = lacking(AttemptResult.MODEL_UNAVAILABLE, 'model_not_found', 404);
const noFeature = lacking(AttemptResult.FEATURE_UNAVAILABLE, 'upstream_rejected', 400);
const lackedByAll = (lack: Lack): Acquired => ({ case: 'unavailable', value: create(PoolUnavailableSchema, { lack }) });

/** Silence for the rest of the call. */
const hang: Frame = {};

const brokerAway: Acquired = { case: undefined };

/**
 * A broker that gives these answers in turn, and adapters that answer for each account with these
 * frames.
 */
function setUp(
  acquired: readonly Acquired[],
  frames: Readonly<Record<string, AdapterAnswer>>,
  { faultOf, ...asking }: Partial<Pick<AttemptPlan, 'faultOf' | 'model' | 'features'>> = {},
) {
  const asked: AcquireRequest[] = [];
  const reported: ReportRequest[] = [];
  const sent: string[] = [];
  let cancelled = 0;
  const refuse = () => {
    throw new Error('not expected here');
  };
  const broker: Handlers<typeof PoolBrokerService> = {
    acquire: (request) => {
      asked.push(request);
      if (acquired[asked.length - 1] === brokerAway) throw new RpcError('unavailable', 'away');
      return { result: acquired[asked.length - 1] ?? { case: 'unavailable', value: {} } };
    },
    report: (request) => {
      reported.push(request);
      return {};
    },
    listModels: refuse,
    watchCatalog: refuse,
    listPools: refuse,
    reportModels: refuse,
    listAccounts: refuse,
    explain: refuse,
    renewLeases: refuse,
  };
  const adapter = directClient(
    serviceRoute(AdapterService, {
      async *execute(requests: AsyncIterable<ExecuteRequest>, context) {
        context.signal.addEventListener('abort', () => cancelled++);
        let account = '';
        let size = 0;
        for await (const { head, body } of requests) {
          account = head?.lease?.accountId ?? account;
          size += body.length;
        }
        expect(size).toBe(bodyBytes);
        const given = frames[account] ?? [];
        const answer = typeof given === 'function' ? given() : given;
        sent.push(account);
        if (answer instanceof Error) throw answer;
        for (const frame of answer) {
          if (frame === hang) await once(context.signal, 'abort');
          yield frame;
        }
      },
      countTokens: refuse,
      listModels: refuse,
      probeAccount: refuse,
    }),
  );
  const bodyBytes = 600_000;
  const brokerClient = directClient(serviceRoute(PoolBrokerService, broker));
  const leases = new Leases({
    broker: brokerClient,
    deadline: {},
    events: { reportGivenUp: refuse, faulted: refuse },
  });
  const call = admittedCall({}, create(TokenSchema, { tokenId: 't' }));
  call.onBodyRead('gateway/sterk', false, bodyBytes);
  const usage = call.usage ?? expect.fail('usage arises');
  const recorded: string[] = [];
  const failedOver: string[] = [];
  vi.spyOn(usage, 'onSent').mockImplementation(({ inputTokens }) => void recorded.push(`sent ${inputTokens}`));
  vi.spyOn(usage, 'onUsage').mockImplementation(({ inputTokens }) => void recorded.push(`used ${inputTokens}`));
  vi.spyOn(usage, 'onProduced').mockImplementation(() => void recorded.push('produced'));
  vi.spyOn(usage, 'onAttemptFailed').mockImplementation(() => void recorded.push('failed'));
  vi.spyOn(usage, 'onLease').mockImplementation(
    () => void recorded.push(`lease ${call.record.attempts.at(-1)?.accountId}`),
  );
  const run = () =>
    runAttempts(
      {
        call,
        model: 'gateway/sterk',
        formats: [ProviderFormat.RESPONSES, ProviderFormat.MESSAGES],
        affinityKey: 'k',
        faultOf,
        ...asking,
        execute: (lease, signal) => {
          const head = create(ExecuteHeadSchema, { lease, dialect: Dialect.CHAT_COMPLETIONS });
          return adapter.execute(requestFrames(head, new BufferList([new Uint8Array(bodyBytes)])), { signal });
        },
      },
      {
        leases,
        events: { failedOver: (reason) => void failedOver.push(reason) },
      },
    );
  const answer = async () => {
    const end = await run();
    if (end.kind === 'failed') throw end.error;
    return end;
  };
  return {
    run: answer,
    end: run,
    asked,
    reported,
    sent,
    record: call.record,
    cancelled: () => cancelled,
    recorded,
    failedOver,
    leave: () => void call.request.socket.emit('close'),
  };
}

describe('runAttempts', () => {
  it('moves to the next account after a limited one, and reports it to the broker', async () => {
    const { run, asked } = setUp([lease('a'), lease('b')], { a: [limited], b: [answering] });
    const { lease: taken, frames } = await run();
    expect(taken.accountId).toBe('b');
    expect(asked.map(({ caller }) => caller)).toEqual([callerKey('t'), callerKey('t')]);
    expect(asked[1]?.attempts).toHaveLength(1);
    expect(asked[1]?.attempts[0]).toMatchObject({
      lease: { accountId: 'a' },
      report: { result: AttemptResult.RATE_LIMITED },
    });
    frames.close();
  });

  it('hands over every frame from the head on, and records what was used before', async () => {
    const { run, recorded } = setUp([lease('a')], {
      a: [
        { sent: true, usage: { inputTokens: 1 } },
        { usage: { inputTokens: 2 } },
        answering,
        { body: new Uint8Array([2]) },
      ],
    });
    const { first, frames } = await run();
    expect([first.head?.status, ...first.body]).toEqual([200, 1]);
    expect((await frames.next()).body).toEqual(new Uint8Array([2]));
    await expect(frames.next()).rejects.toBeInstanceOf(RpcError);
    expect(recorded).toEqual(['lease a', 'sent 1', 'used 2']);
  });

  it('records of an attempt that failed that its model had produced something', async () => {
    const { run, recorded } = setUp([lease('a'), lease('b')], {
      a: [{ sent: true, usage: { inputTokens: 1 } }, { usage: { inputTokens: 2 }, produced: true }, limited],
      b: [answering],
    });
    const { frames } = await run();
    expect(recorded).toEqual(['lease a', 'sent 1', 'used 2', 'produced', 'failed', 'lease b']);
    frames.close();
  });

  it('counts what it moved on after, when there is a next attempt', async () => {
    const refusal = new GatewayError('unsupported_content', 'not here');
    const next = lease('c', ProviderFormat.MESSAGES);
    const { run, failedOver } = setUp([lease('a'), lease('b'), next], { a: [limited], b: refusal, c: [answering] });
    const { frames } = await run();
    expect(failedOver).toEqual(['rate_limited', 'not_expressible']);
    frames.close();
    const last = setUp([lease('a'), { case: 'exhausted', value: {} }], { a: [limited] });
    await expect(last.run()).rejects.toMatchObject({ code: 'pool_exhausted' });
    expect(last.failedOver).toEqual([]);
  });

  it('records that an attempt failed, which costs nothing', async () => {
    const { run, recorded } = setUp([lease('a'), lease('b')], { a: [limited], b: [answering] });
    const { frames } = await run();
    expect(recorded).toEqual(['lease a', 'failed', 'lease b']);
    frames.close();
  });

  it('answers pool_exhausted with the reset that the broker knows', async () => {
    const { run } = setUp([lease('a'), { case: 'exhausted', value: { retryAfterMs: 5_000 } }], {
      a: [limited],
    });
    await expect(run()).rejects.toMatchObject({ code: 'pool_exhausted', retryAfterMs: 5_000 });
  });

  it('answers providers_unavailable when others failed, and never with the limit of one account', async () => {
    const broken: Frame = { result: { attempt: { result: AttemptResult.SERVER_ERROR, upstreamStatus: 500 } } };
    const none = { case: 'unavailable', value: { retryAfterMs: 5_000 } } as const;
    const { end } = setUp([lease('a'), lease('b'), none], { a: [broken], b: [limited] });
    expect(await end()).toMatchObject({
      error: { code: 'providers_unavailable', retryAfterMs: 5_000 },
      last: { attempt: { upstreamStatus: 500 } },
    });
  });

  it('answers model_not_found for an unknown model', async () => {
    const { run } = setUp([{ case: 'unknownModel', value: {} }], {});
    await expect(run()).rejects.toMatchObject({ code: 'model_not_found' });
  });

  it('makes no other attempt after a refusal of the request itself', async () => {
    const rejected: Frame = {
      result: {
        attempt: { result: AttemptResult.REJECTED, upstreamStatus: 413 },
        error: { code: 'upstream_rejected', message: 'refused', upstreamStatus: 413 },
      },
    };
    const { run, asked, reported } = setUp([lease('a'), lease('b')], { a: [rejected], b: [answering] });
    await expect(run()).rejects.toMatchObject({ code: 'upstream_rejected', upstreamStatus: 413 });
    expect(asked).toHaveLength(1);
    expect(reported[0]?.attempt?.report?.result).toBe(AttemptResult.REJECTED);
  });

  it('makes no other attempt after an answer that was too large, and says that none helps', async () => {
    const tooLarge: Frame = {
      result: {
        attempt: { result: AttemptResult.ANSWER_TOO_LARGE },
        error: { code: 'internal_error', message: 'too large' },
      },
    };
    const { run, asked, reported } = setUp([lease('a'), lease('b')], { a: [tooLarge], b: [answering] });
    await expect(run()).rejects.toMatchObject({ code: 'internal_error', message: 'too large', isFinal: true });
    expect(asked).toHaveLength(1);
    expect(reported[0]?.attempt?.report?.result).toBe(AttemptResult.ANSWER_TOO_LARGE);
  });

  describe('when an account lacks what the request wants', () => {
    it('moves to the next one, and asks for one with its features', async () => {
      const features = ['context-1m-2025-08-07'];
      const { run, asked } = setUp([lease('a'), lease('b')], { a: [noFeature], b: [answering] }, { features });
      expect((await run()).lease.accountId).toBe('b');
      expect(asked.map((request) => request.features)).toEqual([features, features]);
    });

    it('says that a model is not there, and a class unavailable, when all lack it', async () => {
      const all = [lease('a'), lackedByAll(Lack.MODEL)];
      const direct = await setUp(all, { a: [noModel] }, { model: 'gpt-9' }).end();
      expect(direct).toMatchObject({ error: { code: 'model_not_found' }, last: { attempt: { upstreamStatus: 404 } } });
      await expect(setUp(all, { a: [noModel] }).run()).rejects.toMatchObject({ code: 'providers_unavailable' });
    });

    it('says what the provider said of a feature that all lack', async () => {
      const end = await setUp([lease('a'), lackedByAll(Lack.FEATURE)], { a: [noFeature] }).end();
      expect(end).toMatchObject({ error: { code: 'upstream_rejected', upstreamStatus: 400 } });
    });

    it('says what the provider said of a tier that the request chose, whatever keeps other accounts', async () => {
      const tier = lacking(AttemptResult.FEATURE_UNAVAILABLE, 'providers_unavailable', 429);
      const ends: readonly Acquired[] = [
        { case: 'exhausted', value: create(PoolExhaustedSchema, {}) },
        { case: 'unavailable', value: create(PoolUnavailableSchema, {}) },
      ];
      for (const none of ends) {
        const end = await setUp([lease('a'), lease('b'), none], { a: [tier], b: [limited] }).end();
        expect(end).toMatchObject({ error: { upstreamStatus: 429 }, last: { attempt: { upstreamStatus: 429 } } });
      }
      const other = setUp([lease('a'), lease('b')], { a: [tier], b: [answering] });
      expect((await other.run()).lease.accountId).toBe('b');
    });

    it('passes on a rejection that each account gave, though its cause is unclear', async () => {
      const refused = (status: number) => lacking(AttemptResult.REFUSED, 'upstream_rejected', status);
      const alike = await setUp([lease('a'), lease('b')], { a: [refused(400)], b: [refused(422)] }).end();
      expect(alike).toMatchObject({ error: { code: 'upstream_rejected', upstreamStatus: 422 } });
      const unlike = await setUp([lease('a'), lease('b')], { a: [refused(400)], b: [limited] }).end();
      expect(unlike).toMatchObject({ error: { code: 'providers_unavailable' } });
    });

    it('keeps to how others ended, when not all lack it', async () => {
      const failed: Frame = { result: { attempt: { result: AttemptResult.SERVER_ERROR, upstreamStatus: 500 } } };
      const acquired = [lease('b'), lease('a')];
      const end = await setUp(acquired, { a: [noModel], b: [failed] }, { model: 'gpt-9' }).end();
      expect(end).toMatchObject({
        error: { code: 'providers_unavailable' },
        last: { attempt: { upstreamStatus: 500 } },
      });
      const alone = await setUp([lease('a')], { a: [noModel] }, { model: 'gpt-9' }).end();
      expect(alone).toMatchObject({ error: { code: 'providers_unavailable' }, last: undefined });
    });
  });

  it('keeps the last answer of a provider, for endpoints that pass it on', async () => {
    const failed: Frame = {
      result: {
        attempt: { result: AttemptResult.SERVER_ERROR, upstreamStatus: 500 },
        error: { code: 'providers_unavailable', message: 'failed' },
        upstreamAnswer: { status: 500, contentType: 'text/plain', body: Buffer.from('oops') },
      },
    };
    const { end } = setUp([lease('a'), { case: 'unavailable', value: {} }], { a: [failed] });
    expect(await end()).toMatchObject({
      kind: 'failed',
      error: { code: 'providers_unavailable' },
      last: { attempt: { upstreamStatus: 500 }, upstreamAnswer: { status: 500, contentType: 'text/plain' } },
    });
  });

  it.each(['unsupported_content', 'invalid_request'] as const)(
    'tries a candidate of another format when the first can’t be asked this: %s',
    async (code) => {
      const refusal = new GatewayError(code, 'messages[0] is not for this provider');
      const second = lease('b', ProviderFormat.MESSAGES);
      const { run, asked } = setUp([lease('a'), second], { a: refusal, b: [answering] });
      const { lease: taken, frames } = await run();
      expect(taken.accountId).toBe('b');
      expect(asked.map(({ formats }) => formats)).toEqual([
        [ProviderFormat.RESPONSES, ProviderFormat.MESSAGES],
        [ProviderFormat.MESSAGES],
      ]);
      expect(asked[1]?.attempts[0]?.report?.result).toBe(AttemptResult.CANCELLED);
      frames.close();
    },
  );

  it('names the first refusal when no candidate can be asked this', async () => {
    const first = new GatewayError('unsupported_content', 'the first');
    const other = new GatewayError('invalid_request', 'the other');
    const none = { case: 'unknownModel', value: {} } as const;
    const both = setUp([lease('a'), lease('b', ProviderFormat.MESSAGES)], { a: first, b: other });
    await expect(both.run()).rejects.toMatchObject({ message: 'the first' });
    await expect(setUp([lease('a'), none], { a: first }).run()).rejects.toMatchObject({ message: 'the first' });
  });

  it('says that the candidate which could be asked this is limited, when it is', async () => {
    const exhausted = { case: 'exhausted', value: {} } as const;
    const { run } = setUp([lease('a'), exhausted], { a: new GatewayError('unsupported_content', 'not here') });
    await expect(run()).rejects.toMatchObject({ code: 'pool_exhausted' });
  });

  it('names what is wrong with the request before anything else, and tries no other candidate', async () => {
    const fault = new GatewayError('invalid_request', 'wrong for all');
    const refusal = new GatewayError('invalid_request', 'wrong here');
    const refused = setUp(
      [lease('a'), lease('b', ProviderFormat.MESSAGES)],
      { a: refusal, b: [answering] },
      { faultOf: () => fault },
    );
    await expect(refused.run()).rejects.toBe(fault);
    expect(refused.asked).toHaveLength(1);
    expect(refused.reported[0]?.attempt?.report?.result).toBe(AttemptResult.CANCELLED);
    for (const none of ['unknownModel', 'exhausted', 'unavailable'] as const) {
      await expect(setUp([{ case: none, value: {} }], {}, { faultOf: () => fault }).run()).rejects.toBe(fault);
    }
  });

  it('frees the lease when the adapter refuses the request', async () => {
    const { run, asked } = setUp([lease('a')], { a: new GatewayError('unsupported_content', 'no audio') });
    await expect(run()).rejects.toMatchObject({ code: 'unsupported_content' });
    expect(asked[1]?.attempts[0]?.report?.result).toBe(AttemptResult.CANCELLED);
  });

  it('leaves out the format whose adapter is away twice', async () => {
    const { run, asked, sent, record } = setUp([lease('a'), lease('b', ProviderFormat.MESSAGES)], {
      a: new RpcError('unavailable', 'no connection'),
      b: [answering],
    });
    expect((await run()).lease.accountId).toBe('b');
    expect(sent).toEqual(['a', 'a', 'b']);
    expect(asked[1]?.formats).toEqual([ProviderFormat.MESSAGES]);
    expect(asked[1]?.attempts[0]?.report?.result).toBe(AttemptResult.CANCELLED);
    expect(record.attempts[0]?.cancelReason).toBe(CancelReason.ADAPTER_AWAY);
  });

  it('asks once more, with the same lease, when an adapter goes away before its answer begins', async () => {
    const answers = [new RpcError('unavailable', 'the connection was lost'), [answering]];
    const { run, asked, sent, reported } = setUp([lease('a')], { a: () => answers.shift() ?? [] });
    const { lease: taken, frames } = await run();
    expect([taken.accountId, sent, asked.length, reported]).toEqual(['a', ['a', 'a'], 1, []]);
    frames.close();
  });

  it('does not ask an adapter again that was there and failed', async () => {
    const { end, sent } = setUp([lease('a')], { a: new RpcError('internal', 'no result') });
    expect(await end()).toMatchObject({ kind: 'failed', error: { code: 'providers_unavailable' } });
    expect(sent).toEqual(['a']);
  });

  it('reports the last attempt when the broker does not answer with a next one', async () => {
    const { run, reported } = setUp([lease('a'), brokerAway], { a: [limited] });
    await expect(run()).rejects.toMatchObject({ code: 'providers_unavailable' });
    await expect.poll(() => reported).toHaveLength(1);
    expect(reported[0]?.attempt).toMatchObject({
      lease: { accountId: 'a' },
      report: { result: AttemptResult.RATE_LIMITED },
    });
  });

  it('logs every attempt, and why there was no further one', async () => {
    const exhausted = { case: 'exhausted', value: { retryAtMs: 5_000 } } as const;
    const amended: Frame = { result: { ...limited.result, amended: 'encrypted_reasoning' } };
    const refusal = new GatewayError('unsupported_content', 'not for this provider');
    const { run, record } = setUp([lease('a'), lease('b', ProviderFormat.MESSAGES), exhausted], {
      a: [amended],
      b: refusal,
    });
    await expect(run()).rejects.toMatchObject({ code: 'pool_exhausted' });
    expect(record.attempts).toMatchObject([
      {
        accountId: 'a',
        result: AttemptResult.RATE_LIMITED,
        upstreamStatus: 429,
        amended: 'encrypted_reasoning',
      },
      { accountId: 'b', cancelReason: CancelReason.NOT_EXPRESSIBLE },
    ]);
    expect(record.noAccount).toMatchObject({ cause: NoAccountCause.EXHAUSTED, retryAtMs: 5_000 });
  });

  it('logs why a provider did not answer, and tells the client nothing of it', async () => {
    const cause = 'connection refused by 127.0.0.1:9';
    const unreachable: Frame = { result: { attempt: { result: AttemptResult.NETWORK_ERROR, cause } } };
    const unavailable = { case: 'unavailable', value: {} } as const;
    const { run, record } = setUp([lease('a'), unavailable], { a: [unreachable] });
    const thrown: unknown = await run().catch((error: unknown) => error);
    expect(thrown).toMatchObject({ code: 'providers_unavailable', message: expect.not.stringContaining('127.0.0.1') });
    expect(record.attempts).toMatchObject([{ accountId: 'a', cause }]);
  });

  it('logs an attempt that is answering as not ended', async () => {
    const { run, record } = setUp([lease('a')], { a: [answering] });
    const { frames } = await run();
    expect(record.attempts[0]).toMatchObject({ firstByte: expect.any(Number) });
    expect(record.attempts[0]?.ended).toBeUndefined();
    frames.close();
  });

  it('makes no further attempt for a client that has gone', async () => {
    const client = { leave: (): void => undefined };
    const leaving: Record<string, readonly Frame[]> = { b: [answering] };
    Object.defineProperty(leaving, 'a', {
      get: () => {
        client.leave();
        return [limited];
      },
    });
    const { run, asked, leave } = setUp([lease('a'), lease('b')], leaving);
    client.leave = leave;
    await expect(run()).rejects.toBeDefined();
    expect(asked).toHaveLength(1);
  });

  it('cancels the adapter of every attempt that did not answer', async () => {
    const { run, cancelled } = setUp([lease('a'), lease('b')], { a: [limited], b: [answering, hang] });
    const { frames } = await run();
    expect(cancelled()).toBe(1);
    frames.close();
    expect(cancelled()).toBe(2);
  });
});
