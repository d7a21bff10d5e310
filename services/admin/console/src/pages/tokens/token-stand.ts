import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type { Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Tone } from '../../ui/status.tsx';
import { msOf } from '../../ui/time.tsx';

/** Whether a token is valid, and since or until when. */
export function standOfToken(
  { revokedAt, expiresAt }: Pick<Token, 'revokedAt' | 'expiresAt'>,
  nowMs: number,
): { readonly tone: Tone; readonly text: string; readonly at?: Timestamp } {
  if (revokedAt !== undefined) return { tone: 'neutral', text: 'Revoked', at: revokedAt };
  if (expiresAt === undefined) return { tone: 'good', text: 'Valid' };
  const leftMs = msOf(expiresAt) - nowMs;
  if (leftMs <= 0) return { tone: 'neutral', text: 'Expired', at: expiresAt };
  return leftMs < soonMs
    ? { tone: 'warn', text: 'Expires soon', at: expiresAt }
    : { tone: 'good', text: 'Valid until', at: expiresAt };
}

const soonMs = 7 * 86_400_000;
