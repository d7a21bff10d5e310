import { stripVTControlCharacters } from 'node:util';
import type { ConnectRouter } from '@connectrpc/connect';
import { AuditService } from '@gateway/proto/admin/v1/audit_service_pb.js';
import { ConfigurationService } from '@gateway/proto/admin/v1/configuration_service_pb.js';
import { OperatorService } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { RequestService } from '@gateway/proto/admin/v1/request_service_pb.js';
import { SystemService } from '@gateway/proto/admin/v1/system_service_pb.js';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import { UsageService } from '@gateway/proto/admin/v1/usage_service_pb.js';
import { AccountState } from '@gateway/proto/pool/v1/account_pb.js';
import { afterEach, describe, expect, it } from 'vitest';
import { CommandLine } from '../__fixtures__/command-line.ts';

const id = '01a1fc6b-b507-756f-be4c-3808a428abd2';
const label = 'nightly evaluation of the support assistant';
const account = 'an-account-with-a-long-name';
const model = 'claude-haiku-4-5-20251001-eu-central-1';
const address = 'ip-10-0-112-27.eu-central-1.compute.internal:9090';
const overview = {
  pools: [
    { pool: { name: 'messages' }, accounts: [{ pool: 'messages', name: account, state: AccountState.AVAILABLE }] },
  ],
  classes: [{ id: 'gateway/a-class-of-models', candidates: [`messages/${model}`] }],
};

function routes(router: ConnectRouter): void {
  router.service(TokenService, { listTokens: () => ({ tokens: [{ token: { tokenId: id, label } }] }) });
  router.service(OperatorService, { listOperators: () => ({ operators: [{ operatorId: id, name: label }] }) });
  router.service(RequestService, {
    listRequests: () => ({
      requests: [{ request: { requestId: id, model, attempts: [{ accountId: account }] }, tokenLabel: label }],
    }),
  });
  router.service(PoolService, {
    listPools: () => ({ overview }),
    explainModel: () => ({ candidates: [{ pool: 'messages', model, accounts: [{ account: { name: account } }] }] }),
  });
  router.service(AuditService, { listAudit: () => ({ entries: [{ actor: label, address, subject: id }] }) });
  router.service(ConfigurationService, {
    getConfiguration: () => ({
      settings: [{ service: 'limiter', address, name: 'REDIS_URL', value: `redis://${address}` }],
    }),
  });
  router.service(SystemService, {
    listReplicas: () => ({ replicas: [{ service: 'limiter', address, version: '0.1.0' }] }),
  });
  router.service(UsageService, {
    reportUsage: () => ({ rows: [{ usage: { tokenId: id, totals: { requests: 1 } }, tokenLabel: label }] }),
  });
}

const { isTTY, columns } = process.stdout;

describe('in a narrow terminal', () => {
  afterEach(() => {
    process.stdout.isTTY = isTTY;
    process.stdout.columns = columns;
  });

  it.each([
    [
      ['token', 'list'],
      [id, label],
    ],
    [
      ['operator', 'list'],
      [id, label],
    ],
    [
      ['request', 'list'],
      [id, label, model, account],
    ],
    [
      ['account', 'list'],
      ['messages', account],
    ],
    [['pool', 'status'], [account]],
    [
      ['pool', 'explain', model],
      [model, account],
    ],
    [
      ['class', 'list'],
      ['gateway/a-class-of-models', `messages/${model}`],
    ],
    [
      ['audit', 'list'],
      [label, address, id],
    ],
    [
      ['config', 'show'],
      [address, `redis://${address}`],
    ],
    [
      ['system', 'replicas'],
      [address, '0.1.0'],
    ],
    [
      ['usage', 'report', '--by', 'token'],
      [id, label],
    ],
  ])('%s has whole ids, names and addresses', async (args, texts) => {
    for (const width of [20, 40, 80, 200]) {
      process.stdout.isTTY = true;
      process.stdout.columns = width;
      const { printed, exitCode } = await new CommandLine(routes).run(...args);
      expect(exitCode).toBe(0);
      for (const text of texts) expect(stripVTControlCharacters(printed), `${width} columns`).toContain(text);
    }
  });
});
