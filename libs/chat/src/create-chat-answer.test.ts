import { EventSplitter, readEvent } from '@gateway/sse';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatAnswer, ChatAnswerOptions, FinishReason } from './chat-answer.ts';
import { createChatAnswer } from './create-chat-answer.ts';
import type { TokenUsage } from './token-usage.ts';

const identity = { id: 'abc', created: 1_700_000_000, model: 'model-x' };
const usage: TokenUsage = { inputTokens: 10, cachedTokens: 4, outputTokens: 7, reasoningTokens: 3 };
const usageObject = {
  prompt_tokens: 10,
  completion_tokens: 7,
  total_tokens: 17,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 3 },
};

const answerWith = (options: Partial<ChatAnswerOptions>) =>
  createChatAnswer({ ...identity, stream: true, includeUsage: false, ...options });

/** The output of an answer to which `write` adds content. */
function streamed(write: (sink: ChatAnswer) => void, includeUsage = false): string[] {
  const answer = answerWith({ includeUsage });
  write(answer);
  return dataLines(answer.take());
}

function assembled(write: (sink: ChatAnswer) => void): Completion {
  const answer = answerWith({ stream: false });
  write(answer);
  return JSON.parse(Buffer.from(answer.take()).toString());
}

function dataLines(bytes: Uint8Array): string[] {
  const lines: string[] = [];
  const onEvent = (event: Buffer) => lines.push(readEvent(event).data ?? '');
  const splitter = new EventSplitter({ maxEventBytes: 1_000_000, onEvent });
  splitter.push(bytes);
  expect(splitter.end()).toHaveLength(0);
  return lines;
}

const chunk = (choices: unknown[]) => ({
  id: 'chatcmpl-abc',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model: 'model-x',
  choices,
});
const choice = (delta: unknown, finish_reason: FinishReason | null = null) =>
  chunk([{ index: 0, delta, finish_reason }]);

describe('the text of an assembled chat answer', () => {
  it('is that of all its deltas', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), (deltas) => {
        const { choices } = assembled((sink) => {
          for (const delta of deltas) sink.text(delta);
          sink.finish('stop', undefined);
        });
        expect(choices[0]?.message.content).toBe(deltas.join(''));
      }),
    );
  });

  it('is whole again where a delta ends in half a character', () => {
    const { choices } = assembled((sink) => {
      sink.text('\ud83c');
      sink.text('\udf0d');
      sink.finish('stop', undefined);
    });
    expect(choices[0]?.message.content).toBe('🌍');
  });
});

