import type { ReasoningEffort } from '@gateway/chat';
import type { ModelTraits } from '@gateway/proto/pool/v1/account_pb.js';
import { effortsOf } from './model-families.ts';
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
