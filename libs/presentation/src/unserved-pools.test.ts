import { AccountState, ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { describe, expect, it } from 'vitest';
import { unservedPools } from './unserved-pools.ts';

const available = { state: AccountState.AVAILABLE };
const responses = { name: 'responses', format: ProviderFormat.RESPONSES, accounts: [available] };
const messages = { name: 'messages', format: ProviderFormat.MESSAGES, accounts: [available] };
const textsOf = (...pools: Parameters<typeof unservedPools>[0]) => unservedPools(pools).map(({ text }) => text);

describe('a pool that can serve no request', () => {
  it('is named with what does not work', () => {
    expect(textsOf(responses, messages)).toEqual([]);
    expect(textsOf(responses, { ...messages, accounts: [] })).toEqual([
      'The pool messages has no usable account: its models, /v1/messages and failover to it do not work.',
    ]);
    expect(textsOf({ ...responses, accounts: [] }, messages)).toEqual([
      'The pool responses has no usable account: its models, /v1/responses and failover to it do not work.',
    ]);
  });

  it.each([
    [AccountState.DISABLED, 1],
    [AccountState.DRAINING, 1],
    [AccountState.COOLING, 0],
    [AccountState.PROBING, 0],
  ])('has no account but ones that are out of service: %s', (state, unserved) => {
    expect(textsOf(responses, { ...messages, accounts: [{ state }] })).toHaveLength(unserved);
  });

  it('is not named while another pool of its format serves the endpoint', () => {
    expect(textsOf(responses, messages, { ...messages, name: 'spare', accounts: [] })).toEqual([]);
  });
});
