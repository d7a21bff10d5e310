import { hi, type RequestCases, sentHi } from './provider-request.ts';

export const parameterCases: RequestCases = [
  ...maxima('claude-opus-4-8', {
    max_tokens: [{ max_tokens: 100 }, 100],
    max_completion_tokens: [{ max_completion_tokens: 100 }, 100],
    'both maxima, of which max_completion_tokens counts': [{ max_tokens: 50, max_completion_tokens: 100 }, 100],
    'both maxima, of which the smaller does not count': [{ max_tokens: 100, max_completion_tokens: 50 }, 50],
    'max_tokens beside a max_completion_tokens of null': [{ max_tokens: 100, max_completion_tokens: null }, 100],
    'maxima of null': [{ max_tokens: null, max_completion_tokens: null }, 32_000],
    'one token at most': [{ max_tokens: 1 }, 1],
    'as many tokens as the model gives': [{ max_tokens: 128_000 }, 128_000],
    'more tokens than the model gives': [{ max_completion_tokens: 1_000_000 }, 128_000],
  }),
  ...maxima('claude-sonnet-4-5-20250929', {
    'more tokens than an earlier model gives': [{ max_tokens: 64_001 }, 64_000],
  }),
  ...maxima('claude-opus-4-1', { 'more tokens than an old model gives': [{ max_tokens: 64_000 }, 32_000] }),
  ...maxima('claude-3-haiku-20240307', { 'no maximum for a model that gives less than usual': [{}, 4_096] }),
  ...maxima('my-own-model', { 'many tokens of a model that is not known': [{ max_tokens: 100_000 }, 100_000] }),
  ...refused({
    'no tokens at all': [{ max_tokens: 0 }, 'max_tokens'],
    'fewer than no tokens': [{ max_completion_tokens: -1 }, 'max_completion_tokens'],
    'half a token': [{ max_tokens: 1.5 }, 'max_tokens'],
    'a maximum that is a text': [{ max_completion_tokens: '100' }, 'max_completion_tokens'],
    'a bad maximum that does not count': [{ max_tokens: 0, max_completion_tokens: 100 }, 'max_tokens'],
  }),
  ...stops({
    'a stop sequence': ['END', ['END']],
    'stop sequences': [
      ['END', '\n\nHuman:'],
      ['END', '\n\nHuman:'],
    ],
    'stop sequences with white space around them': [[' END\n'], [' END\n']],
    'a stop sequence of another script': ['。', ['。']],
    'more stop sequences than usual': [
      ['a', 'b', 'c', 'd', 'e'],
      ['a', 'b', 'c', 'd', 'e'],
    ],
    'blank stop sequences beside others': [['\n', 'END', '', ' \t'], ['END']],
    'blank stop sequences only': [['\n', ' '], undefined],
    'a blank stop sequence': ['\n\n', undefined],
    'an empty stop sequence': ['', undefined],
    'no stop sequences': [[], undefined],
    'stop sequences that are null': [null, undefined],
    'a stop sequence cut in the middle of a character': ['cut \ud83d', ['cut \ufffd']],
  }),
  ...refused({
    'a stop sequence that is a number': [{ stop: 7 }, 'stop'],
    'stop sequences with a number among them': [{ stop: ['a', 7] }, 'stop[1]'],
  }),
  ...ignored({
    temperature: 0,
    top_p: 0.5,
    n: 1,
    seed: 42,
    logprobs: true,
    top_logprobs: 5,
    logit_bias: { 50256: -100 },
    frequency_penalty: 1,
    presence_penalty: -1,
    user: 'user-1',
    safety_identifier: 'user-1',
    metadata: { run: '1' },
    service_tier: 'flex',
    verbosity: 'low',
    modalities: ['text', 'audio'],
    audio: { voice: 'alloy', format: 'mp3' },
    prediction: { type: 'content', content: 'Hello' },
    store: true,
    web_search_options: { search_context_size: 'low' },
    prompt_cache_key: 'session-1',
    prompt_cache_retention: '24h',
    functions: [{ name: 'weather', parameters: { type: 'object' } }],
    function_call: 'auto',
    stream: true,
    max_output_tokens: 5,
    // What other gateways and formats call something.
    system: 'Be rude.',
    thinking: { type: 'enabled', budget_tokens: 5_000 },
    reasoning: { effort: 'high' },
    output_config: { effort: 'max' },
    cache_control: { type: 'ephemeral' },
    top_k: 40,
    stop_sequences: ['END'],
    max_retries: 3,
    extra_body: { anything: true },
  }),
  {
    name: 'usage asked for in a stream',
    request: { messages: hi, stream: true, stream_options: { include_usage: true } },
    becomes: { messages: sentHi },
  },
  {
    name: 'stream options without a stream',
    request: { messages: hi, stream: false, stream_options: { include_usage: false, include_obfuscation: true } },
    becomes: { messages: sentHi },
  },
  {
    name: 'a session that it belongs to',
    affinityKey: 'session-1',
    request: { messages: hi },
    becomes: { messages: sentHi },
  },
  {
    name: 'every sampling parameter together',
    request: { messages: hi, temperature: 2, top_p: 0, top_k: 1, frequency_penalty: 2, presence_penalty: 2, seed: -1 },
    becomes: { messages: sentHi },
  },
  ...refused({
    'two answers': [{ n: 2 }, 'n must be 1'],
    'no answers': [{ n: 0 }, 'n must be 1'],
    'a number of answers that is a text': [{ n: '1' }, 'n'],
    'a temperature that is a text': [{ temperature: 'hot' }, 'temperature'],
    'a top_p that is a text': [{ top_p: '1' }, 'top_p'],
    'a stream that is a text': [{ stream: 'yes' }, 'stream'],
    'stream options that are a list': [{ stream_options: [] }, 'stream_options'],
    'a number for whether usage is asked for': [
      { stream_options: { include_usage: 1 } },
      'stream_options.include_usage',
    ],
    'parallel calls that are a text': [{ parallel_tool_calls: 'no' }, 'parallel_tool_calls'],
    'tools that are no list': [{ tools: { type: 'function' } }, 'tools'],
    'a tool that is a text': [{ tools: ['weather'] }, 'tools[0]'],
    'a tool of the provider': [{ tools: [{ type: 'web_search' }] }, 'tools[0].type'],
    'a custom tool': [{ tools: [tool({ name: 'f' }), { type: 'custom', custom: { name: 'f' } }] }, 'tools[1].type'],
    'a tool in the words of the Messages format': [{ tools: [{ name: 'f', input_schema: {} }] }, 'tools[0].function'],
    'a tool without a name': [{ tools: [tool({})] }, 'tools[0].function.name'],
    'a tool with an empty name': [{ tools: [tool({ name: '' })] }, 'tools[0].function.name'],
    'a tool whose name the provider has no letters for': [
      { tools: [tool({ name: 'f' }), tool({ name: 'files.read' })] },
      'tools[1].function.name',
    ],
    'a tool whose name is too long': [{ tools: [tool({ name: 'f'.repeat(129) })] }, 'tools[0].function.name'],
    'two tools of one name': [{ tools: [tool({ name: 'f' }), tool({ name: 'f' })] }, 'tools[1].function.name'],
    'a tool whose description is a number': [
      { tools: [tool({ name: 'f', description: 1 })] },
      'tools[0].function.description',
    ],
    'a tool whose parameters are a list': [
      { tools: [tool({ name: 'f', parameters: [] })] },
      'tools[0].function.parameters',
    ],
    'a tool whose strictness is a word': [{ tools: [tool({ name: 'f', strict: 'yes' })] }, 'tools[0].function.strict'],
  }),
];

