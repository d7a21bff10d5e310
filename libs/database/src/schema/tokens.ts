export type StoredTokenKind = 'service' | 'personal';

/** Callers' tokens. The token's text is nowhere: only a keyed hash of its digest. */
export interface TokensTable {
  readonly token_id: string;
  readonly kind: StoredTokenKind;
  readonly label: string;
  /** Null: not limited. */
  readonly requests_per_minute: number | null;
  /** Null: not limited. */
  readonly tokens_per_day: number | null;
  /** Which key made `token_hash`. */
  readonly hash_key_id: string;
  /** Lower-case hex of HMAC-SHA-256(key, SHA-256(text)). */
  readonly token_hash: string;
  readonly created_at_ms: number;
  /** Null while the token is valid. */
  readonly revoked_at_ms: number | null;
  /** The number of its latest change in the sequence `token_changes`; 0 as long as nothing changed since it was issued. */
  readonly change_sequence: number;
}
