import type { JsonObject } from '@gateway/json';
import type { Conversation } from './answer/conversation.ts';
import type { AnswerPlan } from './answer/plan-answer.ts';
import type { MatchedFaults } from './faults/fault-book.ts';
import type { FormatName, ProviderError, ProviderRequest } from './provider-request.ts';

/** One provider's format of requests, answers, events and errors. */
export interface SimulatedFormat {
  readonly name: FormatName;
  /**
   * Parses a request to generate, as strictly as the provider.
   *
   * @throws {ProviderRefusal} with the provider's own status and error body.
   */
  readConversation(request: ProviderRequest): Conversation;
  /** The events of a streamed answer, created one at a time as they are pulled. */
  events(answer: Answer): Iterable<ProviderEvent>;
  /** The body of an answer that is not streamed. */
  body(answer: Answer): JsonObject;
  /** The body of an error. */
  errorBody(error: ProviderError, requestId: string): JsonObject;
  /** An error in the middle of a stream, after this many events. */
  errorEvent(error: ProviderError, eventsBefore: number): NamedEvent;
  /** How a streamed answer reports that it failed, after this many events. */
  failedEvent(answer: Answer, error: ProviderError, eventsBefore: number): NamedEvent;
  /** Headers of every answer of this provider. */
  headers(requestId: string): Readonly<Record<string, string>>;
}

/** An answer about to be written. */
export interface Answer {
  /** Unique, without the provider's prefix. */
  readonly id: string;
  /** The account that can read the reasoning again. */
  readonly account: string;
  readonly createdAtSeconds: number;
  readonly request: JsonObject;
  readonly conversation: Conversation;
  readonly plan: AnswerPlan;
  /** Deviations that a fault script requests. */
  readonly faults: Pick<MatchedFaults, 'kinds' | 'usage'>;
}

export interface NamedEvent {
  readonly name: string;
  /** JSON on one line. */
  readonly data: string;
}

export interface ProviderEvent extends NamedEvent {
  /** Output tokens billed once this event is sent, including those of all earlier events. */
  readonly outputTokens: number;
  /** The part of `outputTokens` spent on reasoning. */
  readonly reasoningTokens: number;
  /** Whether a client may consider the stream complete after this event. */
  readonly terminal: boolean;
}
