import type { Part } from '../double/script.ts';
import { chat, chunksOf, DONE } from '../formats/chat.ts';
import { hello, streamOf } from '../formats/format.ts';
import type { Found } from '../formats/found.ts';
import { must } from '../verdict.ts';
import { mustBeInSeconds } from './answers.ts';
import { type EventRule, type Rule, rulesOnEvents } from './rules.ts';
import { sources } from './sources.ts';

const { chat: sdkHelper } = sources.sdkHelper;
const { chat: stream } = sources.stream;
const { chat: request } = sources.request;

/** For the chunks of an answer with text. */
const rules: readonly EventRule[] = [
  {
    name: 'has-only-chunks',
    rule: 'Each event except `[DONE]` is a chunk with `choices`: SDK helpers throw on others. Comments may keep a stream alive.',
    source: sdkHelper,
    judge(chunks) {
      for (const chunk of chunks) void chunk.at('choices').list;
    },
  },
  {
    name: 'chunks-have-their-fields',
    rule: 'Each chunk has `object` `chat.completion.chunk`, `created` in seconds and the model; choices have index 0 and a delta.',
    source: stream,
    judge(chunks) {
      for (const chunk of chunks) {
        chunk.at('object').is('chat.completion.chunk');
        mustBeInSeconds(chunk.at('created'));
        void chunk.at('model').name;
      }
      for (const choice of choicesOf(chunks)) {
        choice.at('index').is(0);
        void choice.at('delta').object;
      }
    },
  },
  {
    name: 'has-one-id',
    rule: 'All chunks of a stream have the same `id` and the same `created`.',
    source: stream,
    judge(chunks) {
      for (const chunk of chunks) {
        chunk.at('id').is(chunks[0]?.at('id').name ?? null);
        chunk.at('created').is(chunks[0]?.at('created').count ?? null);
      }
    },
  },
  {
    name: 'begins-with-role',
    rule: 'The first delta has the role `assistant`: SDK helpers throw without a role.',
    source: sdkHelper,
    judge: (chunks) => choicesOf(chunks)[0]?.at('delta', 'role').is('assistant'),
  },
  {
    name: 'has-one-finish-reason',
    rule: 'Exactly one chunk has a `finish_reason`, and no content follows it: SDK helpers throw without one.',
    source: sdkHelper,
    judge(chunks) {
      const choices = choicesOf(chunks);
      const finishing = choices.filter((choice) => choice.at('finish_reason').isThere);
      must(finishing.length === 1, `one chunk should have a finish_reason; ${finishing.length} have`);
      for (const choice of choices.slice(choices.findIndex((one) => one.at('finish_reason').isThere) + 1)) {
        const { content, tool_calls } = choice.at('delta').object;
        must(!content && !tool_calls, 'no content should come after the finish_reason; some does');
      }
    },
  },
  {
    name: 'usage-when-asked',
    rule: 'With `stream_options.include_usage`, the last chunk before `[DONE]` has empty `choices` and the usage.',
    source: request,
    more: chat.asksForUsage,
    judge(chunks) {
      must(chunks.at(-1)?.at('choices').list.length === 0, 'the last chunk should have empty choices');
      void chunks.at(-1)?.at('usage').object;
    },
  },
  {
    name: 'usage-once',
    rule: 'With `stream_options.include_usage`, earlier chunks have no usage, or null: clients add up all usage.',
    source: request,
    more: chat.asksForUsage,
    judge(chunks) {
      for (const chunk of chunks.slice(0, -1)) if (chunk.at('usage').isThere) throw chunk.at('usage').not('null');
    },
  },
  {
    name: 'no-usage-unasked',
    rule: 'Without `stream_options.include_usage`, no chunk has empty `choices` and usage: clients read `choices[0]`.',
    source: request,
    judge(chunks) {
      for (const chunk of chunks.filter((one) => one.at('choices').list.length === 0))
        if (chunk.at('usage').isThere) throw chunk.at('usage').not('not there');
    },
  },
];

/** For the chunks of an answer with text and two tool calls. */
const rulesOnCalls: readonly EventRule[] = [
  {
    name: 'announces-tool-calls',
    rule: 'The first piece of each tool call has its index, id, type `function` and name; indexes start at 0.',
    source: sdkHelper,
    judge(chunks) {
      const pieces = choicesOf(chunks).flatMap((choice) => choice.at('delta', 'tool_calls').listOrNone);
      const calls = [...Map.groupBy(pieces, (piece) => piece.at('index').count).values()];
      must(calls.length === 2, `the stream should have 2 tool calls; it has ${calls.length}`);
      for (const [position, [first]] of calls.entries()) {
        first?.at('index').is(position);
        first?.at('type').is('function');
        void first?.at('id').name;
        first?.at('function', 'name').is('lookup');
      }
    },
  },
];

/** The order and the parts of a stream of chunks. */
export const chatStreams: readonly Rule[] = [
  {
    name: 'chat-stream-ends-with-done',
    rule: 'Only the last event of a stream is `data: [DONE]`.',
    source: stream,
    async run(scene) {
      const data = (await streamOf(scene, chat, hello)).map((event) => event.data);
      must(data.at(-1) === DONE, `the last event should be [DONE]; it is ${data.at(-1)?.slice(0, 200)}`);
      const first = data.indexOf(DONE) + 1;
      must(first === data.length, `[DONE] should come once; it comes as event ${first}`);
    },
  },
  ...rulesOnEvents(chat, chunksOf, rules),
  ...rulesOnEvents(chat, chunksOf, rulesOnCalls, [{ kind: 'text', text: 'I look.' }, lookup('1'), lookup('2')]),
];

function choicesOf(chunks: readonly Found[]): readonly Found[] {
  return chunks.flatMap((chunk) => chunk.at('choices').list);
}

function lookup(id: string): Part {
  return { kind: 'tool-call', id: `call_conformance${id}`, name: 'lookup', arguments: `{"word":"hill ${id}"}` };
}
