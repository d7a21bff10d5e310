import type { FinishReason, ReportedUsage } from '@gateway/chat';
import type { GatewayError } from '@gateway/errors';
import type { BufferList, JsonMember } from '@gateway/json';
import type { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type {
  AccountProblem,
  AttemptResult,
  Lease,
  ProviderFormat as ProviderFormatId,
} from '@gateway/proto/pool/v1/account_pb.js';
import type { ProviderModel } from '@gateway/proto/pool/v1/model_pb.js';
import type { ReasoningState } from './attempt/reasoning.ts';
import type { ErrorMeaning } from './failure/error-meanings.ts';
import type { TranslatedChat } from './translation/translation.ts';
import type { UpstreamHead } from './upstream/upstream-exchange.ts';

/** Everything that sets one provider format apart. An adapter is one of these, handed to the kit. */
export interface FormatDefinition {
  readonly id: ProviderFormatId;
  /** How each client dialect is spoken to this provider. A dialect that is absent is refused as `model_not_found`. */
  readonly translators: ReadonlyMap<Dialect, Translator>;
  /** A module that exports the first step of a translation, the work on the whole body, made by `translationWorker`. */
  readonly translationWorker?: URL;
  /** Headers that every call of this format carries besides the credential and content type (API version, say). */
  readonly headers: Readonly<Record<string, string>>;
  /** Path under the base URL that lists the models. */
  readonly modelListPath: string;
  /** The provider's model list. Throws when the body is not one. */
  readModelList(body: unknown): readonly ProviderModel[];
  /** What an answer with an error status means. `body` is at most 64 KiB of it. Never throws. */
  mapUpstreamError(answer: UpstreamErrorAnswer): AttemptFailure;
  /** The quotas that the headers of an answer report. Absent when the provider reports none. Never throws. */
  readWindows?(answer: QuotaAnswer): readonly QuotaWindow[];
  /** The provider's own count of a request's input tokens. Absent when it has none; then it is refused as `model_not_found`. */
  readonly countTokens?: TokenCounter;
}

/** How to ask a provider for a count. */
export interface TokenCounter {
  /** Builds the provider's request. Throws as `Translator.prepare` does. */
  prepare(request: ClientRequest): Omit<PreparedCall, 'answer'>;
  /** The count in the provider's answer. Throws when the body has none. */
  readCount(body: unknown): number;
}

/** One client dialect spoken to one provider format. Pure: no clock, no network, no environment. */
export interface Translator {
  /** Builds the provider's request. Throws `invalid_request` or `unsupported_content` before anything is sent. */
  prepare(request: ClientRequest): PreparedCall;
  /**
   * True for a dialect whose clients get the provider's own error answers: the result of a failed attempt carries them
   * then. Default false: provider text goes no further than the adapter.
   */
  readonly passesErrorsOn?: boolean;
  /** The second step of `prepare`, for large requests whose first step, `translationWorker`'s, is done in another thread. */
  toCall?(
    request: Omit<ClientRequest, 'body' | 'members'>,
    translated: TranslatedChat<Uint8Array | string>,
  ): PreparedCall;
}

export interface ClientRequest {
  readonly requestId: string;
  readonly lease: Lease;
  /** The client's decoded body. */
  readonly body: BufferList;
  /** Where the top-level members of the body stand, when the caller passed that on; else empty. */
  readonly members: readonly JsonMember[];
  readonly forwardHeaders: Readonly<Record<string, string>>;
  readonly affinityKey: string;
  /** Epoch milliseconds at which the request came, for `created`. */
  readonly nowMs: number;
  /** See `AdapterConfig.maxAnswerBytes`. */
  readonly maxAnswerBytes: number;
  /** See `AdapterConfig.maxEventBytes`. */
  readonly maxEventBytes: number;
}

export interface PreparedCall {
  /** Path under the base URL, "/responses". */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Pieces are sent one after the other. */
  readonly body: Uint8Array | string | readonly Uint8Array[];
  readonly answer: AnswerReader;
  /**
   * The same call without what this failure complains of, to be sent with the same account at once; undefined when there
   * is nothing to leave out. Asked at most once per attempt, before the first content.
   */
  readonly amend?: (failure: AttemptFailure) => PreparedCall | undefined;
}

/** Turns the provider's bytes into the client's. Lives for one attempt. */
export interface AnswerReader {
  /** The head of the provider's 2xx answer: given once, before anything else. */
  onHead?(head: UpstreamHead): void;
  /** Head of the client's answer; read once, at the first content. */
  readonly head: { readonly status: number; readonly headers: Readonly<Record<string, string>> };
  /** Takes the next bytes of a provider's 2xx answer, however they are split. Never throws on bad input: it fails. */
  push(bytes: Uint8Array): void;
  /** The provider's answer has ended. A reader that has not finished by then fails. */
  end(): void;
  /** Client bytes finished since the last call; empty when none. Nothing comes before the first content. */
  take(): Uint8Array;
  /** The provider's id of the answer, when later requests can refer to it; read once, together with the head. */
  readonly answerId?: string | undefined;
  /** The digest of the answer's last encrypted reasoning, for dialects whose clients send it back; read once, at the end. */
  readonly encryptedReasoning?: string | undefined;
  /** Why the model stopped, in the words of chat; read at the end. Undefined when that is not known. */
  readonly finishReason?: FinishReason | undefined;
  /** The provider's name of the model that answers; read at the end. Undefined when it did not say. */
  readonly answeringModel?: string | undefined;
  /** True once the answer has content: from now on no other attempt may be made. */
  readonly hasContent: boolean;
  /** Bytes of an event that has not ended; it may be the first content. Absent for readers of answers that are no streams. */
  readonly pendingBytes?: number;
  /** See `Reasoning.state`. Absent for readers of answers that are no streams. */
  readonly reasoning?: ReasoningState | undefined;
  /** How the answer ended; undefined while it goes on. */
  readonly result: AnswerResult | undefined;
  /** What the provider has reported so far; cumulative. Undefined before its first report. */
  readonly reportedUsage: ReportedUsage | undefined;
  /** The quotas that the answer's events reported, later than its head. Absent for readers of answers that report none there. */
  readonly quotas?: readonly QuotaWindow[];
  /** Characters of text, refusal, reasoning and tool arguments seen so far: what an estimate is made of. */
  readonly producedCharacters: number;
  /** Events that were skipped because this version does not know them. Absent for readers that skip none. */
  readonly unknownEvents?: number;
}

export type AnswerResult =
  | { readonly kind: 'finished' }
  /** `isRelayed`: the client's bytes end with the provider's own event of the failure, and nothing may follow them. */
  | { readonly kind: 'failed'; readonly failure: AttemptFailure; readonly isRelayed?: boolean };

export interface UpstreamErrorAnswer extends UpstreamHead {
  readonly body: Uint8Array;
  readonly nowMs: number;
}

/** What quotas are read from. */
export interface QuotaAnswer extends Pick<UpstreamHead, 'headers'> {
  /** The provider's model id of the request. */
  readonly model: string;
  readonly nowMs: number;
}

/** A quota of an account, as its provider reports it. */
export interface QuotaWindow {
  /** The provider's name for it, lengths in the way of "5h" and "7d". */
  readonly name: string;
  /** The models it holds for: an id, or a pattern in which "*" stands for any text. Empty: the whole account. */
  readonly models: string;
  /** How much of it is used, 0 to 1; more where requests passed beyond it. */
  readonly usedFraction: number;
  /** When it begins anew, in epoch milliseconds; undefined when the provider did not say. */
  readonly resetsAtMs: number | undefined;
  /** How long it is as a whole; undefined when not known. */
  readonly lengthSeconds: number | undefined;
}

/** A failed attempt: what it says of the account, and what the client gets if no other attempt is made. */
export interface AttemptFailure {
  readonly result: AttemptResult;
  /** What the provider complains of; absent when it said nothing. */
  readonly meaning?: ErrorMeaning | undefined;
  /** Epoch milliseconds at which the provider said the account is free again. */
  readonly retryAtMs: number | undefined;
  /** True when the limit holds for this model only. */
  readonly modelScoped: boolean;
  /** Why the account is out of service until a person acts; absent when it is not. */
  readonly problem?: AccountProblem | undefined;
  /** What the account lacks, as a pattern of the names by which requests ask for it; absent when it lacks nothing. */
  readonly feature?: string | undefined;
  /** HTTP status; 0 when the failure came inside a stream or without an answer. */
  readonly upstreamStatus: number;
  readonly error: GatewayError;
  /**
   * The provider's own words, for dialects that pass errors on; the kit sets it for answers with an error status. A
   * reader sets it for a failure inside a 2xx that came before the first content: what was buffered until then.
   */
  readonly answer?: ProviderAnswer | undefined;
}

/** An answer of a provider, to be passed on as it came. */
export interface ProviderAnswer {
  readonly status: number;
  /** Empty when the provider named none. */
  readonly contentType: string;
  /** No more than its first 64 KiB are passed on. */
  readonly body: Uint8Array;
}
