import type { Part } from '../double/script.ts';
import { hello, streamOf } from '../formats/format.ts';
import { Found, ofType, shown, typesOf } from '../formats/found.ts';
import { responseEvents, responses, terminals } from '../formats/responses.ts';
import { must } from '../verdict.ts';
import { type EventRule, type Rule, rulesOnEvents } from './rules.ts';
import { sources } from './sources.ts';

const { responses: stream } = sources.stream;
const { responses: sdkHelper } = sources.sdkHelper;
const { accumulator } = sources;

const manyItems: readonly Part[] = [
  { kind: 'reasoning', text: 'Two words to look up.' },
  { kind: 'text', text: 'I look two words up.' },
  { kind: 'tool-call', id: 'call_conformance1', name: 'lookup', arguments: '{"word":"a \\"hill\\" \\u20ac"}' },
  { kind: 'tool-call', id: 'call_conformance2', name: 'lookup', arguments: '{"word":"dale"}' },
];

/** For the events of an answer with text. */
const rules: readonly EventRule[] = [
  {
    name: 'has-known-events',
    rule: 'Events are `response.…`, `error` or `keepalive`: the SDK throws on others.',
    source: accumulator,
    judge(events) {
      for (const type of typesOf(events))
        must(/^(response\..+|error|keepalive)$/.test(type), `events should be those of the format; ${type} is not`);
    },
  },
  {
    name: 'sequence-numbers-rise',
    rule: '`sequence_number` rises from each event to the next.',
    source: stream,
    judge(events) {
      const numbers = events.map((event) => event.at('sequence_number').count);
      const wrong = numbers.findIndex((number, index) => index > 0 && number <= (numbers[index - 1] ?? -1));
      must(wrong === -1, `sequence_number should rise; ${numbers[wrong]} comes after ${numbers[wrong - 1]}`);
    },
  },
  {
    name: 'begins-with-created',
    rule: 'A stream begins with `response.created`, its response `in_progress` or `queued`, without output.',
    source: stream,
    judge([first = new Found(undefined, 'the first event')]) {
      first.at('type').is('response.created');
      first.at('response', 'status').is('in_progress', 'queued');
      if (first.at('response', 'output').listOrNone.length > 0) throw first.at('response', 'output').not('empty');
    },
  },
  {
    name: 'ends-with-completed',
    rule: 'The last event of a stream is `response.completed`, which occurs once, with the status `completed`.',
    source: stream,
    judge(events) {
      const types = typesOf(events);
      must(types.at(-1) === 'response.completed', `the last event should be response.completed; it is ${types.at(-1)}`);
      must(types.filter((type) => terminals.includes(type)).length === 1, 'one event should end the response; more do');
      lastResponse(events).at('status').is('completed');
    },
  },
  {
    name: 'has-one-response-id',
    rule: 'All events with the response have the same `id`: the SDK throws if it changes.',
    source: sdkHelper,
    judge(events) {
      const carried = events.map((event) => event.at('response')).filter((response) => response.isThere);
      for (const response of carried) response.at('id').is(carried[0]?.at('id').name ?? null);
    },
  },
];

