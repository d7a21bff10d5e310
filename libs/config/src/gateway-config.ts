import type { z } from 'zod';
import type { gatewayFileSchema } from './gateway-schema.ts';
import type { Secret } from './secret.ts';
import type { WrittenGateway } from './written-gateway.ts';

export type { PoolSettings } from './settings-schema.ts';

/** The content of `gateway.yaml`, validated, with every default filled in. */
export interface GatewayConfig extends DeepReadonly<z.output<typeof gatewayFileSchema>> {
  /** The file it was loaded from. Undefined for a built-in configuration, which never changes. */
  readonly source: GatewaySource | undefined;
  readonly written: WrittenGateway;
}

/** A `gateway.yaml` that was loaded and may have changed since. */
export interface GatewaySource {
  readonly path: string;
  /** The digest of the text that was loaded. */
  readonly digest: string;
  /** The digest of the file's current text. Throws ConfigError when the file can't be read. */
  readonly digestNow: () => string;
  /** Loads the current file with the current environment. Throws ConfigError with every problem. */
  readonly load: () => GatewayConfig;
}

/** A set of accounts at one provider. */
export type PoolConfig = GatewayConfig['pools'][number];
/** The wire format of a pool's provider: POST /v1/responses or POST /v1/messages. */
export type PoolFormat = PoolConfig['format'];
/**
 * The capabilities of models whose ids match a pattern. Undefined: the adapter's own tables apply.
 */
export type ModelTraits = PoolConfig['modelTraits'][number]['traits'];
/** How a Messages model is asked to think: not at all, with a token budget, or adaptively. */
export type ThinkingMode = NonNullable<ModelTraits['thinking']>;
/** The setting of a model with adaptive thinking that comes closest to no thinking. */
export type LeastThinking = NonNullable<ModelTraits['leastThinking']>;

export type AccountConfig = GatewayConfig['accounts'][number] & {
  /** A remark for people, such as why the account is disabled. Never a secret. */
  readonly note?: string;
  /** The state that operators want, while the effective state differs. Undefined: no difference. */
  readonly use?: GatewayConfig['accounts'][number]['state'];
  /** True when the account is stored in the database instead of the file. */
  readonly isStored?: boolean;
};
/** What an account authenticates with. */
export type Credential = AccountConfig['credential'];
export type OAuthCredential = Extract<Credential, { readonly kind: 'oauth' }>;

/** Prices of tokens. Undefined: no prices are configured. */
export type Prices = GatewayConfig['prices'];

/** Where warnings are sent. */
export type AlertReceiver = GatewayConfig['alerts'][number];

/** A model that the gateway defines. */
export type ClassConfig = GatewayConfig['classes'][number];
/**
 * Reasoning effort, from none to the highest.
 * @see spec "POST /v1/chat/completions", reasoning_effort
 */
export type Effort = ClassConfig['effort'];

type DeepReadonly<T> = T extends Secret ? T : T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;
