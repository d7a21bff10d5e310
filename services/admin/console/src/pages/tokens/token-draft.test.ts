import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { TokenKind, TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { describe, expect, it } from 'vitest';
import { differences, draftOf, tokenLimitsOf, updateOf } from './token-draft.ts';

const token = (init: object = {}) => create(TokenSchema, { ...issued, ...init });
const issued: MessageInitShape<typeof TokenSchema> = {
  tokenId: 't',
  kind: TokenKind.SERVICE,
  label: 'ci',
  note: 'of team X',
  limits: { requestsPerMinute: 60, tokensPerDay: 1_000 },
  expiresAtMs: Date.parse('2026-12-31T12:00:30Z'),
};

describe('an edited token', () => {
  it('sends no unchanged field, not even its expiry to the second', () => {
    expect(updateOf(token(), draftOf(token()))).toEqual({ tokenId: 't' });
  });

  it('sends changed fields, and both limits together', () => {
    const draft = { ...draftOf(token()), label: 'ci-2', requestsPerMinute: '', expiresAtMs: '' };
    const update = updateOf(token(), draft);
    expect(update).toMatchObject({ label: 'ci-2', limits: { tokensPerDay: 1_000 }, clearExpiry: true });
    expect(update.limits).not.toHaveProperty('requestsPerMinute');
    expect(update).not.toHaveProperty('note');
  });

  it('keeps limits and rules that were not edited, also those that another person changed meanwhile', () => {
    const access = { models: ['claude*'], accountLabels: ['reserved'] };
    const limits = { tokensPerDay: 5, concurrentRequests: 3, strictTokens: true };
    const now = token({ limits: { requestsPerMinute: 60, ...limits }, access });
    const edited = { ...draftOf(token()), requestsPerMinute: '7', models: 'gpt-5.5, gateway/snel' };
    expect(updateOf(token(), edited, now)).toMatchObject({
      limits: { requestsPerMinute: 7, ...limits },
      access: { models: ['gpt-5.5', 'gateway/snel'], accountLabels: ['reserved'] },
    });
    expect(updateOf(now, { ...draftOf(now), groupId: 'g' })).toEqual({ tokenId: 't', groupId: 'g' });
  });

  it('is strict only with a limit of tokens per day', () => {
    const strict = { ...draftOf(token()), strictTokens: 'strict' } as const;
    expect(updateOf(token(), strict)).toMatchObject({ limits: { tokensPerDay: 1_000, strictTokens: true } });
    expect(updateOf(token(), { ...strict, tokensPerDay: '' })).toMatchObject({ limits: { strictTokens: false } });
  });

  it('distinguishes a limit of 0 from no limit', () => {
    expect(tokenLimitsOf({ ...draftOf(token()), requestsPerMinute: '0', tokensPerDay: '' }).requestsPerMinute).toBe(0);
    expect(tokenLimitsOf({ ...draftOf(token()), kind: 'personal' })).not.toHaveProperty('requestsPerMinute');
  });

  it('shows changes by another person', () => {
    const strict = token({ limits: { requestsPerMinute: 60, tokensPerDay: 1_000, strictTokens: true } });
    expect(differences(token(), strict)).toEqual(['Tokens per day: 1\u202f000 → 1\u202f000 (strict)']);
    const now = token({ label: 'build', limits: { requestsPerMinute: 120 } });
    expect(differences(token(), now)).toEqual([
      'Label: ci → build',
      'Requests per minute: 60 → 120',
      'Tokens per day: 1\u202f000 → unlimited',
    ]);
    expect(differences(token(), token({ groupId: 'g' }), () => 'Team A')).toEqual(['Group: none → Team A']);
    expect(differences(token(), token())).toEqual([]);
  });
});
