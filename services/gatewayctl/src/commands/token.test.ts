import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import { invalidFields } from '@gateway/admin/rpc/problems';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { describe, expect, it } from 'vitest';
import { CommandLine } from '../__fixtures__/command-line.ts';

const id = '01a1fc6b-b507-756f-be4c-3808a428abd2';
const token = {
  tokenId: id,
  label: 'ci',
  kind: TokenKind.SERVICE,
  limits: { requestsPerMinute: 60, tokensPerDay: 1_000 },
  revision: 3,
};
const listing = {
  token,
  limits: { requests: { limit: 60, remaining: 48 }, tokens: { limit: 1_000, remaining: 900 } },
  tokensByDay: [5, 100],
};

function commandLine(methods: Partial<ServiceImpl<typeof TokenService>> = {}) {
  const asked: unknown[] = [];
  const remember =
    <T>(answer: T) =>
    (request: unknown) => {
      asked.push(request);
      return answer;
    };
  const service = {
    getToken: remember({ token: listing }),
    listTokens: remember({ tokens: [listing] }),
    issueToken: remember({ token, tokenText: 'gw_s_text' }),
    updateToken: remember({ token }),
    rotateToken: remember({ token, tokenText: 'gw_s_other' }),
    revokeToken: remember({ token }),
    ...methods,
  };
  return { line: new CommandLine((router) => router.service(TokenService, service)), asked };
}

