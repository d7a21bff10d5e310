import { createClient, createContextValues, createRouterTransport } from '@connectrpc/connect';
import { testDatabases } from '@gateway/database/testing';
import { AuditOutcome, AuditService } from '@gateway/proto/admin/v1/audit_service_pb.js';
import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { createLogger, Metrics } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import { createTokenText } from '@gateway/tokens';
import { describe, expect, it, onTestFinished } from 'vitest';
import { peer } from '../src/__fixtures__/rpc-world.ts';
import { removeOldAudit, rowsAtOnce } from '../src/access/audit-retention.ts';
import { AuditTrail } from '../src/access/audit-trail.ts';
import { callerKey } from '../src/access/caller.ts';
import { OperatorStore } from '../src/access/operators.ts';
import { PendingSignIns } from '../src/access/pending-sign-ins.ts';
import { Refusals } from '../src/access/refusals.ts';
import { mostOfHolder, SessionStore } from '../src/access/sessions.ts';
import { auditService } from '../src/rpc/audit-service.ts';

const startMs = Date.parse('2026-11-23T10:00:00Z');

describe.each(testDatabases)('over $name', ({ open }) => {
  describe('operators', () => {
    it('have a first one, who is created once, also by several processes at a time', async () => {
      await using opened = await open();
      const { database } = opened;
      const operators = new OperatorStore(database);
      const tokens = [1, 2, 3].map(() => createTokenText('operator'));
      const added = await Promise.all(tokens.map((token) => operators.addFirst('admin', token)));
      expect(added.filter((each) => each !== undefined)).toMatchObject([{ name: 'admin', role: 'admin' }]);
      const known = await Promise.all(tokens.map((token) => operators.withToken(token)));
      expect(known.filter((each) => each !== undefined)).toHaveLength(1);
      expect(await operators.addFirst('another', createTokenText('operator'))).toBeUndefined();
    });

    it('keep one admin if two remove each other', async () => {
      await using opened = await open();
      const operators = new OperatorStore(opened.database);
      const add = async (name: string) =>
        (await operators.add(name, 'admin', createTokenText('operator')))?.operator_id ?? '';
      const [ada, bea] = [await add('ada'), await add('bea')];
      const results = await Promise.all([
        operators.update(ada, { role: 'viewer' }, 0),
        operators.update(bea, { disabled: true }, 0),
      ]);
      expect(results.filter((result) => result === 'last_admin')).toHaveLength(1);
      const left = (await operators.list()).filter(
        ({ role, disabled_at_ms }) => role === 'admin' && disabled_at_ms === null,
      );
      expect(left).toHaveLength(1);
    });

    it('are changed by the first of two with the same revision', async () => {
      await using opened = await open();
      const operators = new OperatorStore(opened.database);
      const vera = await operators.add('vera', 'viewer', createTokenText('operator'));
      const id = vera?.operator_id ?? '';
      const results = await Promise.all([
        operators.update(id, { role: 'operator' }, 1),
        operators.update(id, { role: 'admin' }, 1),
      ]);
      expect(results.filter((result) => result === 'conflict')).toHaveLength(1);
      expect((await operators.find(id))?.revision).toBe(2);
    });

    it('get one new token if two rotate it at once', async () => {
      await using opened = await open();
      const operators = new OperatorStore(opened.database);
      const id = (await operators.add('vera', 'viewer', createTokenText('operator')))?.operator_id ?? '';
      const tokens = [createTokenText('operator'), createTokenText('operator')];
      const results = await Promise.all(tokens.map((token) => operators.rotate(id, token, 1)));
      expect(results.filter((result) => result === 'conflict')).toHaveLength(1);
      const valid = await Promise.all(tokens.map((token) => operators.withToken(token)));
      expect(valid.filter((each) => each !== undefined)).toMatchObject([{ name: 'vera', revision: 2 }]);
    });

    it('have unique names', async () => {
      await using opened = await open();
      const operators = new OperatorStore(opened.database);
      expect(await operators.add('vera', 'viewer', createTokenText('operator'))).toBeDefined();
      expect(await operators.add('vera', 'viewer', createTokenText('operator'))).toBeUndefined();
      const same = await Promise.all([1, 2, 3].map(() => operators.fromProvider('subject', 'vera', 'viewer')));
      expect(new Set(same.map(({ operator_id }) => operator_id)).size).toBe(1);
      expect(await operators.update(same[0]?.operator_id ?? '', { role: 'admin' }, 0)).toBe('by_groups');
    });
  });

  it('sessions are found by their cookie until they end, and are kept no longer', async () => {
    await using opened = await open();
    using time = new ManualTime(startMs);
    const rules = { sessionIdleMs: 1_000, sessionMaxMs: 2_000, oidcSessionMs: 2_000 };
    const sessions = new SessionStore(opened.database, rules);
    const holder = { operator_id: 'id', token_id: null, token_revision: null, person_id: null };
    const { secret, session } = await sessions.begin(holder, 'token');
    expect(await sessions.use(secret)).toEqual(session);
    expect(await sessions.use(session.session_hash)).toBeUndefined();
    expect(await sessions.count()).toBe(1);
    time.advanceMs(1_000);
    expect(await sessions.use(secret)).toBeUndefined();
    expect(await sessions.count()).toBe(0);
    await sessions.begin({ operator_id: null, token_id: 'token', token_revision: 3, person_id: null }, 'token');
    expect(await opened.database.selectFrom('operator_sessions').selectAll().execute()).toMatchObject([
      { token_id: 'token', token_revision: 3, person_id: null },
    ]);
  });

  describe('the audit log', () => {
    const context = {
      values: createContextValues().set(callerKey, {
        ...{ kind: 'operator', operatorId: 'id', name: 'ada', role: Role.ADMIN, address: '192.0.2.1' },
      }),
    };

    async function aLog(opened: Awaited<ReturnType<typeof open>>) {
      const time = new ManualTime(startMs);
      onTestFinished(() => time[Symbol.dispose]());
      const { database } = opened;
      const identity = peer(IdentityService, { list: () => ({}) });
      const audit = auditService({ database, peers: { identity } });
      const transport = createRouterTransport(({ service }) => service(AuditService, audit));
      const trail = new AuditTrail(database);
      return { time, database, trail, client: createClient(AuditService, transport) };
    }

    it('has every change, with the state before and after', async () => {
      await using opened = await open();
      const { trail, client } = await aLog(opened);
      const before = { limits: { tokensPerDay: 5 } };
      await trail.change(context, { action: 'token.update', subject: 'id', before }, async () => ({
        answer: 'done',
        after: { limits: { tokensPerDay: 6 } },
      }));
      const failing = trail.change(context, { action: 'token.revoke', subject: 'id' }, () => {
        throw new Error('away');
      });
      await expect(failing).rejects.toThrow('away');
      const { entries } = await client.listAudit({});
      const seen = entries.map(({ action, outcome, before, after }) => [action, outcome, before, after]);
      expect(seen).toHaveLength(2);
      expect(seen).toContainEqual(['token.revoke', AuditOutcome.FAILED, '', '']);
      expect(seen).toContainEqual([
        'token.update',
        AuditOutcome.DONE,
        '{"limits":{"tokensPerDay":5}}',
        '{"limits":{"tokensPerDay":6}}',
      ]);
      expect(entries[0]).toMatchObject({ actor: 'ada', address: '192.0.2.1', subject: 'id' });
    });

    it('is read a page at a time, without repetitions and gaps', async () => {
      await using opened = await open();
      const { trail, time, client } = await aLog(opened);
      for (let number = 0; number < 25; number++) {
        // Several of the same moment.
        if (number % 4 === 0) time.advanceMs(1);
        await trail.change(context, { action: 'a.b', subject: `${number}` }, async () => ({ answer: undefined }));
      }
      const subjects: string[] = [];
      let pageToken = '';
      do {
        const page = await client.listAudit({ pageSize: 10, pageToken });
        subjects.push(...page.entries.map(({ subject }) => subject));
        pageToken = page.nextPageToken;
      } while (pageToken !== '');
      expect(subjects.toSorted((one, other) => Number(one) - Number(other))).toEqual(
        Array.from({ length: 25 }, (_, number) => `${number}`),
      );
      expect(Number(subjects[0])).toBeGreaterThanOrEqual(24);
      await expect(client.listAudit({ pageToken: 'bm9uZQ' })).rejects.toThrow('pageToken');
      await expect(client.listAudit({ pageSize: 1_001 })).rejects.toThrow('pageSize');
    });

    it('is searched by actor, action, subject and time', async () => {
      await using opened = await open();
      const { trail, time, client } = await aLog(opened);
      for (const subject of ['responses/Team_A', 'responses/team-b', '100%']) {
        time.advanceMs(1_000);
        await trail.change(context, { action: 'account.disable', subject }, async () => ({ answer: undefined }));
      }
      const found = async (request: Parameters<typeof client.listAudit>[0]) =>
        (await client.listAudit(request)).entries.map(({ subject }) => subject);
      expect(await found({ search: 'team_a' })).toEqual(['responses/Team_A']);
      expect(await found({ search: '%' })).toEqual(['100%']);
      expect(await found({ search: 'ADA' })).toHaveLength(3);
      expect(await found({ search: 'account.' })).toHaveLength(3);
      expect(await found({ sinceMs: startMs + 2_000, untilMs: startMs + 3_000 })).toEqual(['responses/team-b']);
    });

    it('shows rows of older releases', async () => {
      await using opened = await open();
      const { database, client } = await aLog(opened);
      const row = { audit_id: 'old', at_ms: 1, action: 'token.issued', subject: 'id', details: '{"label":"ci"}' };
      await database.insertInto('audit_log').values(row).execute();
      expect((await client.listAudit({})).entries).toMatchObject([
        { after: '{"label":"ci"}', outcome: AuditOutcome.DONE },
      ]);
    });

    it('has a row for all refusals of a kind, and stays small under many addresses', async () => {
      await using opened = await open();
      const { database, client } = await aLog(opened);
      const metrics = new Metrics();
      const refusals = new Refusals({ database, metrics, logger: createLogger('test', 'silent') });
      const note = (address: string) =>
        refusals.note({ reason: 'sign_in', actor: '', address, subject: 'an unknown token' });
      for (let number = 0; number < 10; number++) await note('192.0.2.1');
      expect((await client.listAudit({})).entries.map(({ after }) => after)).toEqual(['{"times":10}']);
      for (let number = 0; number < 300; number++) await note(`198.51.${number % 100}.${number}`);
      const { entries } = await client.listAudit({ pageSize: 1_000 });
      expect(entries.length).toBeLessThanOrEqual(101);
      expect(await metrics.exposition()).toContain('gateway_admin_refusals_total{reason="sign_in"} 310');
    });

    it('loses only expired rows, a few at a time', async () => {
      await using opened = await open();
      const { database } = opened;
      using _time = new ManualTime(startMs);
      const dayMs = 86_400_000;
      const row = (atMs: number, id: string) => ({
        ...{ audit_id: id, at_ms: atMs, action: 'a.b', subject: id, details: '{}' },
      });
      const [lastOldMs, firstKeptMs] = [startMs - 30 * dayMs - 1, startMs - 30 * dayMs];
      const old = Array.from({ length: 2 * rowsAtOnce + 1 }, (_, n) => row(lastOldMs - n, `old-${n}`));
      for (let start = 0; start < old.length; start += 500) {
        await database
          .insertInto('audit_log')
          .values(old.slice(start, start + 500))
          .execute();
      }
      await database
        .insertInto('audit_log')
        .values([row(firstKeptMs, 'kept'), row(startMs, 'new')])
        .execute();
      const { signal } = new AbortController();
      expect(await removeOldAudit({ database, retentionDays: 30, signal })).toBe(old.length);
      const left = await database.selectFrom('audit_log').select('audit_id').orderBy('at_ms').execute();
      expect(left.map(({ audit_id }) => audit_id)).toEqual(['kept', 'new']);
      expect(await removeOldAudit({ database, retentionDays: 30, signal })).toBe(0);
    });
  });

  describe('sign-ins in progress at a provider', () => {
    it('come back to any replica, however many made the key at once', async () => {
      await using opened = await open();
      using _time = new ManualTime(startMs);
      const replicas = [1, 2, 3].map(() => new PendingSignIns(opened.database));
      const pending = { state: 's', nonce: 'n', codeVerifier: 'v', returnTo: '/' };
      const cookies = await Promise.all(replicas.map((replica) => replica.toCookie(pending)));
      for (const cookie of cookies) {
        expect(await new PendingSignIns(opened.database).fromCookie(cookie)).toEqual(pending);
      }
      await using elsewhere = await open();
      const stranger = new PendingSignIns(elsewhere.database);
      expect(await replicas[0]?.fromCookie(await stranger.toCookie(pending))).toBeUndefined();
    });
  });

  describe('sessions', () => {
    it('are at most a hundred for one holder, without effect on other holders', async () => {
      await using opened = await open();
      using time = new ManualTime(startMs);
      const rules = { sessionIdleMs: 3_600_000, sessionMaxMs: 3_600_000, oidcSessionMs: 3_600_000 };
      const sessions = new SessionStore(opened.database, rules);
      const holders = [
        { operator_id: 'one', token_id: null, token_revision: null, person_id: null },
        { operator_id: null, token_id: 'one', token_revision: 1, person_id: null },
        { operator_id: null, token_id: 'two', token_revision: 1, person_id: null },
      ] as const;
      for (const holder of holders) await sessions.begin(holder, 'token');
      const secrets: string[] = [];
      for (let n = 0; n < mostOfHolder + 5; n++) {
        time.advanceMs(1);
        secrets.push((await sessions.begin(holders[1], 'token')).secret);
      }
      expect(await sessions.count()).toBe(mostOfHolder + 2);
      expect(await sessions.use(secrets[4] ?? '')).toBeUndefined();
      expect(await sessions.use(secrets[5] ?? '')).toBeDefined();
    });
  });
});
