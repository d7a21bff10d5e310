import { GatewayError } from '@gateway/errors';
import type { JsonBody, JsonMember } from '@gateway/json';

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
  if (body.source.at(member.valueStart) !== openBracket) throw invalid(key, `must be an array of ${what}`);
}

export function requireInteger(body: JsonBody, key: string): void {
  const member = body.member(key);
  if (member === undefined) throw invalid(key, 'is required');
  if (!Number.isInteger(smallValue(body, member))) throw invalid(key, 'must be an integer');
}

export function checkBoolean(body: JsonBody, key: string): void {
  const member = body.member(key);
  if (member !== undefined && typeof smallValue(body, member) !== 'boolean')
    throw invalid(key, 'must be true or false');
}

/** A text member; undefined when it is absent or something else. */
export function textOf(body: JsonBody, key: string): string | undefined {
  const member = body.member(key);
  const value = member === undefined ? undefined : smallValue(body, member);
  return typeof value === 'string' ? value : undefined;
}

const openBracket = 0x5b;
/** No number, boolean or key that means something is longer. */
const maxSmallBytes = 4 * 1024;

function smallValue({ source }: JsonBody, { valueStart, valueEnd }: JsonMember): unknown {
  return valueEnd - valueStart > maxSmallBytes ? undefined : JSON.parse(source.text(valueStart, valueEnd));
}

function invalid(field: string, problem: string): GatewayError {
  return new GatewayError('invalid_request', `${field} ${problem}.`);
}
