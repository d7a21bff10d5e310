import { endingWords, rejectingLimitText } from '@gateway/presentation/request-endings';
import {
  attemptResultText,
  attemptWord,
  hasFailedOver,
  noAccountText,
  noModelText,
  skippedTexts,
  verdictText,
  type Wording,
} from '@gateway/presentation/request-text';
import { outcomeOf, type UsedAttempt, usedBy } from '@gateway/presentation/request-usage';
import { requestFacts } from '@gateway/presentation/request-values';
import { partTexts } from '@gateway/presentation/usage-parts';
import { unpricedIn } from '@gateway/prices';
import type { Usage } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import {
  type RecordedAttempt,
  RequestEnding,
  type RequestRecorded,
} from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { type Cell, type Color, type Columns, factSheet, Table } from '../../output/table.ts';
import { durationText, timeText, withNamedZone } from '../../output/words.ts';

/**
 * A request for people: its facts, its way from account to account, and the reasons.
 * @param loggedAtMs when the ledger stored it. Undefined if unknown.
 */
export function requestText(request: RequestRecorded, tokenLabel: string, loggedAtMs?: number): string {
  const { attempts, noAccount } = request;
  const sentences = attempts.map((attempt, index) => {
    const skipped = skippedSentence(skippedTexts(attempt.skipped, attempts.slice(0, index)));
    return `${index + 1}. ${attemptSentence(attempt)}${skipped}\n`;
  });
  if (noAccount !== undefined) {
    const skipped = skippedSentence(skippedTexts(noAccount.skipped, attempts));
    sentences.push(`${noAccountText(noAccount, attempts.length, wording)}${skipped}\n`);
  }
  const verdict = sentences.length === 0 ? verdictText(request, wording) : '';
  if (verdict !== '') sentences.push(`${verdict}\n`);
  const table = attempts.length === 0 ? '' : new Table(attemptColumns).linesOf([...attempts.entries()]);
  const explained = withNamedZone(sentences.join(''));
  return [headText(request, tokenLabel, loggedAtMs), table, explained].filter((part) => part !== '').join('\n');
}

/** The ledger's record of a request, which has less than the log had. */
export function ledgerText(request: RequestRecorded): string {
  const { requestId, admittedAtMs, tokenId, endpoint, localDay } = request;
  const used = usedBy(request);
  return factSheet({
    request: requestId,
    admitted: `${timeText(admittedAtMs, 'unknown')} (counted to ${localDay})`,
    token: tokenId,
    endpoint,
    model: used?.provider ? `${used.model} of ${used.provider}` : 'no provider answered',
    account: used?.accountId,
    outcome: outcomeOf(request),
    ...usageFacts(used),
  });
}

/** How a request ended, in a few words: "failed 429 pool_exhausted". */
export function endingCell(request: RequestRecorded): Cell {
  const { ending, status, errorCode, slow } = request;
  const limit = rejectingLimitText(request);
  const traits = [
    ...(limit === '' ? [] : [limit]),
    ...(hasFailedOver(request) ? ['failed over'] : []),
    ...(slow ? ['slow first token'] : []),
  ].join(', ');
  const text = `${endingWords[ending]} ${status}${errorCode && ` ${errorCode}`}${traits && ` (${traits})`}`;
  return { text, color: endingColors[ending] };
}

const endingColors: Partial<Record<RequestEnding, Color>> = {
  [RequestEnding.FAILED]: 'red',
  [RequestEnding.REFUSED]: 'yellow',
};

/** How long after the beginning a step came; a dash if it did not. */
export function afterText(ms: number | undefined, beginMs = 0): string {
  return ms === undefined ? '–' : durationText(ms - beginMs);
}

function headText(request: RequestRecorded, tokenLabel: string, loggedAtMs: number | undefined): string {
  const { requestId, receivedAtMs, tokenId, endpoint, model } = request;
  return factSheet({
    request: requestId,
    ...Object.fromEntries(requestFacts(request)),
    received: timeText(receivedAtMs, 'unknown'),
    token: tokenLabel === '' ? tokenId : `${tokenLabel} (${tokenId})`,
    endpoint,
    model: model || noModelText(request),
    ended: endingCell(request),
    ...usageFacts(usedBy(request)),
    times: timesText(request, loggedAtMs),
  });
}

