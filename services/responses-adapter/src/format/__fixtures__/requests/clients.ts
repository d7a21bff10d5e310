import { assistantItem, callItem, developerItem, inputImage, outputItem, userItem } from './input-items.ts';
import type { ResponsesRequestCase } from './provider-members.ts';

const readFile = {
  type: 'object',
  properties: { path: { type: 'string', description: 'Absolute path.' }, limit: { type: 'number' } },
  required: ['path'],
};
const readFileCall = (id: string, path: string) => ({
  id,
  type: 'function',
  function: { name: 'read_file', arguments: JSON.stringify({ path }) },
});
const sentReadFile = {
  type: 'function',
  name: 'read_file',
  description: 'Reads a file.',
  parameters: readFile,
  strict: false,
} as const;
const readFileTool = {
  type: 'function',
  function: { name: 'read_file', description: 'Reads a file.', parameters: readFile },
};

/** Requests as known clients put them together. */
export const clientCases: readonly ResponsesRequestCase[] = [
  {
    name: 'the habits of LangChain: empty content beside calls',
    request: {
      messages: [
        { role: 'system', content: 'You are an agent.' },
        { role: 'user', content: 'Read both.' },
        { role: 'assistant', content: '', tool_calls: [readFileCall('call_1', '/a'), readFileCall('call_2', '/b')] },
        { role: 'tool', content: 'A', name: 'read_file', tool_call_id: 'call_1' },
        { role: 'tool', content: 'B', name: 'read_file', tool_call_id: 'call_2' },
      ],
      temperature: 0,
      n: 1,
      stream: true,
      stream_options: { include_usage: true },
      tools: [readFileTool],
      parallel_tool_calls: true,
    },
    becomes: {
      instructions: 'You are an agent.',
      input: [
        userItem('Read both.'),
        callItem('call_1', 'read_file', '{"path":"/a"}'),
        callItem('call_2', 'read_file', '{"path":"/b"}'),
        outputItem('call_1', 'A'),
        outputItem('call_2', 'B'),
      ],
      tools: [sentReadFile],
      parallel_tool_calls: true,
    },
  },
  {
    name: 'the habits of the openai library: answers replayed whole',
    request: {
      messages: [
        { role: 'developer', content: 'You are an agent.' },
        { role: 'user', content: 'Read it.' },
        {
          role: 'assistant',
          content: null,
          refusal: null,
          annotations: [],
          tool_calls: [{ ...readFileCall('call_1', '/a'), parsed_arguments: { path: '/a' } }],
          parsed: null,
        },
        { role: 'tool', tool_call_id: 'call_1', content: '{"text":"A"}' },
      ],
      tools: [
        {
          type: 'function',
          function: {
            name: 'read_file',
            description: 'Reads a file.',
            parameters: { ...readFile, additionalProperties: false },
            strict: true,
          },
        },
      ],
      tool_choice: 'auto',
      stream: false,
    },
    becomes: {
      instructions: 'You are an agent.',
      input: [
        userItem('Read it.'),
        callItem('call_1', 'read_file', '{"path":"/a"}'),
        outputItem('call_1', '{"text":"A"}'),
      ],
      tools: [{ ...sentReadFile, parameters: { ...readFile, additionalProperties: false }, strict: true }],
      tool_choice: 'auto',
    },
  },
  {
    name: 'the habits of the AI SDK: objects by schema, images in parts',
    request: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Which city?' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==' } },
          ],
        },
      ],
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'response',
          schema: {
            $schema: 'http://json-schema.org/draft-07/schema#',
            type: 'object',
            properties: { city: { type: 'string' } },
            required: ['city'],
            additionalProperties: false,
          },
          strict: true,
        },
      },
      reasoning_effort: 'medium',
      stream: true,
      stream_options: { include_usage: true },
    },
    becomes: {
      input: [userItem('Which city?', inputImage('data:image/png;base64,iVBORw0KGgoAAAANSUhEUg=='))],
      text: {
        format: {
          type: 'json_schema',
          name: 'response',
          schema: {
            $schema: 'http://json-schema.org/draft-07/schema#',
            type: 'object',
            properties: { city: { type: 'string' } },
            required: ['city'],
            additionalProperties: false,
          },
          strict: true,
        },
      },
      reasoning: { effort: 'medium' },
    },
  },
  {
    name: 'the habits of opencode: empty content beside calls, a session',
    affinityKey: 'ses_5f2a',
    defaultEffort: 'high',
    request: {
      messages: [
        { role: 'system', content: 'You are opencode.' },
        { role: 'user', content: [{ type: 'text', text: 'Read /a' }] },
        { role: 'assistant', content: '', tool_calls: [readFileCall('call_1', '/a')] },
        { role: 'tool', tool_call_id: 'call_1', content: '<file>\n00001| A\n</file>' },
        { role: 'assistant', content: 'It says A.' },
        { role: 'user', content: [{ type: 'text', text: 'Thanks' }] },
      ],
      max_tokens: 32_000,
      tools: [readFileTool],
      tool_choice: 'auto',
      stream: true,
      stream_options: { include_usage: true },
    },
    becomes: {
      instructions: 'You are opencode.',
      input: [
        userItem('Read /a'),
        callItem('call_1', 'read_file', '{"path":"/a"}'),
        outputItem('call_1', '<file>\n00001| A\n</file>'),
        assistantItem('It says A.'),
        userItem('Thanks'),
      ],
      tools: [sentReadFile],
      tool_choice: 'auto',
      reasoning: { effort: 'high' },
      prompt_cache_key: 'ses_5f2a',
    },
  },
  {
    name: 'the habits of pi: a developer, max_completion_tokens, store',
    request: {
      messages: [
        { role: 'developer', content: 'You are pi.' },
        { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      ],
      stream: true,
      stream_options: { include_usage: true },
      store: false,
      max_completion_tokens: 16_384,
      reasoning_effort: 'minimal',
    },
    becomes: { instructions: 'You are pi.', input: [userItem('Hi')], reasoning: { effort: 'low' } },
  },
  {
    name: 'the habits of qwen-code: tool results in parts, rich schemas',
    request: {
      messages: [
        { role: 'system', content: 'You are Qwen Code.' },
        { role: 'user', content: [{ type: 'text', text: 'Context.' }] },
        { role: 'assistant', content: 'Got it. Thanks for the context!' },
        { role: 'user', content: [{ type: 'text', text: 'Read /a' }] },
        { role: 'assistant', content: null, tool_calls: [readFileCall('call_1', '/a')] },
        {
          role: 'tool',
          tool_call_id: 'call_1',
          content: [
            { type: 'text', text: 'line 1' },
            { type: 'text', text: 'line 2' },
          ],
        },
      ],
      max_tokens: 8_192,
      temperature: 0,
      top_p: 1,
      stream: true,
      stream_options: { include_usage: true },
      tools: [readFileTool],
    },
    becomes: {
      instructions: 'You are Qwen Code.',
      input: [
        userItem('Context.'),
        assistantItem('Got it. Thanks for the context!'),
        userItem('Read /a'),
        callItem('call_1', 'read_file', '{"path":"/a"}'),
        outputItem('call_1', 'line 1\nline 2'),
      ],
      tools: [sentReadFile],
    },
  },
  {
    name: 'the habits of a proxy: every member there, most of them null',
    request: {
      messages: [{ role: 'user', content: 'Hi', name: null, tool_calls: null, tool_call_id: null }],
      functions: null,
      function_call: null,
      temperature: null,
      top_p: null,
      n: null,
      stream: null,
      stream_options: null,
      stop: null,
      max_tokens: null,
      max_completion_tokens: null,
      tools: null,
      tool_choice: null,
      parallel_tool_calls: null,
      response_format: null,
      reasoning_effort: null,
      seed: null,
      user: null,
      logprobs: null,
    },
    becomes: { input: [userItem('Hi')] },
  },
  {
    name: 'the habits of a chat window: instructions in the middle, a JSON object at the end',
    request: {
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Hello.', reasoning_content: 'A greeting.' },
        { role: 'system', content: 'Give the conversation a title, as JSON.' },
      ],
      response_format: { type: 'json_object' },
      user: 'u-1',
    },
    becomes: {
      input: [userItem('Hi'), assistantItem('Hello.'), developerItem('Give the conversation a title, as JSON.')],
      text: { format: { type: 'json_object' } },
    },
  },
];
