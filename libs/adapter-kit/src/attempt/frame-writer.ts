import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ExecuteResponseSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { AnswerReader } from '../format-definition.ts';
import type { ExecuteResultInit } from './execute-result.ts';
import { finalUsage, type UsageReport, usageSoFar } from './usage-report.ts';

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
    return { sent: true, usage: usageSoFar(answer, this.#inputEstimate) };
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
    return { usage, produced };
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
