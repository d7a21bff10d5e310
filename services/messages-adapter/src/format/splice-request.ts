import { GatewayError } from '@gateway/errors';
import type { JsonBody } from '@gateway/json';

/**
 * The client's body for the provider, with another `model`, however often and however escaped the
 * key was written. Only the bytes of these values change; the chunks share the client's memory.
 * Throws `invalid_request` without a model.
 * @see spec "POST /v1/messages"
 */
export function spliceRequest({ source, namedMembers }: JsonBody, model: string): readonly Buffer[] {
  const models = namedMembers.filter(({ key }) => key === 'model');
  if (models.length === 0) throw new GatewayError('invalid_request', 'model is required.');
  const text = JSON.stringify(model);
  return source.spliced(models.map(({ valueStart: start, valueEnd: end }) => ({ start, end, text })));
}
