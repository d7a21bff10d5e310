import type { ChatMessage, UserPart } from '@gateway/chat';
import { GatewayError } from '@gateway/errors';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expectMessageRules } from './__fixtures__/provider-rules.ts';
import { type ConvertedConversation, convertMessages } from './convert-messages.ts';

describe('convertMessages', () => {
  it('takes system texts out of the conversation, wherever they stand', () => {
    const { system, messages } = convertMessages([
      systemMessage('a', ' '),
      user('hi'),
      systemMessage('b'),
      user('there'),
    ]);
    expect(system).toEqual(['a', 'b']);
    expect(messages).toEqual([{ role: 'user', content: [text('hi'), text('there')] }]);
  });

  it('puts the results of parallel calls first in the next message, in one message with what the user says', () => {
    const { messages } = convertMessages([
      user('weather?'),
      assistant('', call('a'), call('b')),
      user('hurry'),
      tool('b', 'rain'),
      tool('a', 'sun'),
    ]);
    expect(messages[2]).toEqual({ role: 'user', content: [result('b', 'rain'), result('a', 'sun'), text('hurry')] });
  });

  it('puts text before calls when it joins messages of the assistant', () => {
    const { messages } = convertMessages([user('q'), assistant('one', call('a')), assistant('two'), tool('a', 'x')]);
    expect(messages[1]).toEqual({
      role: 'assistant',
      content: [text('one'), text('two'), { type: 'tool_use', id: 'a', name: 'look_up', input: {} }],
    });
  });

  it('drops blank text, and messages of nothing else', () => {
    const { messages } = convertMessages([
      user('q'),
      assistant('\n'),
      user(''),
      assistant('', call('a')),
      tool('a', ' '),
    ]);
    expect(messages.map((message) => message.content.map((block) => block.type))).toEqual([
      ['text'],
      ['tool_use'],
      ['tool_result'],
    ]);
    expect(messages[2]?.content[0]).not.toHaveProperty('content');
  });

  it('keeps the parts of a tool result apart', () => {
    const { messages } = convertMessages([user('q'), assistant('', call('a')), tool('a', 'x', '', 'y')]);
    expect(messages[2]?.content).toEqual([{ type: 'tool_result', tool_use_id: 'a', content: [text('x'), text('y')] }]);
  });

  it('begins with a user when the conversation begins with the assistant', () => {
    const { messages } = convertMessages([assistant('Hello!'), user('hi')]);
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  });

  it('sends instructions as input when there is nothing else', () => {
    const { system, messages } = convertMessages([systemMessage('Say hi.', 'Loudly.'), user('  ')]);
    expect(system).toEqual([]);
    expect(messages).toEqual([{ role: 'user', content: [text('Say hi.\n\nLoudly.')] }]);
  });

  it('answers what the system says after the last answer', () => {
    const { system, messages, endsWithUserInput } = convertMessages([
      systemMessage('a'),
      user('q'),
      assistant('r'),
      systemMessage('b', 'c'),
    ]);
    expect(system).toEqual(['a']);
    expect(messages.at(-1)).toEqual({ role: 'user', content: [text('b\n\nc')] });
    expect(endsWithUserInput).toBe(true);
  });

  it('leaves what the system says before the last answer where it is', () => {
    const { system, messages } = convertMessages([user('q'), assistant('r'), systemMessage('a'), assistant('s')]);
    expect(system).toEqual(['a']);
    expect(messages.at(-1)?.role).toBe('assistant');
  });

  it('ends a begun answer without white space', () => {
    const { messages } = convertMessages([user('count'), assistant(' one, two, \n')]);
    expect(messages[1]).toEqual({ role: 'assistant', content: [text(' one, two,')] });
  });

  it('sends a refusal back as text', () => {
    const refusal: ChatMessage = { role: 'assistant', parts: [{ type: 'refusal', text: 'No.' }], toolCalls: [] };
    expect(convertMessages([user('q'), refusal, user('why')]).messages[1]?.content).toEqual([text('No.')]);
  });

  it('gives ids that return in a later turn an id of their own', () => {
    const turn = [assistant('', call('call_0')), tool('call_0', 'x')];
    const { messages } = convertMessages([user('q'), ...turn, ...turn]);
    const ids = messages.flatMap(({ content }) => content.map((block) => ('id' in block ? block.id : undefined)));
    const [first, second] = ids.filter((id) => id !== undefined);
    expect(first).toBe('call_0');
    expect(second).not.toBe(first);
    expect(messages.at(-1)?.content).toEqual([result(second ?? '', 'x')]);
  });

  it.each<[string, readonly ChatMessage[], RegExp]>([
    ['a result without a call', [user('q'), tool('a', 'x')], /^messages\[1\]\.tool_call_id must/],
    [
      'a second result of a call',
      [user('q'), assistant('', call('a')), tool('a', 'x'), tool('a', 'y')],
      /^messages\[3\]/,
    ],
    ['a call that is never answered', [user('q'), assistant('', call('a'))], /^messages must not leave a tool call/],
    [
      'an assistant that goes on before',
      [assistant('', call('a')), user('x'), assistant('y')],
      /^messages\[2\] must not leave a tool call/,
    ],
    ['no content at all', [user(''), assistant('')], /^messages must contain at least one/],
    [
      'a call of a tool that can have no such name',
      [user('q'), assistant('', { ...call('a'), name: 'a.b' }), tool('a', 'x')],
      /^messages\[1\]\.tool_calls\[0\]\.function\.name must/,
    ],
  ])('refuses %s', (_, messages, problem) => {
    const error = thrownBy(() => convertMessages(messages));
    expect(error).toMatchObject({ code: 'invalid_request' });
    expect(String(error.message)).toMatch(problem);
  });

  it('names the image that it cannot send', () => {
    const image: UserPart = { type: 'image', url: 'data:image/svg+xml;base64,PHN2Zy8+', detail: undefined };
    const parts: UserPart[] = [{ type: 'text', text: 'see' }, image];
    expect(() => convertMessages([user('q'), { role: 'user', parts }])).toThrow(
      /^messages\[1\]\.content\[1\]\.image_url\.url must/,
    );
  });

  it('takes more parts than a function call takes arguments', () => {
    const parts: UserPart[] = Array.from({ length: 200_000 }, () => ({ type: 'text', text: 'x' }));
    expect(convertMessages([{ role: 'user', parts }]).messages[0]?.content).toHaveLength(200_000);
  });
});