/** What a request used and cost, and its parts if they were priced by themselves. */
function usageFacts(used: UsedAttempt | undefined) {
  if (used === undefined) return { tokens: 'none recorded' };
  const { costMicros, usage } = used;
  const money = (micros: number) => (micros / 1_000_000).toFixed(6);
  const unpriced = unpricedIn(usage.parts);
  const without = [
    ...(unpriced.tokens === 0 ? [] : [`${unpriced.tokens} tokens`]),
    ...(unpriced.calls === 0 ? [] : [`${unpriced.calls} tool calls`]),
  ].join(' and ');
  const cost = costMicros === undefined ? '' : `${money(costMicros)} in the currency of the prices`;
  return {
    tokens: tokensText(usage),
    cost: [cost, without && `${without} without a price`].filter((text) => text !== '').join(' + '),
    parts: partTexts(usage.parts, { count: String, money }).join('; '),
  };
}

/** "1200 in (1000 cached, 100 written to a cache), 80 out (20 reasoning)" */
function tokensText(usage: Usage): string {
  const { inputTokens, cachedTokens, outputTokens, reasoningTokens, estimated } = usage;
  const written = usage.cacheWrite5mTokens + usage.cacheWrite1hTokens;
  const parts = [
    ...(cachedTokens === 0 ? [] : [`${cachedTokens} cached`]),
    ...(written === 0 ? [] : [`${written} written to a cache`]),
  ];
  const cached = parts.length === 0 ? '' : ` (${parts.join(', ')})`;
  const reasoning = reasoningTokens === 0 ? '' : ` (${reasoningTokens} reasoning)`;
  return `${inputTokens} in${cached}, ${outputTokens} out${reasoning}${estimated ? ', estimated' : ''}`;
}

function timesText({ times, receivedAtMs }: RequestRecorded, loggedAtMs: number | undefined): string {
  if (times === undefined) return '';
  const ingested = loggedAtMs && receivedAtMs && Math.max(times.ended ?? 0, loggedAtMs - receivedAtMs);
  const { admitted, bodyRead, waitedForRoom, firstAttempt, firstByte, ended } = times;
  const byName = {
    ...{ admitted, 'body read': bodyRead, 'first attempt': firstAttempt, 'first byte': firstByte, ended },
    'in the ledger': ingested,
  };
  const known = Object.entries(byName).flatMap(([what, ms]) =>
    ms === undefined ? [] : [`${what} after ${durationText(ms)}`],
  );
  const waited = waitedForRoom < 1 ? [] : [`waited ${durationText(waitedForRoom)} for body memory`];
  return [...known, ...waited].join(', ');
}

const attemptColumns: Columns<readonly [number, RecordedAttempt]> = {
  attempt: ([index]) => String(index + 1),
  account: ([, { accountId }]) => accountId,
  model: ([, { model }]) => model,
  result: ([, attempt]) => attemptWord(attempt),
  status: ([, { upstreamStatus }]) => (upstreamStatus === 0 ? '–' : String(upstreamStatus)),
  'started after': ([, { acquired }]) => durationText(acquired),
  'first byte': ([, { firstByte, acquired }]) => afterText(firstByte, acquired),
  duration: ([, { ended, acquired }]) => afterText(ended, acquired),
};

function attemptSentence(attempt: RecordedAttempt): string {
  const { accountId, reason, asked, acquired } = attempt;
  // The broker's answer takes a millisecond or two.
  const waited = acquired - asked < 50 ? '' : `; the broker took ${durationText(acquired - asked)} to select it`;
  const result = attemptResultText(attempt, wording);
  return `Sent to ${accountId}${reason && ` (${reason})`}${waited}. ${result}`;
}

function skippedSentence(texts: readonly string[]): string {
  return texts.length === 0 ? '' : ` Skipped: ${texts.join('; ')}.`;
}

/** How sentences about requests format times here. */
const wording: Wording = { moment: timeText, duration: durationText };
