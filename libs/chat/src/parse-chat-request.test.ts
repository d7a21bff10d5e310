import { GatewayError } from '@gateway/errors';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseChatRequest } from './parse-chat-request.ts';

const minimal = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
const parse = (body: unknown) => parseChatRequest(Buffer.from(JSON.stringify(body)));
const parseWith = (fields: object) => parse({ ...minimal, ...fields });
const parseMessage = (message: unknown) => parse({ ...minimal, messages: [message] }).messages[0];

function refusal(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof GatewayError) return `${error.code}: ${error.message}`;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('parseChatRequest', () => {
  it('fills in what a minimal request leaves out', () => {
    expect(parse(minimal)).toEqual({
      model: 'm',
      messages: [{ role: 'user', parts: [{ type: 'text', text: 'hi' }] }],
      stream: false,
      includeUsage: false,
      maxOutputTokens: undefined,
      stop: [],
      tools: [],
      toolChoice: undefined,
      parallelToolCalls: undefined,
      responseFormat: { type: 'text' },
      reasoningEffort: undefined,
      promptCacheKey: undefined,
    });
  });

  it('takes every parameter', () => {
    const tool = { name: 'f', description: 'd', parameters: { type: 'object' }, strict: true };
    const schema = { name: 's', description: 'd', schema: { type: 'object' }, strict: false };
    expect(
      parseWith({
        stream: true,
        stream_options: { include_usage: true },
        max_tokens: 5,
        max_completion_tokens: 7,
        stop: ['a', 'b'],
        tools: [{ type: 'function', function: tool }],
        tool_choice: { type: 'function', function: { name: 'f' } },
        parallel_tool_calls: false,
        response_format: { type: 'json_schema', json_schema: schema },
        reasoning_effort: 'ultra',
        temperature: 0.5,
        top_p: 1,
        n: 1,
        seed: 'anything',
        logprobs: { odd: true },
        prompt_cache_key: 'k',
      }),
    ).toMatchObject({
      stream: true,
      includeUsage: true,
      maxOutputTokens: 7,
      stop: ['a', 'b'],
      tools: [tool],
      toolChoice: { functionName: 'f' },
      parallelToolCalls: false,
      responseFormat: { type: 'json_schema', ...schema },
      reasoningEffort: 'ultra',
      promptCacheKey: 'k',
    });
  });

  it('reads a null parameter as an absent one', () => {
    const optional = [
      'stream',
      'stream_options',
      'max_tokens',
      'max_completion_tokens',
      'stop',
      'tools',
      'tool_choice',
      'parallel_tool_calls',
      'response_format',
      'reasoning_effort',
      'temperature',
      'top_p',
      'n',
      'prompt_cache_key',
    ];
    expect(parseWith(Object.fromEntries(optional.map((name) => [name, null])))).toEqual(parse(minimal));
  });

  it('takes one stop sequence, a plain tool choice, and max_tokens alone', () => {
    expect(parseWith({ stop: 'x', tool_choice: 'required', max_tokens: 3 })).toMatchObject({
      stop: ['x'],
      toolChoice: 'required',
      maxOutputTokens: 3,
    });
  });

  it('reads developer messages as system messages', () => {
    const parts = [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ];
    expect(parseMessage({ role: 'developer', content: parts })).toEqual({ role: 'system', text: ['a', 'b'] });
  });

  it('takes images on user messages, as an object or as a plain URL', () => {
    const content = [
      { type: 'text', text: 'see' },
      { type: 'image_url', image_url: { url: 'https://x.test/a.png', detail: 'low' } },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
      { type: 'image_url', image_url: 'http://x.test/b.png' },
    ];
    expect(parseMessage({ role: 'user', content })).toEqual({
      role: 'user',
      parts: [
        { type: 'text', text: 'see' },
        { type: 'image', url: 'https://x.test/a.png', detail: 'low' },
        { type: 'image', url: 'data:image/png;base64,AA==', detail: undefined },
        { type: 'image', url: 'http://x.test/b.png', detail: undefined },
      ],
    });
  });

  it('takes tool calls with or without text, and their results', () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
    expect(parseMessage({ role: 'assistant', content: null, tool_calls: [call] })).toEqual({
      role: 'assistant',
      parts: [],
      toolCalls: [{ id: 'call_1', name: 'f', arguments: '{}' }],
    });
    expect(parseMessage({ role: 'assistant', content: '', tool_calls: [call] })).toMatchObject({
      parts: [{ type: 'text', text: '' }],
    });
    expect(parseMessage({ role: 'tool', tool_call_id: 'call_1', content: 'done' })).toEqual({
      role: 'tool',
      toolCallId: 'call_1',
      text: ['done'],
    });
  });

  it('takes an assistant who says nothing, and keeps nothing of it', () => {
    for (const silent of [{ content: null }, {}, { content: [] }, { content: null, function_call: null }]) {
      expect(parseMessage({ role: 'assistant', ...silent })).toEqual({ role: 'assistant', parts: [], toolCalls: [] });
    }
  });

  it('keeps refusals of the assistant, as a field or as a part', () => {
    const said = { role: 'assistant', parts: [{ type: 'refusal', text: 'No.' }], toolCalls: [] };
    expect(parseMessage({ role: 'assistant', content: null, refusal: 'No.' })).toEqual(said);
    expect(parseMessage({ role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] })).toEqual(said);
  });

  it.each([
    [{ model: undefined }, 'model is required'],
    [{ model: 5 }, 'model must be a non-empty string'],
    [{ messages: [] }, 'messages must contain at least one message'],
    [{ messages: undefined }, 'messages is required'],
    [{ messages: 'hi' }, 'messages must be an array'],
    [{ messages: [{ role: 'user', content: 'a' }, 'b'] }, 'messages[1] must be an object'],
    [{ messages: [{ content: 'a' }] }, 'messages[0].role is required'],
    [
      { messages: [{ role: 'function', content: 'a' }] },
      'messages[0].role must be one of system, developer, user, assistant, tool',
    ],
    [{ messages: [{ role: 'user', content: null }] }, 'messages[0].content is required'],
    [{ messages: [{ role: 'user', content: 7 }] }, 'messages[0].content must be a string or an array of content parts'],
    [{ messages: [{ role: 'user', content: [{ text: 'a' }] }] }, 'messages[0].content[0].type is required'],
    [{ messages: [{ role: 'user', content: [{ type: 'text' }] }] }, 'messages[0].content[0].text is required'],
    [
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }] },
      'messages[0].content[0].image_url.url is required',
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }] }] },
      'messages[0].content[0].image_url.url must be an http, https or data URL',
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:,', detail: 'x' } }] }] },
      'messages[0].content[0].image_url.detail must be one of auto, low, high, original',
    ],
    [{ messages: [{ role: 'assistant', content: null, function_call: {} }] }, 'messages[0].content is required'],
    [{ messages: [{ role: 'tool', content: 'a' }] }, 'messages[0].tool_call_id is required'],
    [
      { messages: [{ role: 'assistant', tool_calls: [{ id: 'a', type: 'custom', custom: {} }] }] },
      'messages[0].tool_calls[0].type must be "function"',
    ],
    [
      { messages: [{ role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'f', arguments: {} } }] }] },
      'messages[0].tool_calls[0].function.arguments must be a string',
    ],
    [{ n: 2 }, 'n must be 1'],
    [{ stream: 'yes' }, 'stream must be true or false'],
    [{ stream_options: { include_usage: 1 } }, 'stream_options.include_usage must be true or false'],
    [{ max_tokens: 0 }, 'max_tokens must be a positive integer'],
    [{ max_tokens: 1.5, max_completion_tokens: 1 }, 'max_tokens must be a positive integer'],
    [{ stop: ['a', 1] }, 'stop[1] must be a string'],
    [{ stop: 1 }, 'stop must be a string or an array of strings'],
    [{ tools: [{ type: 'web_search' }] }, 'tools[0].type must be "function"'],
    [{ tools: [{ type: 'function', function: {} }] }, 'tools[0].function.name is required'],
    [{ tools: [{ function: { name: 'f', parameters: [] } }] }, 'tools[0].function.parameters must be an object'],
    [{ tool_choice: 'any' }, 'tool_choice must be none, auto, required, or an object that names a function'],
    [{ tool_choice: { type: 'allowed_tools' } }, 'tool_choice.type must be "function"'],
    [{ tool_choice: { type: 'function', function: {} } }, 'tool_choice.function.name is required'],
    [{ response_format: { type: 'xml' } }, 'response_format.type must be one of text, json_object, json_schema'],
    [{ response_format: { type: 'json_schema' } }, 'response_format.json_schema is required'],
    [{ response_format: { type: 'json_schema', json_schema: {} } }, 'response_format.json_schema.name is required'],
    [
      { reasoning_effort: 'huge' },
      'reasoning_effort must be one of none, minimal, low, medium, high, xhigh, max, ultra',
    ],
    [{ temperature: '1' }, 'temperature must be a number'],
  ])('refuses %j by the path of the field', (fields, message) => {
    expect(refusal(() => parseWith(fields))).toBe(`invalid_request: ${message}`);
  });

  it.each([
    [{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }],
    [{ role: 'user', content: [{ type: 'file', file: {} }] }],
    [{ role: 'user', content: [{ type: 'refusal', refusal: 'x' }] }],
    [{ role: 'system', content: [{ type: 'image_url', image_url: { url: 'https://x.test' } }] }],
    [{ role: 'assistant', content: [{ type: 'image_url', image_url: { url: 'https://x.test' } }] }],
    [{ role: 'tool', tool_call_id: 'a', content: [{ type: 'image_url', image_url: { url: 'https://x.test' } }] }],
  ])('does not take the content of %j', (message) => {
    expect(refusal(() => parseMessage(message))).toMatch(
      /^unsupported_content: messages\[0\]\.content\[0\] has the type /,
    );
  });

  it('refuses what is not JSON in UTF-8', () => {
    for (const body of [Buffer.from('{'), Buffer.from(''), Buffer.from([0x22, 0xff, 0x22])]) {
      expect(refusal(() => parseChatRequest(body))).toMatch(/^invalid_json: /);
    }
    expect(refusal(() => parse(['model']))).toBe('invalid_request: the body must be an object');
  });

  it('answers any JSON with a request or a GatewayError', () => {
    const anyMessage = fc.record(
      { role: fc.constantFrom('user', 'assistant', 'tool', 'system', 'x'), content: fc.jsonValue() },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.jsonValue(), fc.array(fc.oneof(anyMessage, fc.jsonValue())), (value, messages) => {
        const fields = typeof value === 'object' && value !== null ? value : { tools: value };
        for (const body of [value, { ...minimal, ...fields }, { ...minimal, messages }]) {
          try {
            parse(body);
          } catch (error) {
            expect(error).toBeInstanceOf(GatewayError);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});
