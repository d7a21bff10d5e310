import type { Part } from '../double/script.ts';
import { hello, type ReplyEndpoint, wholeAnswer } from '../formats/format.ts';
import type { Found } from '../formats/found.ts';
import { must } from '../verdict.ts';
import { onReplies, type Rule, rulesOfEachFormat } from './rules.ts';
import { sources } from './sources.ts';

const objects: Readonly<Record<ReplyEndpoint, { readonly rule: string; judge(answer: Found): void }>> = {
  chat: {
    rule: 'An unstreamed answer has `object` `chat.completion`, `created` in seconds, the model, and one choice with a message of the assistant',
    judge(answer) {
      answer.at('object').is('chat.completion');
      mustBeInSeconds(answer.at('created'));
      void answer.at('model').name;
      must(answer.at('choices').list.length === 1, answer.at('choices').not('one choice').message);
      answer.at('choices', 0, 'index').is(0);
      answer.at('choices', 0, 'message', 'role').is('assistant');
    },
  },
  messages: {
    rule: 'An unstreamed answer has type `message`, role `assistant`, the model, content of typed blocks, and a stop reason',
    judge(answer) {
      answer.at('type').is('message');
      answer.at('role').is('assistant');
      void answer.at('model').name;
      for (const block of answer.at('content').list) void block.at('type').name;
      void answer.at('stop_reason').name;
      if (answer.at('stop_sequence').isThere) throw answer.at('stop_sequence').not('null');
    },
  },
  responses: {
    rule: 'An unstreamed answer has `object` `response`, the status `completed`, no error, and typed items; its messages have the role `assistant`',
    judge(answer) {
      answer.at('object').is('response');
      answer.at('status').is('completed');
      if (answer.at('error').isThere) throw answer.at('error').not('null');
      for (const item of answer.at('output').list)
        if (item.at('type').name === 'message') item.at('role').is('assistant');
    },
  },
};

const thoughtful: readonly Part[] = [
  { kind: 'reasoning', text: 'The user wants a greeting.' },
  { kind: 'text', text: 'Hello.' },
];

/** The parts of a whole answer. */
export const answers = rulesOfEachFormat((format, endpoint): readonly Rule[] => [
  {
    name: `${endpoint}-answer-has-its-fields`,
    rule: `${objects[endpoint].rule}.`,
    source: sources.answer[endpoint],
    run: async (scene) => objects[endpoint].judge(await wholeAnswer(scene, format, hello)),
  },
  {
    name: `${endpoint}-ids-are-unique`,
    rule: 'Each answer has a unique, non-empty `id`.',
    source: sources.answer[endpoint],
    async run(scene) {
      const one = (await wholeAnswer(scene, format, hello)).at('id').name;
      const other = (await wholeAnswer(scene, format, hello)).at('id').name;
      must(one !== other, `each answer should have a unique id; two have ${one}`);
    },
  },
  {
    name: `${endpoint}-reasoning-is-not-text`,
    rule: "The text of an answer does not contain the model's reasoning, streamed or not.",
    source: sources.reasoning[endpoint],
    ...onReplies(format, { parts: thoughtful }, ({ text }) =>
      must(text === 'Hello.', `the text should be "Hello."; it is "${text}"`),
    ),
  },
]);

/** Milliseconds would be a thousand times larger. */
export function mustBeInSeconds(time: Found): void {
  if (time.count >= 1e10) throw time.not('a Unix time in seconds');
}
