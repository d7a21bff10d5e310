import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { describe, expect, it } from 'vitest';
import { end, ping, start, textBlock, thinkingBlock, wire } from './__fixtures__/provider-events.ts';
import { fixtureNames, newReader, readFixture, replay } from './__fixtures__/replay.ts';

interface Message {
  readonly content: string | null;
  readonly tool_calls?: readonly { readonly id: string; readonly function: { name: string; arguments: string } }[];
}

/** The completion object of a recorded stream. */
function completionOf(name: string): { message: Message; finishReason: string; usage: unknown } {
  const completion = JSON.parse(replay([readFixture(name)], false).text);
  const [choice] = completion.choices;
  return { message: choice.message, finishReason: choice.finish_reason, usage: completion.usage };
}

describe('ChatAnswerReader', () => {
  it('gives the text of an answer, and why and at what price it ended', () => {
    expect(completionOf('text')).toEqual({
      message: { role: 'assistant', content: 'Héllo, wörld 👋🏽!' },
      finishReason: 'stop',
      usage: {
        prompt_tokens: 25,
        completion_tokens: 15,
        total_tokens: 40,
        prompt_tokens_details: { cached_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 0 },
      },
    });
  });

  it('reads any framing: CRLF, comments, data without a space or an event name', () => {
    expect(completionOf('odd-framing')).toEqual(completionOf('text'));
  });

  it('keeps thinking to itself, and counts it', () => {
    const { message, usage } = completionOf('thinking');
    expect(message).toEqual({ role: 'assistant', content: '12231' });
    expect(usage).toMatchObject({ completion_tokens: 62, completion_tokens_details: { reasoning_tokens: 50 } });
    expect(replay([readFixture('thinking')], true).text).not.toContain('27');
    const thought = 'Let me see. 27 × 453';
    expect(replay([readFixture('thinking')], true).producedCharacters).toBe(thought.length + '12231'.length);
  });

  it('joins text blocks without anything between them', () => {
    expect(completionOf('cited-text').message.content).toBe('The grass is green.');
  });

  it('numbers tool calls from 0, whatever blocks stand before and between them', () => {
    const { message, finishReason } = completionOf('parallel-tools');
    expect(finishReason).toBe('tool_calls');
    expect(message.tool_calls?.map((call) => [call.id, call.function.arguments])).toEqual([
      ['toolu_01A', '{"city":"Amsterdam"}'],
      ['toolu_01B', '{"city":"Utrecht"}'],
      ['toolu_01C', '{}'],
    ]);
    const indexes = chunksOf('parallel-tools').flatMap(
      ({ delta }) => delta.tool_calls?.map((call) => call.index) ?? [],
    );
    expect(new Set(indexes)).toEqual(new Set([0, 1, 2]));
  });

  it('gives text beside a tool call', () => {
    const { message } = completionOf('tool-call');
    expect(message.content).toBe("I'll look that up.");
    expect(message.tool_calls?.[0]?.function).toEqual({
      name: 'get_weather',
      arguments: '{"location": "San Francisco, CA"}',
    });
  });

  it.each([
    ['tool-without-arguments', '{}'],
    ['tool-with-whole-input', '{"city":"Delft"}'],
    ['max-tokens', '{"path": "a.tx'],
  ])('%s: the arguments are %s', (name, expected) => {
    expect(completionOf(name).message.tool_calls?.[0]?.function.arguments).toBe(expected);
  });

  it.each([
    ['cache-usage', 'stop'],
    ['refusal', 'content_filter'],
    ['max-tokens', 'length'],
    ['context-window', 'length'],
    ['stop-sequence', 'stop'],
    ['server-tool', 'stop'],
    ['empty', 'stop'],
  ])('%s ends with %s', (name, finishReason) => {
    expect(completionOf(name).finishReason).toBe(finishReason);
  });

  it('leaves out what the provider did with tools of its own', () => {
    expect(completionOf('server-tool').message).toEqual({ role: 'assistant', content: 'Sunny.' });
  });

  it('says nothing of why the provider refused', () => {
    expect(replay([readFixture('refusal')], true).text).not.toContain('PROVIDER TEXT');
  });

  it('counts cached input into the input once, however often it is reported', () => {
    expect(replay([readFixture('cache-usage')], true).reportedUsage).toEqual({
      inputTokens: 4 + 120 + 2_048,
      cachedTokens: 2_048,
      cacheCreationTokens: 120,
      outputTokens: 7,
      reasoningTokens: 0,
    });
  });

  it('knows why the model stopped, and which one it was', () => {
    const reader = newReader(false);
    reader.push(readFixture('tool-call'));
    expect(reader).toMatchObject({ finishReason: 'tool_calls', answeringModel: 'claude-sonnet-4-5-20250929' });
  });

  it('skips events, blocks and deltas that it does not know, and counts them', () => {
    const { text, unknownEvents } = replay([readFixture('unknown-kinds')], false);
    expect(JSON.parse(text).choices[0].message.content).toBe('Plain.');
    expect(unknownEvents).toBe(4);
    expect(replay([readFixture('thinking')], false).unknownEvents).toBe(0);
  });

  it('gives not a byte before the first content, so that another attempt can be made until then', () => {
    const reader = newReader(true);
    const beforeContent = wire(start(), ping, ...thinkingBlock(0, 'Hm.'), ...textBlock(1));
    reader.push(Buffer.from(beforeContent));
    expect(reader).toMatchObject({ hasContent: false, result: undefined });
    expect(reader.take()).toHaveLength(0);
    reader.push(Buffer.from(wire(...textBlock(2, 'Yes'))));
    expect(reader.hasContent).toBe(true);
    expect(Buffer.from(reader.take()).toString()).toMatch(/^data: .*"role":"assistant".*\n\ndata: .*"content":"Yes"/);
  });

  it('takes an event that is as large as any may be', () => {
    const text = 'x'.repeat(4 * 1024 * 1024 - 200);
    const answer = Buffer.from(wire(start(), ...textBlock(0, text), ...end('end_turn')));
    expect(JSON.parse(replay([answer], false).text).choices[0].message.content).toBe(text);
  });

  it('reports usage while the answer goes on', () => {
    const reader = newReader(true);
    reader.push(readFixture('cut-off'));
    expect(reader.result).toBeUndefined();
    expect(reader.reportedUsage).toMatchObject({ inputTokens: 25, outputTokens: 1 });
  });
});

