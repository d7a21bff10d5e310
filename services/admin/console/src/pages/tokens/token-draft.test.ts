import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { TokenKind, TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { describe, expect, it } from 'vitest';
import { differences, draftOf, limitsOf, updateOf } from './token-draft.ts';

const token = (init: object = {}) => create(TokenSchema, { ...issued, ...init });
const issued: MessageInitShape<typeof TokenSchema> = {
  tokenId: 't',
  kind: TokenKind.SERVICE,
  label: 'ci',
  note: 'of team X',
  limits: { requestsPerMinute: 60, tokensPerDay: 1_000n },
  expiresAt: timestampFromMs(Date.parse('2026-12-31T12:00:30Z')),
};

describe('an edited token', () => {
  it('sends nothing of what was not touched, to the second of its expiry', () => {
    expect(updateOf(token(), draftOf(token()))).toEqual({ tokenId: 't' });
  });

  it('sends what was changed, both limits together', () => {
    const draft = { ...draftOf(token()), label: 'ci-2', requestsPerMinute: '', expiresAt: '' };
    const update = updateOf(token(), draft);
    expect(update).toMatchObject({ label: 'ci-2', limits: { tokensPerDay: 1_000n }, clearExpiry: true });
    expect(update.limits).not.toHaveProperty('requestsPerMinute');
    expect(update).not.toHaveProperty('note');
  });

  it('tells a limit of nothing from none', () => {
    expect(limitsOf({ ...draftOf(token()), requestsPerMinute: '0', tokensPerDay: '' }).requestsPerMinute).toBe(0);
    expect(limitsOf({ ...draftOf(token()), kind: 'personal' })).not.toHaveProperty('requestsPerMinute');
  });

  it('shows what somebody else made of it meanwhile', () => {
    const now = token({ label: 'build', limits: { requestsPerMinute: 120 } });
    expect(differences(token(), now)).toEqual([
      'Label: ci → build',
      'Requests per minute: 60 → 120',
      'Tokens per day: 1\u202f000 → unlimited',
    ]);
    expect(differences(token(), token())).toEqual([]);
  });
});
