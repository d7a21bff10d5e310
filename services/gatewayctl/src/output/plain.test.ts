import { create } from '@bufbuild/protobuf';
import { OverviewPointSchema } from '@gateway/proto/admin/v1/system_service_pb.js';
import { TokenListingSchema } from '@gateway/proto/admin/v1/token_service_pb.js';
import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { AccountCredentialSchema } from '@gateway/proto/pool/v1/account_pb.js';
import { expect, it } from 'vitest';
import { toPlain } from './plain.ts';

it('has numbers as numbers, enums as words, times in ISO 8601, and null for what is not set', () => {
  const listing = create(TokenListingSchema, {
    token: {
      tokenId: 't',
      kind: TokenKind.SERVICE,
      limits: { tokensPerDay: 5_000_000_000 },
      createdAtMs: 1_795_000_000_500,
    },
    tokensByDay: [1, 2],
  });
  expect(toPlain(TokenListingSchema, listing)).toEqual({
    token: {
      tokenId: 't',
      kind: 'service',
      label: '',
      limits: {
        requestsPerMinute: null,
        tokensPerDay: 5_000_000_000,
        concurrentRequests: null,
        budget: null,
        strictTokens: false,
      },
      createdAt: '2026-11-18T11:06:40.500Z',
      revokedAt: null,
      expiresAt: null,
      note: '',
      oldTextValidUntil: null,
      revision: 0,
      access: null,
      groupId: '',
      group: null,
    },
    limits: null,
    tokensByDay: [1, 2],
    groupName: '',
  });
});

it('has maps in the order of their keys, and the chosen member of a oneof', () => {
  const point = create(OverviewPointSchema, { tokensPerMinuteByModel: { b: 1.5, a: 2 } });
  expect(toPlain(OverviewPointSchema, point)).toMatchObject({
    tokensPerMinuteByModel: { a: 2, b: 1.5 },
    firstTokenP50Seconds: null,
    openStreams: 0,
  });
  const credential = create(AccountCredentialSchema, { credential: { case: 'bearer', value: 'x' } });
  expect(toPlain(AccountCredentialSchema, credential)).toEqual({ bearer: 'x', apiKey: null, oauth: null });
});
