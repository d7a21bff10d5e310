import { GatewayError } from '@gateway/errors';
import type { JsonBody } from '@gateway/json';
import { rememberingTexts } from './remembering-texts.ts';

/**
 * The body with another `model`. Only the bytes of that value change: of a repeated key the last one's, which is the one
 * that counts. In pieces, none of which is a copy of the client's. Throws `invalid_request` without a model.
 * @see spec "POST /v1/messages"
 */
export function spliceModel(request: JsonBody, model: string): readonly Buffer[] {
  const member = request.member('model');
  if (member === undefined) throw new GatewayError('invalid_request', 'model is required.');
  const { source } = request;
  return [...source.views(0, member.valueStart), jsonOf(model), ...source.views(member.valueEnd, source.length)];
}

/** A model's id as JSON: requests are for the same few models. */
const jsonOf = rememberingTexts((model) => Buffer.from(JSON.stringify(model)));
