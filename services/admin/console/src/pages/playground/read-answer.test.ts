import { describe, expect, it } from 'vitest';
import { AnswerReader } from './read-answer.ts';
import type { Endpoint } from './request-draft.ts';

const sse = (...events: readonly (object | string)[]) =>
  events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('');

function read(endpoint: Endpoint, contentType: string, text: string) {
  const reader = new AnswerReader(endpoint, contentType);
  // One byte at a time, so that characters and lines are cut.
  for (const byte of new TextEncoder().encode(text)) reader.push(Uint8Array.of(byte));
  reader.end();
  expect(reader.raw).toBe(text);
  return reader.answer;
}

const stream = 'text/event-stream; charset=utf-8';
const json = 'application/json; charset=utf-8';

describe('a streamed answer', () => {
  it('of chat completions has text, finish and usage', () => {
    const text = sse(
      { choices: [{ delta: { role: 'assistant' } }] },
      { choices: [{ delta: { content: 'Hé' } }] },
      { choices: [{ delta: { content: 'llo' } }] },
      { choices: [{ delta: {}, finish_reason: 'stop' }] },
      { choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } },
      '[DONE]',
    );
    expect(read('chat', stream, text)).toEqual({
      ...{ text: 'Héllo', hasBegun: true, finish: 'stop', error: '', isComplete: true },
      usage: { input: 7, output: 3 },
    });
  });

  it('of Messages has text, finish and usage, which comes in parts', () => {
    const text = sse(
      { type: 'message_start', message: { usage: { input_tokens: 7, output_tokens: 1 } } },
      { type: 'content_block_start', content_block: { type: 'thinking' } },
      { type: 'content_block_delta', delta: { type: 'thinking_delta', thinking: 'hm' } },
      { type: 'content_block_delta', delta: { type: 'text_delta', text: 'Hello' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } },
      { type: 'message_stop' },
    );
    expect(read('messages', stream, text)).toEqual({
      ...{ text: 'Hello', hasBegun: true, finish: 'end_turn', error: '', isComplete: true },
      usage: { input: 7, output: 9 },
    });
  });

  it('of Responses has text, finish and usage', () => {
    const text = sse(
      { type: 'response.created', response: { status: 'in_progress', error: null } },
      { type: 'response.output_text.delta', delta: 'Hel' },
      { type: 'response.output_text.delta', delta: 'lo' },
      { type: 'response.function_call_arguments.delta', delta: '{' },
      { type: 'response.completed', response: { status: 'completed', usage: { input_tokens: 5, output_tokens: 2 } } },
    );
    expect(read('responses', stream, text)).toEqual({
      ...{ text: 'Hello', hasBegun: true, finish: 'completed', error: '', isComplete: true },
      usage: { input: 5, output: 2 },
    });
  });

  it.each<[Endpoint, object, string]>([
    ['chat', { error: { code: 'internal_error', message: 'Broken.' } }, 'internal_error: Broken.'],
    ['messages', { type: 'error', error: { type: 'overloaded_error', message: 'Busy.' } }, 'overloaded_error: Busy.'],
    [
      'responses',
      { type: 'response.failed', response: { status: 'failed', error: { code: 'server_error', message: 'Gone.' } } },
      'server_error: Gone.',
    ],
  ])('of %s that ends with an error keeps its text', (endpoint, event, error) => {
    const deltas = {
      chat: { choices: [{ delta: { content: 'Hel' } }] },
      messages: { type: 'content_block_delta', delta: { type: 'text_delta', text: 'Hel' } },
      responses: { type: 'response.output_text.delta', delta: 'Hel' },
    };
    expect(read(endpoint, stream, sse(deltas[endpoint], event))).toMatchObject({ text: 'Hel', error });
  });

  it('is not complete if it breaks off, and survives events that it does not know', () => {
    const text = `${sse({ choices: [{ delta: { content: 'Hel' } }] }, 'null', '[1]', 'not JSON', '{"choices":"x"}')}data: {`;
    expect(read('chat', stream, text)).toMatchObject({ text: 'Hel', isComplete: false });
  });
});

describe('an answer in JSON', () => {
  it('has text, finish and usage', () => {
    const ofChat = {
      choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 7, completion_tokens: 3 },
    };
    expect(read('chat', json, JSON.stringify(ofChat))).toMatchObject({ text: 'Hello', usage: { input: 7, output: 3 } });
    const ofMessages = {
      content: [{ type: 'thinking' }, { type: 'text', text: 'Hel' }, { type: 'text', text: 'lo' }],
      ...{ stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 2 } },
    };
    expect(read('messages', json, JSON.stringify(ofMessages))).toMatchObject({ text: 'Hello', finish: 'end_turn' });
  });

  it('may be an error of any endpoint', () => {
    for (const endpoint of ['chat', 'messages', 'responses'] as const) {
      const body = JSON.stringify({ type: 'error', error: { code: 'rate_limit_exceeded', message: 'Wait.' } });
      expect(read(endpoint, json, body).error).toBe('rate_limit_exceeded: Wait.');
    }
    expect(read('chat', 'text/html', '<h1>Bad gateway</h1>')).toMatchObject({ text: '', error: '' });
  });
});
