import { type ChatAnswer, type FinishReason, maxTokenCount, type TokenUsage } from '@gateway/chat';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventReader } from './event-reader.ts';
import { convertUsage } from './usage-reports.ts';

describe('EventReader', () => {
  it('conserves texts, refusals, calls and arguments, whichever events hold them', () => {
    fc.assert(
      fc.property(fc.array(anyItem, { maxLength: 6 }), fc.boolean(), (items, outputIsFilled) => {
        const written = read(toEvents(items, outputIsFilled));
        expect(written.text).toBe(textsOf(items, 'text').join('\n\n'));
        expect(written.refusal).toBe(textsOf(items, 'refusal').join(''));
        expect(written.calls).toEqual(callsOf(items));
        expect(written.finished).toEqual([callsOf(items).length > 0 ? 'tool_calls' : 'stop']);
      }),
      { numRuns: 500 },
    );
  });

  it('counts what was produced once, reasoning included', () => {
    fc.assert(
      fc.property(fc.array(anyItem, { maxLength: 6 }), (items) => {
        expect(read(toEvents(items, true)).producedCharacters).toBe(charactersOf(items));
      }),
    );
  });

  it('lets stand what deltas said, when the whole part says something else', () => {
    const events = [
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'Hello. ' },
      { type: 'response.output_text.done', output_index: 0, content_index: 0, text: 'Hello.' },
      completed([]),
    ];
    expect(read(events).text).toBe('Hello. ');
  });

  it('takes events without an output index to be of the latest item', () => {
    const events = [
      { type: 'response.output_item.added', item: { type: 'message', content: [] } },
      { type: 'response.output_text.delta', delta: 'Look.' },
      { type: 'response.output_item.added', item: { type: 'function_call', call_id: 'c1', name: 'f', arguments: '' } },
      { type: 'response.function_call_arguments.delta', delta: '{"a"' },
      { type: 'response.function_call_arguments.delta', delta: ':1}' },
      completed([]),
    ];
    expect(read(events)).toMatchObject({ text: 'Look.', calls: [{ id: 'c1', name: 'f', arguments: '{"a":1}' }] });
  });

  it('writes arguments that come before the name of their call', () => {
    const events = [
      { type: 'response.function_call_arguments.delta', output_index: 4, delta: '{"a":1}' },
      completed([{ type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a":1}' }]),
    ];
    expect(read(events).calls).toEqual([{ id: 'c1', name: 'f', arguments: '{"a":1}' }]);
  });

  it('gives a call without arguments an empty object of them before the next call begins', () => {
    const first = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '' };
    const second = { type: 'response.output_item.added', output_index: 1, item: { ...first, call_id: 'c2' } };
    const events = [{ type: 'response.output_item.done', output_index: 0, item: first }, second];
    expect(read(events).calls).toEqual([
      { id: 'c1', name: 'f', arguments: '{}' },
      { id: 'c2', name: 'f', arguments: '' },
    ]);
  });

  it('keeps the latest usage', () => {
    const usage = { input_tokens: 3, output_tokens: 2 };
    const expected = { inputTokens: 3, cachedTokens: 0, outputTokens: 2, reasoningTokens: 0 };
    const failed = { type: 'response.failed', response: { usage, error: { code: 'server_error' } } };
    expect(read([failed]).usage).toEqual(expected);
    expect(read([{ type: 'response.completed', response: { usage } }]).usage).toEqual(expected);
  });
});

describe('convertUsage', () => {
  it('takes cached tokens as part of the input and reasoning as part of the output', () => {
    const usage = {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 64, cache_write_tokens: 12 },
      output_tokens: 50,
      output_tokens_details: { reasoning_tokens: 40 },
      total_tokens: 150,
    };
    expect(convertUsage(usage)).toEqual({
      ...{ inputTokens: 100, cachedTokens: 64, outputTokens: 50, reasoningTokens: 40 },
      ...{ cacheCreationTokens: 12, cacheCreation1hTokens: 0 },
    });
  });

  it.each([null, undefined, {}, [], 'none', { input_tokens: '7' }, { output_tokens: 1e15 }, { input_tokens: -1 }])(
    'reports nothing of %j',
    (usage) => {
      expect(convertUsage(usage)).toBeUndefined();
    },
  );

  it.each([-1, 0.5, '7', 1e15, 2 ** 40 + 1, Number.NaN, null])('does not know a count that is %j', (count) => {
    expect(convertUsage({ input_tokens: count, output_tokens: 9 })).toMatchObject({
      inputTokens: undefined,
      outputTokens: 9,
    });
    expect(convertUsage({ input_tokens: 9, output_tokens: count })).toMatchObject({
      inputTokens: 9,
      outputTokens: undefined,
    });
  });

  it('never has more cached than input or more reasoning than output, nor anything below zero', () => {
    const count = fc.oneof(
      fc.integer(),
      fc.maxSafeInteger(),
      fc.double(),
      fc.constant(null),
      fc.constant(undefined),
      fc.string(),
    );
    const usage = fc.record({
      input_tokens: count,
      output_tokens: count,
      input_tokens_details: fc.oneof(fc.constant(null), fc.record({ cached_tokens: count })),
      output_tokens_details: fc.oneof(fc.constant(null), fc.record({ reasoning_tokens: count })),
    });
    fc.assert(
      fc.property(usage, (value) => {
        const converted = convertUsage(value);
        if (converted === undefined) return;
        const counts = Object.values(converted).filter((count) => count !== undefined);
        expect(counts.every((count) => Number.isInteger(count) && count >= 0 && count <= maxTokenCount)).toBe(true);
        expect(converted.cachedTokens).toBeLessThanOrEqual(converted.inputTokens ?? maxTokenCount);
        expect(converted.reasoningTokens).toBeLessThanOrEqual(converted.outputTokens ?? maxTokenCount);
      }),
      { numRuns: 500 },
    );
  });
});

