import { AuditOutcome, AuditService } from '@gateway/proto/admin/v1/audit_service_pb.js';
import { describe, expect, it } from 'vitest';
import { CommandLine } from '../__fixtures__/command-line.ts';

describe('gatewayctl audit list', () => {
  it('has a line for each change, of as many pages as are asked for', async () => {
    const entry = {
      actor: 'eva',
      address: '10.0.0.9',
      action: 'token.issue',
      subject: 't',
      outcome: AuditOutcome.REFUSED,
    };
    const line = new CommandLine((router) =>
      router.service(AuditService, {
        listAudit: ({ pageSize }) => ({
          entries: Array.from({ length: Math.min(pageSize, 2) }, () => entry),
          nextPageToken: 'more',
        }),
      }),
    );
    expect((await line.run('audit', 'list', '--last', '5', '-o', 'json')).json()).toHaveLength(5);
    expect((await line.run('audit', 'list')).lines[1]).toMatch(/eva +10\.0\.0\.9 +token\.issue +t +refused/);
  });

  it('shows changes field by field, the label of a token, and why a change failed', async () => {
    const changed = {
      ...{ subject: 't', subjectLabel: 'ci', action: 'token.update', outcome: AuditOutcome.DONE },
      ...{ before: '{"limits":{"requestsPerMinute":2},"note":"x"}', after: '{"limits":{"requestsPerMinute":3}}' },
    };
    const failed = { ...changed, outcome: AuditOutcome.FAILED, reason: 'The token is revoked.' };
    const line = new CommandLine((router) =>
      router.service(AuditService, { listAudit: () => ({ entries: [changed, failed] }) }),
    );
    const { lines } = await line.run('audit', 'list');
    expect(lines[1]).toMatch(/ci \(t\) +done +requests per minute 2 → 3, note x → none$/);
    expect(lines[2]).toMatch(/failed +The token is revoked\.$/);
  });

  it('says whether there are no changes, or none that match', async () => {
    const line = new CommandLine((router) => router.service(AuditService, { listAudit: () => ({}) }));
    expect((await line.run('audit', 'list')).notes).toBe('No changes yet.');
    expect((await line.run('audit', 'list', 'eva')).notes).toBe('No matching entries.');
  });
});