/** For the events of an answer with reasoning, text and two function calls. */
const rulesOnItems: readonly EventRule[] = [
  {
    name: 'items-are-in-order',
    rule: 'Items are added with `output_index` 0, 1, 2…, and each is done once: the SDK throws otherwise.',
    source: sdkHelper,
    judge(events) {
      const indexes = (type: string) => ofType(events, type).map((event) => event.at('output_index').count);
      const added = indexes('response.output_item.added').join();
      must(added === [...added.split(',').keys()].join(), `items should be added in order; they are ${added}`);
      const done = indexes('response.output_item.done').toSorted((one, other) => one - other);
      must(done.join() === added, `each of the items ${added} should be done once; ${done.join()} are`);
    },
  },
  {
    name: 'items-keep-their-ids',
    rule: 'Each event within an item has the `item_id` and the `output_index` of the item: the SDK throws otherwise.',
    source: accumulator,
    judge(events) {
      const items = new Map<number, Found>();
      for (const event of events.filter((one) => one.at('output_index').isThere)) {
        const index = event.at('output_index').count;
        const item = event.at('item');
        if (event.at('type').value === 'response.output_item.added') items.set(index, item);
        const added = items.get(index);
        must(added !== undefined, `${event.at('type').string} should come after item ${index} was added`);
        if (item.isThere) item.at('type').is(added.at('type').name);
        const id = item.isThere ? item.at('id') : event.at('item_id');
        if (added.at('id').isThere) id.is(added.at('id').name);
      }
    },
  },
  {
    name: 'content-parts-are-in-order',
    rule: 'Text is inside a content part, which is added before it and done before its item.',
    source: accumulator,
    judge(events) {
      let isOpen = false;
      for (const type of typesOf(events)) {
        if (type === 'response.content_part.added') isOpen = true;
        if (type === 'response.content_part.done') isOpen = false;
        if (type.startsWith('response.output_text.')) must(isOpen, `${type} should come within a content part`);
        if (type === 'response.output_item.done') must(!isOpen, 'the content part should be done before its item is');
      }
    },
  },
  {
    name: 'text-deltas-add-up',
    rule: 'The deltas of a text match `response.output_text.done` and the finished item.',
    source: stream,
    judge: (events) => mustAddUp(events, 'response.output_text', 'text', (item) => item.at('content', 0, 'text')),
  },
  {
    name: 'arguments-deltas-add-up',
    rule: 'The deltas of arguments match `response.function_call_arguments.done` and the finished item.',
    source: stream,
    judge: (events) =>
      mustAddUp(events, 'response.function_call_arguments', 'arguments', (item) => item.at('arguments')),
  },
  {
    name: 'completed-has-the-output',
    rule: '`response.completed` has all finished items: the SDK takes its final response from it.',
    source: sdkHelper,
    judge(events) {
      const done = ofType(events, 'response.output_item.done')
        .toSorted((one, other) => one.at('output_index').count - other.at('output_index').count)
        .map((event) => essence(event.at('item')));
      const output = lastResponse(events).at('output').list.map(essence);
      must(output.join() === done.join(), `output should be ${shown(done)}; it is ${shown(output)}`);
    },
  },
];

/** The order and the parts of a stream of events. */
export const responsesStreams: readonly Rule[] = [
  {
    name: 'responses-stream-names-events',
    rule: 'If an event has an `event:` line, it is the `type` of its data.',
    source: stream,
    async run(scene) {
      for (const { event, data, json } of await streamOf(scene, responses, hello))
        if (event !== undefined && data !== '[DONE]') new Found(json(), 'event').at('type').is(event);
    },
  },
  ...rulesOnEvents(responses, responseEvents, rules),
  ...rulesOnEvents(responses, responseEvents, rulesOnItems, manyItems),
];

function lastResponse(events: readonly Found[]): Found {
  const last = events.findLast((event) => terminals.includes(event.at('type').name));
  return last?.at('response') ?? new Found(undefined, 'the last event');
}

/** @param ofItem returns the streamed text of the finished item. */
function mustAddUp(events: readonly Found[], type: string, field: string, ofItem: (item: Found) => Found): void {
  const deltas = ofType(events, `${type}.delta`);
  const dones = ofType(events, `${type}.done`);
  must(dones.length > 0, `${type}.done should come; it does not`);
  for (const done of dones) {
    const isOfItem = (event: Found) => event.at('output_index').value === done.at('output_index').value;
    const joined = deltas.filter(isOfItem).map((event) => event.at('delta').string);
    done.at(field).is(joined.join(''));
    const finished = ofType(events, 'response.output_item.done').find(isOfItem);
    ofItem(finished?.at('item') ?? new Found(undefined, 'the finished item')).is(joined.join(''));
  }
}

/** The members of an item that must be the same in every event. */
function essence(item: Found): string {
  const fields = ['type', 'id', 'call_id', 'name', 'arguments'].map((field) => item.at(field).value);
  const texts = item.at('content').listOrNone.map((part) => part.at('text').value);
  return JSON.stringify([...fields, ...texts]);
}