describe('any conversation', () => {
  it('is refused by name or sent as the format demands', () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 12 }), (messages) => {
        const converted = convertOrRefuse(messages);
        if (converted !== undefined) expectMessageRules(converted.messages);
      }),
    );
  });

  it('keeps every text, argument and result when calls and results match', () => {
    fc.assert(
      fc.property(anyMatchedConversation, (messages) => {
        const converted = convertMessages(messages);
        expectMessageRules(converted.messages);
        expect(textsOf(converted)).toEqual(expect.arrayContaining([...meaningfulTextsOf(messages)]));
        const inputs = converted.messages.flatMap(({ content }) =>
          content.flatMap((b) => ('input' in b ? [b.input] : [])),
        );
        const sent = messages.flatMap((message) => ('toolCalls' in message ? message.toolCalls : []));
        expect(inputs).toEqual(sent.map((toolCall) => JSON.parse(toolCall.arguments)));
      }),
    );
  });
});

function convertOrRefuse(messages: readonly ChatMessage[]): ConvertedConversation | undefined {
  try {
    return convertMessages(messages);
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(GatewayError);
    return undefined;
  }
}

/** Texts as they were sent; the end of the last one may have been trimmed. */
function textsOf({ system, messages }: ConvertedConversation): readonly string[] {
  const sent = messages.flatMap(({ content }) =>
    content.flatMap((block) => {
      if (block.type === 'text') return [block.text];
      if (block.type !== 'tool_result' || block.content === undefined) return [];
      return typeof block.content === 'string' ? [block.content] : block.content.map((part) => part.text);
    }),
  );
  return [...system, ...sent, ...system.map((part) => part.trimEnd()), ...sent.flatMap((part) => part.split('\n\n'))];
}

