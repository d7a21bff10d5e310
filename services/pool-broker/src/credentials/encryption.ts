import { type EncryptionKey, EnvelopeEncryption } from '@gateway/config/encryption';

/** The column of an account that an envelope belongs to. */
export interface EnvelopePlace {
  readonly accountId: string;
  readonly field: 'credential' | 'tokens';
}

/** Encrypts the secrets of accounts. */
export class Encryption extends EnvelopeEncryption<EnvelopePlace> {
  /** @throws RangeError if there is no key. */
  constructor(keys: readonly EncryptionKey[]) {
    super(keys, ({ accountId, field }) => ['gateway account', accountId, field]);
  }
}
