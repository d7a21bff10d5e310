import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { differencesBetween } from './compare.ts';
import type { Answer, StreamEvent } from './send.ts';

function json(body: unknown, status = 200): Answer {
  return { status, mediaType: 'application/json', body: { json: body }, firstByteMs: 1, totalMs: 2 };
}

function stream(...data: readonly unknown[]): Answer {
  const events: readonly StreamEvent[] = data.map((each) => ({ name: '', data: each }));
  return { status: 200, mediaType: 'text/event-stream', body: { events }, firstByteMs: 1, totalMs: 2 };
}

const chat = (message: object, more: object = {}) => ({
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'gpt-5.5' },
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 },
  ...more,
});

const chunk = (delta: object, more: object = {}) => ({
  ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-5.5' },
  choices: [{ index: 0, delta, finish_reason: null }],
  ...more,
});
const end = { ...chunk({}), choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
const chatStream = (texts: readonly string[]) =>
  stream(chunk({ role: 'assistant', content: '' }), ...texts.map((content) => chunk({ content })), end, '[DONE]');

const delta = (text: string) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } });
const messagesStream = (texts: readonly string[], more: readonly unknown[] = []) =>
  stream(
    { type: 'message_start', message: { model: 'm', usage: { input_tokens: 5, output_tokens: 1 } } },
    ...more,
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...texts.map(delta),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 7 } },
    { type: 'message_stop' },
  );

/** "shape: …", with a mark for those that are explained. */
function textsOf(from: Answer, to: Answer, ignored: readonly string[] = []): readonly string[] {
  const found = differencesBetween(from, to, new Set(ignored));
  return found.map(({ kind, text, explanation }) => `${explanation === undefined ? '' : '('}${kind}: ${text}`);
}

describe('two answers', () => {
  it('are alike if only texts, ids and times differ', () => {
    expect(textsOf(json(chat({ content: 'a' })), json(chat({ content: 'b' }, { id: 'x', created: 5 })))).toEqual([]);
  });

  it.each([
    ['a status', json(chat({})), json({ error: { code: 'x' } }, 404), ['status: 200 from --from, 404 from --to']],
    [
      'a member',
      json(chat({ content: 'a' }, { service_tier: 'default' })),
      json(chat({ content: 'a' })),
      ['shape: service_tier: only in the answer of --from'],
    ],
    [
      'a type',
      json(chat({ content: 'a' })),
      json(chat({ content: 'a' }, { created: '1' })),
      ['shape: created: number from --from, string from --to'],
    ],
    [
      'a media type',
      json(chat({})),
      stream(chunk({}, { usage: { prompt_tokens: 10 } })),
      ['format: application/json from --from, text/event-stream from --to'],
    ],
    [
      'the input that they report',
      json(chat({})),
      json(chat({}, { usage: { prompt_tokens: 9, completion_tokens: 90, total_tokens: 99 } })),
      ['usage: 10 input tokens from --from, 9 from --to'],
    ],
    [
      'the code of an error',
      json({ error: { code: 'rate_limit_exceeded', message: 'a' } }, 429),
      json({ error: { code: 'pool_exhausted', message: 'b' } }, 429),
      ['error: error.code: rate_limit_exceeded from --from, pool_exhausted from --to'],
    ],
    [
      'the end of a stream',
      chatStream(['a']),
      stream(chunk({ role: 'assistant', content: '' }), chunk({ content: 'a' }), end),
      ['events: role, content, finish_reason, [DONE] from --from; role, content, finish_reason from --to'],
    ],
  ])('differ in %s', (_what, from, to, expected) => {
    expect(textsOf(from, to)).toEqual(expected);
  });

  it('may differ in what models choose, which is explained', () => {
    const call = { tool_calls: [{ id: 'x', type: 'function', function: { name: 'f', arguments: '{}' } }] };
    const called = textsOf(json(chat({ content: 'a' })), json(chat({ content: null, ...call })));
    expect(called).toEqual([
      '(shape: choices[].message.content: only in the answer of --from',
      '(shape: choices[].message.tool_calls: only in the answer of --to',
    ]);
    const thought = messagesStream(
      ['a'],
      [
        { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
        { type: 'content_block_stop', index: 0 },
      ],
    );
    expect(textsOf(messagesStream(['a']), thought).filter((text) => !text.startsWith('('))).toEqual([
      'shape: content_block_start: content_block.thinking: only in the answer of --to',
    ]);
  });

  it('may differ in usage if another model answered', () => {
    const other = chat({}, { model: 'claude', usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } });
    expect(textsOf(json(chat({})), json(other))).toEqual(['(usage: 10 input tokens from --from, 1 from --to']);
  });

  it('may differ as a person has accepted', () => {
    const other = json(
      chat({}, { service_tier: 'x', usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }),
    );
    const marked = textsOf(json(chat({})), other, ['service_tier', 'usage']);
    expect(marked.every((text) => text.startsWith('('))).toBe(true);
    expect(marked).toHaveLength(2);
  });

  it('count null as absent, and leave pings out', () => {
    expect(textsOf(json(chat({ content: 'a', refusal: null })), json(chat({ content: 'a' })))).toEqual([]);
    expect(textsOf(messagesStream(['a']), messagesStream(['a'], [{ type: 'ping' }]))).toEqual([]);
  });

  it('that do not come are a difference', () => {
    expect(differencesBetween({ reason: 'ECONNREFUSED' }, { reason: 'stopped' }).map(({ text }) => text)).toEqual([
      'no answer of --from: ECONNREFUSED',
      'no answer of --to: stopped',
    ]);
  });
});

describe('whatever models say', () => {
  const texts = fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 20 });

  it('streams are alike, however many events carry their texts', () => {
    fc.assert(
      fc.property(texts, texts, (one, other) => {
        expect(textsOf(chatStream(one), chatStream(other))).toEqual([]);
        expect(textsOf(messagesStream(one), messagesStream(other))).toEqual([]);
      }),
    );
  });

  it('every answer is like itself, and unlike one with a member more', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), fc.integer(), (body, number) => {
        expect(textsOf(json(body), json(body))).toEqual([]);
        const more = { ...body, 'a-member-more': number };
        expect(textsOf(json(body), json(more))).toEqual(['shape: a-member-more: only in the answer of --to']);
      }),
    );
  });
});
