import { faultsOf, refuse, swap, without } from './changes.ts';

export const chatFaults = faultsOf('chat', [
  { name: 'ends streams without [DONE]', foundBy: 'chat-stream-ends-with-done', events: without('[DONE]') },
  {
    name: 'sends [DONE] twice',
    foundBy: 'chat-stream-ends-with-done',
    events: (frames) => [...frames, ...frames.slice(-1)],
  },
  { name: 'leaves the role out', foundBy: 'chat-stream-begins-with-role', json: swap('"role":"assistant",', '') },
  {
    name: 'leaves the finish_reason out',
    foundBy: 'chat-stream-has-one-finish-reason',
    json: swap(/"finish_reason":"\w+"/g, '"finish_reason":null'),
  },
  {
    name: 'puts a finish_reason into each chunk',
    foundBy: 'chat-stream-has-one-finish-reason',
    json: swap('"finish_reason":null', '"finish_reason":"stop"'),
  },
  {
    name: 'keeps streams alive with events',
    foundBy: 'chat-stream-has-only-chunks',
    events: (frames) => [{ event: 'ping', data: '{}' }, ...frames],
  },
  {
    name: 'gives each chunk an id',
    foundBy: 'chat-stream-has-one-id',
    json: (json, position) => json.replace('"id":"chatcmpl-', `"id":"chatcmpl-${position}`),
  },
  {
    name: 'calls chunks completions',
    foundBy: 'chat-stream-chunks-have-their-fields',
    json: swap('chat.completion.chunk', 'chat.completion'),
  },
  {
    name: 'sends usage to those who do not ask',
    foundBy: 'chat-stream-no-usage-unasked',
    request: swap('"stream":true', '"stream":true,"stream_options":{"include_usage":true}'),
  },
  {
    name: 'forgets that usage was asked for',
    foundBy: 'chat-stream-usage-when-asked',
    request: swap('"include_usage":true', '"include_usage":false'),
  },
  {
    name: 'sends usage with each chunk',
    foundBy: 'chat-stream-usage-once',
    json: swap('"usage":null', '"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}'),
  },
  {
    name: 'numbers tool calls as the provider numbers items',
    foundBy: 'chat-stream-announces-tool-calls',
    json: (json) =>
      json.replaceAll(/("tool_calls":\[\{"index":)(\d)/g, (_, before, index) => `${before}${Number(index) + 1}`),
  },
  {
    name: 'gives all tool calls one number',
    foundBy: 'chat-parallel-tool-calls',
    json: swap(/"tool_calls":\[\{"index":\d/g, '"tool_calls":[{"index":0'),
  },
  {
    name: 'leaves empty arguments empty',
    foundBy: 'chat-tool-call-without-arguments',
    json: swap('"arguments":"{}"', '"arguments":""'),
  },
  { name: 'shows what was cut as complete', foundBy: 'chat-finish-length', json: swap('"length"', '"stop"') },
  {
    name: 'drops the details of usage',
    foundBy: 'chat-usage-has-details',
    json: swap(/"prompt_tokens_details":\{[^}]*\},?/g, ''),
  },
  {
    name: 'adds usage up wrongly',
    foundBy: 'chat-usage-adds-up',
    json: swap(/"total_tokens":\d+/g, '"total_tokens":1'),
  },
  { name: 'hides that the provider hung up', foundBy: 'chat-stream-shows-a-cut', hidesCuts: true },
  {
    name: 'swallows errors of the provider',
    foundBy: 'chat-stream-shows-the-providers-error',
    events: (frames) => frames.filter(({ data }) => !data.startsWith('{"error"')),
  },
  { name: 'holds streams back', foundBy: 'chat-stream-is-not-held-back', holdsBack: true },
  {
    name: 'sends JSON as plain text',
    foundBy: 'chat-answers-json',
    headers: (headers) => ({ ...headers, 'content-type': 'text/plain' }),
  },
  {
    name: 'passes cookies of the provider on',
    foundBy: 'chat-keeps-the-providers-headers',
    headers: (headers) => ({ ...headers, 'set-cookie': 'conformance=provider' }),
  },
  {
    name: 'says gzip of what it has unzipped',
    foundBy: 'chat-encodes-as-asked',
    headers: (headers) => ({ ...headers, 'content-encoding': 'gzip' }),
  },
  {
    name: 'gives all answers one id',
    foundBy: 'chat-ids-are-unique',
    json: swap(/"id":"chatcmpl-\w+"/g, '"id":"chatcmpl-1"'),
  },
  {
    name: 'says the time in milliseconds',
    foundBy: 'chat-answer-has-its-fields',
    json: swap(/"created":(\d+)/g, '"created":$1000'),
  },
  {
    name: 'writes text in Latin 1',
    foundBy: 'chat-text-of-many-scripts',
    bytes: (text) => Buffer.from(text, 'latin1'),
  },
  {
    name: 'takes escaped line ends for line ends',
    foundBy: 'chat-text-that-looks-like-framing',
    bytes: swap('\\n', '\n'),
  },
  {
    name: 'cuts lines at 64 KiB',
    foundBy: 'chat-long-line',
    bytes: (text) =>
      text
        .split('\n')
        .map((line) => line.slice(0, 65_536))
        .join('\n'),
  },
  {
    name: 'answers bad requests with 500',
    foundBy: 'chat-refuses-unreadable-bodies',
    status: (status) => (status === 400 ? 500 : status),
  },
  {
    name: 'has errors of its own shape',
    foundBy: 'chat-refuses-missing-fields',
    json: swap('{"error":', '{"detail":'),
  },
  { name: 'takes refusals for answers', foundBy: 'chat-provider-refusal-is-an-error', status: () => 200 },
  {
    name: 'streams only for those who accept it',
    foundBy: 'chat-stream-is-event-stream',
    refuses: ({ headers, body }) =>
      headers.accept === 'application/json' && body.includes('"stream":true') ? { status: 200, body: '{}' } : undefined,
  },
  {
    name: 'takes a million characters for too many',
    foundBy: 'chat-body-reaches-the-provider',
    refuses: ({ body }) => (body.length > 1_000_000 ? refuse(413) : undefined),
  },
  {
    name: 'has the system say what the user says',
    foundBy: 'chat-system-text-reaches-the-provider',
    request: swap('"role":"system"', '"role":"user"'),
  },
  { name: 'drops stop sequences', foundBy: 'chat-stop-reaches-the-provider', request: swap('"stop":', '"stopped":') },
  {
    name: 'drops the schema of the answer',
    foundBy: 'chat-schema-of-the-answer-reaches-the-provider',
    request: swap(/"schema":\{.*\},"strict"/g, '"strict"'),
  },
]);
