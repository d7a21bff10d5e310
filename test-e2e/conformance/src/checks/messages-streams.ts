import type { Part } from '../double/script.ts';
import { hello, streamOf } from '../formats/format.ts';
import { Found, ofType, typesOf } from '../formats/found.ts';
import { messageEvents, messages } from '../formats/messages.ts';
import { must } from '../verdict.ts';
import { type EventRule, type Rule, rulesOnEvents } from './rules.ts';
import { sources } from './sources.ts';

const { messages: stream } = sources.stream;
const { messages: sdkHelper } = sources.sdkHelper;

const manyBlocks: readonly Part[] = [
  { kind: 'reasoning', text: 'Two words to look up.' },
  { kind: 'text', text: 'I look two words up.' },
  { kind: 'tool-call', id: 'toolu_conformance1', name: 'lookup', arguments: '{"word":"hill"}' },
  { kind: 'tool-call', id: 'toolu_conformance2', name: 'lookup', arguments: '{"word":"dale"}' },
];

const deltaKinds: Readonly<Record<string, readonly string[]>> = {
  text: ['text_delta', 'citations_delta'],
  tool_use: ['input_json_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
};

/** For the events of an answer with text, without pings. */
const rules: readonly EventRule[] = [
  {
    name: 'begins-with-message-start',
    rule: 'A stream begins with `message_start`, which occurs once: the SDK throws on a second one.',
    source: sdkHelper,
    judge(events) {
      const types = typesOf(events);
      must(types[0] === 'message_start', `the first event should be message_start; it is ${types[0]}`);
      must(types.lastIndexOf('message_start') === 0, 'message_start should come once; it comes again');
    },
  },
  {
    name: 'ends-with-message-stop',
    rule: 'Only the last event of a stream is `message_stop`.',
    source: stream,
    judge(events) {
      const types = typesOf(events);
      must(types.at(-1) === 'message_stop', `the last event should be message_stop; it is ${types.at(-1)}`);
      must(types.indexOf('message_stop') === types.length - 1, 'message_stop should come once; it comes earlier, too');
    },
  },
  {
    name: 'starts-with-an-empty-message',
    rule: 'The message of `message_start` has id, type, role, model and usage, empty content and no stop reason.',
    source: stream,
    judge([start]) {
      const message = start?.at('message') ?? new Found(undefined, 'the first event');
      void message.at('id').name;
      void message.at('model').name;
      message.at('type').is('message');
      message.at('role').is('assistant');
      if (message.at('content').list.length > 0) throw message.at('content').not('empty');
      if (message.at('stop_reason').isThere) throw message.at('stop_reason').not('null');
      void message.at('usage', 'input_tokens').count;
    },
  },
  {
    name: 'has-message-delta',
    rule: '`message_delta`, after all blocks, has the stop reason and `usage.output_tokens`: the SDK throws without usage.',
    source: sdkHelper,
    judge(events) {
      const types = typesOf(events);
      const at = types.lastIndexOf('message_delta');
      must(at > types.lastIndexOf('content_block_stop'), 'message_delta should come after all blocks; it does not');
      void events[at]?.at('delta', 'stop_reason').name;
      void events[at]?.at('usage', 'output_tokens').count;
    },
  },
];

/** For the events of an answer with thinking, text and two tool calls. */
const rulesOnBlocks: readonly EventRule[] = [
  {
    name: 'blocks-are-in-order',
    rule: 'Each content block starts, has its deltas, and stops before the next one; indexes start at 0.',
    source: stream,
    judge(events) {
      let [open, next]: [number | undefined, number] = [undefined, 0];
      for (const event of events) {
        const type = event.at('type').name;
        if (type === 'content_block_start') {
          must(open === undefined, `block ${open} should stop before the next starts`);
          event.at('index').is(next);
          open = next++;
        } else if (type === 'content_block_delta') event.at('index').is(open ?? 'the index of an open block');
        else if (type === 'content_block_stop') {
          event.at('index').is(open ?? 'the index of an open block');
          open = undefined;
        } else must(open === undefined, `${type} should not come within block ${open}`);
      }
    },
  },
  {
    name: 'deltas-fit-their-block',
    rule: 'Deltas have the kind of their block: text in text, JSON in tool calls, thinking and signatures in thinking.',
    source: sdkHelper,
    judge(events) {
      const types = ofType(events, 'content_block_start').map((event) => event.at('content_block', 'type').name);
      for (const event of ofType(events, 'content_block_delta')) {
        const kinds = deltaKinds[types[event.at('index').count] ?? ''];
        if (kinds !== undefined) event.at('delta', 'type').is(...kinds);
      }
    },
  },
  {
    name: 'announces-tool-calls',
    rule: 'The start of a tool call has id, name and `input` {}; its input comes as `input_json_delta`.',
    source: stream,
    judge(events) {
      const blocks = ofType(events, 'content_block_start').map((event) => event.at('content_block'));
      const calls = ofType(blocks, 'tool_use');
      must(calls.length === 2, `the stream should have 2 tool calls; it has ${calls.length}`);
      for (const call of calls) {
        void call.at('id').name;
        call.at('name').is('lookup');
        if (Object.keys(call.at('input').object).length > 0) throw call.at('input').not('{}');
      }
    },
  },
];

/** The order and the parts of a stream of events. */
export const messagesStreams: readonly Rule[] = [
  {
    name: 'messages-stream-names-events',
    rule: 'Each event has an `event:` line with the `type` of its data: the SDK ignores events without a name.',
    source: sources.sdkStream.messages,
    async run(scene) {
      for (const { event, data, json } of await streamOf(scene, messages, hello)) {
        must(event !== undefined, `each event should have a name; one has none: ${data.slice(0, 100)}`);
        new Found(json(), 'event').at('type').is(event);
      }
    },
  },
  ...rulesOnEvents(messages, messageEvents, rules),
  ...rulesOnEvents(messages, messageEvents, rulesOnBlocks, manyBlocks),
];
