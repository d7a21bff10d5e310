import type { IncomingMessage } from 'node:http';
import { GatewayError } from '@gateway/errors';
import { JsonBody, JsonSkimmer } from '@gateway/json';
import { bodyEncoding, decodeBody } from './decode-body.ts';

export interface BodyRules {
  /** Counted on decoded bytes. */
  readonly limitBytes: number;
  readonly acceptsCompression: boolean;
}

/**
 * Reads and checks a JSON body: encoding, size, decodability, grammar, in this order. The size is refused as soon as it
 * is certain, before the upload ends. Throws `unsupported_encoding`, `body_too_large`, `invalid_body`, `invalid_json`,
 * `invalid_request`. @see spec "Size limits"
 */
export async function readBody(request: IncomingMessage, rules: BodyRules): Promise<JsonBody> {
  const encoding = bodyEncoding(request, rules.acceptsCompression);
  if (encoding === 'identity' && Number(request.headers['content-length'] ?? 0) > rules.limitBytes)
    throw tooLarge(rules);
  using body = decodeBody(request, encoding);
  const { bytes, skimmer } = await gather(body.chunks, rules);
  return new JsonBody(bytes, skimmer);
}

async function gather(chunks: AsyncIterable<Buffer>, rules: BodyRules) {
  const kept: Buffer[] = [];
  const skimmer = new JsonSkimmer();
  let size = 0;
  let badJson: unknown;
  for await (const chunk of undecodableAsInvalidBody(chunks)) {
    size += chunk.length;
    if (size > rules.limitBytes) throw tooLarge(rules);
    if (badJson !== undefined) continue;
    kept.push(chunk);
    // A text that is no JSON is still read to its end: too large comes first among the errors.
    badJson = failureOf(() => skimmer.push(chunk));
  }
  badJson ??= failureOf(() => skimmer.end());
  if (badJson !== undefined) throw badJson;
  const [only] = kept;
  return { bytes: only !== undefined && kept.length === 1 ? only : Buffer.concat(kept, size), skimmer };
}

async function* undecodableAsInvalidBody(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* chunks;
  } catch (cause) {
    throw new GatewayError('invalid_body', 'The body could not be decoded, or it broke off.', { cause });
  }
}

function failureOf(act: () => void): unknown {
  try {
    act();
    return undefined;
  } catch (failure) {
    return failure;
  }
}

function tooLarge({ limitBytes }: BodyRules): GatewayError {
  return new GatewayError(
    'body_too_large',
    `The body is over this endpoint's limit of ${limitBytes / 1024 / 1024} MiB.`,
  );
}
