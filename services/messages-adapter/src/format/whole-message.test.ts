import { readEvent } from '@gateway/sse';
import { describe, expect, it } from 'vitest';
import { fixtureNames, readFixture, replay } from './__fixtures__/replay.ts';

const finished = fixtureNames.filter((name) => {
  const { ending, text } = replay([readFixture(name)], true);
  // A call may be cut, which no whole message shows.
  return ending?.kind === 'finished' && !text.includes('"finish_reason":"length"');
});

describe.each(finished)('a whole message in place of the stream “%s”', (name) => {
  const message = messageOf(readFixture(name));

  it.each([true, false])('says the same to a client, streamed: %s', (stream) => {
    const streamed = replay([readFixture(name)], stream);
    const written = JSON.stringify(message);
    for (const text of [written, `\ufeff${written}`, `\n ${JSON.stringify(message, undefined, 2)}\n\n`]) {
      const bytes = Buffer.from(text);
      for (const pieces of [[bytes], Array.from(bytes, (byte) => Buffer.of(byte))]) {
        const whole = replay(pieces, stream);
        expect(contentOf(whole.text)).toEqual(contentOf(streamed.text));
        expect(whole.ending).toEqual(streamed.ending);
        expect(whole.reportedUsage).toEqual(streamed.reportedUsage);
      }
    }
  });

  it('is none when it is cut anywhere, or when something follows it', () => {
    const bytes = Buffer.from(JSON.stringify(message));
    const more = ['{', '}', bytes, 'data: {}\n\n'].map((text) => Buffer.concat([bytes, Buffer.from(text)]));
    for (const other of [...Array.from(bytes, (_, end) => bytes.subarray(0, end)), ...more]) {
      expect(replay([other], true)).toMatchObject({ ending: { kind: 'failed' }, text: '' });
    }
  });
});

it('another object is no message, and an error is that error', () => {
  for (const other of [{}, { type: 'completion' }, { object: 'response' }]) {
    expect(replay([Buffer.from(JSON.stringify(other))], true).ending?.kind).toBe('failed');
  }
  const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
  expect(replay([Buffer.from(JSON.stringify(error))], true).ending).toMatchObject({
    failure: { meaning: 'overloaded' },
  });
});

interface Block {
  type: string;
  text?: string;
  input?: unknown;
  json?: string;
}

/** The message that a stream amounts to, as the provider sends it whole. */
function messageOf(stream: Buffer): object {
  const blocks: Block[] = [];
  let message: Record<string, unknown> = {};
  for (const text of stream.toString().split(/\r\n\r\n|\n\n|\r\r/)) {
    const { data = '{}' } = readEvent(Buffer.from(`${text}\n`));
    const event = data.trim().startsWith('{') ? JSON.parse(data) : {};
    const block: Block = blocks[event.index] ?? { type: 'text' };
    if (event.type === 'message_start') {
      message = event.message;
      blocks.push(...(event.message.content ?? []));
    }
    if (event.type === 'content_block_start') blocks[event.index] = { ...event.content_block };
    if (event.delta?.type === 'text_delta') block.text = (block.text ?? '') + event.delta.text;
    if (event.delta?.type === 'input_json_delta') block.json = (block.json ?? '') + event.delta.partial_json;
    if (event.delta?.type === 'thinking_delta') Object.assign(block, { thinking: event.delta.thinking });
    if (event.delta?.type === 'signature_delta') Object.assign(block, { signature: event.delta.signature });
    if (event.type === 'message_delta') {
      const usage = { ...Object(message.usage), ...event.usage };
      message = { ...message, ...event.delta, usage };
    }
  }
  const content = blocks
    .filter(Boolean)
    .map(({ json, ...block }) => (json ? { ...block, input: JSON.parse(json) } : block));
  return { ...message, content };
}

/** What a client reads of an answer, however its deltas were cut. */
function contentOf(text: string): object {
  const events = text.startsWith('{') ? [text] : text.split('\n\n').map((event) => event.slice('data: '.length));
  const objects = events.filter((event) => event.startsWith('{')).map((event) => JSON.parse(event));
  const choices = objects.flatMap(({ choices }) => choices);
  const deltas = choices.map(({ delta, message }) => delta ?? message);
  const calls = deltas.flatMap(({ tool_calls }) => tool_calls ?? []);
  return {
    text: deltas.map(({ content }) => content ?? '').join(''),
    calls: calls.map((call) => call.function.name).filter(Boolean),
    arguments: calls.map((call) => call.function.arguments.replace(/\s/g, '')).join(''),
    reason: choices.at(-1)?.finish_reason,
    usage: objects.map(({ usage }) => usage).findLast(Boolean),
  };
}
