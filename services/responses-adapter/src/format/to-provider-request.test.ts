import type { ChatMessage, ChatRequest, FunctionTool, ReasoningEffort, UserPart } from '@gateway/chat';
import { describe, expect, it } from 'vitest';
import { toProviderRequest } from './chat-translator.ts';
import type { FunctionCallItem, InputItem } from './provider-request.ts';

describe('toProviderRequest', () => {
  it('asks for a stream that is not stored, and sends nothing that subscription backends refuse', () => {
    const request = toProviderRequest({ ...chat, maxOutputTokens: 5, stop: ['x'] }, context);
    expect(sent(request)).toEqual({
      model: 'gpt-5.5',
      stream: true,
      store: false,
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }],
    });
  });

  it('makes instructions of the system messages that come first and developer items of later ones', () => {
    const { instructions, input } = convert([
      { role: 'system', text: ['You are terse.', 'Answer in Dutch.'] },
      { role: 'system', text: ['Be kind.'] },
      user('Hi'),
      { role: 'system', text: ['Now in French.'] },
    ]);
    expect(instructions).toBe('You are terse.\n\nAnswer in Dutch.\n\nBe kind.');
    expect(input).toEqual([
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Now in French.' }] },
    ]);
  });

  it('has input even when there are only system messages', () => {
    const { instructions, input } = convert([{ role: 'system', text: ['Say hello.'] }]);
    expect(instructions).toBeUndefined();
    expect(input).toEqual([
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Say hello.' }] },
    ]);
  });

  it('converts a turn with images, calls and their outputs', () => {
    const image = 'data:image/png;base64,iVBORw0KGgo=';
    const { input } = convert([
      { role: 'user', parts: [text('See'), { type: 'image', url: image, detail: undefined }] },
      {
        role: 'assistant',
        parts: [text('Looking.'), { type: 'refusal', text: 'Not that.' }],
        toolCalls: [
          { id: 'c1', name: 'zoom', arguments: '{"x": 1}' },
          { id: 'c2', name: 'list', arguments: '' },
        ],
      },
      { role: 'tool', toolCallId: 'c1', text: ['one', 'two'] },
      { role: 'tool', toolCallId: 'c2', text: [] },
      { role: 'assistant', parts: [text('')], toolCalls: [] },
      { role: 'user', parts: [{ type: 'image', url: 'https://example.com/a.png', detail: 'original' }] },
    ]);
    expect(input).toEqual([
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'See' },
          { type: 'input_image', image_url: image, detail: 'auto' },
        ],
      },
      {
        type: 'message',
        role: 'assistant',
        content: [
          { type: 'output_text', text: 'Looking.', annotations: [] },
          { type: 'refusal', refusal: 'Not that.' },
        ],
      },
      { type: 'function_call', call_id: 'c1', name: 'zoom', arguments: '{"x": 1}' },
      { type: 'function_call', call_id: 'c2', name: 'list', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'one\ntwo' },
      { type: 'function_call_output', call_id: 'c2', output: '' },
      {
        type: 'message',
        role: 'user',
        content: [{ type: 'input_image', image_url: 'https://example.com/a.png', detail: 'original' }],
      },
    ]);
  });

  it('shortens a long call id in the call and in its output alike', () => {
    const id = `call_${'x'.repeat(64)}`;
    const [call, output] = convert([
      { role: 'assistant', parts: [], toolCalls: [{ id, name: 'f', arguments: '{}' }] },
      { role: 'tool', toolCallId: id, text: ['ok'] },
    ]).input;
    expect(callIdOf(call)).toBe(callIdOf(output));
    expect(callIdOf(call)).toMatch(/^call_[0-9a-f]{56,59}$/);
  });

  it('sends tools flat and says that they are not strict', () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } } };
    const { tools, tool_choice, parallel_tool_calls } = toProviderRequest(
      {
        ...chat,
        tools: [tool({ parameters, strict: true, description: 'Weather' }), tool({})],
        toolChoice: { functionName: 'f' },
        parallelToolCalls: false,
      },
      context,
    );
    expect(tools).toEqual([
      { type: 'function', name: 'f', description: 'Weather', parameters, strict: true },
      { type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: false },
    ]);
    expect(tool_choice).toEqual({ type: 'function', name: 'f' });
    expect(parallel_tool_calls).toBe(false);
  });

  it('sends no tool choice without tools', () => {
    const request = toProviderRequest({ ...chat, toolChoice: 'required', parallelToolCalls: true }, context);
    expect(sent(request)).not.toHaveProperty('tool_choice');
    expect(sent(request)).not.toHaveProperty('parallel_tool_calls');
  });

  it('passes a JSON schema on, one level up', () => {
    const schema = { type: 'object' };
    const format = { type: 'json_schema', name: 'reply', description: undefined, schema, strict: true } as const;
    const request = sent(toProviderRequest({ ...chat, responseFormat: format }, context));
    expect(request).toHaveProperty('text', { format: { type: 'json_schema', name: 'reply', schema, strict: true } });
  });

  it('mentions JSON in the input when a JSON object is wanted and it is not mentioned', () => {
    const responseFormat = { type: 'json_object' } as const;
    const hinted = toProviderRequest({ ...chat, responseFormat }, context);
    expect(hinted.text).toEqual({ format: { type: 'json_object' } });
    expect(hinted.input).toHaveLength(2);
    expect(JSON.stringify(hinted.input[0])).toMatch(/"developer".*JSON/);
    const messages = [user('As Json please')];
    expect(toProviderRequest({ ...chat, messages, responseFormat }, context).input).toHaveLength(1);
    const system: ChatMessage = { role: 'system', text: ['Answer in JSON.'] };
    const inInstructions = toProviderRequest({ ...chat, messages: [system, user('Hi')], responseFormat }, context);
    expect(inInstructions.input).toHaveLength(2);
  });

  it("takes the request's effort, else the class's, as the model knows it", () => {
    const effortOf = (reasoningEffort: ReasoningEffort | undefined, defaultEffort: string) =>
      toProviderRequest({ ...chat, reasoningEffort }, { ...context, lease: { model: 'gpt-5.5', defaultEffort } })
        .reasoning;
    expect(effortOf('ultra', 'low')).toEqual({ effort: 'xhigh' });
    expect(effortOf(undefined, 'low')).toEqual({ effort: 'low' });
    expect(effortOf(undefined, '')).toBeUndefined();
    expect(effortOf(undefined, 'furious')).toBeUndefined();
  });

  it("caches under the affinity key, else under the body's, never under more than 64 characters", () => {
    const keyOf = (affinityKey: string, promptCacheKey?: string) =>
      toProviderRequest({ ...chat, promptCacheKey }, { ...context, affinityKey }).prompt_cache_key;
    expect(keyOf('session-1', 'body-1')).toBe('session-1');
    expect(keyOf('', 'body-1')).toBe('body-1');
    expect(keyOf('')).toBeUndefined();
    expect(keyOf('s'.repeat(65))).toHaveLength(64);
    expect(keyOf('s'.repeat(65))).not.toBe(keyOf('s'.repeat(66)));
  });
});

const chat: ChatRequest = {
  model: 'gateway/sterk',
  messages: [user('Hi')],
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
};

const context = { lease: { model: 'gpt-5.5', defaultEffort: '' }, affinityKey: '' };

function convert(messages: readonly ChatMessage[]) {
  return toProviderRequest({ ...chat, messages }, context);
}

/** The form on the wire: without undefined members. */
function sent(request: object): object {
  return JSON.parse(JSON.stringify(request));
}

function user(said: string): ChatMessage {
  return { role: 'user', parts: [text(said)] };
}

function text(said: string): UserPart & { readonly type: 'text' } {
  return { type: 'text', text: said };
}

function tool(members: Partial<FunctionTool>): FunctionTool {
  return { name: 'f', description: undefined, parameters: undefined, strict: undefined, ...members };
}

function callIdOf(item: InputItem | undefined): string | undefined {
  return (item as FunctionCallItem | undefined)?.call_id;
}