describe('a streamed chat answer', () => {
  it('is a role chunk, deltas, a closing chunk and [DONE]', () => {
    const lines = streamed((sink) => {
      sink.text('Hel');
      sink.text('lo "you"');
      sink.finish('stop', usage);
    });
    expect(lines.slice(0, -1).map((line) => JSON.parse(line))).toStrictEqual([
      choice({ role: 'assistant', content: '' }),
      choice({ content: 'Hel' }),
      choice({ content: 'lo "you"' }),
      choice({}, 'stop'),
    ]);
    expect(lines.at(-1)).toBe('[DONE]');
  });

  it('has a usage chunk before [DONE] when it was asked for and is known', () => {
    const shown = (known: TokenUsage | undefined) =>
      streamed((sink) => {
        sink.text('x');
        sink.finish('stop', known);
      }, true);
    expect(JSON.parse(shown(usage).at(-2) ?? '')).toStrictEqual({ ...chunk([]), usage: usageObject });
    expect(JSON.parse(shown(undefined).at(-2) ?? '')).toStrictEqual(choice({}, 'stop'));
    for (const line of shown(usage).slice(0, -2)) expect(JSON.parse(line)).not.toHaveProperty('usage');
  });

  it('starts a tool call with id and name, then sends its arguments', () => {
    const lines = streamed((sink) => {
      sink.toolCall({ index: 0, id: 'call_1', name: 'f' });
      sink.toolArguments(0, '{"a":');
      sink.toolArguments(0, '1}');
      sink.toolCall({ index: 1, id: 'call_2', name: 'g' });
      sink.finish('tool_calls', undefined);
    });
    const call = (fields: object) => choice({ tool_calls: [fields] });
    const start = (index: number, id: string, name: string) =>
      call({ index, id, type: 'function', function: { name, arguments: '' } });
    expect(lines.slice(1, -2).map((line) => JSON.parse(line))).toStrictEqual([
      start(0, 'call_1', 'f'),
      call({ index: 0, function: { arguments: '{"a":' } }),
      call({ index: 0, function: { arguments: '1}' } }),
      start(1, 'call_2', 'g'),
      call({ index: 1, function: { arguments: '{}' } }),
    ]);
  });

  it.each(['length', 'content_filter'] as const)(
    'that is cut by %s leaves a call without arguments as it is',
    (reason) => {
      const cut = (sink: ChatAnswer) => {
        sink.toolCall({ index: 0, id: 'call_1', name: 'f' });
        sink.finish(reason, undefined);
      };
      expect(streamed(cut).join('')).not.toContain('{}"');
      expect(assembled(cut).choices[0]?.message).toMatchObject({ tool_calls: [{ function: { arguments: '' } }] });
    },
  );

  it('gives nothing before the first content, and then the role together with it', () => {
    const answer = answerWith({});
    answer.text('');
    expect([answer.hasContent, answer.take().length]).toEqual([false, 0]);
    answer.text('a');
    expect([answer.hasContent, dataLines(answer.take()).length]).toEqual([true, 2]);
    expect(answer.take()).toHaveLength(0);
  });

  it('has a role chunk and a closing chunk even without content', () => {
    const lines = streamed((sink) => sink.finish('length', undefined));
    expect(lines.slice(0, -1).map((line) => JSON.parse(line))).toStrictEqual([
      choice({ role: 'assistant', content: '' }),
      choice({}, 'length'),
    ]);
  });
});

describe('an assembled chat answer', () => {
  it('is one object, given at the end', () => {
    const answer = answerWith({ stream: false });
    answer.text('Hello');
    expect([answer.hasContent, answer.take().length]).toEqual([false, 0]);
    answer.finish('stop', usage);
    expect(answer.hasContent).toBe(true);
    expect(JSON.parse(Buffer.from(answer.take()).toString())).toStrictEqual({
      id: 'chatcmpl-abc',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'model-x',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
      usage: usageObject,
    });
  });

  it('has no content when the model only called tools or refused, and says so', () => {
    const called = assembled((sink) => {
      sink.toolCall({ index: 0, id: 'call_1', name: 'f' });
      sink.finish('tool_calls', undefined);
    });
    expect(called).not.toHaveProperty('usage');
    expect(called.choices[0]?.message).toStrictEqual({
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }],
    });
    const refused = assembled((sink) => {
      sink.refusal('No.');
      sink.finish('stop', undefined);
    });
    expect(refused.choices[0]?.message).toStrictEqual({ role: 'assistant', content: null, refusal: 'No.' });
  });
});

describe('the two forms of a chat answer', () => {
  it('say the same, whatever the pieces', () => {
    fc.assert(
      fc.property(pieces, fc.option(fc.constant(usage), { nil: undefined }), (calls, known) => {
        const write = (sink: ChatAnswer) => {
          for (const piece of calls) piece(sink);
          sink.finish('stop', known);
        };
        const fromChunks = assembleChunks(streamed(write, true));
        expect(fromChunks).toStrictEqual(assembled(write));
      }),
    );
  });

  it('count the same characters', () => {
    fc.assert(
      fc.property(pieces, (calls) => {
        const [stream, object] = [answerWith({ stream: true }), answerWith({ stream: false })];
        for (const piece of calls) {
          piece(stream);
          piece(object);
        }
        expect(stream.producedCharacters).toBe(object.producedCharacters);
      }),
    );
  });
});

type Piece = (sink: ChatAnswer) => void;

const anyText = fc.string({ unit: 'binary', maxLength: 5 });
const textPieces = fc
  .tuple(anyText, fc.boolean())
  .map(([text, refuses]): Piece[] => [(sink) => (refuses ? sink.refusal(text) : sink.text(text))]);
