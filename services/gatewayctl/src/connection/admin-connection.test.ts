import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AuditService } from '@gateway/proto/admin/v1/audit_service_pb.js';
import { ConfigurationService } from '@gateway/proto/admin/v1/configuration_service_pb.js';
import { PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import { UsageService } from '@gateway/proto/admin/v1/usage_service_pb.js';
import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exitCodeOf, failureText } from '../failure-text.ts';
import { connectTo } from './admin-connection.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatewayctl-database-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

// Nothing listens at port 1 or 2.
const open = (options = {}) => connectTo({ PORT: '2', ADMIN_PORT: '1', GATEWAY_DATA: folder })(options);

describe('the admin API on the database, when no gateway runs', () => {
  it('behaves like a running one, and is audited as this machine', async () => {
    await using admin = await open({ issues: true });
    expect(admin.database).toMatchObject({ kind: 'embedded', description: expect.stringContaining(folder) });
    const tokens = admin.clientOf(TokenService);
    const { token, tokenText } = await tokens.issueToken({ kind: TokenKind.SERVICE, label: 'ci' });
    expect(tokenText).toMatch(/^gw_s_/);
    await tokens.updateToken({ tokenId: token?.tokenId ?? '', limits: { requestsPerMinute: 5 } });
    expect((await tokens.getToken({ token: 'ci' })).token?.token?.limits?.requestsPerMinute).toBe(5);
    await tokens.revokeToken({ tokenId: token?.tokenId ?? '' });
    const { entries } = await admin.clientOf(AuditService).listAudit({});
    expect(entries.map(({ actor, action }) => `${actor} ${action}`)).toEqual([
      'gatewayctl token.revoke',
      'gatewayctl token.update',
      'gatewayctl token.issue',
    ]);
  });

  it('reads the ledger, pools and files without any key', async () => {
    await using admin = await open();
    const usage = admin.clientOf(UsageService);
    const day = { firstDay: '2026-11-20', lastDay: '2026-11-20' };
    expect((await usage.reportUsage(day)).rows).toEqual([]);
    expect(await usage.reconcileDay({ localDay: '2026-11-20' })).toMatchObject({
      ledger: { eventsKept: true },
      counters: [],
    });
    const { overview } = await admin.clientOf(PoolService).listPools({});
    expect(overview?.classes.map(({ id }) => id)).toContain('gateway/sterk');
    const checked = await admin.clientOf(ConfigurationService).checkConfiguration({ text: 'pools: {}\nclasses: 7\n' });
    expect(checked.problems.join()).toMatch(/classes/);
  });

  it("has the running one's refusals, by the names of flags", async () => {
    await using admin = await open({ issues: true });
    const refused: unknown = await admin
      .clientOf(TokenService)
      .issueToken({ kind: TokenKind.SERVICE, label: '' })
      .catch((thrown: unknown) => thrown);
    expect(failureText(refused, '')).toMatch(/^gatewayctl: --label: /);
    expect(exitCodeOf(refused)).toBe(2);
  });

  it('is not asked by a command that needs a running gateway', async () => {
    await using admin = await open({ running: true });
    expect(admin.gateway?.url).toBe('http://127.0.0.1:1');
    const away: unknown = await admin
      .clientOf(TokenService)
      .listTokens({})
      .catch((thrown: unknown) => thrown);
    expect(failureText(away, 'http://127.0.0.1:1')).toMatch(/nothing answers at http:\/\/127\.0\.0\.1:1/);
  });
});
