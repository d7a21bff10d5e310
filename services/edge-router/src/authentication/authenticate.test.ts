import { Socket } from 'node:net';
import { create } from '@bufbuild/protobuf';
import { TrustedProxies } from '@gateway/config';
import { TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { createTokenText, tokenSha256 } from '@gateway/tokens';
import { describe, expect, it } from 'vitest';
import { routes } from '../routes.ts';
import { type AuthHeader, authenticate, TokenCache } from './authenticate.ts';
import { LookupSlots } from './lookup-slots.ts';

const known = createTokenText('service');
const secondKnown = createTokenText('personal');
const unknown = createTokenText('service');
const operators = createTokenText('operator');
const mistyped = `${known.slice(0, -1)}${known.endsWith('0') ? '1' : '0'}`;

/** The texts that a header may contain, and whether each has the form of one of our tokens. */
const texts = {
  nothing: { isOurs: false, values: () => [] },
  'the key of a provider': {
    isOurs: false,
    values: (as: As) => [as('sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789')],
  },
  'a token with a wrong checksum': { isOurs: false, values: (as: As) => [as(mistyped)] },
  'an empty value': { isOurs: false, values: () => [''] },
  'another scheme': { isOurs: false, values: () => ['Basic Zm9vOmJhcg=='] },
  'a known token': { isOurs: true, values: (as: As) => [as(known)] },
  'another known token': { isOurs: true, values: (as: As) => [as(secondKnown)] },
  'an unknown token': { isOurs: true, values: (as: As) => [as(unknown)] },
  'the token of an operator': { isOurs: true, values: (as: As) => [as(operators)] },
  'a known token twice': { isOurs: true, values: (as: As) => [as(known), as(known)] },
  'two foreign keys': { isOurs: false, values: (as: As) => [as('sk-ant-a'), as('sk-ant-b')] },
} as const;

type As = (text: string) => string;
type Text = keyof typeof texts;
const names = Object.keys(texts) as Text[];
const ids: Partial<Record<Text, string>> = { 'a known token': 'known', 'another known token': 'second' };

const forms = { authorization: (text: string) => `Bearer ${text}`, 'x-api-key': (text: string) => text } as const;

/** Applies the rules in order: a repeated header first, then the first text that is ours. */
function expectedOf(own: Text, other: Text): string | undefined {
  const values = [own, other].map((name) => texts[name].values((text) => text));
  if (values.some(({ length }) => length > 1)) return undefined;
  const counts = [own, other].find((name) => texts[name].isOurs);
  return counts && ids[counts];
}

/**
 * The id of the token that a request is attributed to, and the tokens that were looked up for it.
 */
async function presented(ownHeader: AuthHeader, own: Text, other: Text) {
  const otherHeader = ownHeader === 'authorization' ? 'x-api-key' : 'authorization';
  const lookups: Buffer[] = [];
  const cache = new TokenCache({
    freshMs: 30_000,
    slots: new LookupSlots({ waitMs: 1_000 }),
    resolve: async (digest) => {
      lookups.push(digest);
      const tokenId = digest.equals(tokenSha256(known))
        ? 'known'
        : digest.equals(tokenSha256(secondKnown))
          ? 'second'
          : '';
      return tokenId === '' ? undefined : create(TokenSchema, { tokenId });
    },
  });
  const headersDistinct = {
    [ownHeader]: texts[own].values(forms[ownHeader]).slice(),
    [otherHeader]: texts[other].values(forms[otherHeader]).slice(),
  };
  const tokenId = await authenticate({ headersDistinct, socket: new Socket() }, ownHeader, {
    tokens: cache,
    proxies,
  }).then(
    (token) => token.tokenId,
    (thrown: unknown) => {
      expect(thrown).toMatchObject({ code: 'unauthorized' });
      return undefined;
    },
  );
  return { tokenId, lookups };
}

const proxies = new TrustedProxies(['10.0.0.0/8']);

it('of a token that is not known yet waits its turn among those of its network, behind a proxy too', async () => {
  const senders: string[] = [];
  const tokens = {
    async resolve(_digest: Buffer, senderOf: () => string = () => '') {
      senders.push(senderOf());
      return create(TokenSchema, { tokenId: 'known' });
    },
  };
  const ask = (remoteAddress: string, forwardedFor: readonly string[]) => {
    const headersDistinct = { authorization: [`Bearer ${known}`], 'x-forwarded-for': [...forwardedFor] };
    const socket = Object.defineProperty(new Socket(), 'remoteAddress', { value: remoteAddress });
    return authenticate({ headersDistinct, socket }, 'authorization', { tokens, proxies });
  };
  await ask('10.1.2.3', ['192.0.2.7']);
  await ask('::ffff:10.1.2.3', ['198.51.100.1, 2001:db8:0:1::5', '10.0.0.9']);
  await ask('203.0.113.4', ['192.0.2.7']);
  expect(senders).toEqual(['192.0.2.7', '2001:db8:0:1', '203.0.113.4']);
});

describe.each(['authorization', 'x-api-key'] as const)(
  'a request to an endpoint whose own header is %s',
  (ownHeader) => {
    it.each(names.flatMap((own) => names.map((other) => [own, other] as const)))(
      'with %s in it and %s in the other one is taken for who it must be',
      async (own, other) => {
        const { tokenId, lookups } = await presented(ownHeader, own, other);
        expect(tokenId).toBe(expectedOf(own, other));
        // The other token is never tried, and a text that is not a token is not looked up.
        expect(lookups.length).toBeLessThanOrEqual(1);
        if (tokenId !== undefined) expect(lookups).toHaveLength(1);
      },
    );
  },
);

it('Each endpoint has one of the two headers as its own', () => {
  expect(new Set(routes.map(({ authHeader }) => authHeader))).toEqual(new Set(['authorization', 'x-api-key']));
});
