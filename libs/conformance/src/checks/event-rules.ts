import type { Part } from '../double/script.ts';
import { doubleOf, type Format, hello, streamOf } from '../formats/format.ts';
import type { Found } from '../formats/found.ts';
import type { ServerSentEvent } from '../target/gateway-client.ts';
import type { Rule } from './rules.ts';

/** What holds for the events of a stream as a whole. */
export interface EventRule {
  readonly name: string;
  readonly rule: string;
  readonly source: string;
  judge(events: readonly Found[]): void;
}

/** @param parts of the answer; what the provider says by itself if there are none. */
export function rulesOnEvents(
  format: Format,
  eventsIn: (stream: readonly ServerSentEvent[]) => readonly Found[],
  rules: readonly EventRule[],
  parts?: readonly Part[],
): readonly Rule[] {
  return rules.map(({ name, judge, ...rule }) => ({
    ...rule,
    name: `${format.endpoint}-stream-${name}`,
    ...(parts && { needs: ['double'] }),
    async run(scene) {
      using scripted = parts && doubleOf(scene).script({ parts });
      const prompt = scripted === undefined ? hello : { text: scripted.marker };
      judge(eventsIn(await streamOf(scene, format, prompt)));
    },
  }));
}
