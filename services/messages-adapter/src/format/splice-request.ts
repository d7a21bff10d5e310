import { GatewayError } from '@gateway/errors';
import type { JsonBody } from '@gateway/json';
import { rememberingTexts } from './remembering-texts.ts';

/**
 * The body with another `model`, however often and however escaped the key was written. Only the bytes of these values change.
 * In pieces, none of which is a copy of the client's. Throws `invalid_request` without a model.
 * @see spec "POST /v1/messages"
 */
export function spliceModel({ source, memberList }: JsonBody, model: string): readonly Buffer[] {
  const models = memberList.filter(({ key }) => key === 'model');
  if (models.length === 0) throw new GatewayError('invalid_request', 'model is required.');
  const pieces: Buffer[] = [];
  let copied = 0;
  for (const { valueStart, valueEnd } of models) {
    pieces.push(...source.views(copied, valueStart), jsonOf(model));
    copied = valueEnd;
  }
  return [...pieces, ...source.views(copied, source.length)];
}

/** A model's id as JSON: requests are for the same few models. */
const jsonOf = rememberingTexts((model) => Buffer.from(JSON.stringify(model)));
