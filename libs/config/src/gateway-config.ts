import type { z } from 'zod';
import type { gatewayFileSchema } from './gateway-schema.ts';
import type { Secret } from './secret.ts';
import type { WrittenGateway } from './written-gateway.ts';

export type { PoolSettings } from './settings-schema.ts';

/** What `gateway.yaml` says, checked, with every default filled in. */
export interface GatewayConfig extends DeepReadonly<z.output<typeof gatewayFileSchema>> {
  /** The file that says all this. Undefined for what is built in, which never changes. */
  readonly source: GatewaySource | undefined;
  readonly written: WrittenGateway;
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
export type PoolConfig = GatewayConfig['pools'][number];
/** The wire format of a pool's provider: POST /v1/responses or POST /v1/messages. */
export type PoolFormat = PoolConfig['format'];
/** What models take whose ids fit a pattern. Undefined: as the adapter's own tables say. */
export type ModelTraits = PoolConfig['modelTraits'][number]['traits'];
/** How a Messages model is asked to think: not at all, with a budget of tokens, or as much as it needs. */
export type ThinkingMode = NonNullable<ModelTraits['thinking']>;
/** What comes closest to no thinking, of a model with adaptive thinking. */
export type LeastThinking = NonNullable<ModelTraits['leastThinking']>;

export type AccountConfig = GatewayConfig['accounts'][number] & {
  /** What a person should know of it, such as why it is disabled. Never a secret. */
  readonly note?: string | undefined;
  /** What people want of it, where its state is another for now. Undefined: its state. */
  readonly use?: GatewayConfig['accounts'][number]['state'] | undefined;
  /** True: it is in the database, not in the file. */
  readonly isStored?: boolean | undefined;
};
/** What an account authenticates with. */
export type Credential = AccountConfig['credential'];
export type OAuthCredential = Extract<Credential, { readonly kind: 'oauth' }>;

/** What tokens cost. Undefined: it is not said. */
export type Prices = GatewayConfig['prices'];

/** A model that the gateway defines. */
export type ClassConfig = GatewayConfig['classes'][number];
/** Reasoning effort, from none to most. @see spec "POST /v1/chat/completions", reasoning_effort */
export type Effort = ClassConfig['effort'];

type DeepReadonly<T> = T extends Secret ? T : T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;
