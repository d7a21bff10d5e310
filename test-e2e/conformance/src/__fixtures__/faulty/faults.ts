import type { Frame } from '../../double/formats/provider-format.ts';
import type { Change, Fault } from './faulty-gateway.ts';

/**
 * Faults that gateways have had, each with the check that must find it. The fault is on that
 * check's endpoint.
 */
export const faults: readonly Fault[] = [
  fault('ends streams without [DONE]', 'chat-stream-ends-with-done', { events: without('[DONE]') }),
  fault('sends [DONE] twice', 'chat-stream-ends-with-done', { events: (frames) => [...frames, ...frames.slice(-1)] }),
  fault('leaves the role out', 'chat-stream-begins-with-role', { json: swap('"role":"assistant",', '') }),
  fault('leaves the finish_reason out', 'chat-stream-has-one-finish-reason', {
    json: swap(/"finish_reason":"\w+"/g, '"finish_reason":null'),
  }),
  fault('puts a finish_reason into each chunk', 'chat-stream-has-one-finish-reason', {
    json: swap('"finish_reason":null', '"finish_reason":"stop"'),
  }),
  fault('keeps streams alive with events', 'chat-stream-has-only-chunks', {
    events: (frames) => [{ event: 'ping', data: '{}' }, ...frames],
  }),
  fault('gives each chunk an id', 'chat-stream-has-one-id', {
    json: (json, position) => json.replace('"id":"chatcmpl-', `"id":"chatcmpl-${position}`),
  }),
  fault('calls chunks completions', 'chat-stream-chunks-have-their-fields', {
    json: swap('chat.completion.chunk', 'chat.completion'),
  }),
  fault('sends usage to those who do not ask', 'chat-stream-no-usage-unasked', {
    request: swap('"stream":true', '"stream":true,"stream_options":{"include_usage":true}'),
  }),
  fault('forgets that usage was asked for', 'chat-stream-usage-when-asked', {
    request: swap('"include_usage":true', '"include_usage":false'),
  }),
  fault('sends usage with each chunk', 'chat-stream-usage-once', {
    json: swap('"usage":null', '"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}'),
  }),
  fault('numbers tool calls as the provider numbers items', 'chat-stream-announces-tool-calls', {
    json: (json) =>
      json.replaceAll(/("tool_calls":\[\{"index":)(\d)/g, (_, before, index) => `${before}${Number(index) + 1}`),
  }),
  fault('gives all tool calls one number', 'chat-parallel-tool-calls', {
    json: swap(/"tool_calls":\[\{"index":\d/g, '"tool_calls":[{"index":0'),
  }),
  fault('leaves empty arguments empty', 'chat-tool-call-without-arguments', {
    json: swap('"arguments":"{}"', '"arguments":""'),
  }),
  fault('shows what was cut as complete', 'chat-finish-length', { json: swap('"length"', '"stop"') }),
  fault('drops the details of usage', 'chat-usage-has-details', {
    json: swap(/"prompt_tokens_details":\{[^}]*\},?/g, ''),
  }),
  fault('adds usage up wrongly', 'chat-usage-adds-up', { json: swap(/"total_tokens":\d+/g, '"total_tokens":1') }),
  fault('hides that the provider hung up', 'chat-stream-shows-a-cut', { hidesCuts: true }),
  fault('swallows errors of the provider', 'chat-stream-shows-the-providers-error', {
    events: (frames) => frames.filter(({ data }) => !data.startsWith('{"error"')),
  }),
  fault('holds streams back', 'chat-stream-is-not-held-back', { holdsBack: true }),
  fault('sends JSON as plain text', 'chat-answers-json', {
    headers: (headers) => ({ ...headers, 'content-type': 'text/plain' }),
  }),
  fault('passes cookies of the provider on', 'chat-keeps-the-providers-headers', {
    headers: (headers) => ({ ...headers, 'set-cookie': 'conformance=provider' }),
  }),
  fault('says gzip of what it has unzipped', 'chat-encodes-as-asked', {
    headers: (headers) => ({ ...headers, 'content-encoding': 'gzip' }),
  }),
  fault('gives all answers one id', 'chat-ids-are-unique', { json: swap(/"id":"chatcmpl-\w+"/g, '"id":"chatcmpl-1"') }),
  fault('says the time in milliseconds', 'chat-answer-has-its-fields', {
    json: swap(/"created":(\d+)/g, '"created":$1000'),
  }),
  fault('writes text in Latin 1', 'chat-text-of-many-scripts', { bytes: (text) => Buffer.from(text, 'latin1') }),
  fault('takes escaped line ends for line ends', 'chat-text-that-looks-like-framing', { bytes: swap('\\n', '\n') }),
  fault('cuts lines at 64 KiB', 'chat-long-line', {
    bytes: (text) =>
      text
        .split('\n')
        .map((line) => line.slice(0, 65_536))
        .join('\n'),
  }),
  fault('answers bad requests with 500', 'chat-refuses-unreadable-bodies', {
    status: (status) => (status === 400 ? 500 : status),
  }),
  fault('has errors of its own shape', 'chat-refuses-missing-fields', { json: swap('{"error":', '{"detail":') }),
  fault('takes refusals for answers', 'chat-provider-refusal-is-an-error', { status: () => 200 }),
  fault('streams only for those who accept it', 'chat-stream-is-event-stream', {
    refuses: ({ headers, body }) =>
      headers.accept === 'application/json' && body.includes('"stream":true') ? { status: 200, body: '{}' } : undefined,
  }),
  fault('takes a million characters for too many', 'chat-body-reaches-the-provider', {
    refuses: ({ body }) => (body.length > 1_000_000 ? refuse(413) : undefined),
  }),
  fault('has the system say what the user says', 'chat-system-text-reaches-the-provider', {
    request: swap('"role":"system"', '"role":"user"'),
  }),
  fault('drops stop sequences', 'chat-stop-reaches-the-provider', { request: swap('"stop":', '"stopped":') }),
  fault('drops the schema of the answer', 'chat-schema-of-the-answer-reaches-the-provider', {
    request: swap(/"schema":\{.*\},"strict"/g, '"strict"'),
  }),

  fault('drops the names of events', 'messages-stream-names-events', {
    events: (frames) => frames.map(({ data }) => ({ data })),
  }),
  fault('ends streams without message_stop', 'messages-stream-ends-with-message-stop', {
    events: without('message_stop'),
  }),
  fault('starts messages twice', 'messages-stream-begins-with-message-start', {
    events: (frames) => [...frames.slice(0, 1), ...frames],
  }),
  fault('starts messages with a stop reason', 'messages-stream-starts-with-an-empty-message', {
    json: swap('"stop_reason":null', '"stop_reason":"end_turn"'),
  }),
  fault('never stops blocks', 'messages-stream-blocks-are-in-order', { events: without('content_block_stop') }),
  fault('streams input as text', 'messages-stream-deltas-fit-their-block', {
    json: swap('"type":"input_json_delta","partial_json"', '"type":"text_delta","text"'),
  }),
  fault('announces input as text', 'messages-stream-announces-tool-calls', { json: swap('"input":{}', '"input":""') }),
  fault('leaves usage out of message_delta', 'messages-stream-has-message-delta', {
    json: (json) => (json.includes('"message_delta"') ? json.replace('"usage"', '"used"') : json),
  }),
  fault('sends errors without their type', 'messages-stream-error-event', { json: swap('{"type":"error",', '{') }),
  fault('hides refusals', 'messages-finish-content-filter', { json: swap('"refusal"', '"end_turn"') }),
  fault('counts cached tokens twice', 'messages-usage-is-the-providers', {
    json: swap('"input_tokens":210', '"input_tokens":1234'),
  }),
  fault('shows thinking as text', 'messages-reasoning-is-not-text', {
    json: swap('"type":"thinking","thinking"', '"type":"text","text"'),
  }),
  fault('has errors of chat completions', 'messages-refuses-missing-fields', {
    json: swap('{"type":"error","error"', '{"error"'),
  }),
  fault('does not find unknown tokens', 'messages-refuses-bad-credentials', {
    status: (status) => (status === 401 ? 404 : status),
  }),
  fault('reads tokens from one header only', 'messages-takes-bearer', {
    refuses: ({ headers }) => (headers['x-api-key'] === undefined ? refuse(401) : undefined),
  }),
  fault('does not find paths with a query', 'messages-takes-a-query', {
    refuses: ({ url }) => (url.includes('?') ? refuse(404) : undefined),
  }),
  fault('fails on gzip', 'messages-gzip-body', {
    refuses: ({ headers }) => (headers['content-encoding'] === undefined ? undefined : refuse(500)),
  }),
  fault('drops tools', 'messages-tools-reach-the-provider', { request: swap('"tools":', '"tooling":') }),
  fault('drops all results of tools but one', 'messages-tool-results-reach-the-provider', {
    request: swap(/,\{"type":"tool_result".*?\}/g, ''),
  }),
  fault('drops the signatures of thinking', 'messages-thinking-goes-back-unchanged', {
    request: swap(/,"signature":"[^"]*"/g, ''),
  }),
  fault('drops how long to think', 'messages-fields-reach-the-provider', {
    request: swap('"thinking":', '"thought":'),
  }),

  fault('counts no tokens', 'count-tokens-is-a-count', { json: swap(/"input_tokens":\d+/g, '"input_tokens":0') }),
  fault('counts always the same', 'count-tokens-grows-with-the-text', {
    json: swap(/"input_tokens":\d+/g, '"input_tokens":9'),
  }),

  fault('completes responses without their output', 'responses-stream-completed-has-the-output', {
    json: (json) => (json.includes('"response.completed"') ? json.replace('"output":[', '"output":[],"was":[') : json),
  }),
  fault('numbers all events 0', 'responses-stream-sequence-numbers-rise', {
    json: swap(/"sequence_number":\d+/g, '"sequence_number":0'),
  }),
  fault('gives items other ids on the way', 'responses-stream-items-keep-their-ids', {
    json: swap('"item_id":"', '"item_id":"other_'),
  }),
  fault('ends streams without response.completed', 'responses-stream-ends-with-completed', {
    events: without('response.completed'),
  }),
  fault('gives responses other ids on the way', 'responses-stream-has-one-response-id', {
    json: (json, position) => json.replace('"id":"resp_', `"id":"resp_${position}`),
  }),
  fault('begins in the middle', 'responses-stream-begins-with-created', { events: (frames) => frames.slice(1) }),
  fault('numbers items from 1', 'responses-stream-items-are-in-order', {
    json: (json) => json.replace(/"output_index":(\d)/, (_, index) => `"output_index":${Number(index) + 1}`),
  }),
  fault('drops content parts', 'responses-stream-content-parts-are-in-order', {
    events: without('response.content_part.added'),
  }),
  fault('finishes texts with another text', 'responses-stream-text-deltas-add-up', {
    json: (json) => (json.includes('"response.output_text.done"') ? json.replace(/"text":"/, '"text":"…') : json),
  }),
  fault('loses a piece of arguments', 'responses-stream-arguments-deltas-add-up', {
    events: (frames) => {
      const lost = frames.findIndex(({ event }) => event === 'response.function_call_arguments.delta');
      return frames.toSpliced(lost, lost === -1 ? 0 : 1);
    },
  }),
  fault('passes events on that clients do not know', 'responses-stream-has-known-events', {
    events: (frames) => [...frames.slice(0, 1), { event: 'limits', data: '{"type":"limits"}' }, ...frames.slice(1)],
  }),
  fault('names all events message', 'responses-stream-names-events', {
    events: (frames) => frames.map(({ data }) => ({ event: 'message', data })),
  }),
  fault('takes any model for one that it has', 'responses-refuses-unknown-model', {
    request: swap('conformance-no-such-model', 'another'),
  }),
  fault('fails on half of a surrogate pair', 'responses-odd-json', {
    refuses: ({ body }) => (body.includes('\\ud83c') ? refuse(500) : undefined),
  }),
  fault('shows which account it used', 'responses-keeps-the-accounts-credential', {
    headers: (headers) => ({ ...headers, 'x-account': 'conformance-token' }),
  }),
  fault('drops addresses of images', 'responses-images-reach-the-provider', {
    request: swap(/,\{"type":"input_image","image_url":"https:[^}]*\}/g, ''),
  }),
  fault('has the user say what the assistant said', 'responses-earlier-turns-reach-the-provider', {
    request: swap('"role":"assistant"', '"role":"user"'),
  }),
  fault('drops encrypted reasoning', 'responses-encrypted-reasoning-goes-back', {
    request: swap(/\{"type":"reasoning".*?\},/g, ''),
  }),

  fault('lists models without ids', 'models-have-the-fields-of-a-model', { json: swap('"id":', '"name":') }),
  fault('lists models for everyone', 'models-refuses-no-credentials', {
    refuses: ({ headers }) => (headers.authorization ? undefined : { status: 200, body: '{"data":[]}' }),
  }),
];

function fault(name: string, foundBy: string, change: Change): Fault {
  return { name, foundBy, ...change };
}

/** The events without those with this name or this data. */
function without(text: string) {
  return (frames: readonly Frame[]) => frames.filter(({ event, data }) => event !== text && data !== text);
}

function swap(from: string | RegExp, to: string) {
  return (text: string) => text.replaceAll(from, to);
}

/** An answer that is an error in every format. */
function refuse(status: number) {
  return { status, body: '{"type":"error","error":{"type":"api_error","message":"No."}}' };
}
