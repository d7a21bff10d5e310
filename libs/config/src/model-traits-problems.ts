import { z } from 'zod';
import { pathText } from './env-references.ts';

/**
 * Traits in a `gateway.yaml` that do not go with their pool's format or with each other. Takes the file however broken the
 * rest of it is, so that these are reported together with problems of shape. Places in `known` have been reported already.
 */
export function modelTraitsProblems(value: unknown, known: ReadonlyMap<string, string>): string[] {
  const found = Object.entries(poolsOf.parse(value).pools).flatMap(([pool, { format, models }]) =>
    Object.entries(models).flatMap(([pattern, traits]) =>
      problemsOf(traits, format).map(({ path, text }) => ({
        place: pathText(['pools', pool, 'models', pattern, ...path]),
        text,
      })),
    ),
  );
  return found.filter(({ place }) => !known.has(place)).map(({ place, text }) => `${place}: ${text}`);
}

/** The traits in a file, and nothing where they are not what they should be. */
const poolsOf = z
  .object({
    pools: z
      .record(
        z.string(),
        z
          .object({
            format: z.string().catch(''),
            models: z.record(z.string(), z.record(z.string(), z.unknown()).catch({})).catch({}),
          })
          .catch({ format: '', models: {} }),
      )
      .catch({}),
  })
  .catch({ pools: {} });

interface Problem {
  readonly path: readonly PropertyKey[];
  readonly text: string;
}

type Traits = Readonly<Record<string, unknown>>;

function problemsOf(traits: Traits, format: string): readonly Problem[] {
  if (format === 'responses') return ofOtherFormat(traits);
  return format === 'messages' ? [...effortsOfOtherFormat(traits), ...withoutAdaptiveThinking(traits)] : [];
}

const messagesTraits = [
  ...['thinking', 'thinking_by_default', 'thinking_least'],
  ...['forced_tool_choice', 'structured_output', 'max_output_tokens'],
];

function ofOtherFormat(traits: Traits): readonly Problem[] {
  return messagesTraits
    .filter((name) => name in traits)
    .map((name) => ({ path: [name], text: 'only models of a pool of format messages have this trait' }));
}

const responsesEfforts: readonly unknown[] = ['none', 'minimal'];

function effortsOfOtherFormat({ efforts }: Traits): readonly Problem[] {
  if (!Array.isArray(efforts)) return [];
  return efforts.flatMap((effort, index) =>
    responsesEfforts.includes(effort)
      ? [
          {
            path: ['efforts', index],
            text: 'must be one of low, medium, high, xhigh, max in a pool of format messages',
          },
        ]
      : [],
  );
}

function withoutAdaptiveThinking(traits: Traits): readonly Problem[] {
  if (traits.thinking !== 'none' && traits.thinking !== 'budget') return [];
  return ['thinking_by_default', 'thinking_least']
    .filter((name) => name in traits)
    .map((name) => ({ path: [name], text: 'goes with thinking: adaptive only' }));
}
