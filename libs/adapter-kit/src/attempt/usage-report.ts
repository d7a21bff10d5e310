import type { MessageInitShape } from '@bufbuild/protobuf';
import { maxTokenCount, type ReportedUsage, type TokenUsage, type UsagePass, wholeUsage } from '@gateway/chat';
import type { UsagePartSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { AnswerReader } from '../format-definition.ts';
import { estimateOutputTokens } from './estimate-tokens.ts';

/** What is billed for an answer. */
export interface UsageReport extends TokenUsage {
  /** Parts of the input that were written to the provider's cache, none of them read from it. */
  readonly cacheWrite5mTokens: number;
  readonly cacheWrite1hTokens: number;
  readonly estimated: boolean;
  /** The parts with prices of their own. Empty: it is one, served by default. */
  readonly parts: UsagePartInit[];
}

type UsagePartInit = UsagePass & MessageInitShape<typeof UsagePartSchema>;

type Produced = Pick<AnswerReader, 'reportedUsage' | 'producedCharacters'>;

/**
 * The usage of a successful answer: the provider's report, or an estimate of the parts that it did
 * not report.
 */
export function finalUsage(answer: Produced, inputEstimate: number): UsageReport {
  const { reportedUsage, producedCharacters } = answer;
  if (wholeUsage(reportedUsage, producedCharacters) === undefined) return usageSoFar(answer, inputEstimate);
  const { inputTokens = 0, outputTokens = 0, billing } = reportedUsage ?? {};
  return toReport(reportedUsage, { inputTokens, outputTokens, estimated: billing?.isIncomplete ?? false });
}

/**
 * The usage of an unfinished answer. Providers report output at the end, and some an initial count
 * at the start. Until the end the output is at least what was seen, and never known exactly.
 */
export function usageSoFar({ reportedUsage, producedCharacters }: Produced, inputEstimate: number): UsageReport {
  const passes = sumOf(reportedUsage?.billing?.passes ?? []);
  const { inputTokens, outputTokens = 0 } = reportedUsage ?? {};
  // An answer may consist of a pass alone, and has no input of its own then.
  const hasOwnInput = inputTokens !== 0 || producedCharacters > 0;
  const seen = estimateOutputTokens(producedCharacters);
  return toReport(reportedUsage, {
    inputTokens: hasOwnInput ? inputTokens || Math.min(inputEstimate, maxTokenCount - passes.inputTokens) : 0,
    outputTokens: Math.max(outputTokens, Math.min(seen, maxTokenCount - passes.outputTokens)),
    estimated: true,
  });
}

/** @param own the input and the output of the answer itself */
function toReport(
  reported: Partial<ReportedUsage> = {},
  { estimated, ...own }: Pick<TokenUsage, 'inputTokens' | 'outputTokens'> & { readonly estimated: boolean },
): UsageReport {
  const { billing, cachedTokens = 0, reasoningTokens = 0 } = reported;
  const cached = Math.min(cachedTokens, own.inputTokens);
  const { passes = [], serviceTier = '', speed = '', geography = '', toolCalls = [], model = '' } = billing ?? {};
  const counts = { ...own, cachedTokens: cached, ...cacheWritesOf(reported, own.inputTokens - cached) };
  const sum = sumOf([counts, ...passes]);
  const served = { serviceTier, speed, geography };
  const parts = [
    { kind: '', model, ...counts, ...served, toolCalls: [...toolCalls] },
    ...passes.map((pass) => ({ ...pass, ...served })),
  ];
  return {
    ...sum,
    reasoningTokens: Math.min(reasoningTokens, sum.outputTokens),
    estimated,
    parts: billing === undefined ? [] : parts,
  };
}

type Counts = Omit<UsagePass, 'kind' | 'model'>;

function sumOf(parts: readonly Counts[]): Counts {
  return {
    inputTokens: parts.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
    cachedTokens: parts.reduce((sum, { cachedTokens }) => sum + cachedTokens, 0),
    cacheWrite5mTokens: parts.reduce((sum, { cacheWrite5mTokens }) => sum + cacheWrite5mTokens, 0),
    cacheWrite1hTokens: parts.reduce((sum, { cacheWrite1hTokens }) => sum + cacheWrite1hTokens, 0),
    outputTokens: parts.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
  };
}

/** Together they are never more than the input that was not cached. */
function cacheWritesOf(
  { cacheCreationTokens = 0, cacheCreation1hTokens = 0 }: Partial<ReportedUsage>,
  uncachedTokens: number,
) {
  const cacheWrite1hTokens = Math.min(cacheCreation1hTokens, uncachedTokens);
  const rest = uncachedTokens - cacheWrite1hTokens;
  return {
    cacheWrite5mTokens: Math.min(Math.max(cacheCreationTokens - cacheCreation1hTokens, 0), rest),
    cacheWrite1hTokens,
  };
}
