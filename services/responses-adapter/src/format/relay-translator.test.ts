import { create } from '@bufbuild/protobuf';
import { brokenStream, toAttemptFailure } from '@gateway/adapter-kit';
import { BufferList } from '@gateway/json';
import { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { LeaseSchema, ProviderFormat as ProviderFormatId } from '@gateway/proto/pool/v1/account_pb.js';
import { textOfBody } from '@gateway/testkit/adapters';
import { describe, expect, it } from 'vitest';
import { readFixture, replayedAtMs } from './__fixtures__/replay.ts';
import { responsesFormat } from './format-definition.ts';

describe('responsesTranslator', () => {
  it('makes a call of the spliced bytes, with the headers that the endpoint forwards', () => {
    const forwardHeaders = { 'x-openai-internal-codex-responses-lite': 'true' };
    const call = prepare('{"model":"x","input":[],"prompt_cache_key":"k","n":12345678901234567890}', forwardHeaders);
    expect(call).toMatchObject({ path: '/responses', headers: forwardHeaders });
    expect(textOfBody(call)).toBe(
      '{"model":"gpt-5.5","input":[],"prompt_cache_key":"k","n":12345678901234567890,"stream":true,"store":false}',
    );
  });

  it('relays what comes back', () => {
    const { answer } = prepare('{"model":"x","input":[],"stream":false}');
    answer.push(readFixture('text'));
    expect(answer.take()).toEqual(readFixture('text'));
    expect(answer).toMatchObject({ result: { kind: 'finished' }, answerId: 'resp_0a1' });
  });

  it('passes errors of the provider on', () => {
    expect(translator?.passesErrorsOn).toBe(true);
  });

  it('leaves encrypted reasoning out when the account can’t read it, and gives up when there is none', async () => {
    const unreadable = toAttemptFailure({
      meaning: 'unreadable_reasoning',
      upstreamStatus: 400,
      retryAtMs: undefined,
    });
    const call = prepare(
      '{"model":"x","input":[{"type":"reasoning","encrypted_content":"s"},{"id":"msg_1","role":"user"}]}',
    );
    expect(textOfBody((await call.amend?.(unreadable)) ?? expect.fail())).toBe(
      '{"model":"gpt-5.5","input":[{"role":"user"}],"stream":true,"store":false}',
    );
    expect((await call.amend?.(unreadable))?.answer).not.toBe(call.answer);
    expect(await prepare('{"model":"x","input":[]}').amend?.(unreadable)).toBeUndefined();
  });

  it('changes nothing for any other failure', async () => {
    const call = prepare('{"model":"x","input":[{"type":"reasoning","encrypted_content":"s"}]}');
    expect(await call.amend?.(brokenStream())).toBeUndefined();
  });

  it('refuses a body that is no object', () => {
    expect(() => prepare('[]')).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });
});

const translator = responsesFormat.translators.get(Dialect.RESPONSES);

function prepare(body: string, forwardHeaders: Readonly<Record<string, string>> = {}) {
  if (translator === undefined) throw new Error('The format does not speak Responses.');
  const lease = create(LeaseSchema, { model: 'gpt-5.5', pool: 'responses', format: ProviderFormatId.RESPONSES });
  return translator.prepare({
    requestId: 'r1',
    lease,
    body: new BufferList([Buffer.from(body)]),
    forwardHeaders,
    members: [],
    affinityKey: 'session-1',
    nowMs: replayedAtMs,
    maxAnswerBytes: 1_000_000,
    maxEventBytes: 1_000_000,
  });
}