/** An item of a response, and how the provider represents it. */
interface Item {
  readonly type: 'message' | 'refusal' | 'function_call' | 'reasoning';
  readonly pieces: readonly string[];
  readonly shown: {
    readonly added: boolean;
    readonly deltas: boolean;
    readonly done: boolean;
    readonly itemDone: boolean;
  };
}

/** At least one of the events contains the whole item; otherwise the finished response must. */
const anyItem: fc.Arbitrary<Item> = fc.record({
  type: fc.constantFrom('message', 'refusal', 'function_call', 'reasoning'),
  pieces: fc.array(fc.string({ minLength: 1, unit: 'grapheme' }), { minLength: 1, maxLength: 4 }),
  shown: fc
    .record({ added: fc.boolean(), deltas: fc.boolean(), done: fc.boolean(), itemDone: fc.boolean() })
    .map((shown) =>
      shown.itemDone || (shown.added && (shown.deltas || shown.done)) ? shown : { ...shown, itemDone: true },
    ),
});

function toEvents(items: readonly Item[], outputIsFilled: boolean): readonly object[] {
  const wireItems = items.map(toWireItem);
  const events = items.flatMap((item, index) => eventsOf(item, index, wireItems[index] ?? {}));
  return [...events, completed(outputIsFilled ? wireItems : [])];
}

function eventsOf({ type, pieces, shown }: Item, index: number, item: object): readonly object[] {
  const place = { output_index: index, content_index: 0 };
  const whole = pieces.join('');
  const names = eventNames[type];
  const begun = { ...item, arguments: '', content: [], summary: [] };
  return [
    ...(shown.added ? [{ type: 'response.output_item.added', ...place, item: begun }] : []),
    // Only deltas can show reasoning.
    ...(shown.deltas || type === 'reasoning' ? pieces.map((delta) => ({ type: names.delta, ...place, delta })) : []),
    ...(shown.done ? [{ type: names.done, ...place, [names.member]: whole }] : []),
    ...(shown.itemDone ? [{ type: 'response.output_item.done', ...place, item }] : []),
  ];
}

const eventNames = {
  message: { delta: 'response.output_text.delta', done: 'response.output_text.done', member: 'text' },
  refusal: { delta: 'response.refusal.delta', done: 'response.refusal.done', member: 'refusal' },
  function_call: {
    delta: 'response.function_call_arguments.delta',
    done: 'response.function_call_arguments.done',
    member: 'arguments',
  },
  reasoning: { delta: 'response.reasoning_text.delta', done: 'response.reasoning_text.done', member: 'text' },
};

function toWireItem({ type, pieces }: Item, index: number): object {
  const whole = pieces.join('');
  switch (type) {
    case 'message':
      return { type, id: `msg_${index}`, content: [{ type: 'output_text', text: whole }] };
    case 'refusal':
      return { type: 'message', id: `msg_${index}`, content: [{ type: 'refusal', refusal: whole }] };
    case 'function_call':
      return { type, id: `fc_${index}`, call_id: `call_${index}`, name: `f${index}`, arguments: whole };
    case 'reasoning':
      return { type, id: `rs_${index}`, summary: [] };
  }
}

function completed(output: readonly object[]): object {
  return { type: 'response.completed', response: { status: 'completed', output, usage: null } };
}

function textsOf(items: readonly Item[], type: 'text' | 'refusal'): readonly string[] {
  const itemType = type === 'text' ? 'message' : 'refusal';
  return items.filter((item) => item.type === itemType).map((item) => item.pieces.join(''));
}

function callsOf(items: readonly Item[]): readonly object[] {
  return items.flatMap(({ type, pieces }, index) =>
    type === 'function_call' ? [{ id: `call_${index}`, name: `f${index}`, arguments: pieces.join('') }] : [],
  );
}

function charactersOf(items: readonly Item[]): number {
  return items.flatMap((item) => item.pieces).join('').length;
}

function read(events: readonly object[]) {
  const sink = new RecordingSink();
  const reader = new EventReader(sink, { wantsJson: false, nowMs: 0, maxAnswerBytes: 1_000, maxEventBytes: 1_000_000 });
  for (const event of events) reader.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`));
  const { text, refusal, calls, finished } = sink.recorded;
  return { text, refusal, calls, finished, usage: reader.reportedUsage, producedCharacters: reader.producedCharacters };
}

class RecordingSink implements ChatAnswer {
  readonly head = { status: 200, headers: {} } as const;
  readonly hasContent = false;
  readonly isStreamed = true;
  readonly isTooLarge = false;
  readonly producedCharacters = 0;
  readonly recorded = {
    text: '',
    refusal: '',
    calls: [] as { id: string; name: string; arguments: string }[],
    finished: [] as FinishReason[],
  };

  take(): Uint8Array {
    return new Uint8Array();
  }

  text(delta: string): void {
    this.recorded.text += delta;
  }

  refusal(delta: string): void {
    this.recorded.refusal += delta;
  }

  toolCall({ index, id, name }: { readonly index: number; readonly id: string; readonly name: string }): void {
    expect(index).toBe(this.recorded.calls.length);
    this.recorded.calls.push({ id, name, arguments: '' });
  }

  toolArguments(index: number, delta: string): void {
    const call = this.recorded.calls[index];
    if (call === undefined) throw new Error(`Call ${index} has not begun.`);
    call.arguments += delta;
  }

  finish(reason: FinishReason, _usage: TokenUsage | undefined): void {
    this.recorded.finished.push(reason);
  }
}
