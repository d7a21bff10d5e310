import { GatewayError, type GatewayErrorDetails } from '@gateway/errors';
import { type Attempt, type AttemptReport, AttemptResult, ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import type { PoolExhausted, UnknownModel } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';

/**
 * The gateway ended an answer because it lasted too long. The provider's account is not the cause.
 */
export class AnswerTooLongError extends GatewayError {
  constructor(cause: unknown) {
    super('providers_unavailable', 'The answer exceeded the maximum stream duration.', { cause });
  }
}

/**
 * A model that the endpoint can't use, although a model of that name may exist elsewhere.
 * @see spec "Codes"
 */
export function modelNotFound(
  model: string,
  formats: readonly ProviderFormat[],
  { otherFormatsOnly }: Pick<UnknownModel, 'otherFormatsOnly'> = { otherFormatsOnly: false },
): GatewayError {
  const pool = onlyPoolOf(formats);
  const isClass = model.startsWith('gateway/') && pool === 'Messages';
  if (!otherFormatsOnly || pool === undefined) return notFound(`The model ${shown(model)} does not exist.`);
  if (isClass) return notFound(`The model class ${shown(model)} has no Claude-style candidate.`);
  return notFound(`The model ${shown(model)} does not belong to the ${pool} pool.`);
}

/** A model that a group with a budget does not pay for. A retry or another account won't help. */
export function modelUnpriced(model: string): GatewayError {
  const text = `The model ${shown(model)} has no price, which the budget of the token's group requires.`;
  return new GatewayError('invalid_request', text, { isFinal: true });
}

/** A model that the provider refuses to all accounts of its pool. */
export function notOffered(model: string): GatewayError {
  return notFound(`The provider does not offer the model ${shown(model)}.`);
}

/** A class at an endpoint that accepts only models. */
export function classNotTaken(model: string): GatewayError {
  return notFound(`The model class ${shown(model)} is not accepted here. Use the name of a model.`);
}

export function poolExhausted({ retryAfterMs }: PoolExhausted): GatewayError {
  const text = 'Every account that could serve the request is rate limited.';
  return new GatewayError('pool_exhausted', text, { retryAfterMs });
}

/**
 * Accounts exist, but none is usable. `attempts`: those made just now. `retryAfterMs`: until one
 * may be, if that is known.
 */
export function noneUsable(
  formats: readonly ProviderFormat[],
  attempts: readonly Attempt[],
  retryAfterMs?: number,
): GatewayError {
  const results = attempts.map(({ report }) => report?.result ?? AttemptResult.CANCELLED);
  if (results.length > 0 && results.every((result) => unreached.has(result)))
    return outOfReach(formats, { retryAfterMs });
  const refused = results.every((result) => result === AttemptResult.UNAUTHORIZED || result === AttemptResult.REFUSED);
  const triedFormats = attempts.flatMap(({ lease }) => (lease === undefined ? [] : [lease.format]));
  const pool = onlyPoolOf(formats) ?? (refused ? onlyPoolOf(triedFormats) : undefined);
  const text = pool === undefined ? noProvider : `No account of the ${pool} pool is available.`;
  return new GatewayError('providers_unavailable', text, { retryAfterMs });
}

/** The provider, or a service on the way to it, could not be reached. */
export function outOfReach(
  formats: readonly ProviderFormat[],
  { retryAfterMs, cause }: Pick<GatewayErrorDetails, 'retryAfterMs' | 'cause'>,
): GatewayError {
  const pool = onlyPoolOf(formats);
  const text = pool === undefined ? noProvider : `The ${pool} pool is unreachable.`;
  return new GatewayError('providers_unavailable', text, { cause, retryAfterMs });
}

/**
 * False for a failure whose status clients must not see. A limit of one account is not the pool's.
 * If the gateway's own credential was rejected, a client would consider its token invalid. A
 * rejection with 402 or 403 is the provider's decision about the account or the request.
 */
export function mayBeShown({ result, upstreamStatus }: AttemptReport): boolean {
  if (upstreamStatus === 401 || result === AttemptResult.RATE_LIMITED) return false;
  return result !== AttemptResult.UNAUTHORIZED || upstreamStatus === 402 || upstreamStatus === 403;
}

/** True for a refusal that concerns only what the request chose, such as a service tier. */
export function concernsRequest({ result, feature }: AttemptReport): boolean {
  return result === AttemptResult.FEATURE_UNAVAILABLE && feature === '';
}

const noProvider = 'No provider of the model is available.';

const unreached: ReadonlySet<AttemptResult> = new Set([
  AttemptResult.NETWORK_ERROR,
  AttemptResult.TIMEOUT,
  AttemptResult.CANCELLED,
]);

/** Undefined for an endpoint that several pools serve. */
function onlyPoolOf(formats: readonly ProviderFormat[]): string | undefined {
  const [format, ...others] = new Set(formats);
  if (format === undefined || others.length > 0) return undefined;
  return poolNames[format];
}

/** The names that clients read. */
const poolNames: Readonly<Record<ProviderFormat, string | undefined>> = {
  [ProviderFormat.UNSPECIFIED]: undefined,
  [ProviderFormat.RESPONSES]: 'Responses',
  [ProviderFormat.MESSAGES]: 'Messages',
};

function notFound(text: string): GatewayError {
  return new GatewayError('model_not_found', text);
}

/** The client's text, but limited in length. */
function shown(model: string): string {
  return JSON.stringify(model.length > 100 ? `${model.slice(0, 100)}…` : model);
}