describe('gatewayctl token', () => {
  it('prints a new token once, and nothing else on standard output', async () => {
    const { line, asked } = commandLine();
    const flags = ['--label', 'ci', '--rpm', '60', '--tpd', '1000', '--note', 'for ci', '--expires', '30d'];
    const { exitCode, printed, notes } = await line.run('token', 'create', ...flags);
    expect({ exitCode, printed }).toEqual({ exitCode: 0, printed: 'gw_s_text\n' });
    expect(notes).toContain(`created ${id} (ci)`);
    expect(asked).toMatchObject([
      { kind: TokenKind.SERVICE, label: 'ci', note: 'for ci', limits: { requestsPerMinute: 60, tokensPerDay: 1_000 } },
    ]);
  });

  it('lists only tokens that have reached a limit', async () => {
    const { line, asked } = commandLine();
    await line.run('token', 'list', '--at-limit');
    expect(asked).toMatchObject([{ atLimit: true, search: '', includeEnded: false }]);
    const none = commandLine({ listTokens: () => ({ tokens: [] }) }).line;
    expect((await none.run('token', 'list', '--at-limit')).notes).toBe('No matching tokens.');
  });

  it('issues a token with a limit of requests at a time, and with access rules', async () => {
    const { line, asked } = commandLine();
    const rules = ['--models', 'claude*, snel', '--account-labels', 'reserved'];
    await line.run('token', 'issue', '--label', 'ci', '--concurrent', '3', ...rules);
    const access = { models: ['claude*', 'snel'], accountLabels: ['reserved'] };
    expect(asked).toMatchObject([{ limits: { concurrentRequests: 3 }, access }]);
  });

  it('changes one rule or limit, and leaves the others', async () => {
    const access = { models: ['claude*'], accountLabels: ['reserved'] };
    const ruled = { ...listing, token: { ...token, access } };
    const { line, asked } = commandLine({ getToken: () => ({ token: ruled }) });
    await line.run('token', 'set', 'ci', '--models', 'none');
    expect(asked.at(-1)).toMatchObject({ access: { models: [], accountLabels: ['reserved'] } });
    expect(asked.at(-1)).not.toHaveProperty('limits', expect.anything());
    await line.run('token', 'set', 'ci', '--concurrent', '2');
    expect(asked.at(-1)).toMatchObject({ limits: { ...token.limits, concurrentRequests: 2 } });
    expect(asked.at(-1)).not.toHaveProperty('access', expect.anything());
    expect((await line.run('token', 'show', 'ci')).printed).toMatch(/^models +claude\*\naccount labels +reserved$/m);
  });

  it('issues a strict token, keeps it strict, and makes it strict no longer', async () => {
    const strict = { ...token, limits: { ...token.limits, strictTokens: true } };
    const { line, asked } = commandLine({
      getToken: () => ({ token: { ...listing, token: strict } }),
    });
    await line.run('token', 'issue', '--label', 'ci', '--tpd', '1000', '--strict');
    expect(asked.at(-1)).toMatchObject({ limits: { tokensPerDay: 1_000, strictTokens: true } });
    await line.run('token', 'set', 'ci', '--tpd', '2000');
    expect(asked.at(-1)).toMatchObject({ limits: { tokensPerDay: 2_000, strictTokens: true } });
    await line.run('token', 'set', 'ci', '--no-strict');
    expect(asked.at(-1)).toMatchObject({ limits: { tokensPerDay: 1_000, strictTokens: false } });
    await line.run('token', 'set', 'ci', '--tpd', 'none');
    expect(asked.at(-1)).toMatchObject({ limits: { requestsPerMinute: 60, strictTokens: false } });
    expect((await line.run('token', 'show', 'ci')).printed).toMatch(/^tokens\/day +100 of 1000 \(strict\)$/m);
    const changed = commandLine({ updateToken: () => ({ token: strict }) }).line;
    expect((await changed.run('token', 'set', 'ci', '--strict')).notes).toContain('1000 tokens/day (strict)');
  });

  it('says which limits a new token has, also that it has none', async () => {
    const issue = ['token', 'issue', '--label', 'ci'];
    expect((await commandLine().line.run(...issue, '--rpm', '60')).notes).toContain(
      `created ${id} (ci): 60 requests/minute, 1000 tokens/day; `,
    );
    const unlimited = { token: { ...token, limits: undefined }, tokenText: 'gw_s_text' };
    const { notes } = await commandLine({ issueToken: () => unlimited }).line.run(...issue);
    expect(notes).toContain(`created ${id} (ci): no limits; `);
  });

  it('warns that another token has the same label, on standard error', async () => {
    const answer = { token, tokenText: 'gw_s_text', labelIsInUse: true };
    const { line } = commandLine({ issueToken: () => answer });
    const { printed, notes } = await line.run('token', 'create', '--label', 'ci');
    expect(printed).toBe('gw_s_text\n');
    expect(notes).toContain('warning: another valid token has the label ci.');
    expect(notes).toContain(`gatewayctl token set ${id} --label <text>`);
    expect((await commandLine().line.run('token', 'create', '--label', 'ci')).notes).not.toContain('warning');
  });

  it('lists tokens with the used part of their limits, for people and for programs', async () => {
    const { line, asked } = commandLine();
    expect((await line.run('token', 'list', 'c', '--all')).lines[1]).toMatch(
      new RegExp(`^${id} +ci +service +12 of 60 +100 of 1000 +100 +valid$`),
    );
    expect(asked).toMatchObject([{ search: 'c', includeEnded: true }]);
    const json = (await line.run('token', 'list', '-o', 'json')).json();
    expect(json).toMatchObject([{ token: { label: 'ci', limits: { tokensPerDay: 1_000 } }, tokensByDay: [5, 100] }]);
    expect((await line.run('token', 'list', '-o', 'yaml')).printed).toMatch(/^- token:\n {4}tokenId: 01a1fc6b/);
  });

  it('says that a token reached its limit, with all that it used', async () => {
    const reached = { ...listing, limits: { tokens: { limit: 60, remaining: 0 } }, tokensByDay: [61] };
    const limited = { ...reached, token: { ...token, limits: { tokensPerDay: 60 } } };
    const { line } = commandLine({ getToken: () => ({ token: limited }), listTokens: () => ({ tokens: [limited] }) });
    expect((await line.run('token', 'list')).lines[1]).toMatch(/61 of 60 \(limit reached\) +61 +valid$/);
    expect((await line.run('token', 'show', 'ci')).printed).toMatch(/^tokens\/day +61 of 60 \(limit reached\)$/m);
  });

  it('prints lists of many pages whole, and empty ones as lists', async () => {
    const pages = [[listing, listing], [listing], []];
    const { line } = commandLine({
      listTokens: ({ pageToken }) => {
        const page = Number(pageToken || 0);
        return { tokens: pages[page] ?? [], nextPageToken: page < 2 ? String(page + 1) : '' };
      },
    });
    expect((await line.run('token', 'list', '-o', 'json')).json()).toHaveLength(3);
    const none = commandLine({ listTokens: () => ({}) }).line;
    expect((await none.run('token', 'list', '-o', 'json')).json()).toEqual([]);
    expect(await none.run('token', 'list')).toMatchObject({ printed: '', notes: expect.stringMatching(/token issue/) });
  });

  it('accepts labels and beginnings of ids, also with an ellipsis in place of the rest', async () => {
    const { line, asked } = commandLine();
    await line.run('token', 'revoke', '01a1fc6b…');
    expect(asked).toMatchObject([{ token: '01a1fc6b' }, { tokenId: id }]);
    const { notes, exitCode } = await commandLine({
      getToken: () => {
        throw new ConnectError('Two tokens begin so.', Code.FailedPrecondition);
      },
    }).line.run('token', 'show', '01');
    expect({ notes, exitCode }).toEqual({ notes: 'gatewayctl: Two tokens begin so.', exitCode: 1 });
  });

  it('says where to find a token that does not exist', async () => {
    const { line } = commandLine({
      getToken: () => {
        throw new ConnectError('There is no token.', Code.NotFound);
      },
    });
    const { notes, exitCode } = await line.run('token', 'show', 'nope');
    expect(notes).toBe('gatewayctl: no token nope. Run gatewayctl token list --all to see all tokens.');
    expect(exitCode).toBe(1);
  });

  it('sets one limit and leaves the other, of the revision that it has seen', async () => {
    const { line, asked } = commandLine();
    await line.run('token', 'set', 'ci', '--rpm', '120');
    await line.run('token', 'set', 'ci', '--tpd', 'none', '--expires', 'never', '--label', 'other');
    expect(asked.filter((_, index) => index % 2 === 1)).toMatchObject([
      {
        tokenId: id,
        expectedRevision: 3,
        limits: { requestsPerMinute: 120, tokensPerDay: 1_000 },
        clearExpiry: false,
      },
      { label: 'other', limits: { requestsPerMinute: 60 }, clearExpiry: true },
    ]);
    expect(asked[1]).not.toHaveProperty('label');
    expect(asked[3]).not.toHaveProperty('limits.tokensPerDay');
    expect(await line.run('token', 'set', 'ci')).toMatchObject({
      exitCode: 2,
      notes: expect.stringContaining('nothing to change'),
    });
  });

  it('rotates a token, and keeps the old text for a while when asked to', async () => {
    const { line, asked } = commandLine();
    const { printed, notes } = await line.run('token', 'rotate', 'ci', '--keep-old', '1h');
    expect(printed).toBe('gw_s_other\n');
    expect(notes).toMatch(/the old secret works until/);
    expect(asked.at(-1)).toMatchObject({ keepOldSeconds: 3_600, expectedRevision: 3 });
    expect((await line.run('token', 'rotate', 'ci', '--keep-old', '31d')).exitCode).toBe(2);
  });

  it('says until when the old secret of a rotated token works', async () => {
    const oldTextValidUntilMs = Date.parse('2026-11-28T08:04:00Z');
    const rotated = { ...listing, token: { ...token, oldTextValidUntilMs } };
    const { line } = commandLine({ getToken: () => ({ token: rotated }), listTokens: () => ({ tokens: [rotated] }) });
    expect((await line.run('token', 'show', 'ci')).printed).toMatch(/^old secret +valid until 2026-11-28/m);
    expect((await line.run('token', 'list')).lines[1]).toMatch(/valid \(old secret valid until 2026-11-28[^)]*\)$/);
  });

  it('says when a token was already revoked, and revokes it no second time', async () => {
    const revoked = { ...token, revokedAtMs: Date.parse('2026-11-27T08:04:00Z') };
    const { line, asked } = commandLine({ getToken: () => ({ token: { token: revoked } }) });
    const { notes, exitCode } = await line.run('token', 'revoke', 'ci');
    expect({ notes, exitCode }).toEqual({
      notes: `${id} (ci) was already revoked at 2026-11-27 08:04:00 UTC`,
      exitCode: 0,
    });
    expect(asked).toEqual([]);
  });

  it.each([
    ['--rpm', '99999999999999', /--rpm .*from 0 to 4294967295/],
    ['--rpm', '-1', /--rpm/],
    ['--tpd', '1.5', /--tpd .*whole number/],
    ['--expires', 'soon', /--expires .*such as 12h/],
    ['--kind', 'other', /--kind.*service, personal/],
  ])('refuses %s %s before anything is sent', async (flag, value, says) => {
    const { line, asked } = commandLine();
    const refused = await line.run('token', 'issue', '--label', 'x', `${flag}=${value}`);
    expect(refused).toMatchObject({ exitCode: 2, printed: '', notes: expect.stringMatching(says) });
    expect(asked).toEqual([]);
  });

  it("reports the gateway's problems by the names of flags", async () => {
    const refuse = () => {
      throw invalidFields({ label: 'Give 1 to 100 characters.', 'limits.requestsPerMinute': 'Too many.' });
    };
    const { exitCode, notes } = await commandLine({ issueToken: refuse }).line.run('token', 'issue', '--label', '');
    expect(exitCode).toBe(2);
    expect(notes).toBe('gatewayctl: --label: Give 1 to 100 characters.\ngatewayctl: --rpm: Too many.');
  });

  it('an expiry that is a day is the end of that day', async () => {
    const { line, asked } = commandLine();
    await line.run('token', 'issue', '--label', 'x', '--expires', '2999-06-30');
    expect(asked).toMatchObject([{ expiresAtMs: Date.parse('2999-06-30T22:00:00Z') }]);
  });
});
