import { readdirSync } from 'node:fs';
import { readEvent } from '@gateway/sse';
import { describe, expect, it } from 'vitest';
import { readFixture, replay } from './__fixtures__/replay.ts';

const recordings = readdirSync(new URL('./__fixtures__/recordings', import.meta.url)).map((file) => file.slice(0, -4));
const finished = recordings.filter((name) => replay([readFixture(name)]).ending?.kind === 'finished');

describe.each(finished)('a whole response in place of the stream “%s”', (name) => {
  const response = responseOf(readFixture(name));

  it.each([true, false])('says the same to a client, streamed: %s', (stream) => {
    const streamed = replay([readFixture(name)], { stream });
    const written = JSON.stringify(response);
    for (const text of [written, `\ufeff${written}`, `\n ${JSON.stringify(response, undefined, 2)}\n\n`]) {
      const bytes = Buffer.from(text);
      for (const pieces of [[bytes], Array.from(bytes, (byte) => Buffer.of(byte))]) {
        const { content, refusal, toolCalls, finishReason, usage, ending } = replay(pieces, { stream });
        expect({ content, refusal, toolCalls, finishReason, usage, ending }).toEqual({
          content: streamed.content,
          refusal: streamed.refusal,
          toolCalls: streamed.toolCalls,
          finishReason: streamed.finishReason,
          usage: streamed.usage,
          ending: streamed.ending,
        });
      }
    }
  });

  it('is none when it is cut anywhere, or when something follows it', () => {
    const bytes = Buffer.from(JSON.stringify(response));
    const more = ['{', '}', bytes, 'data: {}\n\n'].map((text) => Buffer.concat([bytes, Buffer.from(text)]));
    for (const other of [...Array.from(bytes, (_, end) => bytes.subarray(0, end)), ...more]) {
      expect(replay([other])).toMatchObject({ ending: { kind: 'failed' }, hasContent: false });
    }
  });
});

it('another object is no response, and an error is that error', () => {
  for (const other of [{}, { object: 'chat.completion' }, { object: 'response', status: 'queued', output: [] }]) {
    expect(replay([Buffer.from(JSON.stringify(other))]).ending?.kind).toBe('failed');
  }
  const error = { code: 'rate_limit_exceeded', message: 'Slow down.' };
  for (const failed of [{ error }, { object: 'response', status: 'failed', error, output: [] }]) {
    expect(replay([Buffer.from(JSON.stringify(failed))]).ending).toMatchObject({
      failure: { meaning: 'model_limited' },
    });
  }
});

/** The response that a stream ends with, with the items of the stream if it lists none. */
function responseOf(stream: Buffer): object {
  const events = stream
    .toString()
    .split(/\r\n\r\n|\n\n/)
    .map((text) => readEvent(Buffer.from(`${text}\n`)).data ?? '')
    .filter((data) => data.trim().startsWith('{'))
    .map((data) => JSON.parse(data));
  const items = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
  const { response = {}, type = '' } = events.findLast((event) => event.response !== undefined) ?? {};
  const output = (response.output ?? []).length > 0 ? response.output : items;
  return { status: type.slice('response.'.length), ...response, output };
}
