import type { MessageInitShape } from '@bufbuild/protobuf';
import { type ReportedUsage, type TokenUsage, wholeUsage } from '@gateway/chat';
import type { ExecuteResponseSchema, UsageSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { AnswerReader } from '../format-definition.ts';
import { estimateOutputTokens } from './estimate-tokens.ts';
import type { ExecuteResultInit } from './execute-result.ts';

/** A response of Execute. */
export type ExecuteFrame = Exclude<MessageInitShape<typeof ExecuteResponseSchema>, { readonly $typeName: string }>;

/**
 * Creates the frames of an answer from the state of its reader, and remembers what earlier frames
 * reported.
 */
export class FrameWriter {
  readonly #inputEstimate: number;
  #reported: UsageReport | undefined;
  /** The last reported value. */
  #hasProduced = false;
  /** True once a frame contained the head. */
  hasHead = false;
  /** The provider is answering, so usage has begun, and no frame has reported it. */
  usageIsDue = false;

  /** @param inputEstimate see `estimateInputTokens` */
  constructor(inputEstimate: number) {
    this.#inputEstimate = inputEstimate;
  }

  /** Reports that the request was sent, with its minimum usage. */
  sent(answer: AnswerReader): ExecuteFrame {
    return { sent: true, usage: toMessage(usageSoFar(answer, this.#inputEstimate)) };
  }

  /** Usage, if it is due and no frame has contained it. */
  dueUsage(answer: AnswerReader): ExecuteFrame | undefined {
    return this.usageIsDue ? this.usage(answer) : undefined;
  }

  /** The current usage. */
  usage(answer: AnswerReader): ExecuteFrame {
    return this.#report(usageSoFar(answer, this.#inputEstimate), hasProduced(answer));
  }

  /**
   * The last usage of a failed answer, if it is due or no later frame will report it. An answer
   * that was abandoned because of its size was produced, even if it could not be read.
   */
  lastUsage(answer: AnswerReader, isTooLarge: boolean): ExecuteFrame | undefined {
    if (isTooLarge) return this.#report(usageSoFar(answer, this.#inputEstimate), true);
    return !this.hasHead && hasProduced(answer) ? this.usage(answer) : this.dueUsage(answer);
  }

  /** What is new in an answer that continues. */
  progress(answer: AnswerReader): readonly ExecuteFrame[] {
    const taken = takeFrom(answer);
    if (taken.body.length === 0) return this.#isNews(answer) ? [this.usage(answer)] : [];
    const { usage } = this.usage(answer);
    return partsOf({ head: this.#headOnce(answer), usage, ...taken });
  }

  /** The last frames of an answer that ended successfully. */
  whole(answer: AnswerReader, result: ExecuteResultInit): readonly ExecuteFrame[] {
    const { usage } = this.#report(finalUsage(answer, this.#inputEstimate), true);
    return partsOf({ head: this.#headOnce(answer), usage, result, ...takeFrom(answer) });
  }

  /** The last frames of an answer whose head the client has received. */
  broken(answer: AnswerReader, result: ExecuteResultInit): readonly ExecuteFrame[] {
    const { usage } = this.usage(answer);
    return partsOf({ usage, result, ...takeFrom(answer) });
  }

  /** Without bytes to send, usage is reported in steps. */
  #isNews(answer: AnswerReader): boolean {
    const reported = this.#reported;
    if (this.usageIsDue || reported === undefined || this.#hasProduced !== hasProduced(answer)) return true;
    const { inputTokens, outputTokens } = usageSoFar(answer, this.#inputEstimate);
    return inputTokens !== reported.inputTokens || outputTokens - reported.outputTokens >= usageStepTokens;
  }

  #report(usage: UsageReport, produced: boolean): Pick<ExecuteFrame, 'usage' | 'produced'> {
    this.usageIsDue = false;
    this.#reported = usage;
    this.#hasProduced = produced;
    return { usage: toMessage(usage), produced };
  }

  #headOnce({ head, answerId = '', answeringModel = '', createdAt = 0 }: AnswerReader): ExecuteFrame['head'] {
    if (this.hasHead) return undefined;
    this.hasHead = true;
    return { status: head.status, headers: { ...head.headers }, answerId, model: answeringModel, createdAt };
  }
}

const usageStepTokens = 256;

/**
 * Splits a frame into parts of at most 256 KiB. The first has the head, the last the result. Both
 * have the usage, in case the client never reads the last.
 */
function partsOf(frame: ExecuteFrame): readonly ExecuteFrame[] {
  const { head, body = nothing, usage, result, nextSequenceNumber = 0 } = frame;
  if (body.length <= maxPartBytes) return [frame];
  const parts: ExecuteFrame[] = [{ head, usage, body: body.subarray(0, maxPartBytes), nextSequenceNumber }];
  let at = maxPartBytes;
  for (; at + maxPartBytes < body.length; at += maxPartBytes)
    parts.push({ body: body.subarray(at, at + maxPartBytes), nextSequenceNumber });
  return [...parts, { body: body.subarray(at), usage, result, nextSequenceNumber }];
}

const maxPartBytes = 256 * 1024;
const nothing = new Uint8Array();

/** The new bytes for the client, and the number of the event that follows them. */
function takeFrom(answer: AnswerReader) {
  return { body: answer.take(), nextSequenceNumber: answer.nextSequenceNumber ?? 0 };
}

/**
 * True once the model has begun to write or to reason. Encrypted reasoning may take long without
 * output: its start proves as much as a text does.
 */
export function hasProduced({ hasContent, producedCharacters, reasoning }: AnswerReader): boolean {
  return hasContent || producedCharacters > 0 || reasoning !== undefined;
}

function toMessage({ estimated, ...counts }: UsageReport): MessageInitShape<typeof UsageSchema> {
  return {
    inputTokens: BigInt(counts.inputTokens),
    cachedTokens: BigInt(counts.cachedTokens),
    cacheWrite5mTokens: BigInt(counts.cacheWrite5mTokens),
    cacheWrite1hTokens: BigInt(counts.cacheWrite1hTokens),
    outputTokens: BigInt(counts.outputTokens),
    reasoningTokens: BigInt(counts.reasoningTokens),
    estimated,
  };
}

export interface UsageReport extends TokenUsage {
  /** Parts of the input that were written to the provider's cache, none of them read from it. */
  readonly cacheWrite5mTokens: number;
  readonly cacheWrite1hTokens: number;
  readonly estimated: boolean;
}

type Produced = Pick<AnswerReader, 'reportedUsage' | 'producedCharacters'>;

/**
 * The usage of a successful answer: the provider's report, or an estimate of the parts that it did
 * not report.
 */
export function finalUsage(answer: Produced, inputEstimate: number): UsageReport {
  const usage = wholeUsage(answer.reportedUsage, answer.producedCharacters);
  if (usage === undefined) return usageSoFar(answer, inputEstimate);
  return { ...usage, ...cacheWritesOf(answer.reportedUsage, usage), estimated: false };
}

/**
 * The usage of an unfinished answer. Providers report output at the end, and some an initial count
 * at the start. Until the end the output is at least what was seen, and never known exactly.
 */
export function usageSoFar({ reportedUsage, producedCharacters }: Produced, inputEstimate: number): UsageReport {
  const inputTokens = reportedUsage?.inputTokens ?? inputEstimate;
  const outputTokens = Math.max(reportedUsage?.outputTokens ?? 0, estimateOutputTokens(producedCharacters));
  const cachedTokens = Math.min(reportedUsage?.cachedTokens ?? 0, inputTokens);
  return {
    inputTokens,
    cachedTokens,
    ...cacheWritesOf(reportedUsage, { inputTokens, cachedTokens }),
    outputTokens,
    reasoningTokens: Math.min(reportedUsage?.reasoningTokens ?? 0, outputTokens),
    estimated: true,
  };
}

/** Together with the cached tokens they are never more than the input. */
function cacheWritesOf(
  { cacheCreationTokens = 0, cacheCreation1hTokens = 0 }: Partial<ReportedUsage> = {},
  { inputTokens, cachedTokens }: Pick<TokenUsage, 'inputTokens' | 'cachedTokens'>,
) {
  const cacheWrite1hTokens = Math.min(cacheCreation1hTokens, inputTokens - cachedTokens);
  const rest = inputTokens - cachedTokens - cacheWrite1hTokens;
  return {
    cacheWrite5mTokens: Math.min(Math.max(cacheCreationTokens - cacheCreation1hTokens, 0), rest),
    cacheWrite1hTokens,
  };
}
