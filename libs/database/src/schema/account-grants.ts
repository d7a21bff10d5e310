/** The tokens that an account has at the moment, of accounts in the database and in gateway.yaml alike. */
export interface AccountGrantsTable {
  /** "<pool>/<name>" */
  readonly account_id: string;
  /** Tells the credential that the tokens descend from. With another one the account has a row of its own. */
  readonly origin: string;
  /** One more with each change of the tokens or of the problem. */
  readonly version: number;
  /** Encrypted for this account. Null before the first refresh. */
  readonly tokens: string | null;
  /** Which key encrypted `tokens`. */
  readonly key_id: string | null;
  /** Why the account can't be used until a person acts. Null: it can. */
  readonly problem: string | null;
  readonly updated_at_ms: number;
  /** The broker that refreshes now, if `locked_until_ms` is to come. Null: none. */
  readonly locked_by: string | null;
  readonly locked_until_ms: number | null;
}
