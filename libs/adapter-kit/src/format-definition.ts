import type { ChatAnswerOptions, FinishReason, ReportedUsage } from '@gateway/chat';
import type { GatewayError } from '@gateway/errors';
import type { BufferList, JsonMember } from '@gateway/json';
import type { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type {
  AccountProblem,
  AttemptResult,
  QuotaWindow as ContractQuotaWindow,
  Lease,
  ProviderFormat as ProviderFormatId,
} from '@gateway/proto/pool/v1/account_pb.js';
import type { ProviderModel } from '@gateway/proto/pool/v1/model_pb.js';
import type { ErrorMeaning } from './failure/error-meanings.ts';
import type { UpstreamHead } from './upstream/upstream-exchange.ts';

/** Everything specific to one provider format. An adapter is the kit with one of these. */
export interface FormatDefinition {
  readonly id: ProviderFormatId;
  /**
   * How to translate each client dialect for this provider. An absent dialect is refused as
   * `model_not_found`.
   */
  readonly translators: ReadonlyMap<Dialect, Translator>;
  /**
   * A module that exports the first step of a translation, which processes the whole body, created
   * by `translationWorker`.
   */
  readonly translationWorker?: URL;
  /**
   * Headers of every call of this format besides the credential and content type, such as the API
   * version.
   */
  readonly headers: Readonly<Record<string, string>>;
  /** The path of the model list, relative to the base URL. */
  readonly modelListPath: string;
  /** Parses the provider's model list. Throws when the body is not one. */
  readModelList(body: unknown): readonly ProviderModel[];
  /**
   * The meaning of an answer with an error status. `body` contains at most its first 64 KiB. Never
   * throws.
   */
  mapUpstreamError(answer: UpstreamErrorAnswer): AttemptFailure;
  /**
   * The quotas in the headers of an answer. Absent when the provider reports none. Never throws.
   */
  readWindows?(answer: QuotaAnswer): readonly QuotaWindow[];
  /**
   * The provider's own count of a request's input tokens. If absent, the endpoint refuses as
   * `model_not_found`.
   */
  readonly countTokens?: TokenCounter;
}

/** How to ask a provider for a token count. */
export interface TokenCounter {
  /** Builds the provider's request. Throws like `Translator.prepare`. */
  prepare(request: ClientRequest): Omit<PreparedCall, 'answer'>;
  /** The count in the provider's answer. Throws when the body contains none. */
  readCount(body: unknown): number;
}

/**
 * Translates one client dialect to one provider format. Pure: no clock, no network, no environment.
 */
export interface Translator {
  /**
   * Builds the provider's request. Throws `invalid_request` or `unsupported_content` before
   * anything is sent.
   */
  prepare(request: ClientRequest): PreparedCall;
  /**
   * True for a dialect whose clients get the provider's own error answers: the result of a failed
   * attempt carries them then. Default false: provider text goes no further than the adapter.
   */
  readonly passesErrorsOn?: boolean;
  /**
   * The second step of `prepare`, for large requests whose first step another thread has done with
   * `translationWorker`.
   */
  toCall?(
    request: Omit<ClientRequest, 'body' | 'members'>,
    translated: TranslatedChat<Uint8Array | string>,
  ): PreparedCall;
}

/** A chat request in the provider's format. Plain data. */
export interface TranslatedChat<Body = string> {
  readonly body: Body;
  /** The client's options for the answer. */
  readonly answer: Pick<ChatAnswerOptions, 'stream' | 'includeUsage'> & {
    /** True when the client requested a JSON answer. */
    readonly wantsJson: boolean;
  };
}

export interface ClientRequest {
  readonly requestId: string;
  readonly lease: Lease;
  /** The client's decoded body. */
  readonly body: BufferList;
  /** The positions of the body's top-level members; empty for a body that is parsed as a whole. */
  readonly members: readonly JsonMember[];
  readonly forwardHeaders: Readonly<Record<string, string>>;
  readonly affinityKey: string;
  /** Epoch milliseconds at which the request arrived, for `created`. */
  readonly nowMs: number;
  /** See `AdapterConfig.maxAnswerBytes`. */
  readonly maxAnswerBytes: number;
  /** See `AdapterConfig.maxEventBytes`. */
  readonly maxEventBytes: number;
}

export interface PreparedCall {
  /** The path relative to the base URL, "/responses". */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Pieces are sent one after the other. */
  readonly body: Uint8Array | string | readonly Uint8Array[];
  readonly answer: AnswerReader;
  /**
   * True when the request chooses a service tier or a speed. See `failureOfChoice`. Default: no.
   */
  readonly choosesTier?: boolean;
  /**
   * The same call without the part that caused this failure, to be sent at once with the same
   * account; undefined when there is nothing to leave out. Called at most once per attempt, before
   * the first content.
   */
  readonly amend?: (failure: AttemptFailure) => Promise<PreparedCall | undefined> | PreparedCall | undefined;
}

/** Converts the provider's bytes to the client's. Used for a single attempt. */
export interface AnswerReader {
  /** Receives the head of the provider's 2xx answer, once, before anything else. */
  onHead?(head: UpstreamHead): void;
  /** Head of the client's answer; read once, at the first content. */
  readonly head: { readonly status: number; readonly headers: Readonly<Record<string, string>> };
  /**
   * Takes the next bytes of a provider's 2xx answer, in arbitrary chunks. Never throws on bad
   * input: the answer fails instead.
   */
  push(bytes: Uint8Array): void;
  /** Called at the end of the provider's answer. A reader that has not finished by then fails. */
  end(): void;
  /**
   * The client's bytes since the last call; empty when there are none. There are none before the
   * first content.
   */
  take(): Uint8Array;
  /**
   * The provider's id of the answer, if later requests can refer to it; read once, together with
   * the head.
   */
  readonly answerId?: string | undefined;
  /**
   * The Unix time of the answer in seconds, if the provider names it; read together with the head.
   */
  readonly createdAt?: number | undefined;
  /**
   * The number of the event that follows the bytes of `take`. Absent or 0 where events have no
   * numbers.
   */
  readonly nextSequenceNumber?: number;
  /**
   * The digest of the answer's last encrypted reasoning, for dialects whose clients send it back;
   * read once, at the end.
   */
  readonly encryptedReasoning?: string | undefined;
  /** Why the model stopped, as a chat finish reason; read at the end. Undefined when unknown. */
  readonly finishReason?: FinishReason | undefined;
  /**
   * The provider's name of the answering model; read together with the head, and at the end.
   * Undefined when the provider did not say.
   */
  readonly answeringModel?: string | undefined;
  /** True once the answer has content: from then on no other attempt may be made. */
  readonly hasContent: boolean;
  /**
   * The size of an incomplete event, which may be the first content. Absent for readers of answers
   * that are not streams.
   */
  readonly pendingBytes?: number;
  /** Undefined before it starts. Absent for readers of answers that are not streams. */
  readonly reasoning?: ReasoningState | undefined;
  /**
   * True when the provider withheld reasoning in the request that another organization created.
   * Absent for readers of formats without such a report.
   */
  readonly affinityMissed?: boolean;
  /** How the answer ended; undefined while it continues. */
  readonly result: AnswerResult | undefined;
  /** The provider's usage so far, cumulative. Undefined before its first report. */
  readonly reportedUsage: ReportedUsage | undefined;
  /**
   * The quotas in the answer's events, which are later than its head. Absent for readers of formats
   * without them.
   */
  readonly quotas?: readonly QuotaWindow[];
  /** Characters of text, refusal, reasoning and tool arguments so far: the basis of estimates. */
  readonly producedCharacters: number;
  /** How many unknown events were skipped. Absent for readers that skip none. */
  readonly unknownEvents?: number;
}

/** The state of a model's reasoning: `open` while it lasts, `over` afterwards. */
export type ReasoningState = 'open' | 'over';

export type AnswerResult =
  | { readonly kind: 'finished' }
  /**
   * `isRelayed`: the client's bytes end with the provider's own event of the failure, and nothing
   * may follow.
   */
  | { readonly kind: 'failed'; readonly failure: AttemptFailure; readonly isRelayed?: boolean };

export interface UpstreamErrorAnswer extends UpstreamHead {
  readonly body: Uint8Array;
  readonly nowMs: number;
}

/** The input for reading quotas. */
export interface QuotaAnswer extends Pick<UpstreamHead, 'headers' | 'skewMs'> {
  /** The provider's model id in the request. */
  readonly model: string;
  readonly nowMs: number;
}

/** A quota of an account, as its provider reports it. */
export type QuotaWindow = Readonly<Pick<ContractQuotaWindow, 'name' | 'models' | 'usedFraction' | 'lengthSeconds'>> & {
  readonly resetsAtMs: number | undefined;
};

/**
 * A failed attempt: what it shows about the account, and the client's error if no other attempt is
 * made.
 */
export interface AttemptFailure {
  readonly result: AttemptResult;
  /** The provider's complaint; absent when it gave none. */
  readonly meaning?: ErrorMeaning;
  /** Epoch milliseconds at which the account is available again, according to the provider. */
  readonly retryAtMs: number | undefined;
  /** True when the limit applies to this model only. */
  readonly modelScoped: boolean;
  /** Why the account is out of service until a person acts; absent when it is not. */
  readonly problem?: AccountProblem | undefined;
  /**
   * What the account lacks, as a pattern of the names that requests use for it; absent when it
   * lacks nothing.
   */
  readonly feature?: string | undefined;
  /** HTTP status; 0 when the failure occurred inside a stream or without an answer. */
  readonly upstreamStatus: number;
  /**
   * Why it failed, for operators, as in AttemptReport. Absent or empty: see the cause of `error`.
   */
  readonly cause?: string | undefined;
  readonly error: GatewayError;
  /** True when the answer shows that a limit of the account itself is reached. Default false. */
  readonly isLimitOfAccount?: boolean;
  /**
   * The provider's own error, for dialects that pass errors on; the kit sets it for answers with an
   * error status. For a failure inside a 2xx answer before the first content, the reader sets it to
   * the bytes buffered so far.
   */
  readonly answer?: ProviderAnswer | undefined;
}

/** A provider's answer that is passed on unchanged. */
export interface ProviderAnswer {
  readonly status: number;
  /** Empty when the provider named none. */
  readonly contentType: string;
  /** Only its first 64 KiB are passed on. */
  readonly body: Uint8Array;
}