function meaningfulTextsOf(messages: readonly ChatMessage[]): readonly string[] {
  const texts = messages.flatMap((message) => {
    if (message.role === 'system' || message.role === 'tool') return message.text;
    return message.parts.flatMap((part) => (part.type === 'image' ? [] : [part.text]));
  });
  return texts.filter((part) => /\S/.test(part));
}

const anyText = fc.oneof(fc.string(), fc.constantFrom('', ' ', '\n', 'x '));
const anyToolId = fc.oneof(fc.constantFrom('a', 'b', 'call:1', 'c'.repeat(80)), fc.string({ minLength: 1 }));
const anyCall = fc.record({ id: anyToolId, name: fc.constant('look_up'), arguments: fc.oneof(fc.json(), fc.string()) });
const anySystem = fc.record({ role: fc.constant('system' as const), text: fc.array(anyText, { maxLength: 2 }) });
const anyTextParts = fc.array(fc.record({ type: fc.constant('text' as const), text: anyText }), { maxLength: 3 });
const anyUser = fc.record({ role: fc.constant('user' as const), parts: anyTextParts });
const anyAssistant = fc.record({
  role: fc.constant('assistant' as const),
  parts: anyTextParts,
  toolCalls: fc.array(anyCall, { maxLength: 2 }),
});
const anyTool = fc.record({
  role: fc.constant('tool' as const),
  toolCallId: anyToolId,
  text: fc.array(anyText, { maxLength: 3 }),
});
const anyMessage: fc.Arbitrary<ChatMessage> = fc.oneof(anySystem, anyUser, anyAssistant, anyTool);

/**
 * Turns of an assistant, each followed by the results of its calls in any order and by the user's
 * text.
 */
const wholeText = fc.string().map((part) => `${part}.`);
const anyTurn: fc.Arbitrary<readonly ChatMessage[]> = fc
  .record({
    said: wholeText,
    calls: fc.uniqueArray(anyToolId, { maxLength: 4 }),
    input: fc.object({ maxDepth: 2 }),
    results: fc.array(anyText, { minLength: 1, maxLength: 2 }),
    reversed: fc.boolean(),
    reply: fc.option(wholeText, { nil: undefined }),
  })
  .map(({ said, calls, input, results, reversed, reply }) => {
    const answers = calls.map((id) => tool(id, ...results));
    return [
      assistant(said, ...calls.map((id) => ({ id, name: 'look_up', arguments: JSON.stringify(input) }))),
      ...(reversed ? answers.reverse() : answers),
      ...(reply === undefined ? [] : [user(reply)]),
    ];
  });
const anyMatchedConversation = fc
  .tuple(anySystem, fc.array(anyTurn, { maxLength: 5 }))
  .map(([system, turns]): readonly ChatMessage[] => [system, user('Go.'), ...turns.flat()]);

function systemMessage(...texts: readonly string[]): ChatMessage {
  return { role: 'system', text: texts };
}

function user(content: string): ChatMessage {
  return { role: 'user', parts: [{ type: 'text', text: content }] };
}

function assistant(
  content: string,
  ...toolCalls: readonly { id: string; name: string; arguments: string }[]
): ChatMessage {
  return { role: 'assistant', parts: [{ type: 'text', text: content }], toolCalls };
}

function tool(toolCallId: string, ...texts: readonly string[]): ChatMessage {
  return { role: 'tool', toolCallId, text: texts };
}

function call(id: string) {
  return { id, name: 'look_up', arguments: '{}' };
}

function text(content: string) {
  return { type: 'text', text: content };
}

function result(id: string, content: string) {
  return { type: 'tool_result', tool_use_id: id, content };
}

function thrownBy(act: () => unknown): GatewayError {
  try {
    act();
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown;
    throw thrown;
  }
  throw new Error('nothing was thrown');
}
