import { type ReasoningEffort, reasoningEfforts } from '@gateway/chat';
import type { ModelTraits } from '@gateway/proto/pool/v1/account_pb.js';

/** Every effort the provider knows, weakest first. `ultra` is a client's word for the strongest one. */
const wireEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type WireEffort = (typeof wireEfforts)[number];

/**
 * The provider's effort that comes nearest to the wanted one on this model; undefined when none is wanted or the model
 * takes none. Never an error: a level that a model lacks gives way to a weaker one among the strong levels, and to a
 * stronger one among the weak levels. Traits that name efforts are believed over what is known of the model's family.
 */
export function mapReasoningEffort(
  wanted: ReasoningEffort | undefined,
  model: string,
  traits?: ModelTraits,
): WireEffort | undefined {
  if (wanted === undefined) return undefined;
  return nearestEffort(wanted === 'ultra' ? 'max' : wanted, traits?.efforts?.levels ?? effortsOfFamily(model));
}

/** A class's default effort as the lease has it; undefined for a text that is no effort. */
export function readEffort(text: string): ReasoningEffort | undefined {
  return reasoningEfforts.find((effort) => effort === text);
}

interface ModelFamily {
  readonly models: RegExp;
  readonly efforts: readonly WireEffort[];
}

/** What each family takes; the first that matches counts. Models without reasoning take no effort at all. */
const families: readonly ModelFamily[] = [
  { models: /^(gpt-[34]|chatgpt-)/, efforts: [] },
  { models: /^gpt-5\.6-(sol|terra|luna)\b/, efforts: ['low', 'medium', 'high', 'xhigh', 'max'] },
  { models: /^gpt-5\.6\b/, efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'] },
  { models: /^gpt-5\.[2-5]\b/, efforts: ['none', 'low', 'medium', 'high', 'xhigh'] },
  { models: /^gpt-5\.1\b/, efforts: ['none', 'low', 'medium', 'high'] },
  { models: /^gpt-5(?![.\d])/, efforts: ['minimal', 'low', 'medium', 'high'] },
  { models: /^gpt-(5\.|[6-9]|\d\d)/, efforts: ['low', 'medium', 'high', 'xhigh', 'max'] },
];

/** Of a model that no family matches: the levels that every reasoning model takes. */
const commonEfforts: readonly WireEffort[] = ['low', 'medium', 'high'];

function effortsOfFamily(model: string): readonly WireEffort[] {
  return families.find((family) => family.models.test(model))?.efforts ?? commonEfforts;
}

function nearestEffort(wanted: WireEffort, accepted: readonly string[]): WireEffort | undefined {
  const position = wireEfforts.indexOf(wanted);
  const weaker = wireEfforts.slice(0, position).reverse();
  const stronger = wireEfforts.slice(position + 1);
  const isStrong = position > wireEfforts.indexOf('medium');
  const order = isStrong ? [wanted, ...weaker, ...stronger] : [wanted, ...stronger, ...weaker];
  return order.find((effort) => accepted.includes(effort));
}
