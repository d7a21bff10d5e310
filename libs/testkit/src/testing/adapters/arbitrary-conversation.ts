import fc from 'fast-check';
import type {
  ClientAssistantMessage,
  ClientImage,
  ClientMessage,
  ClientRefusal,
  ClientSystemMessage,
  ClientText,
  ClientToolCall,
  ClientToolMessage,
  ClientUserMessage,
} from './chat-request-body.ts';

/**
 * Conversations that any provider accepts: all roles and parts, with every tool call answered
 * before the assistant continues. Texts may be empty, blank or contain half characters; ids may be
 * long, unusual, or repeated in two turns.
 */
export function arbitraryConversation(): fc.Arbitrary<readonly ClientMessage[]> {
  const opening = fc.array(systemMessage(), { maxLength: 2 });
  const exchanges = fc.array(exchange(), { maxLength: 4 });
  const closing = fc.oneof(userMessage(visibleText()), userMessage(visibleText()), systemMessage(visibleText()));
  return fc.tuple(opening, exchanges, closing).map(([first, middle, last]) => [...first, ...middle.flat(), last]);
}

/** Any text that JSON can represent: empty, blank, in any script, or ending in half a character. */
export function arbitraryText(): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 3, arbitrary: visibleText() },
    { weight: 2, arbitrary: fc.string({ unit: 'grapheme', maxLength: 20 }) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
    { weight: 1, arbitrary: fc.constantFrom('', ' ', '\n\n', '\t \u00a0', '  padded  ', 'cut \ud83d', '\udc00 rest') },
  );
}

function visibleText(): fc.Arbitrary<string> {
  return fc.constantFrom(
    'Hi',
    'Wat is het weer?',
    '東京はどうですか。',
    'Ünïcödé 🗼 👨‍👩‍👧',
    'a "quoted" \\ line\nand one more',
  );
}

function exchange(): fc.Arbitrary<readonly ClientMessage[]> {
  const turn: fc.Arbitrary<readonly ClientMessage[]> = fc.oneof(
    assistantMessage(fc.constant([])).map((message) => [message]),
    toolRound(),
    fc.array(toolRound(), { maxLength: 3 }).map((rounds) => rounds.flat()),
  );
  const aside = fc.array(systemMessage(), { maxLength: 1 });
  return fc.tuple(userMessage(), aside, turn).map(([asked, between, answered]) => [asked, ...between, ...answered]);
}

/** An assistant's calls, and a result for each of them in any order. */
function toolRound(): fc.Arbitrary<readonly ClientMessage[]> {
  const calls = fc.uniqueArray(toolCall(), { minLength: 1, maxLength: 4, selector: ({ id }) => id });
  return assistantMessage(calls).chain((message) => {
    const ids = (message.tool_calls ?? []).map(({ id }) => id);
    const inAnyOrder = fc.shuffledSubarray(ids, { minLength: ids.length });
    return inAnyOrder.chain((order) => fc.tuple(fc.constant(message), ...order.map(toolMessage)));
  });
}

function systemMessage(text = arbitraryText()): fc.Arbitrary<ClientSystemMessage> {
  return fc.record({ role: fc.constantFrom('system', 'developer'), content: texts(text) });
}

function userMessage(text = arbitraryText()): fc.Arbitrary<ClientUserMessage> {
  const parts = fc.array(fc.oneof(textPart(text), image()), { minLength: 1, maxLength: 3 });
  return fc.record({ role: fc.constant('user'), content: fc.oneof(text, parts) });
}

