import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';
import { AuditEntrySchema, AuditOutcome, type AuditService } from '@gateway/proto/admin/v1/audit_service_pb.js';

export const auditService: Partial<ServiceImpl<typeof AuditService>> = {
  listAudit({ search, sinceMs = 0, untilMs = Number.POSITIVE_INFINITY, pageSize, pageToken }) {
    const found = entries.filter(
      ({ atMs, entry }) =>
        atMs >= sinceMs &&
        atMs < untilMs &&
        [entry.actor, entry.action, entry.subject].some((text) => text.includes(search)),
    );
    const first = Number(pageToken || 0);
    const next = first + (pageSize || 50);
    const odd = search === oddSearch ? [oddEntry, ...entries.slice(0, 2).map(({ entry }) => entry)] : [];
    return {
      entries: [...odd, ...found.slice(first, next).map(({ entry }) => entry)],
      nextPageToken: next < found.length ? String(next) : '',
    };
  },
};

const changes: readonly MessageInitShape<typeof AuditEntrySchema>[] = [
  {
    actor: 'jeroen',
    action: 'token.update',
    subject: '7d0c2f44-5b1e-4a53-9c3e-0f5c7a2b9e11',
    before: '{"label":"ci","limits":{"requestsPerMinute":60,"tokensPerDay":"2000000"},"note":"","revision":"3"}',
    after:
      '{"label":"ci","limits":{"requestsPerMinute":120,"tokensPerDay":"2000000"},"note":"More for the nightly run, until December.","revision":"4"}',
  },
  {
    actor: 'maud',
    action: 'account.disable',
    subject: 'responses/team-d',
    before: '{"use":"active","state":"available"}',
    after: '{"use":"disabled","state":"disabled"}',
  },
  { actor: 'gatewayctl', action: 'operator.create', subject: 'maud', after: '{"name":"maud","role":"admin"}' },
  {
    actor: '',
    address: '203.0.113.66',
    action: 'session.refuse',
    subject: 'operator token',
    outcome: AuditOutcome.REFUSED,
  },
  {
    actor: 'grafana',
    action: 'token.revoke',
    subject: '0c4b7a6e-1c55-4a21-8f1d-2d6c1f0a9b77',
    outcome: AuditOutcome.REFUSED,
  },
  {
    actor: 'maud',
    action: 'account.replace_credential',
    subject: 'messages/seat-07',
    outcome: AuditOutcome.FAILED,
    before: '{"credentialKind":"oauth"}',
  },
  {
    actor: 'jeroen',
    action: 'token.issue',
    subject: '5a0e7c1d-9d3f-4c2b-8e64-7f21b3d9c001',
    after: '{"kind":"service","label":"data-team","limits":{"requestsPerMinute":30}}',
  },
  {
    actor: 'pieter',
    action: 'token.revoke',
    subject: '9e6d1f3a-2b7c-4d18-a0f5-6c8e4b2d7a90',
    before: '{"label":"old-laptop","kind":"personal"}',
    outcome: AuditOutcome.STARTED,
  },
];

const entries = Array.from({ length: 120 }, (_, index) => {
  const change = changes[index % changes.length];
  const atMs = Date.now() - 40_000 - index * 2_900_000;
  const own = { auditId: String(index), atMs };
  return {
    atMs,
    entry: create(AuditEntrySchema, { address: '10.0.0.21', outcome: AuditOutcome.DONE, ...change, ...own }),
  };
});

const oddSearch = 'a row that cannot be shown';

/** Its time is beyond what dates can express. */
const oddEntry = create(AuditEntrySchema, {
  auditId: 'odd',
  atMs: 253_402_300_799_999_000,
  action: 'token.issue',
});
