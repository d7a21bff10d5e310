import type {
  ExecuteOutcome,
  ExecuteResponse,
  ResponseHead,
  Usage,
} from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { AnswerReader } from '../provider-format.ts';
import { finalUsage, UsageMessages, type UsageReport, usageSoFar } from './usage-report.ts';

/** What the caller of Execute is told at a time. Whole messages: a stream has hundreds, and each need not be completed. */
export type ExecuteFrame = ExecuteResponse;

/**
 * Parts of a frame that are each as small as messages between services should be: the head with the first, the outcome with the
 * last. Usage goes with both: what the provider has reported is known also when the client never takes the last.
 */
export function* partsOf(frame: ExecuteFrame): Generator<ExecuteFrame> {
  const { body } = frame;
  let at = 0;
  for (; body.length - at > frameBytes; at += frameBytes) {
    const isFirst = at === 0;
    const [head, usage] = isFirst ? [frame.head, frame.usage] : [];
    yield { ...frame, head, body: body.subarray(at, at + frameBytes), usage, outcome: undefined };
  }
  yield at === 0 ? frame : { ...frame, head: undefined, body: body.subarray(at) };
}

const frameBytes = 256 * 1024;

/** Makes the frames of an answer out of what its reader has, and knows what of it was told before. */
export class AnswerFrames {
  readonly #inputEstimate: number;
  #hasHead = false;
  #usageIsDue = false;
  #sentIsDue = false;
  readonly #told = new UsageMessages();

  /** @param inputEstimate see `estimateInputTokens` */
  constructor(inputEstimate: number) {
    this.#inputEstimate = inputEstimate;
  }

  /** True once the head was told. */
  get hasHead(): boolean {
    return this.#hasHead;
  }

  /** The request leaves for the provider, perhaps once more: that is to be told now. */
  sentIsDue(): void {
    this.#sentIsDue = true;
  }

  /** That the request was sent, with what that uses at least; undefined when it was told. */
  dueSent(answer: AnswerReader): ExecuteFrame | undefined {
    if (!this.#sentIsDue) return undefined;
    this.#sentIsDue = false;
    const usage = new UsageMessages().of(usageSoFar(answer, this.#inputEstimate));
    return { ...frameOf(undefined, nothing, usage, undefined), sent: true };
  }

  /** The provider answers: usage is to be told now, whatever it is. */
  usageIsDue(): void {
    this.#usageIsDue = true;
  }

  /** Usage, if it is due and was not told. */
  dueUsage(answer: AnswerReader): ExecuteFrame | undefined {
    return this.#usageIsDue ? this.#usageFrame(answer) : undefined;
  }

  /** Usage as it stands. */
  usage(answer: AnswerReader): ExecuteFrame {
    return this.#usageFrame(answer);
  }

  /** What there is to tell of an answer that goes on; undefined when nothing is new. */
  progress(answer: AnswerReader): ExecuteFrame | undefined {
    const body = answer.take();
    if (body.length === 0) return this.#isNews(answer) ? this.#usageFrame(answer) : undefined;
    return frameOf(this.#headOnce(answer), body, this.#usageSoFar(answer), undefined);
  }

  /** The last of an answer that has ended well. */
  whole(answer: AnswerReader, outcome: ExecuteOutcome): ExecuteFrame {
    const head = this.#headOnce(answer);
    return frameOf(head, answer.take(), this.#tell(finalUsage(answer, this.#inputEstimate)), outcome);
  }

  /** The last of an answer of which the client has the head. */
  broken(answer: AnswerReader, outcome: ExecuteOutcome): ExecuteFrame {
    return frameOf(undefined, answer.take(), this.#usageSoFar(answer), outcome);
  }

  /** The end of an attempt of which the client has nothing. */
  failed(outcome: ExecuteOutcome): ExecuteFrame {
    return frameOf(undefined, nothing, undefined, outcome);
  }

  #usageFrame(answer: AnswerReader): ExecuteFrame {
    return frameOf(undefined, nothing, this.#usageSoFar(answer), undefined);
  }

  /** Without bytes to go with it, usage is told in steps. */
  #isNews(answer: AnswerReader): boolean {
    const told = this.#told.last;
    if (this.#usageIsDue || told === undefined) return true;
    const { inputTokens, outputTokens } = usageSoFar(answer, this.#inputEstimate);
    return inputTokens !== told.inputTokens || outputTokens - told.outputTokens >= usageStepTokens;
  }

  #usageSoFar(answer: AnswerReader): Usage {
    return this.#tell(usageSoFar(answer, this.#inputEstimate));
  }

  #tell(usage: UsageReport): Usage {
    this.#usageIsDue = false;
    return this.#told.of(usage);
  }

  #headOnce(answer: AnswerReader): ResponseHead | undefined {
    if (this.#hasHead) return undefined;
    this.#hasHead = true;
    const { head, answerId } = answer;
    return {
      $typeName: 'gateway.adapter.v1.ResponseHead',
      status: head.status,
      headers: head.headers,
      answerId: answerId ?? '',
    };
  }
}

const nothing = new Uint8Array();
const usageStepTokens = 256;

function frameOf(
  head: ResponseHead | undefined,
  body: Uint8Array,
  usage: Usage | undefined,
  outcome: ExecuteOutcome | undefined,
): ExecuteFrame {
  return { $typeName: 'gateway.adapter.v1.ExecuteResponse', head, body, usage, outcome, sent: false };
}
