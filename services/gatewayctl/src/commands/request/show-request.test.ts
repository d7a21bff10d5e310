import { create } from '@bufbuild/protobuf';
import {
  AttemptGivenUp,
  NoAccountCause,
  RequestEnding,
  type RequestTrace,
} from '@gateway/proto/edge/v1/request_trace_service_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { FindRequestResponseSchema } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { Outcome, type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { RpcError } from '@gateway/rpc';
import { describe, expect, it } from 'vitest';
import type { Edge } from '../../control-plane/edges.ts';
import { RememberingTerminal } from '../../output/__fixtures__/remembering-terminal.ts';
import { edgeWith, movedId, movedRequest } from './__fixtures__/edges.ts';
import { type OpenLedger, showRequest } from './show-request.ts';

const noLedger: OpenLedger = () => Promise.reject(new Error('no ledger here'));
const awayEdge: Edge = {
  url: 'http://away',
  traces: {
    getTrace: () => Promise.reject(new RpcError('unavailable', 'refused')),
    listTraces: () => Promise.reject(new RpcError('unavailable', 'refused')),
  },
};

async function shown(
  edges: readonly Edge[],
  { named = movedId, openLedger = noLedger, json = false }: { named?: string; openLedger?: OpenLedger; json?: boolean },
) {
  const terminal = new RememberingTerminal();
  const found = await showRequest({ edges, openLedger }, named, { json }, terminal);
  return { found, text: terminal.printed, notes: terminal.notes };
}
const textOf = async (trace: RequestTrace) => (await shown([edgeWith(trace)], {})).text;

describe('gatewayctl request', () => {
  it('tells the story of a request: what it was, each attempt, and why', async () => {
    const { found, text } = await shown([edgeWith(movedRequest())], {});
    expect(found).toBe(true);
    expect(text).toContain('completed with 200 (moved)');
    expect(text).toContain('1200 in (1000 of them cached), 80 out');
    expect(text).toContain('admitted after 0.5 ms, body read after 1.0 ms, first attempt after 2.0 ms');
    expect(text).toMatch(/^1 +responses\/team-a +gpt-5\.5 +rate_limited +429 +2\.0 ms +– +120 ms$/m);
    expect(text).toMatch(/^2 +responses\/team-b +gpt-5\.5 +succeeded +200 +123 ms +217 ms +2\.0 s$/m);
    expect(text).toContain(
      '1. It went to responses/team-a (its session is bound to it). The provider said that the account is limited (429); the account is free again at 2026-11-21T11:00:00.000Z.',
    );
    expect(text).toContain(
      '2. It went to responses/team-b (the only one that could). The provider answered. It was sent again without what the provider refused (sealed_reasoning). Passed over: 4 of responses for gpt-5.5: cooling after 429.',
    );
  });

  it('tells why there was no account', async () => {
    const failed = { ending: RequestEnding.FAILED, attempts: [], moved: false };
    const retryAt = movedRequest().attempts[0]?.retryAt;
    const exhausted = await textOf(
      movedRequest({
        ...failed,
        status: 429,
        errorCode: 'pool_exhausted',
        noAccount: { cause: NoAccountCause.EXHAUSTED, ...(retryAt === undefined ? {} : { retryAt }) },
      }),
    );
    expect(exhausted).toContain('failed with 429 pool_exhausted');
    expect(exhausted).toContain(
      'No account took it: all that could are limited, the first of them until 2026-11-21T11:00:00.000Z.',
    );
    const away = { cause: NoAccountCause.BROKER_AWAY, asked: 1, answered: 1_001 };
    expect(await textOf(movedRequest({ ...failed, noAccount: away }))).toContain('did not answer within 1.0 s');
    const spent = { cause: NoAccountCause.UNAVAILABLE, reason: 'it had spent its attempts' };
    const afterOne = movedRequest({ noAccount: spent });
    expect(await textOf(afterOne)).toContain('No other account took it: it had spent its attempts.');
  });

  it.each([
    [{ givenUp: AttemptGivenUp.CLIENT_LEFT, result: AttemptResult.CANCELLED }, 'The client left.'],
    [
      { givenUp: AttemptGivenUp.CLIENT_STALLED, result: AttemptResult.SUCCEEDED },
      'The client took nothing of the answer for too long, and was cut off.',
    ],
    [{ result: AttemptResult.UNSPECIFIED }, 'It is under way.'],
    [{ result: AttemptResult.SERVER_ERROR, firstByte: 5 }, 'The provider failed in the middle of the answer.'],
    [{ result: AttemptResult.SUCCEEDED, acquired: 2_001, asked: 1 }, 'for which the broker took 2.0 s'],
  ])('tells of an attempt %j', async (attempt, sentence) => {
    expect(await textOf(movedRequest({ attempts: [attempt] }))).toContain(sentence);
  });

  it('finds a request by the id of its answer, on whichever edge served it', async () => {
    const edges = [edgeWith(), awayEdge, edgeWith(movedRequest())];
    const { found, notes } = await shown(edges, { named: `chatcmpl-${movedId}` });
    expect(found).toBe(true);
    expect(notes).toEqual(['http://away: did not answer (refused)']);
  });

  it('can be JSON', async () => {
    const { text } = await shown([edgeWith(movedRequest())], { json: true });
    expect(JSON.parse(text)).toMatchObject({ requestId: movedId, attempts: [{ accountId: 'responses/team-a' }, {}] });
  });

  it('has what the ledger has when no edge knows the request', async () => {
    const { found, text, notes } = await shown([edgeWith(), edgeWith()], { openLedger: ledgerWith(booked) });
    expect(found).toBe(true);
    expect(notes[0]).toContain('None of the 2 edges that were asked knows the request');
    expect(text).toMatch(/outcome +aborted/);
    expect(text).toMatch(/tokens +10 in, 5 out, estimated/);
  });

  it('says so when nobody knows the request, or the ledger can not be asked', async () => {
    const unknown = await shown([edgeWith()], { openLedger: ledgerWith(undefined) });
    expect(unknown).toMatchObject({ found: false, text: '' });
    expect(unknown.notes.at(-1)).toContain('does not have it either');
    const alone = await shown([awayEdge], {});
    expect(alone.notes.slice(-2)).toEqual(['No edge answered.', 'The ledger could not be asked (no ledger here).']);
  });

  it('refuses a text without an id, and says where ids are', async () => {
    await expect(shown([edgeWith()], { named: 'msg_01' })).rejects.toThrow(/request list/);
  });
});

const booked = create(UsageRecordedSchema, {
  requestId: movedId,
  tokenId: 'token-1',
  provider: 'provider_a',
  model: 'gpt-5.5',
  inputTokens: 10n,
  outputTokens: 5n,
  estimated: true,
  outcome: Outcome.ABORTED,
});

function ledgerWith(request: UsageRecorded | undefined): OpenLedger {
  return async () => ({
    report: {
      findRequest: async () => create(FindRequestResponseSchema, request === undefined ? {} : { request }),
      reportUsage: () => Promise.reject(new Error('not expected here')),
    },
    async [Symbol.asyncDispose]() {},
  });
}