function assistantMessage(calls: fc.Arbitrary<readonly ClientToolCall[]>): fc.Arbitrary<ClientAssistantMessage> {
  const role = fc.constant('assistant');
  const parts = fc.array(fc.oneof(textPart(), refusalPart()), { maxLength: 3 });
  const refusal = fc.constantFrom(null, null, null, 'I can’t help with that.', '');
  const said = { role, content: fc.oneof(arbitraryText(), parts), refusal };
  const unsaid = { role, content: fc.constant(null) };
  return calls.chain((toolCalls): fc.Arbitrary<ClientAssistantMessage> => {
    const tool_calls = fc.constant(toolCalls);
    if (toolCalls.length === 0) return fc.record(said, { requiredKeys: ['role', 'content'] });
    return fc.oneof(fc.record({ ...said, tool_calls }), fc.record({ ...unsaid, tool_calls }));
  });
}

function toolMessage(id: string): fc.Arbitrary<ClientToolMessage> {
  return fc.record({ role: fc.constant('tool'), tool_call_id: fc.constant(id), content: texts(arbitraryText()) });
}

function texts(text: fc.Arbitrary<string>): fc.Arbitrary<string | readonly ClientText[]> {
  return fc.oneof(text, fc.array(textPart(text), { minLength: 1, maxLength: 3 }));
}

function textPart(text = arbitraryText()): fc.Arbitrary<ClientText> {
  return fc.record({ type: fc.constant('text'), text });
}

function refusalPart(): fc.Arbitrary<ClientRefusal> {
  return fc.record({ type: fc.constant('refusal'), refusal: arbitraryText() });
}

function toolCall(): fc.Arbitrary<ClientToolCall> {
  const called = fc.record({ name: arbitraryFunctionName(), arguments: toolArguments() });
  return fc.record({ id: toolCallId(), type: fc.constant('function'), function: called });
}

export function arbitraryFunctionName(): fc.Arbitrary<string> {
  return fc.oneof(fc.constantFrom('weather', 'find_file', 'mcp__files__read-text'), fc.stringMatching(/^[\w-]{1,64}$/));
}

/**
 * Ids as various providers and clients create them; some are longer than every provider accepts
 * back.
 */
function toolCallId(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.constantFrom('call_0', 'call_1', 'functions.weather:0', 'a b/ç', 'toolu_01A09q90qw90lq917835lq9'),
    fc.stringMatching(/^call_[A-Za-z0-9]{24}$/),
    fc.stringMatching(/^call_[A-Za-z0-9]{58,90}$/),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 80 }),
  );
}

/**
 * Usually an object with arbitrary whitespace; sometimes empty or malformed, as models write too.
 */
function toolArguments(): fc.Arbitrary<string> {
  const object = fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 });
  const written = fc.tuple(object, fc.constantFrom(0, 2)).map(([value, indent]) => JSON.stringify(value, null, indent));
  const odd = fc.constantFrom('', '{}', '{"n":12345678901234567890}', '{"cut":"of', '[1, 2]', '{"a":1e400,"a":2}');
  return fc.oneof({ weight: 3, arbitrary: written }, { weight: 1, arbitrary: odd });
}

function image(): fc.Arbitrary<ClientImage> {
  const url = fc.oneof(fc.webUrl({ withQueryParameters: true }), imageData());
  const detail = fc.constantFrom('auto', 'low', 'high', 'original');
  return fc.record({
    type: fc.constant('image_url'),
    image_url: fc.record({ url, detail }, { requiredKeys: ['url'] }),
  });
}

/** The first bytes of a file of each type. */
const imageStarts = {
  'image/png': Buffer.from('\x89PNG\r\n\x1a\n\0', 'latin1'),
  'image/jpeg': Buffer.from('\xff\xd8\xff\xe0', 'latin1'),
  'image/gif': Buffer.from('GIF89a', 'latin1'),
  'image/webp': Buffer.from('RIFF\x20\0\0\0WEBPVP8 ', 'latin1'),
};

function imageData(): fc.Arbitrary<string> {
  const start = fc.constantFrom(...Object.entries(imageStarts));
  return fc.tuple(start, fc.uint8Array({ maxLength: 24 })).map(([[mediaType, bytes], pixels]) => {
    return `data:${mediaType};base64,${Buffer.concat([bytes, pixels]).toString('base64')}`;
  });
}