const toolPieces = fc.array(anyText, { maxLength: 3 }).map((deltas) => (index: number): Piece[] => [
  (sink) => sink.toolCall({ index, id: `call_${index}`, name: 'f' }),
  ...deltas.map(
    (delta): Piece =>
      (sink) =>
        sink.toolArguments(index, delta),
  ),
]);
const pieces = fc
  .tuple(fc.array(textPieces, { maxLength: 5 }), fc.array(toolPieces, { maxLength: 3 }))
  .map(([texts, calls]) => [...texts.flat(), ...calls.flatMap((call, index) => call(index))]);

interface ToolCallObject {
  readonly id: string;
  readonly type: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

interface Completion {
  readonly choices: readonly { readonly message: { readonly content?: unknown } }[];
}

interface Chunk {
  readonly choices: readonly {
    readonly delta: {
      readonly role?: string;
      readonly content?: string;
      readonly refusal?: string;
      readonly tool_calls?: readonly (ToolCallObject & { readonly index: number })[];
    };
    readonly finish_reason: string | null;
  }[];
  readonly usage?: object;
}

/** Assembles a completion from chunks, as client libraries do. */
function assembleChunks(lines: readonly string[]): unknown {
  const chunks = lines.slice(0, -1).map((line): Chunk => JSON.parse(line));
  const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
  const joined = (field: 'role' | 'content' | 'refusal') => deltas.map((delta) => delta[field] ?? '').join('');
  const calls: ToolCallObject[] = [];
  for (const { index, ...call } of deltas.flatMap((delta) => delta.tool_calls ?? [])) {
    const known = calls[index];
    calls[index] =
      known === undefined
        ? call
        : { ...known, function: { ...known.function, arguments: known.function.arguments + call.function.arguments } };
  }
  const refusal = joined('refusal');
  const message = {
    role: joined('role'),
    content: joined('content') || (calls.length > 0 || refusal !== '' ? null : ''),
    ...(refusal === '' ? {} : { refusal }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  const { choices: _, usage: __, ...head } = JSON.parse(lines[0] ?? '');
  const finish_reason = chunks.flatMap(({ choices }) => choices).at(-1)?.finish_reason;
  const shown = chunks.at(-1)?.usage;
  return {
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason }],
    ...(shown === undefined ? {} : { usage: shown }),
  };
}

describe('a completion object that grows beyond its bound', () => {
  const grown = (maxBytes: number, pieces: number) => {
    const answer = answerWith({ stream: false, maxBytes });
    for (let n = 0; n < pieces; n += 1) answer.text('12345678é'.slice(0, 8));
    answer.finish('stop', usage);
    return answer;
  };

  it('is whole up to the bound', () => {
    const answer = grown(80, 10 - 2);
    expect(answer).toMatchObject({ isTooLarge: false, hasContent: true });
    expect(JSON.parse(Buffer.from(answer.take()).toString()).choices[0].message.content).toBe('12345678'.repeat(8));
  });

  it('is given up beyond it, and what was produced is still known', () => {
    const answer = grown(80, 100);
    expect(answer).toMatchObject({ isTooLarge: true, hasContent: false, producedCharacters: 800 });
    expect(answer.take()).toHaveLength(0);
  });

  it('counts refusals, calls and arguments, in bytes', () => {
    for (const put of [
      (answer: ChatAnswer) => answer.refusal('é'.repeat(6)),
      (answer: ChatAnswer) => answer.toolCall({ index: 0, id: 'call_1', name: 'weather' }),
      (answer: ChatAnswer) => {
        answer.toolCall({ index: 0, id: 'c', name: 'w' });
        answer.toolArguments(0, '{"city":"x"}');
      },
    ]) {
      const answer = answerWith({ stream: false, maxBytes: 11 });
      put(answer);
      expect(answer.isTooLarge).toBe(true);
    }
  });

  it('is no matter of streams', () => {
    const answer = answerWith({ stream: true, maxBytes: 1 });
    answer.text('hello');
    answer.finish('stop', undefined);
    expect(answer).toMatchObject({ isTooLarge: false, hasContent: true });
  });
});
