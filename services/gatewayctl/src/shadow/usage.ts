import { membersOf } from './events.ts';
import type { Answer } from './send.ts';

/** Tokens that an answer reports. */
export interface ReportedUsage {
  /** Including input that was read from a cache or written to one. */
  readonly input: number;
  readonly output: number;
}

/** The usage of an answer. A stream may report it in parts: later figures replace earlier ones. */
export function usageOf(answer: Answer): ReportedUsage | undefined {
  const found = documentsOf(answer).flatMap((each) => {
    const { usage, message, response } = membersOf(each);
    return [usage, membersOf(message).usage, membersOf(response).usage].filter((value) => typeof value === 'object');
  });
  const all = membersOf(Object.assign({}, ...found.map(membersOf)));
  const number = (name: string) => (typeof all[name] === 'number' ? all[name] : undefined);
  const input = number('prompt_tokens') ?? number('input_tokens');
  if (input === undefined) return undefined;
  const cached = (number('cache_read_input_tokens') ?? 0) + (number('cache_creation_input_tokens') ?? 0);
  // LiteLLM reports these figures beside prompt_tokens, which include them.
  const more = number('prompt_tokens') === undefined ? cached : 0;
  return { input: input + more, output: number('completion_tokens') ?? number('output_tokens') ?? 0 };
}

/** The model that answered. */
export function modelOf(answer: Answer): string | undefined {
  const models = documentsOf(answer).flatMap((each) => {
    const { model, message, response } = membersOf(each);
    return [model, membersOf(message).model, membersOf(response).model];
  });
  return models.find((model) => typeof model === 'string');
}

/** The body, or the data of the events. */
export function documentsOf({ body }: Answer): readonly unknown[] {
  if (body === undefined) return [];
  return 'json' in body ? [body.json] : body.events.map(({ data }) => data);
}
