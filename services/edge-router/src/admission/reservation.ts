import { notNow } from '@gateway/errors';
import type { JsonBody } from '@gateway/json';
import type { Reservation } from '@gateway/limits';
import type { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { epochMs } from '@gateway/time';
import { labelSetsOf, mayUseModel, modelsFor } from '@gateway/tokens/access-rules';
import type { Call } from '../call.ts';
import type { Patience } from '../patience.ts';
import type { Pricing } from '../pricing/pricing.ts';
import type { EndpointPeers } from '../request-context.ts';
import { heldBy, isStrictlyLimited, limiterTerms, pricedDayOf, rateLimitHeaders, refusalError } from './admit.ts';
import { mayFetch } from './fetched-content.ts';
import type { TypicalTokens } from './typical-tokens.ts';

export interface CostedRequest {
  readonly body: Pick<JsonBody, 'source' | 'value' | 'namedMembers'>;
  readonly dialect: Dialect;
  /** As the client names it. */
  readonly model: string;
}

/**
 * Reserves what a request can cost in the budget of its group, and what it can use of strict limits
 * of tokens per day. Undefined: nothing is to be reserved. Personal tokens are not asked.
 * @throws GatewayError `rate_limit_exceeded` if there is no room
 */
export function reserveCost(call: Call, costed: CostedRequest, peers: EndpointPeers): Promise<void> | undefined {
  const { token, admission } = call;
  const { group, limits } = token;
  const hasBudget = group?.limits?.budget !== undefined;
  const isStrict = [limits, group?.limits].some(isStrictlyLimited);
  if (!(hasBudget || isStrict)) return undefined;
  // For the client such a model does not exist, so no limit must answer.
  if (!mayUseModel(token, costed.model)) return undefined;
  const { pricing, typicalTokens } = peers;
  if (!pricing.isKnown) throw notNow('Prices are not known yet. Try again later.');
  const asked = { ...costed, localDay: admission.localDay, refusesUnpriced: pricedDayOf(call, pricing) !== '' };
  const possible = possibleUse(asked, pricing, typicalTokens);
  const amounts = { costMicros: hasBudget ? possible.costMicros : 0, tokens: isStrict ? possible.tokens : 0 };
  return Math.max(...Object.values(amounts)) === 0 ? undefined : reserve(call, costed.model, amounts, peers);
}

async function reserve(
  call: Call,
  model: string,
  amounts: Pick<Reservation, 'costMicros' | 'tokens'>,
  peers: EndpointPeers,
): Promise<void> {
  const { token, admission, patience } = call;
  if (!(await isServed(model, token, patience, peers))) return;
  const { limiter, pricing } = peers;
  const reservation = { ...heldBy(call.id, token, admission), ...amounts };
  const askedAtMs = epochMs();
  const refusal = await patience.within(() => limiter.reserve(reservation));
  if (refusal === undefined) {
    call.holdLeases(reservation);
    return;
  }
  const error = refusalError(refusal, { askedAtMs, answeredAtMs: epochMs() }, pricing);
  // The refusal has returned what the request took, so the headers of its admission are outdated.
  call.returnLeases();
  const status = await patience.within(() => limiter.peek(limiterTerms(token))).catch(() => undefined);
  if (status !== undefined) call.response.setHeaders(new Map(Object.entries(rateLimitHeaders(status))));
  call.onRefused(error);
  throw error;
}

/** Whether an account with the token's labels serves a model, as far as is known. */
async function isServed(
  model: string,
  token: Token,
  patience: Patience,
  { broker, deadline }: EndpointPeers,
): Promise<boolean> {
  if (labelSetsOf(token).length === 0) return true;
  const listing = await patience.within(() => broker.listModels({}, deadline)).catch(() => undefined);
  const listed = listing?.models.filter(({ id }) => id === model) ?? [];
  return listed.length === 0 || modelsFor(token, listed).length > 0;
}

/**
 * What a request can use and cost: its estimated input, and as much output as it may have, at the
 * model that uses or costs most of those that may answer. The input of a request whose content the
 * provider may fetch is what the model usually reads or, while that is unknown, its whole context.
 * A model without a price costs as much as the dearest of its pool, unless it is refused: then it
 * can't answer.
 */
export function possibleUse(
  { body, dialect, model, localDay, refusesUnpriced }: AskedRequest,
  pricing: Pick<Pricing, 'prices' | 'candidatesOf' | 'neighboursOf'>,
  typical: Pick<TypicalTokens, 'boundFor' | 'inputOf'>,
): { readonly tokens: number; readonly costMicros: number } {
  const shownTokens = Math.ceil(body.source.length / bytesPerToken);
  const isFetching = mayFetch(body);
  const requested = requestedOutput(body);
  const possible = pricing.candidatesOf(model).map((candidate) => {
    const fetched = isFetching ? (typical.inputOf(candidate) ?? pricing.prices.contextOf(candidate, localDay)) : 0;
    const inputTokens = Math.max(shownTokens, fetched);
    const outputTokens = typical.boundFor(candidate, requested, dialect);
    const used = { inputTokens, outputTokens, cachedTokens: 0, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0 };
    const cost = refusesUnpriced
      ? pricing.prices.costOf(candidate, used, localDay)
      : pricing.prices.costAnyway(candidate, pricing.neighboursOf(candidate), used, localDay);
    return { tokens: inputTokens + outputTokens, costMicros: cost ?? 0 };
  });
  const mostOf = (kind: 'tokens' | 'costMicros') => Math.max(0, ...possible.map((each) => each[kind]));
  return { tokens: mostOf('tokens'), costMicros: mostOf('costMicros') };
}

interface AskedRequest extends CostedRequest {
  readonly localDay: string;
  readonly refusesUnpriced: boolean;
}

/** Bytes per token of ordinary text. */
const bytesPerToken = 4;

/** The most output that a request asks for, under any of the names of the three APIs. */
function requestedOutput(body: Pick<JsonBody, 'value'>): number | undefined {
  const given = ['max_tokens', 'max_completion_tokens', 'max_output_tokens']
    .map((name) => body.value(name))
    .filter((value) => typeof value === 'number' && Number.isInteger(value) && value > 0);
  return given.length === 0 ? undefined : Math.max(...given.map(Number));
}
