import { aSignInProvider, clientId, clientSecret } from '@gateway/admin/__fixtures__/sign-in-provider';
import { AuditService } from '@gateway/proto/admin/v1/audit_service_pb.js';
import { freePorts } from '@gateway/testkit';
import { expect, it } from 'vitest';
import { adminClient } from '../client/operator.ts';
import { startAllInOne } from '../topologies/all-in-one.ts';
import { answerProvider } from './answer-provider.ts';
import { goTo, startBrowser, visit } from './browser.ts';

it('an operator signs in at a real provider of OpenID Connect, with the role of the groups there, and out again', async () => {
  const [adminPort] = await freePorts(1);
  const publicUrl = `http://127.0.0.1:${adminPort}`;
  const provider = await aSignInProvider(`${publicUrl}/oidc/callback`);
  provider.groups.set('mona', ['cooks', 'sre']);
  await using gateway = await startAllInOne('oidc', {
    ADMIN_PORT: String(adminPort),
    ADMIN_PUBLIC_URL: publicUrl,
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: clientId,
    OIDC_CLIENT_SECRET: clientSecret,
    OIDC_SCOPES: 'openid profile groups',
    OIDC_ROLES: 'platform=admin,sre=operator',
    OIDC_LABEL: 'Continue with Example',
  });
  const browser = await startBrowser();
  try {
    const { page } = await visit(browser, gateway.adminUrl, { theme: 'light', width: 1440 });
    await goTo(page, '/tokens');
    await page.getByRole('link', { name: 'Continue with Example' }).click();
    await answerProvider(page, provider.issuer, 'mona');

    // On the requested page, as an operator: may change tokens, but not operators.
    await page.waitForURL(`${publicUrl}/tokens`);
    await page.getByRole('link', { name: 'Issue token' }).waitFor();
    await page.getByText('mona', { exact: true }).first().waitFor();
    const links = await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allTextContents();
    expect([links.includes('Tokens'), links.includes('Operators')]).toEqual([true, false]);

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();

    // The provider still recognizes the person; the groups no longer give a role.
    provider.groups.set('mona', ['cooks']);
    await page.getByRole('link', { name: 'Continue with Example' }).click();
    await answerProvider(page, provider.issuer, 'mona');
    await page.getByText('No group of mona has a role').waitFor();
    const { entries } = await adminClient(AuditService, gateway).listAudit({});
    const seen = entries.map(({ actor, action, subject }) => [actor, action, subject]);
    expect(seen).toContainEqual(['mona', 'session.begin', 'oidc']);
    expect(seen).toContainEqual(['', 'session.refuse', 'mona: no group with a role']);
  } finally {
    await browser.close();
  }
});
