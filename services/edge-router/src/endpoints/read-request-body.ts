import { asString, type JsonBody } from '@gateway/json';
import { readBody } from '../body/read-body.ts';
import type { AdmittedRequest } from '../request-context.ts';

interface Reading {
  /** See `readBody`. */
  readonly trackedKey?: string;
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
export async function readRequestBody(
  { request, bodyRules, logEntry }: Pick<AdmittedRequest, 'request' | 'bodyRules' | 'logEntry'>,
  { trackedKey, streamed }: Reading = {},
): Promise<RequestBody> {
  const body = await readBody(request, bodyRules, trackedKey);
  const model = body.value('model');
  logEntry.onBodyRead(asString(model) ?? '', streamed ?? asksForStream(body));
  return { body, model };
}

/** Compares the text, which is cheaper than to parse it. */
function asksForStream(body: JsonBody): boolean {
  const { valueStart = 0, valueEnd = 0 } = body.member('stream') ?? {};
  return valueEnd - valueStart === 'true'.length && body.source.text(valueStart, valueEnd) === 'true';
}
