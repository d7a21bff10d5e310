import { faultsOf, refuse, swap, without } from './changes.ts';

export const responsesFaults = faultsOf('responses', [
  {
    name: 'completes responses without their output',
    foundBy: 'responses-stream-completed-has-the-output',
    json: (json) => (json.includes('"response.completed"') ? json.replace('"output":[', '"output":[],"was":[') : json),
  },
  {
    name: 'numbers all events 0',
    foundBy: 'responses-stream-sequence-numbers-rise',
    json: swap(/"sequence_number":\d+/g, '"sequence_number":0'),
  },
  {
    name: 'gives items other ids on the way',
    foundBy: 'responses-stream-items-keep-their-ids',
    json: swap('"item_id":"', '"item_id":"other_'),
  },
  {
    name: 'ends streams without response.completed',
    foundBy: 'responses-stream-ends-with-completed',
    events: without('response.completed'),
  },
  {
    name: 'gives responses other ids on the way',
    foundBy: 'responses-stream-has-one-response-id',
    json: (json, position) => json.replace('"id":"resp_', `"id":"resp_${position}`),
  },
  {
    name: 'begins in the middle',
    foundBy: 'responses-stream-begins-with-created',
    events: (frames) => frames.slice(1),
  },
  {
    name: 'numbers items from 1',
    foundBy: 'responses-stream-items-are-in-order',
    json: (json) => json.replace(/"output_index":(\d)/, (_, index) => `"output_index":${Number(index) + 1}`),
  },
  {
    name: 'drops content parts',
    foundBy: 'responses-stream-content-parts-are-in-order',
    events: without('response.content_part.added'),
  },
  {
    name: 'finishes texts with another text',
    foundBy: 'responses-stream-text-deltas-add-up',
    json: (json) => (json.includes('"response.output_text.done"') ? json.replace(/"text":"/, '"text":"…') : json),
  },
  {
    name: 'loses a piece of arguments',
    foundBy: 'responses-stream-arguments-deltas-add-up',
    events: (frames) => {
      const lost = frames.findIndex(({ event }) => event === 'response.function_call_arguments.delta');
      return frames.toSpliced(lost, lost === -1 ? 0 : 1);
    },
  },
  {
    name: 'passes events on that clients do not know',
    foundBy: 'responses-stream-has-known-events',
    events: (frames) => [...frames.slice(0, 1), { event: 'limits', data: '{"type":"limits"}' }, ...frames.slice(1)],
  },
  {
    name: 'names all events message',
    foundBy: 'responses-stream-names-events',
    events: (frames) => frames.map(({ data }) => ({ event: 'message', data })),
  },
  {
    name: 'takes any model for one that it has',
    foundBy: 'responses-refuses-unknown-model',
    request: swap('conformance-no-such-model', 'another'),
  },
  {
    name: 'fails on half of a surrogate pair',
    foundBy: 'responses-odd-json',
    refuses: ({ body }) => (body.includes('\\ud83c') ? refuse(500) : undefined),
  },
  {
    name: 'shows which account it used',
    foundBy: 'responses-keeps-the-accounts-credential',
    headers: (headers) => ({ ...headers, 'x-account': 'conformance-token' }),
  },
  {
    name: 'drops addresses of images',
    foundBy: 'responses-images-reach-the-provider',
    request: swap(/,\{"type":"input_image","image_url":"https:[^}]*\}/g, ''),
  },
  {
    name: 'has the user say what the assistant said',
    foundBy: 'responses-earlier-turns-reach-the-provider',
    request: swap('"role":"assistant"', '"role":"user"'),
  },
  {
    name: 'drops encrypted reasoning',
    foundBy: 'responses-encrypted-reasoning-goes-back',
    request: swap(/\{"type":"reasoning".*?\},/g, ''),
  },
]);
