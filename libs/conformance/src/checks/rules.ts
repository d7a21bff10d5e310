import { type Check, type Level, NotApplicable, Violation } from '../check.ts';
import { chat } from '../formats/chat.ts';
import type { Format, ReplyEndpoint, Way } from '../formats/format.ts';
import { messages } from '../formats/messages.ts';
import { responses } from '../formats/responses.ts';
import type { Endpoint } from '../target/gateway-client.ts';

/** A check but for what a whole file of them has in common. */
export type Rule = Omit<Check, 'level' | 'endpoints'>;

export function rulesOf(
  endpoints: readonly Endpoint[],
  rules: readonly Rule[],
  level: Level = 'formats',
): readonly Check[] {
  return rules.map((rule) => ({ level, endpoints, ...rule }));
}

/** The same rules for each endpoint that converses. */
export function rulesOfEachFormat(
  rules: (format: Format, endpoint: ReplyEndpoint) => readonly Rule[],
  level: Level = 'formats',
) {
  return [chat, messages, responses].flatMap((format) =>
    rulesOf([format.endpoint], rules(format, format.endpoint), level),
  );
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