describe('a stream that fails', () => {
  it.each([
    ['overloaded-first', AttemptResult.OVERLOADED, false],
    ['overloaded-after-start', AttemptResult.OVERLOADED, false],
    ['error-mid-stream', AttemptResult.SERVER_ERROR, true],
    ['cut-off', AttemptResult.SERVER_ERROR, true],
  ])('%s: result %i, content: %s', (name, result, hasContent) => {
    const replayed = replay([readFixture(name)], true);
    expect(replayed.ending).toMatchObject({ kind: 'failed', failure: { result, upstreamStatus: 0 } });
    expect(replayed.hasContent).toBe(hasContent);
    expect(replayed.text).not.toContain('[DONE]');
    expect(replayed.text).not.toContain('PROVIDER TEXT');
    expect(replayed.text === '').toBe(!hasContent);
    expect(JSON.stringify(replayed.ending)).not.toContain('PROVIDER TEXT');
  });

  it('has nothing for a client that waits for the whole', () => {
    expect(replay([readFixture('error-mid-stream')], false)).toMatchObject({ text: '', hasContent: false });
  });

  it.each([
    ['is no JSON', 'data: {"type":"message_start",\n\n'],
    ['is no object', 'data: 1\n\n'],
    ['lacks what it is for', 'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta"}}\n\n'],
    ['stops a message that never began', 'data: {"type":"message_stop"}\n\n'],
    ['is too large', `data: ${'x'.repeat(4 * 1024 * 1024)}\n\n`],
  ])('fails on an event that %s', (_, event) => {
    expect(replay([Buffer.from(event)], true).ending).toMatchObject({
      kind: 'failed',
      failure: { result: AttemptResult.SERVER_ERROR, error: { code: 'providers_unavailable' } },
    });
  });

  it('fails when there is no event at all', () => {
    expect(replay([], true).ending).toMatchObject({ kind: 'failed' });
  });

  it('reads nothing after the end', () => {
    const twice = Buffer.concat([readFixture('text'), readFixture('overloaded-first'), readFixture('text')]);
    expect(replay([twice], true)).toEqual(replay([readFixture('text')], true));
  });
});

describe.each(fixtureNames)('the recorded stream "%s"', (name) => {
  const bytes = readFixture(name);

  it.each([true, false])('is read alike however its bytes are split (streamed: %s)', (stream) => {
    const whole = replay([bytes], stream);
    expect(
      replay(
        Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)),
        stream,
      ),
    ).toEqual(whole);
    for (let at = 1; at < bytes.length; at++) {
      expect(replay([bytes.subarray(0, at), bytes.subarray(at)], stream)).toEqual(whole);
    }
  });

  it('says the same streamed and whole', () => {
    const whole = replay([bytes], false);
    if (whole.ending?.kind !== 'finished') return expect(replay([bytes], true).ending).toEqual(whole.ending);
    const { content, tool_calls: calls } = completionOf(name).message;
    const deltas = chunksOf(name).map(({ delta }) => delta);
    expect(deltas.map((delta) => delta.content ?? '').join('')).toBe(content ?? '');
    for (const [index, call] of (calls ?? []).entries()) {
      const pieces = deltas.flatMap((delta) => delta.tool_calls ?? []).filter((piece) => piece.index === index);
      expect(pieces.map((piece) => piece.function.arguments).join('')).toBe(call.function.arguments);
      expect(pieces[0]).toMatchObject({ id: call.id, function: { name: call.function.name } });
    }
    expect(chunksOf(name).at(-1)?.finish_reason).toBe(completionOf(name).finishReason);
  });
});

interface Choice {
  readonly delta: {
    readonly content?: string;
    readonly tool_calls?: readonly { index: number; function: { name?: string; arguments: string } }[];
  };
  readonly finish_reason: string | null;
}

/** The choices of a recorded stream's chunks, in order. */
function chunksOf(name: string): readonly Choice[] {
  return replay([readFixture(name)], true)
    .text.split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .flatMap((event) => JSON.parse(event.slice('data: '.length)).choices);
}
