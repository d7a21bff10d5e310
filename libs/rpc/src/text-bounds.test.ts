import { create } from '@bufbuild/protobuf';
import { AddAccountRequestSchema, PoolOperatorService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { describe, expect, it } from 'vitest';
import { directClient } from './client.ts';
import type { Handlers } from './service-types.ts';
import { serviceRoute } from './service-types.ts';
import { mostTextBytes, tooLongField, withBoundedTexts } from './text-bounds.ts';

const account = (name: string, models: readonly string[], bearer = 'k') =>
  create(AddAccountRequestSchema, {
    account: { pool: '', name, models: [...models] },
    credential: { credential: { case: 'bearer', value: bearer } },
  });
const longFieldOf = (message: ReturnType<typeof account>) => tooLongField(AddAccountRequestSchema, message);

describe('the texts of a message', () => {
  it('have a bound together, wherever they stand, and the longest is named', () => {
    const half = 'x'.repeat(mostTextBytes / 2);
    expect(longFieldOf(account(half, [half], ''))).toBeUndefined();
    expect(longFieldOf(account(half, [half], 'k'))).toBe('account.name');
    expect(longFieldOf(account('', [half, `${half}x`]))).toBe('account.models');
    expect(longFieldOf(account('', [], 'x'.repeat(mostTextBytes + 1)))).toBe('credential.bearer');
  });

  it('are counted in bytes', () => {
    expect(longFieldOf(account('é'.repeat(mostTextBytes / 2), [], ''))).toBeUndefined();
    expect(longFieldOf(account('é'.repeat(mostTextBytes / 2 + 1), [], ''))).toBe('account.name');
  });

  it('are refused before a handler sees them when they are too long', async () => {
    const seen: string[] = [];
    const none = () => ({});
    const handlers: Handlers<typeof PoolOperatorService> = {
      ...{
        addAccount: none,
        replaceCredential: none,
        setAccountUse: none,
        removeAccount: none,
        listAlertReceivers: none,
        getGatewayFile: none,
      },
      setAccountLabels: none,
      checkGatewayFile: ({ text }) => {
        seen.push(text);
        return {};
      },
    };
    const client = directClient(withBoundedTexts(serviceRoute(PoolOperatorService, handlers)));
    await client.checkGatewayFile({ text: 'short' });
    await expect(client.checkGatewayFile({ text: 'x'.repeat(mostTextBytes + 1) })).rejects.toThrow(
      /^text: must be shorter/,
    );
    expect(seen).toEqual(['short']);
  });
});
