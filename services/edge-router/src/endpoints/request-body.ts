import { GatewayError } from '@gateway/errors';
import { asString, type JsonBody, type TrackedStringOptions } from '@gateway/json';
import { readBody } from '../body/read-body.ts';
import type { Call } from '../call.ts';

interface Reading {
  /** See `readBody`. */
  readonly tracked?: TrackedStringOptions;
  /** Whether the answer is a stream. Default: if the body asks for one. */
  readonly streamed?: boolean;
}

interface RequestBody {
  readonly body: JsonBody;
  /** Not checked; undefined: the body has none. */
  readonly model: unknown;
}

/**
 * The body of a model request. Its model is logged before anything else of it is checked, so that
 * the log has the model of a request that is then rejected.
 */
export async function readRequestBody(call: Call, { tracked, streamed }: Reading = {}): Promise<RequestBody> {
  const body = await readBody(call.request, call.bodyRules, tracked);
  const model = body.value('model');
  call.onBodyRead(asString(model) ?? '', streamed ?? asksForStream(body), body.source.length);
  return { body, model };
}

// A relayed body is checked for the fields that the specification names, and for nothing else,
// because everything else reaches the provider unchanged. Each check throws `invalid_request` with
// the field's name.

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

/** Compares the text, which is cheaper than to parse it. */
function asksForStream(body: JsonBody): boolean {
  const { valueStart = 0, valueEnd = 0 } = body.member('stream') ?? {};
  return valueEnd - valueStart === 'true'.length && body.source.text(valueStart, valueEnd) === 'true';
}

const openBracket = 0x5b;

function invalid(field: string, problem: string): GatewayError {
  return new GatewayError('invalid_request', `${field} ${problem}.`);
}
