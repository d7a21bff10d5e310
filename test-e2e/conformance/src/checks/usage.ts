import type { Scene } from '../check.ts';
import {
  converse,
  doubleOf,
  type Format,
  hello,
  type ReplyEndpoint,
  type ReplyUsage,
  type Way,
} from '../formats/format.ts';
import { must } from '../verdict.ts';
import { bothWays, ofEach, type Rule, rulesOfEachFormat } from './rules.ts';
import { sources } from './sources.ts';

const given = { input: 1_234, cached: 1_024, output: 345, reasoning: 210 };

/** In the SDK `output_tokens_details` is null if unknown. */
const mayLeaveOut: Readonly<Record<ReplyEndpoint, string>> = {
  chat: '',
  messages: ' (optional)',
  responses: '',
};

/** The client is charged what the provider counted. */
export const usage = rulesOfEachFormat((format, endpoint): readonly Rule[] => [
  {
    name: `${endpoint}-usage-is-the-providers`,
    rule: "Input and output match the provider's counts, and count cached and reasoning tokens once, streamed or not.",
    source: sources.answer[endpoint],
    needs: ['double'],
    run: (scene) =>
      onUsage(scene, format, ({ input, output }) => {
        must(input === given.input, `input should be ${given.input} tokens with the cached ones; it is ${input}`);
        must(output === given.output, `output should be ${given.output} tokens with reasoning; it is ${output}`);
      }),
  },
  {
    name: `${endpoint}-usage-has-details`,
    rule: `Cached tokens and reasoning tokens${mayLeaveOut[endpoint]} are reported separately, streamed or not.`,
    source: sources.answer[endpoint],
    needs: ['double'],
    run: (scene) =>
      onUsage(scene, format, ({ cached, reasoning }) => {
        must(cached === given.cached, `cached tokens should be ${given.cached}; they are ${cached ?? 'not there'}`);
        if (reasoning === undefined && mayLeaveOut[endpoint] !== '') return;
        const found = reasoning ?? 'not there';
        must(reasoning === given.reasoning, `reasoning tokens should be ${given.reasoning}; they are ${found}`);
      }),
  },
  {
    name: `${endpoint}-usage-adds-up`,
    rule: 'Details do not exceed their count, and a total is the sum of input and output, streamed or not.',
    source: sources.answer[endpoint],
    run: (scene) => ofEach(bothWays, async (way) => mustAddUp(await usageOf(scene, format, way, hello.text))),
  },
]);

async function onUsage(scene: Scene, format: Format, judge: (usage: ReplyUsage) => void): Promise<void> {
  using scripted = doubleOf(scene).script({ parts: [{ kind: 'text', text: 'Counted.' }], usage: given });
  await ofEach(bothWays, async (way) => judge(await usageOf(scene, format, way, scripted.marker)));
}

async function usageOf(scene: Scene, format: Format, way: Way, text: string): Promise<ReplyUsage> {
  const more = way === 'stream' ? format.asksForUsage : {};
  const { usage: found } = await converse(scene, format, way, { ...hello, text, more });
  must(found !== undefined, 'the answer should have usage; it has none');
  return found;
}

function mustAddUp({ input, cached = 0, output, reasoning = 0, total = input + output }: ReplyUsage): void {
  must(input > 0 && output > 0, `input and output should be more than 0; they are ${input} and ${output}`);
  must(total === input + output, `the total should be ${input} + ${output}; it is ${total}`);
  must(cached <= input, `${cached} cached tokens are more than the ${input} of the input`);
  must(reasoning <= output, `${reasoning} reasoning tokens are more than the ${output} of the output`);
}
