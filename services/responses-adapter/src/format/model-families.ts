import type { ReasoningEffort } from '@gateway/chat';
import type { ModelTraits } from '@gateway/proto/pool/v1/account_pb.js';
import { type WireEffort, wireEfforts } from './provider-request.ts';

/**
 * The provider's effort closest to the wanted one on this model; undefined when none is wanted or
 * the model accepts none. Never an error: a missing level is replaced by a weaker one among the
 * strong levels, and by a stronger one among the weak levels.
 */
export function mapReasoningEffort(
  wanted: ReasoningEffort | undefined,
  model: string,
  traits?: ModelTraits,
): WireEffort | undefined {
  if (wanted === undefined) return undefined;
  // `ultra` is a client's word for the strongest level.
  return nearestEffort(wanted === 'ultra' ? 'max' : wanted, effortsOf(model, traits));
}

function nearestEffort(wanted: WireEffort, accepted: readonly string[]): WireEffort | undefined {
  const position = wireEfforts.indexOf(wanted);
  const weaker = wireEfforts.slice(0, position).reverse();
  const stronger = wireEfforts.slice(position + 1);
  const isStrong = position > wireEfforts.indexOf('medium');
  const order = isStrong ? [wanted, ...weaker, ...stronger] : [wanted, ...stronger, ...weaker];
  return order.find((effort) => accepted.includes(effort));
}

/**
 * The efforts that a model accepts: those in its configured traits, otherwise those of its family.
 */
function effortsOf(model: string, traits?: ModelTraits): readonly string[] {
  const family = families.find(({ models }) => models.test(model));
  return traits?.efforts?.levels ?? family?.efforts ?? commonEfforts;
}

interface ModelFamily {
  readonly models: RegExp;
  readonly efforts: readonly WireEffort[];
}

/**
 * The efforts of each family; the first match applies. Models without reasoning accept no effort at
 * all.
 */
const families: readonly ModelFamily[] = [
  { models: /^(gpt-[34]|chatgpt-)/, efforts: [] },
  { models: /^gpt-5\.6-(sol|terra|luna)\b/, efforts: ['low', 'medium', 'high', 'xhigh', 'max'] },
  { models: /^gpt-5\.6\b/, efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'] },
  { models: /^gpt-5\.[2-5]\b/, efforts: ['none', 'low', 'medium', 'high', 'xhigh'] },
  { models: /^gpt-5\.1\b/, efforts: ['none', 'low', 'medium', 'high'] },
  { models: /^gpt-5(?![.\d])/, efforts: ['minimal', 'low', 'medium', 'high'] },
  { models: /^gpt-(5\.|[6-9]|\d\d)/, efforts: ['low', 'medium', 'high', 'xhigh', 'max'] },
];

/** For a model that matches no family: the levels that every reasoning model accepts. */
const commonEfforts: readonly WireEffort[] = ['low', 'medium', 'high'];
