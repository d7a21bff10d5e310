import type { Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Tone } from '../../ui/status.tsx';

/** Whether a token is valid, and since or until when. */
export function standOfToken(
  { revokedAtMs, expiresAtMs }: Pick<Token, 'revokedAtMs' | 'expiresAtMs'>,
  nowMs: number,
): { readonly tone: Tone; readonly text: string; readonly at?: number } {
  if (revokedAtMs !== undefined) return { tone: 'neutral', text: 'Revoked', at: revokedAtMs };
  if (expiresAtMs === undefined) return { tone: 'good', text: 'Valid' };
  const leftMs = expiresAtMs - nowMs;
  if (leftMs <= 0) return { tone: 'neutral', text: 'Expired', at: expiresAtMs };
  return leftMs < soonMs
    ? { tone: 'warn', text: 'Expires soon', at: expiresAtMs }
    : { tone: 'good', text: 'Valid until', at: expiresAtMs };
}

const soonMs = 7 * 86_400_000;
