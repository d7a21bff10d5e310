export type StoredCredentialKind = 'bearer' | 'api_key' | 'oauth';
export type StoredAccountState = 'active' | 'draining' | 'disabled';

/** Provider accounts that operators manage. Those of gateway.yaml are not among them. */
export interface AccountsTable {
  /** "<pool>/<name>" */
  readonly account_id: string;
  readonly pool: string;
  readonly name: string;
  /** A JSON array of model ids, with "*" for any text. Null: all of the pool. */
  readonly models: string | null;
  /** Requests at a time. Null: not limited. */
  readonly max_concurrency: number | null;
  readonly credential_kind: StoredCredentialKind;
  /** Encrypted for this account: no other row can hold it. */
  readonly credential: string;
  /** Which key encrypted `credential`. */
  readonly key_id: string;
  readonly state: StoredAccountState;
  readonly created_at_ms: number;
  readonly updated_at_ms: number;
}
