import { type TokenUsage, wholeUsage } from '@gateway/chat';
import type { Usage } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { AnswerReader } from '../provider-format.ts';
import { estimateOutputTokens } from './estimate-tokens.ts';

export interface UsageReport extends TokenUsage {
  readonly estimated: boolean;
}

type Produced = Pick<AnswerReader, 'reportedUsage' | 'producedCharacters'>;

/** The usage of an answer that has ended well: the provider's word, or an estimate of what it did not report. */
export function finalUsage(answer: Produced, inputEstimate: number): UsageReport {
  const usage = wholeUsage(answer.reportedUsage);
  return usage === undefined ? usageSoFar(answer, inputEstimate) : { ...usage, estimated: false };
}

/**
 * The usage of an answer that is not done. Providers report output at the end, and some a first count at the start: until
 * the end it is at least what was seen, and never known.
 */
export function usageSoFar({ reportedUsage, producedCharacters }: Produced, inputEstimate: number): UsageReport {
  const inputTokens = reportedUsage?.inputTokens ?? inputEstimate;
  const outputTokens = Math.max(reportedUsage?.outputTokens ?? 0, estimateOutputTokens(producedCharacters));
  return {
    inputTokens,
    cachedTokens: Math.min(reportedUsage?.cachedTokens ?? 0, inputTokens),
    outputTokens,
    reasoningTokens: Math.min(reportedUsage?.reasoningTokens ?? 0, outputTokens),
    estimated: true,
  };
}

/** Usage as messages. Most of it is as it was told before: its numbers are not made anew then. */
export class UsageMessages {
  #report: UsageReport | undefined;
  #message: Usage | undefined;

  /** What was told last. */
  get last(): UsageReport | undefined {
    return this.#report;
  }

  of(usage: UsageReport): Usage {
    const [report, message] = [this.#report, this.#message];
    this.#report = usage;
    this.#message =
      report === undefined || message === undefined ? toMessage(usage) : toNextMessage(usage, report, message);
    return this.#message;
  }
}

function toMessage(usage: UsageReport): Usage {
  return {
    $typeName: 'gateway.adapter.v1.Usage',
    inputTokens: BigInt(usage.inputTokens),
    cachedTokens: BigInt(usage.cachedTokens),
    outputTokens: BigInt(usage.outputTokens),
    reasoningTokens: BigInt(usage.reasoningTokens),
    estimated: usage.estimated,
  };
}

/** Mostly nothing but the output has grown. */
function toNextMessage(usage: UsageReport, before: UsageReport, message: Usage): Usage {
  const isAsBefore =
    usage.inputTokens === before.inputTokens &&
    usage.cachedTokens === before.cachedTokens &&
    usage.reasoningTokens === before.reasoningTokens &&
    usage.estimated === before.estimated;
  if (!isAsBefore) return toMessage(usage);
  if (usage.outputTokens === before.outputTokens) return message;
  const { $typeName, inputTokens, cachedTokens, reasoningTokens, estimated } = message;
  return { $typeName, inputTokens, cachedTokens, outputTokens: BigInt(usage.outputTokens), reasoningTokens, estimated };
}
