import { GatewayError } from '@gateway/errors';
import type { JsonBody } from '@gateway/json';

/**
 * What the relay endpoints check of a body: the fields that the specification names, and nothing else. Everything that is
 * not looked at here reaches the provider as it was sent. Each throws `invalid_request` naming the field.
 */
export function requiredModel(body: JsonBody): string {
  const model = body.value('model');
  if (typeof model !== 'string' || model === '') throw invalid('model', 'must be the id of a model');
  return model;
}

export function requireArray(body: JsonBody, key: string, what: string): void {
  const member = body.member(key);
  if (member === undefined) throw invalid(key, 'is required');
  if (body.bytes[member.valueStart] !== openBracket) throw invalid(key, `must be an array of ${what}`);
}

export function requireInteger(body: JsonBody, key: string): void {
  if (body.member(key) === undefined) throw invalid(key, 'is required');
  if (!Number.isInteger(smallValue(body, key))) throw invalid(key, 'must be an integer');
}

export function checkBoolean(body: JsonBody, key: string): void {
  if (body.member(key) !== undefined && typeof smallValue(body, key) !== 'boolean') {
    throw invalid(key, 'must be true or false');
  }
}

/** A text member; undefined when it is absent or something else. */
export function textOf(body: JsonBody, key: string): string | undefined {
  const value = smallValue(body, key);
  return typeof value === 'string' ? value : undefined;
}

const openBracket = 0x5b;
/** No number, boolean or key that means something is longer. */
const maxSmallBytes = 4 * 1024;

function smallValue(body: JsonBody, key: string): unknown {
  const member = body.member(key);
  return member === undefined || member.valueEnd - member.valueStart > maxSmallBytes ? undefined : body.value(key);
}

function invalid(field: string, problem: string): GatewayError {
  return new GatewayError('invalid_request', `${field} ${problem}.`);
}
