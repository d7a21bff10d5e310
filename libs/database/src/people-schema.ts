import type { Generated } from 'kysely';

/* The tables of people who sign in with OpenID Connect. */

/** People whom the OpenID Connect provider has authenticated. */
export interface PeopleTable {
  readonly person_id: string;
  /** Unique together. */
  readonly issuer: string;
  readonly subject: string;
  /** Empty: unknown or not verified. */
  readonly email: string;
  readonly name: string;
  /** The group of the person's tokens. Null: none. */
  readonly group_id: string | null;
  readonly created_at_ms: number;
  readonly last_seen_at_ms: number;
  /** Null: the person may sign in. */
  readonly disabled_at_ms: number | null;
  /**
   * When tokens end that the person has issued, because the provider can't be asked about the
   * person. Null: it can.
   */
  readonly tokens_until_ms: Generated<number | null>;
}

export type StoredGrantState = 'pending' | 'approved' | 'denied' | 'used';

/** Device grants (RFC 8628). Rows are removed soon after they expire. */
export interface DeviceGrantsTable {
  /** Lower-case hex of HMAC-SHA-256(key, code), as for tokens. */
  readonly device_code_hash: string;
  readonly user_code_hash: string;
  readonly state: StoredGrantState;
  readonly surface: string;
  readonly client: string;
  readonly address: string;
  /** The person who approved it. */
  readonly person_id: string | null;
  readonly created_at_ms: number;
  readonly expires_at_ms: number;
  /** When the client last polled. 0: never. */
  readonly polled_at_ms: number;
  /** The network of the address. */
  readonly network: Generated<string>;
}

/**
 * Sessions of people's clients. The texts of their tokens are derived from the seed, the generation
 * and a key that is not in the database.
 */
export interface PersonSessionsTable {
  readonly session_id: string;
  readonly person_id: string;
  /** The personal token of the session. */
  readonly token_id: string;
  /** 32 random bytes in base64url. */
  readonly seed: string;
  readonly hash_key_id: string;
  /** Each refresh adds one. */
  readonly generation: number;
  readonly rotated_at_ms: number;
  readonly surface: string;
  readonly client: string;
  readonly address: string;
  readonly created_at_ms: number;
  readonly ended_at_ms: number | null;
}

/** What the OpenID Connect provider granted for a person who has signed in. */
export interface PersonGrantsTable {
  readonly person_id: string;
  readonly key_id: string;
  /** Encrypted with the key of `key_id`. Empty: the provider gave none, or it is used up. */
  readonly refresh_token: string;
  readonly created_at_ms: number;
  /** When the person is to be looked up again. A lookup in progress moves it beyond its end. */
  readonly due_at_ms: number;
  /** Since when a lookup waits for its answer, or did when it was lost. Null: none. */
  readonly asked_at_ms: Generated<number | null>;
}
