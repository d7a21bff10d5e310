import type Anthropic from '@anthropic-ai/sdk';
import { create } from '@bufbuild/protobuf';
import { GatewayError } from '@gateway/errors';
import { asObject, BufferList } from '@gateway/json';
import { LeaseSchema } from '@gateway/proto/pool/v1/account_pb.js';
import { startSimulator } from '@gateway/simulator';
import {
  arbitraryChatRequest,
  arbitraryText,
  type ChatRequestBody,
  type ClientMessage,
  type ClientTool,
} from '@gateway/testkit/adapters';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expectProviderRules, modelRules } from './__fixtures__/provider-rules.ts';
import { chatTranslator } from './chat-translator.ts';

const isLong = process.env.FAULTS === 'long';

type Sent = Anthropic.MessageCreateParamsStreaming;

/** A provider takes no other names of arguments. */
const allowedName = /^[a-zA-Z0-9_.-]{1,64}$/;
const anyRequest = () => arbitraryChatRequest(fc.stringMatching(allowedName));
const anyModel = fc.constantFrom(...Object.keys(modelRules));
const anyEffortOfClass = fc.constantFrom('', 'none', 'medium', 'max', 'enormous');

describe('any chat request that is valid', () => {
  it('becomes a request that keeps the rules of the provider and of the model', () => {
    fc.assert(
      fc.property(anyRequest(), anyModel, anyEffortOfClass, (request, model, defaultEffort) => {
        const rules = modelRules[model];
        expect.assert(rules !== undefined);
        expectProviderRules(translate(request, model, defaultEffort), rules);
      }),
      { numRuns: isLong ? 500 : 200 },
    );
  });

  it('keeps what the user says and shows, in order and to the letter', () => {
    fc.assert(
      fc.property(anyRequest(), anyModel, (request, model) => {
        const { messages } = translate(request, model);
        const sent = blocksOf(messages, 'user').flatMap((block) =>
          block.type === 'tool_result' ? [] : [shown(block)],
        );
        const said = request.messages.flatMap((message) =>
          message.role === 'user' ? partsOf(message).map(sayable) : [],
        );
        const first = sent[0] === beginning ? 1 : 0;
        const expected = said.filter(isVisible);
        expect(sent.slice(first, first + expected.length)).toEqual(expected);
        // What may follow is what the system said last.
        expect(sent.slice(first + expected.length).length).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('keeps what the assistant said, in order and to the letter', () => {
    fc.assert(
      fc.property(anyRequest(), anyModel, (request, model) => {
        const { messages } = translate(request, model);
        const sent = blocksOf(messages, 'assistant').flatMap((block) => (block.type === 'text' ? [block.text] : []));
        const said = request.messages.flatMap((message) => {
          return message.role === 'assistant'
            ? [...partsOf(message).map(sayable), (message.refusal ?? '').toWellFormed()]
            : [];
        });
        expect(sent).toEqual(said.filter(isVisible));
      }),
    );
  });

  it('keeps what the system says, in order and to the letter', () => {
    fc.assert(
      fc.property(anyRequest(), anyModel, (request, model) => {
        const { system, messages } = translate(request, model);
        const last = blocksOf(messages, 'user').at(-1);
        const shown = `${system ?? ''}\n\n${last?.type === 'text' ? last.text : ''}`;
        const texts = request.messages.flatMap((message) => {
          return message.role === 'system' || message.role === 'developer' ? partsOf(message).map(sayable) : [];
        });
        let at = 0;
        for (const text of texts.filter(isVisible)) {
          const found = shown.indexOf(text, at);
          expect(found, text).toBeGreaterThanOrEqual(at);
          at = found + text.length;
        }
      }),
    );
  });

  it('keeps every call with its arguments digit by digit, and every result with its call', () => {
    fc.assert(
      fc.property(anyRequest(), anyModel, (request, model) => {
        const { messages } = translate(request, model, '', keepingDigits);
        const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
        const calls = blocks.filter((block) => block.type === 'tool_use');
        const results = blocks.filter((block) => block.type === 'tool_result');
        const conversation = readCalls(request.messages);
        expect(calls.map(({ name, input }) => [name, JSON.stringify(input)])).toEqual(conversation.calls);
        expect(results.map(({ tool_use_id: id, content }) => [id, resultTexts(content)])).toEqual(
          conversation.results.map(({ call, texts }) => [calls[call]?.id, texts]),
        );
      }),
      { numRuns: isLong ? 300 : 150 },
    );
  });

  it('always becomes the same request', () => {
    fc.assert(
      fc.property(anyRequest(), anyModel, (request, model) => {
        expect(bodyOf(request, model)).toBe(bodyOf(structuredClone(request), model));
      }),
    );
  });

  it('is taken by the provider', async () => {
    const models = Object.keys(modelRules);
    await using simulator = await startSimulator({ messagesModels: models });
    const requests = fc.sample(fc.tuple(anyRequest(), anyModel), 150);
    for (const [request, model] of requests) {
      const response = await fetch(`${simulator.url}/v1/messages`, {
        method: 'POST',
        headers: { 'x-api-key': 'any', 'anthropic-version': '2023-06-01', 'content-type': 'application/json' },
        body: bodyOf(request, model),
      });
      const answer = await response.text();
      expect(response.status, `${answer}\n${JSON.stringify(request)}`).toBe(200);
    }
  });
});

describe('any chat request whose tools have arguments of any name', () => {
  it('is refused by the first of the offered tools with a name that the provider refuses, or sent', () => {
    const name = fc.oneof(
      fc.stringMatching(allowedName),
      arbitraryText(),
      fc.constantFrom('naïve key', 'a b', '$filter', '城市', 'a'.repeat(65), ''),
    );
    fc.assert(
      fc.property(arbitraryChatRequest(name), anyModel, (request, model) => {
        const { tools = [], tool_choice: choice } = request;
        const isOffered = ({ function: tool }: ClientTool) =>
          typeof choice !== 'object' || modelRules[model]?.forcedTools || tool.name === choice.function.name;
        const refused = tools.findIndex(
          (tool) => isOffered(tool) && !argumentsOf(tool).every((argument) => allowedName.test(argument)),
        );
        if (refused === -1) {
          expect(translate(request, model).model).toBe(model);
          return;
        }
        const message = expect.stringContaining(`tools[${refused}].function.parameters.properties must have names`);
        expect(() => translate(request, model)).toThrow(expect.objectContaining({ code: 'invalid_request', message }));
      }),
      { numRuns: isLong ? 500 : 200 },
    );
  });
});

describe('any chat request at all', () => {
  it('is refused by name, or keeps the rules when its messages are put in any order', () => {
    fc.assert(
      fc.property(anyRequest().chain(withMessagesMixed), anyModel, (request, model) => {
        const rules = modelRules[model];
        expect.assert(rules !== undefined);
        const sent = refusedOr(() => translate(request, model));
        if (sent !== undefined) expectProviderRules(sent, rules);
      }),
      { numRuns: isLong ? 500 : 200 },
    );
  });

  it('is refused by name or sent when any member of it is something else', () => {
    fc.assert(
      fc.property(anyRequest(), fc.nat(), anythingElse(), anyModel, (request, place, value, model) => {
        refusedOr(() => translate(replaced(request, place, value), model));
      }),
      { numRuns: isLong ? 500 : 200 },
    );
  });
});

function argumentsOf({ function: { parameters } }: ClientTool): readonly string[] {
  return Object.keys(asObject(parameters?.properties) ?? {});
}

const beginning = '(The conversation begins with your answer.)';

function withMessagesMixed(request: ChatRequestBody): fc.Arbitrary<ChatRequestBody> {
  return fc.shuffledSubarray([...request.messages], { minLength: 1 }).map((messages) => ({ ...request, messages }));
}

function anythingElse(): fc.Arbitrary<unknown> {
  const schema = fc.object({
    maxDepth: 3,
    key: fc.constantFrom('type', 'properties', 'anyOf', 'allOf', 'items', '$ref', '$defs'),
  });
  return fc.oneof(fc.jsonValue(), schema, arbitraryText(), fc.constantFrom('data:image/png;base64,A', '#/$defs/$defs'));
}

/** A copy in which one value, wherever it stands, is another. */
function replaced(request: ChatRequestBody, place: number, value: unknown): unknown {
  let count = 0;
  JSON.stringify(request, (_, member) => {
    count += 1;
    return member;
  });
  let at = 0;
  const text = JSON.stringify(request, (key, member) => {
    const here = at++ === 1 + (place % (count - 1));
    return here && key !== '' ? value : member;
  });
  return JSON.parse(text);
}

function refusedOr<Result>(act: () => Result): Result | undefined {
  try {
    return act();
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    expect(['invalid_request', 'unsupported_content']).toContain(thrown.code);
    expect(thrown.message).toMatch(/^[a-z_]+(\[\d+\]|\.[a-z_]+)*:? /);
    return undefined;
  }
}

function translate(request: unknown, model: string, defaultEffort = '', reviver?: typeof keepingDigits): Sent {
  return JSON.parse(bodyOf(request, model, defaultEffort), reviver ?? ((_, value) => value)) as Sent;
}

function bodyOf(request: unknown, model: string, defaultEffort = ''): string {
  const lease = create(LeaseSchema, { model, defaultEffort });
  const body = new BufferList([Buffer.from(JSON.stringify(request))]);
  const others = {
    requestId: 'request-1',
    members: [],
    forwardHeaders: {},
    affinityKey: '',
    nowMs: 0,
    maxAnswerBytes: 1_000_000,
    maxEventBytes: 1_000_000,
  };
  return String(chatTranslator.prepare({ body, lease, ...others }).body);
}

/** Numbers as the digits that they were written with. */
function keepingDigits(_key: string, value: unknown, { source }: { readonly source?: string }): unknown {
  return typeof value === 'number' ? `number ${source}` : value;
}

function blocksOf(messages: Sent['messages'], role: 'user' | 'assistant'): readonly Anthropic.ContentBlockParam[] {
  return messages.flatMap(({ role: by, content }) => (by === role && typeof content !== 'string' ? content : []));
}

/** The text or the image of a block that was sent. */
function shown(block: Anthropic.ContentBlockParam): string {
  if (block.type === 'text') return block.text;
  if (block.type !== 'image') return block.type;
  const { source } = block;
  if (source.type === 'url') return source.url;
  return source.type === 'base64' ? `data:${source.media_type};base64,${source.data}` : source.type;
}

type ClientPart = Exclude<ClientMessage['content'], string | null>[number];

function partsOf({ content }: ClientMessage): readonly ClientPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
}

/** The text or the image of a client's part; JSON has no half characters to send. */
function sayable(part: ClientPart): string {
  if (part.type === 'image_url') return part.image_url.url;
  return (part.type === 'text' ? part.text : part.refusal).toWellFormed();
}

function isVisible(text: string): boolean {
  return text.trim() !== '';
}

interface Calls {
  readonly calls: (readonly [name: string, input: string])[];
  /** Results by the number of the call that they answer. */
  readonly results: { readonly call: number; readonly texts: readonly string[] }[];
}

function readCalls(messages: readonly ClientMessage[]): Calls {
  const read: Calls = { calls: [], results: [] };
  const waiting = new Map<string, number>();
  for (const message of messages) {
    for (const { id, function: called } of message.role === 'assistant' ? (message.tool_calls ?? []) : []) {
      waiting.set(id, read.calls.length);
      read.calls.push([called.name, inputOf(called.arguments)]);
    }
    if (message.role !== 'tool') continue;
    const texts = partsOf(message).map(sayable).filter(isVisible);
    read.results.push({ call: waiting.get(message.tool_call_id) ?? -1, texts });
  }
  return read;
}

function inputOf(written: string): string {
  if (written.trim() === '') return '{}';
  try {
    const value: unknown = JSON.parse(written, (key, member, context) =>
      keepingDigits(key, wellFormed(member), context),
    );
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return JSON.stringify(value);
  } catch {
    // Not JSON: sent as it is written.
  }
  return JSON.stringify({ _arguments: written });
}

function wellFormed(value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value;
}

function resultTexts(content: Anthropic.ToolResultBlockParam['content']): readonly string[] {
  if (content === undefined) return [];
  return typeof content === 'string'
    ? [content]
    : content.map((part) => (part.type === 'text' ? part.text : part.type));
}
