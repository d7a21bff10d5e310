import type { ProviderError } from '../provider-request.ts';
import type { Verdict } from './encrypted-reasoning.ts';

/** The Messages error for thinking that was changed. */
export function invalidSignature(path: string): ProviderError {
  return { status: 400, message: `${path}: Invalid \`signature\` in \`thinking\` block` };
}

/**
 * The Responses error for encrypted content that the account can't read: it belongs to another
 * account or is damaged.
 */
export function unreadableContent(verdict: Exclude<Verdict, 'accepted'>): ProviderError {
  const reason =
    verdict === 'other_account'
      ? 'Encrypted content organization_id did not match the target organization.'
      : 'Encrypted content could not be decrypted or parsed.';
  const message = `The encrypted content gAAA... could not be verified. Reason: ${reason}`;
  return { status: 400, code: 'invalid_encrypted_content', message };
}
