import { timestampMs } from '@bufbuild/protobuf/wkt';
import { GatewayError } from '@gateway/errors';
import { type Attempt, type AttemptReport, AttemptResult, ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import type { PoolExhausted, UnknownModel } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';

/**
 * The gateway has ended an answer because it lasted too long. It says nothing of the provider's
 * account.
 */
export class AnswerTooLongError extends GatewayError {
  constructor(cause: unknown) {
    super('providers_unavailable', 'The answer took longer than the gateway lets answers take.', { cause });
  }
}

/**
 * A model that the endpoint can't reach, though there may be one of that name elsewhere.
 * @see spec "Codes"
 */
export function modelNotFound(
  model: string,
  formats: readonly ProviderFormat[],
  { otherFormatsOnly }: Pick<UnknownModel, 'otherFormatsOnly'>,
): GatewayError {
  const pool = onlyPoolOf(formats);
  const isClass = model.startsWith('gateway/') && pool === 'Messages';
  if (!otherFormatsOnly || pool === undefined) return notFound(`The model ${shown(model)} does not exist.`);
  if (isClass) return notFound(`The model class ${shown(model)} has no Claude-style candidate.`);
  return notFound(`The model ${shown(model)} is not one of the ${pool} pool.`);
}

/** A model that all accounts of its pool are refused. */
export function notOffered(model: string): GatewayError {
  return notFound(`The provider does not offer the model ${shown(model)}.`);
}

/** A class where only models can be named. */
export function classNotTaken(model: string): GatewayError {
  return notFound(`The model class ${shown(model)} is not taken here: name a model.`);
}

export function poolExhausted({ retryAt }: PoolExhausted): GatewayError {
  return new GatewayError('pool_exhausted', 'Every account that could serve the request is rate limited.', {
    retryAtMs: retryAt === undefined ? undefined : timestampMs(retryAt),
  });
}

/** There are accounts, but none of them can be used. `attempts`: those that were tried just now. */
export function noneUsable(formats: readonly ProviderFormat[], attempts: readonly Attempt[]): GatewayError {
  const results = attempts.map(({ report }) => report?.result ?? AttemptResult.CANCELLED);
  if (results.length > 0 && results.every((result) => unreached.has(result))) return outOfReach(formats);
  const refused = results.every((result) => result === AttemptResult.UNAUTHORIZED);
  const triedFormats = attempts.flatMap(({ lease }) => (lease === undefined ? [] : [lease.format]));
  const pool = onlyPoolOf(formats) ?? (refused ? onlyPoolOf(triedFormats) : undefined);
  const text = pool === undefined ? noProvider : `No account of the ${pool} pool can be used now.`;
  return new GatewayError('providers_unavailable', text);
}

/** The provider, or what leads to it, could not be reached. */
export function outOfReach(formats: readonly ProviderFormat[], cause?: unknown): GatewayError {
  const pool = onlyPoolOf(formats);
  const text = pool === undefined ? noProvider : `The ${pool} pool is unreachable.`;
  return new GatewayError('providers_unavailable', text, { cause });
}

/**
 * False for a failure of which no client may see the status: the gateway's own credential was
 * refused, and a client would take its token for invalid. A refusal with 402 or 403 is the
 * provider's word on the account.
 */
export function mayBeShown({ result, upstreamStatus }: AttemptReport): boolean {
  if (upstreamStatus === 401) return false;
  return result !== AttemptResult.UNAUTHORIZED || upstreamStatus === 402 || upstreamStatus === 403;
}

const noProvider = 'No provider of the model is available now.';

const unreached: ReadonlySet<AttemptResult> = new Set([
  AttemptResult.NETWORK_ERROR,
  AttemptResult.TIMEOUT,
  AttemptResult.CANCELLED,
]);

/** Undefined for an endpoint that more than one pool serves. */
function onlyPoolOf(formats: readonly ProviderFormat[]): string | undefined {
  const [format, ...others] = new Set(formats);
  if (format === undefined || others.length > 0) return undefined;
  return poolNames[format];
}

/** As clients read them. */
const poolNames: Readonly<Record<ProviderFormat, string | undefined>> = {
  [ProviderFormat.UNSPECIFIED]: undefined,
  [ProviderFormat.RESPONSES]: 'Responses',
  [ProviderFormat.MESSAGES]: 'Messages',
};

function notFound(text: string): GatewayError {
  return new GatewayError('model_not_found', text);
}

/** As the client sent it, but not without bound. */
function shown(model: string): string {
  return JSON.stringify(model.length > 100 ? `${model.slice(0, 100)}…` : model);
}
