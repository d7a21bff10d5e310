import { create } from '@bufbuild/protobuf';
import { BufferList } from '@gateway/json';
import { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { LeaseSchema, ProviderFormat as ProviderFormatId } from '@gateway/proto/pool/v1/account_pb.js';
import { describe, expect, it } from 'vitest';
import { readFixture, replayedAtMs } from './__fixtures__/replay.ts';
import { responsesFormat } from './format-definition.ts';

describe('chatTranslator', () => {
  it('makes a call of a chat request, and a chat answer of what comes back', () => {
    const call = prepare({ model: 'gateway/sterk', messages: [{ role: 'user', content: 'Hi' }] });
    expect(call).toMatchObject({ path: '/responses', headers: {} });
    expect(JSON.parse(String(call.body))).toMatchObject({
      model: 'gpt-5.5',
      reasoning: { effort: 'high' },
      prompt_cache_key: 'session-1',
    });
    call.answer.push(readFixture('text'));
    expect(call.answer.head).toMatchObject({
      status: 200,
      headers: { 'content-type': expect.stringContaining('application/json') },
    });
    expect(JSON.parse(Buffer.from(call.answer.take()).toString())).toMatchObject({
      id: 'chatcmpl-r1',
      object: 'chat.completion',
      created: replayedAtMs / 1_000,
      model: 'gpt-5.5',
      choices: [{ message: { content: 'Grüße aus 東京 🗼.' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 81, completion_tokens: 23, total_tokens: 104 },
    });
  });

  it('streams when the client does', () => {
    const messages = [{ role: 'user', content: 'Hi' }];
    const call = prepare({ model: 'm', messages, stream: true, stream_options: { include_usage: true } });
    call.answer.push(readFixture('text'));
    const text = Buffer.from(call.answer.take()).toString();
    expect(text).toMatch(/^data: .*"delta":\{"role":"assistant","content":""\}/);
    expect(text).toMatch(/"usage":\{.*\n\ndata: \[DONE\]\n\n$/);
  });

  it('withholds commentary when the answer is to be JSON', () => {
    const messages = [{ role: 'user', content: 'As JSON' }];
    const call = prepare({ model: 'm', messages, response_format: { type: 'json_object' } });
    call.answer.push(readFixture('json-after-commentary'));
    expect(JSON.parse(Buffer.from(call.answer.take()).toString())).toMatchObject({
      choices: [{ message: { content: '{"answer":4}' } }],
    });
  });

  it('sends no half characters', () => {
    const call = prepare({ model: 'm', messages: [{ role: 'user', content: 'cut \ud83d' }] });
    expect(String(call.body)).toContain('cut \ufffd');
  });

  it('refuses a request before anything is sent', () => {
    expect(() => prepare({ model: 'm', messages: [] })).toThrow(expect.objectContaining({ code: 'invalid_request' }));
    const content = [{ type: 'input_audio', input_audio: {} }];
    expect(() => prepare({ model: 'm', messages: [{ role: 'user', content }] })).toThrow(
      expect.objectContaining({ code: 'unsupported_content' }),
    );
  });
});

function prepare(body: object) {
  const translator = responsesFormat.translators.get(Dialect.CHAT_COMPLETIONS);
  if (translator === undefined) throw new Error('The format speaks no chat completions.');
  return translator.prepare({
    requestId: 'r1',
    lease: create(LeaseSchema, { format: ProviderFormatId.RESPONSES, model: 'gpt-5.5', defaultEffort: 'high' }),
    body: new BufferList([Buffer.from(JSON.stringify(body))]),
    forwardHeaders: { 'x-codex-turn-state': 'state' },
    members: [],
    affinityKey: 'session-1',
    nowMs: replayedAtMs,
    maxAnswerBytes: 1_000_000,
    maxEventBytes: 1_000_000,
  });
}
