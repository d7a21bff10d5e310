import type { Check } from '../check.ts';
import type { Part, Script } from '../double/script.ts';
import {
  converse,
  doubleOf,
  type Format,
  hello,
  type Prompt,
  type Reply,
  type ReplyEndpoint,
  streamOf,
  type Way,
} from '../formats/format.ts';
import { conversing } from '../formats/formats.ts';
import type { Found } from '../formats/found.ts';
import type { ServerSentEvent } from '../target/streamed-answer.ts';
import { NotApplicable, Violation } from '../verdict.ts';

/** A check without its level. Its endpoint is the one that its name begins with, unless it says others. */
export type Rule = Omit<Check, 'level' | 'endpoints'> & Partial<Pick<Check, 'endpoints'>>;

/** The same rules for each endpoint that converses. */
export function rulesOfEachFormat(
  rules: (format: Format, endpoint: ReplyEndpoint) => readonly Rule[],
): readonly Rule[] {
  return conversing.flatMap((format) => rules(format, format.endpoint));
}

/** A rule on a statement of the specification. */
export interface Promised extends Omit<Rule, 'rule' | 'source'> {
  /** The heading under which the document lists it. */
  readonly section: string;
  /** As it stands there. It is the rule, unless that says more of what is tried. */
  readonly says: string;
  readonly rule?: string;
}

/** What this project's specification promises. */
export function specifies(promises: readonly Promised[]): readonly Rule[] {
  return promises.map(({ section, says, rule = says, ...check }) => {
    return { ...check, rule, source: `spec-coverage.md, ${section}: ${says}` };
  });
}

/** How to try a rule on what a client reads, whole and streamed, of an answer that the provider gives as scripted. */
export function onReplies(
  format: Format,
  script: Script,
  judge: (reply: Reply) => void,
  prompt: Omit<Prompt, 'text'> = {},
): Pick<Rule, 'needs' | 'run'> {
  return {
    needs: ['double'],
    async run(scene) {
      using scripted = doubleOf(scene).script(script);
      await ofEach(bothWays, async (way) =>
        judge(await converse(scene, format, way, { text: scripted.marker, ...prompt })),
      );
    },
  };
}

/** What holds for the events of a stream as a whole. */
export interface EventRule {
  readonly name: string;
  readonly rule: string;
  readonly source: string;
  /** Fields of the format's own that are asked with. */
  readonly more?: Prompt['more'];
  judge(events: readonly Found[]): void;
}

/** @param parts of the answer; what the provider says by itself if there are none. */
export function rulesOnEvents(
  format: Format,
  eventsIn: (stream: readonly ServerSentEvent[]) => readonly Found[],
  rules: readonly EventRule[],
  parts?: readonly Part[],
): readonly Rule[] {
  return rules.map(({ name, judge, more, ...rule }) => ({
    ...rule,
    name: `${format.endpoint}-stream-${name}`,
    ...(parts && { needs: ['double'] }),
    async run(scene) {
      using scripted = parts && doubleOf(scene).script({ parts });
      const prompt = scripted === undefined ? hello : { text: scripted.marker };
      judge(eventsIn(await streamOf(scene, format, { ...prompt, more })));
    },
  }));
}

/** For `ofEach`: whole and streamed. */
export const bothWays: Readonly<Record<Way, Way>> = { whole: 'whole', stream: 'stream' };

/** Tries each case; a violation says which. What can't be tried is passed over, as long as something could be. */
export async function ofEach<Case>(cases: Readonly<Record<string, Case>>, attempt: (one: Case) => Promise<void>) {
  const passedOver: NotApplicable[] = [];
  for (const [name, one] of Object.entries(cases)) {
    try {
      await attempt(one);
    } catch (thrown) {
      if (thrown instanceof Violation) throw new Violation(`${name}: ${thrown.message}`);
      if (!(thrown instanceof NotApplicable)) throw thrown;
      passedOver.push(thrown);
    }
  }
  if (passedOver.length === Object.keys(cases).length && passedOver[0]) throw passedOver[0];
}
