import type { Secret } from './secret.ts';
import type { PoolSettings } from './settings-schema.ts';

/** The wire format of a pool's provider: POST /v1/responses or POST /v1/messages. */
export type PoolFormat = 'responses' | 'messages';

/** Reasoning effort, from none to most. @see spec "POST /v1/chat/completions", reasoning_effort */
export type Effort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | 'ultra';

/** What `gateway.yaml` says, checked, with every default filled in. Frozen. */
export interface GatewayConfig {
  /** In the order of the file, which is the order of the public listing. */
  readonly pools: readonly PoolConfig[];
  readonly accounts: readonly AccountConfig[];
  /** In the order of the file, which is the order of the public listing. */
  readonly classes: readonly ClassConfig[];
  readonly settings: PoolSettings;
  /** The file that says all this. Undefined for what is built in, which never changes. */
  readonly source: GatewaySource | undefined;
}

/** A `gateway.yaml` that was read, and that may say something else by now. */
export interface GatewaySource {
  readonly path: string;
  /** Of the text that was read. */
  readonly digest: string;
  /** The digest of the text that the file has now. Throws ConfigError when it can't be read. */
  readonly digestNow: () => string;
  /** What the file says now, with the environment of now. Throws ConfigError with every problem. */
  readonly load: () => GatewayConfig;
}

/** A set of accounts at one provider. */
export interface PoolConfig {
  readonly name: string;
  readonly format: PoolFormat;
  /** How clients see the provider: `owned_by` in listings, `x-gateway-provider` on answers. */
  readonly ownedBy: string;
  /** Without a slash at the end. */
  readonly baseUrl: string;
  /** Model ids ("*" stands for any text) that belong to this pool while its provider's list is not known. */
  readonly modelPatterns: readonly string[];
  /** In the order of the file: of several that fit a model, the first one counts. */
  readonly modelTraits: readonly ModelTraitsConfig[];
}

/** What the models take whose ids fit a pattern. */
export interface ModelTraitsConfig {
  /** A model id; "*" stands for any text. */
  readonly pattern: string;
  readonly traits: ModelTraits;
}

/** What a model takes. Undefined: as the adapter's own tables say. */
export interface ModelTraits {
  /** Reasoning efforts, in no particular order. Empty: the model takes none. */
  readonly efforts: readonly ModelEffort[] | undefined;
  readonly thinking: ThinkingMode | undefined;
  /** Whether a model with adaptive thinking thinks when the request says nothing. */
  readonly thinkingByDefault: boolean | undefined;
  readonly leastThinking: LeastThinking | undefined;
  /** Whether the model can be made to call a tool. */
  readonly forcedToolChoice: boolean | undefined;
  /** Whether the model takes JSON schemas for its answer, and strict tools. */
  readonly structuredOutput: boolean | undefined;
  /** Most tokens of one answer. */
  readonly maxOutputTokens: number | undefined;
}

/** An effort as providers name it: "ultra" is a client's word only. */
export type ModelEffort = Exclude<Effort, 'ultra'>;

/** How a Messages model is asked to think: not at all, with a budget of tokens, or as much as it needs. */
export type ThinkingMode = 'none' | 'budget' | 'adaptive';

/** What comes closest to no thinking, of a model with adaptive thinking. */
export type LeastThinking = 'disabled' | 'between_tools' | 'low_effort';

export interface AccountConfig {
  readonly pool: string;
  /** Unique within its pool. */
  readonly name: string;
  readonly credential: Credential;
  /** Requests at a time. Undefined: no cap. */
  readonly maxConcurrency: number | undefined;
  /** Model ids ("*" stands for any text) that this account may serve. Undefined: all of its pool. */
  readonly models: readonly string[] | undefined;
  /** `draining` takes nothing new, `disabled` is not used at all. */
  readonly state: 'active' | 'draining' | 'disabled';
  /** What a person should know of it, such as why it is disabled. Never a secret. */
  readonly note?: string | undefined;
}

/** What an account authenticates with. */
export type Credential = StaticCredential | OAuthCredential;

/** A secret that is sent as it is: `Authorization: Bearer` or `x-api-key`. */
export interface StaticCredential {
  readonly kind: 'bearer' | 'api_key';
  readonly secret: Secret;
}

/**
 * A refresh token, for which the provider's token endpoint gives access tokens that live for a while.
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-6
 */
export interface OAuthCredential {
  readonly kind: 'oauth';
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: Secret | undefined;
  /** The first one: the endpoint may give another with each access token. */
  readonly refreshToken: Secret;
  readonly scopes: readonly string[];
}

/** A model that the gateway defines. */
export interface ClassConfig {
  /** What clients send as `model`: "gateway/sterk". */
  readonly id: string;
  /** Readable name. */
  readonly name: string;
  /** Effort of requests that name none. */
  readonly effort: Effort;
  /** Provider models in order of preference. */
  readonly candidates: readonly CandidateConfig[];
}

export interface CandidateConfig {
  readonly pool: string;
  /** The provider's model id. */
  readonly model: string;
}
