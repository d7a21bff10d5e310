import {
  assistant,
  call,
  type RequestCases,
  result,
  sentHi,
  sentWeather,
  text,
  toolResult,
  toolUse,
  user,
  weather,
} from './provider-request.ts';

/** Whole requests as well-known clients send them. */
export const realClientCases: RequestCases = [
  {
    name: 'what LangChain sends after a call',
    request: {
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0,
      tools: [weather],
      tool_choice: 'auto',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: '', tool_calls: [{ ...call('call_1', '{"city":"Utrecht"}'), index: 0 }] },
        { role: 'tool', tool_call_id: 'call_1', content: 'sun', name: 'weather' },
      ],
    },
    becomes: {
      system: 'Be brief.',
      tools: [sentWeather],
      messages: [...sentHi, assistant(toolUse('call_1', { city: 'Utrecht' })), user(toolResult('call_1', 'sun'))],
    },
  },
  {
    name: 'what qwen-code sends after a call',
    request: {
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 8_000,
      metadata: { sessionId: 's', promptId: 'p' },
      messages: [
        {
          role: 'system',
          content: [{ type: 'text', text: 'You are an agent.', cache_control: { type: 'ephemeral' } }],
        },
        { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
        { role: 'assistant', content: null, tool_calls: [call('call_1')] },
        result('call_1', [
          { type: 'text', text: 'sun' },
          { type: 'text', text: 'rain' },
        ]),
      ],
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'The weather.',
            parameters: {
              $schema: 'http://json-schema.org/draft-07/schema#',
              type: 'object',
              properties: { days: { type: 'number', minimum: 1, maximum: 14 }, city: { type: 'string', minLength: 1 } },
              required: ['city'],
            },
          },
        },
      ],
    },
    becomes: {
      max_tokens: 8_000,
      system: 'You are an agent.',
      messages: [...sentHi, assistant(toolUse('call_1')), user(toolResult('call_1', [text('sun'), text('rain')]))],
      tools: [
        {
          name: 'weather',
          description: 'The weather.',
          input_schema: {
            $schema: 'http://json-schema.org/draft-07/schema#',
            type: 'object',
            properties: { days: { type: 'number', minimum: 1, maximum: 14 }, city: { type: 'string', minLength: 1 } },
            required: ['city'],
          },
        },
      ],
    },
  },
  {
    name: 'what pi sends',
    request: {
      stream: true,
      stream_options: { include_usage: true },
      store: false,
      max_completion_tokens: 16_000,
      reasoning_effort: 'medium',
      prompt_cache_key: 'b1e4',
      messages: [
        { role: 'developer', content: 'You are an agent.' },
        { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      ],
      tools: [{ type: 'function', function: { ...weather.function, strict: false } }],
    },
    becomes: {
      max_tokens: 16_000,
      system: 'You are an agent.',
      messages: sentHi,
      tools: [sentWeather],
      thinking: { type: 'adaptive', display: 'summarized' },
      output_config: { effort: 'medium' },
    },
  },
  {
    name: 'what opencode sends for a title',
    model: 'claude-haiku-4-5-20251001',
    request: {
      stream: true,
      max_tokens: 32_000,
      messages: [
        { role: 'system', content: 'You are a title generator.' },
        { role: 'user', content: 'Generate a title for this conversation:\n' },
        { role: 'user', content: 'Hi' },
      ],
    },
    becomes: {
      system: 'You are a title generator.',
      messages: [user(text('Generate a title for this conversation:\n'), text('Hi'))],
    },
  },
  {
    name: 'what opencode sends after parallel calls',
    request: {
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 32_000,
      tools: [weather],
      tool_choice: 'auto',
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: '', tool_calls: [call('toolu_1'), call('toolu_2')], reasoning_content: 'Hm.' },
        result('toolu_1', 'sun'),
        result('toolu_2', 'rain'),
        { role: 'assistant', content: '', reasoning_content: 'Hm.' },
        { role: 'user', content: 'Why?' },
      ],
    },
    becomes: {
      tools: [sentWeather],
      messages: [
        ...sentHi,
        assistant(toolUse('toolu_1'), toolUse('toolu_2')),
        user(toolResult('toolu_1', 'sun'), toolResult('toolu_2', 'rain'), text('Why?')),
      ],
    },
  },
  {
    name: 'what the AI SDK sends for an object',
    request: {
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi' },
      ],
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'response',
          strict: true,
          schema: {
            $schema: 'http://json-schema.org/draft-07/schema#',
            type: 'object',
            properties: { city: { type: 'string' } },
            required: ['city'],
            additionalProperties: false,
          },
        },
      },
    },
    becomes: {
      system: 'Be brief.',
      messages: sentHi,
      output_config: {
        format: {
          type: 'json_schema',
          schema: {
            type: 'object',
            properties: { city: { type: 'string' } },
            required: ['city'],
            additionalProperties: false,
          },
        },
      },
    },
  },
  {
    name: 'what an OpenAI SDK sends back of an answer that it got',
    request: {
      tools: [weather],
      messages: [
        { role: 'user', content: 'Hi' },
        {
          ...{ role: 'assistant', content: null, refusal: null, annotations: [], audio: null, function_call: null },
          tool_calls: [{ ...call('call_1', ''), parsed: null }],
        },
        result('call_1', 'sun'),
        {
          ...{ role: 'assistant', content: 'Sun.', refusal: null, annotations: [], audio: null },
          tool_calls: null,
          parsed: null,
        },
        { role: 'user', content: 'Why?' },
      ],
    },
    becomes: {
      tools: [sentWeather],
      messages: [
        ...sentHi,
        assistant(toolUse('call_1')),
        user(toolResult('call_1', 'sun')),
        assistant(text('Sun.')),
        user(text('Why?')),
      ],
    },
  },
  {
    name: 'what an agent sends that reminds the model after every turn',
    request: {
      messages: [
        { role: 'system', content: 'You are an agent.' },
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Hello.' },
        { role: 'system', content: 'The user has opened main.ts.' },
        { role: 'user', content: 'Why?' },
        { role: 'system', content: 'Stay brief.' },
      ],
    },
    becomes: {
      system: 'You are an agent.\n\nThe user has opened main.ts.\n\nStay brief.',
      messages: [...sentHi, assistant(text('Hello.')), user(text('Why?'))],
    },
  },
];
