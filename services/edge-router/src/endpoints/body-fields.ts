import { GatewayError } from '@gateway/errors';
import type { JsonBody } from '@gateway/json';

/**
 * The checks of a relayed body: the fields that the specification names, and nothing else.
 * Everything else reaches the provider unchanged. Each check throws `invalid_request` with the name
 * of the field.
 */
export function requiredModel(body: JsonBody, model = body.value('model')): string {
  if (typeof model !== 'string' || model === '') throw invalid('model', 'must be the id of a model');
  return model;
}

/** Does not parse the array, because it may be large. */
export function requireArray(body: JsonBody, key: string, what: string): void {
  const member = body.member(key);
  if (member === undefined) throw invalid(key, 'is required');
  if (body.source.at(member.valueStart) !== openBracket) throw invalid(key, `must be an array of ${what}`);
}

export function requireInteger(body: JsonBody, key: string): void {
  const value = body.value(key);
  if (value === undefined) throw invalid(key, 'is required');
  if (!Number.isInteger(value)) throw invalid(key, 'must be an integer');
}

export function checkBoolean(body: JsonBody, key: string): void {
  const value = body.value(key);
  if (value !== undefined && typeof value !== 'boolean') throw invalid(key, 'must be true or false');
}

const openBracket = 0x5b;

function invalid(field: string, problem: string): GatewayError {
  return new GatewayError('invalid_request', `${field} ${problem}.`);
}
