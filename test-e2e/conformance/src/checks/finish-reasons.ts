import type { Part, Script } from '../double/script.ts';
import type { ReplyEndpoint } from '../formats/format.ts';
import { must } from '../verdict.ts';
import { onReplies, type Rule, rulesOfEachFormat } from './rules.ts';
import { sources } from './sources.ts';

interface FinishCase {
  readonly finish: NonNullable<Script['finish']>;
  readonly because: string;
  /** The format's word for it. */
  readonly as: Readonly<Record<ReplyEndpoint, string>>;
}

const cases: readonly FinishCase[] = [
  {
    finish: 'length',
    because: 'cut at the token limit',
    as: { chat: 'length', messages: 'max_tokens', responses: 'incomplete` and `max_output_tokens' },
  },
  {
    finish: 'tool-calls',
    because: 'a tool call',
    as: { chat: 'tool_calls', messages: 'tool_use', responses: 'completed' },
  },
  {
    finish: 'content-filter',
    because: 'stopped by a content filter',
    as: { chat: 'content_filter', messages: 'refusal', responses: 'incomplete` and `content_filter' },
  },
];

const text: Part = { kind: 'text', text: 'An answer of a few words.' };
const call: Part = { kind: 'tool-call', id: 'call_conformance1', name: 'lookup', arguments: '{"word":"hill"}' };

/**
 * The reason why the answer ended, in the words of the client's format. Other checks cover complete
 * answers.
 */
export const finishReasons = rulesOfEachFormat((format, endpoint) =>
  cases.map(
    ({ finish, because, as }): Rule => ({
      name: `${endpoint}-finish-${finish}`,
      rule: `An answer that is ${because} ends with \`${as[endpoint]}\`, streamed or not.`,
      source: sources.answer[endpoint],
      ...onReplies(format, { parts: [finish === 'tool-calls' ? call : text], finish }, (reply) =>
        must(reply.finish === finish, `the answer should end with \`${as[endpoint]}\`; it ends with ${reply.finish}`),
      ),
    }),
  ),
);
