import type { StoredAccountState, StoredCredentialKind } from '@gateway/database';
import type { Sealed } from '../sealing/sealer.ts';

/** An account that operators keep in the database, its credential sealed. */
export interface StoredAccount {
  /** "<pool>/<name>" */
  readonly id: string;
  readonly pool: string;
  readonly name: string;
  /** Model ids ("*" stands for any text). Undefined: all of its pool. */
  readonly models: readonly string[] | undefined;
  /** Undefined: no cap. */
  readonly maxConcurrency: number | undefined;
  readonly credentialKind: StoredCredentialKind;
  readonly credential: Sealed;
  readonly state: StoredAccountState;
}
