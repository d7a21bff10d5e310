import { asString, type JsonBody } from '@gateway/json';
import { readBody } from '../body/read-body.ts';
import type { AdmittedRequest } from '../request-context.ts';

interface Reading {
  /** See `readBody`. */
  readonly trackedKey?: string;
  /** Whether the answer is a stream. Default: if the body asks for one. */
  readonly streamed?: boolean;
}

/**
 * The body of a model request. Its model is logged before anything else of it is checked, so that
 * the log has the model of a request that is then rejected.
 */
export async function readRequestBody(
  { request, bodyRules, logEntry }: Pick<AdmittedRequest, 'request' | 'bodyRules' | 'logEntry'>,
  { trackedKey, streamed }: Reading = {},
): Promise<JsonBody> {
  const body = await readBody(request, bodyRules, trackedKey);
  logEntry.onBodyRead(asString(body.value('model')) ?? '', streamed ?? asksForStream(body));
  return body;
}

/** Compares the text, which is cheaper than to parse it. */
function asksForStream(body: JsonBody): boolean {
  const { valueStart = 0, valueEnd = 0 } = body.member('stream') ?? {};
  return valueEnd - valueStart === 'true'.length && body.source.text(valueStart, valueEnd) === 'true';
}
