import { faultsOf, refuse, swap, without } from './changes.ts';

export const messagesFaults = faultsOf('messages', [
  {
    name: 'drops the names of events',
    foundBy: 'messages-stream-names-events',
    events: (frames) => frames.map(({ data }) => ({ event: undefined, data })),
  },
  {
    name: 'ends streams without message_stop',
    foundBy: 'messages-stream-ends-with-message-stop',
    events: without('message_stop'),
  },
  {
    name: 'starts messages twice',
    foundBy: 'messages-stream-begins-with-message-start',
    events: (frames) => [...frames.slice(0, 1), ...frames],
  },
  {
    name: 'starts messages with a stop reason',
    foundBy: 'messages-stream-starts-with-an-empty-message',
    json: swap('"stop_reason":null', '"stop_reason":"end_turn"'),
  },
  { name: 'never stops blocks', foundBy: 'messages-stream-blocks-are-in-order', events: without('content_block_stop') },
  {
    name: 'streams input as text',
    foundBy: 'messages-stream-deltas-fit-their-block',
    json: swap('"type":"input_json_delta","partial_json"', '"type":"text_delta","text"'),
  },
  {
    name: 'announces input as text',
    foundBy: 'messages-stream-announces-tool-calls',
    json: swap('"input":{}', '"input":""'),
  },
  {
    name: 'leaves usage out of message_delta',
    foundBy: 'messages-stream-has-message-delta',
    json: (json) => (json.includes('"message_delta"') ? json.replace('"usage"', '"used"') : json),
  },
  {
    name: 'sends errors without their type',
    foundBy: 'messages-stream-error-event',
    json: swap('{"type":"error",', '{'),
  },
  { name: 'hides refusals', foundBy: 'messages-finish-content-filter', json: swap('"refusal"', '"end_turn"') },
  {
    name: 'counts cached tokens twice',
    foundBy: 'messages-usage-is-the-providers',
    json: swap('"input_tokens":210', '"input_tokens":1234'),
  },
  {
    name: 'shows thinking as text',
    foundBy: 'messages-reasoning-is-not-text',
    json: swap('"type":"thinking","thinking"', '"type":"text","text"'),
  },
  {
    name: 'has errors of chat completions',
    foundBy: 'messages-refuses-missing-fields',
    json: swap('{"type":"error","error"', '{"error"'),
  },
  {
    name: 'does not find unknown tokens',
    foundBy: 'messages-refuses-bad-credentials',
    status: (status) => (status === 401 ? 404 : status),
  },
  {
    name: 'reads tokens from one header only',
    foundBy: 'messages-takes-bearer',
    refuses: ({ headers }) => (headers['x-api-key'] === undefined ? refuse(401) : undefined),
  },
  {
    name: 'does not find paths with a query',
    foundBy: 'messages-takes-a-query',
    refuses: ({ url }) => (url.includes('?') ? refuse(404) : undefined),
  },
  {
    name: 'fails on gzip',
    foundBy: 'messages-gzip-body',
    refuses: ({ headers }) => (headers['content-encoding'] === undefined ? undefined : refuse(500)),
  },
  { name: 'drops tools', foundBy: 'messages-tools-reach-the-provider', request: swap('"tools":', '"tooling":') },
  {
    name: 'drops all results of tools but one',
    foundBy: 'messages-tool-results-reach-the-provider',
    request: swap(/,\{"type":"tool_result".*?\}/g, ''),
  },
  {
    name: 'drops the signatures of thinking',
    foundBy: 'messages-thinking-goes-back-unchanged',
    request: swap(/,"signature":"[^"]*"/g, ''),
  },
  {
    name: 'drops how long to think',
    foundBy: 'messages-fields-reach-the-provider',
    request: swap('"thinking":', '"thought":'),
  },
]);

export const countTokensFaults = faultsOf('count-tokens', [
  {
    name: 'counts no tokens',
    foundBy: 'count-tokens-is-a-count',
    json: swap(/"input_tokens":\d+/g, '"input_tokens":0'),
  },
  {
    name: 'counts always the same',
    foundBy: 'count-tokens-grows-with-the-text',
    json: swap(/"input_tokens":\d+/g, '"input_tokens":9'),
  },
]);