function maxima(
  model: string,
  cases: Readonly<Record<string, readonly [members: object, sent: number]>>,
): RequestCases {
  return Object.entries(cases).map(([name, [members, max_tokens]]) => ({
    name,
    model,
    request: { messages: hi, ...members },
    becomes: { messages: sentHi, max_tokens },
  }));
}

function stops(cases: Readonly<Record<string, readonly [stop: unknown, sent: string[] | undefined]>>): RequestCases {
  return Object.entries(cases).map(([name, [stop, sent]]) => ({
    name,
    request: { messages: hi, stop },
    becomes: { messages: sentHi, ...(sent !== undefined && { stop_sequences: sent }) },
  }));
}

function ignored(parameters: Readonly<Record<string, unknown>>): RequestCases {
  return Object.entries(parameters).map(([parameter, value]) => ({
    name: `${parameter}, which changes nothing`,
    request: { messages: hi, [parameter]: value },
    becomes: { messages: sentHi },
  }));
}

function refused(cases: Readonly<Record<string, readonly [members: object, field: string]>>): RequestCases {
  return Object.entries(cases).map(([name, [members, field]]) => ({
    name,
    request: { messages: hi, ...members },
    becomes: { refused: 'invalid_request', field },
  }));
}

function tool(definition: object) {
  return { type: 'function', function: definition };
}
