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

/** A check without its level. By default its endpoint is the one at the beginning of its name. */
export type Rule = Omit<Check, 'level' | 'endpoints'> & Partial<Pick<Check, 'endpoints'>>;

/** The same rules for each endpoint with answers of a model. */
export function rulesOfEachFormat(
  rules: (format: Format, endpoint: ReplyEndpoint) => readonly Rule[],
): readonly Rule[] {
  return conversing.flatMap((format) => rules(format, format.endpoint));
}

/** A rule on a statement of the specification. */
export interface Promised extends Omit<Rule, 'rule' | 'source'> {
  /** The heading under which the document lists it. */
  readonly section: string;
  /**
   * The statement in the document. It is the rule, unless `rule` describes the check in more
   * detail.
   */
  readonly says: string;
  readonly rule?: string;
}

/** What this project's specification promises. */
export function specifies(promises: readonly Promised[]): readonly Rule[] {
  return promises.map(({ section, says, rule = says, ...check }) => {
    return { ...check, rule, source: `spec-coverage.md, ${section}: ${says}` };
  });
}

/** A check of a scripted answer, as a client reads it whole and streamed. */
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

/** A rule about all events of a stream. */
export interface EventRule {
  readonly name: string;
  readonly rule: string;
  readonly source: string;
  /** Additional fields of the format in the request. */
  readonly more?: Prompt['more'];
  judge(events: readonly Found[]): void;
}

/** @param parts of the answer; without them the provider's own answer. */
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

/**
 * Runs each case; a violation names its case. Cases that can't run are skipped, unless none can
 * run.
 */
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
