import { createServer } from 'node:http';
import { anAdminWorld } from './admin-world.ts';
import type { Browser, Page } from './browser.ts';
import { aSignInProvider, clientId, clientSecret, type ProviderChanges } from './sign-in-provider.ts';

/** The admin service with a provider, at an address that both know before they start. */
export async function aSignInWorld(changes: ProviderChanges = {}, env: Readonly<Record<string, string>> = {}) {
  const port = await freePort();
  const publicUrl = `http://127.0.0.1:${port}`;
  const provider = await aSignInProvider(`${publicUrl}/oidc/callback`, changes);
  const world = await anAdminWorld(
    {
      ADMIN_PUBLIC_URL: publicUrl,
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: clientId,
      OIDC_CLIENT_SECRET: changes.isPublic ? '' : clientSecret,
      OIDC_SCOPES: 'openid profile groups',
      OIDC_ROLES: 'platform=admin, sre=operator,everyone=viewer',
      OIDC_LABEL: 'Sign in with Example',
      ...env,
    },
    port,
  );
  return { ...world, provider, publicUrl };
}

export type SignInWorld = Pick<Awaited<ReturnType<typeof aSignInWorld>>, 'publicUrl' | 'provider'>;

/** Signs in as a person does: enters a name and a password, and consents. */
export async function signIn(
  browser: Browser,
  { publicUrl, provider }: SignInWorld,
  name: string,
  { returnTo = '/', until }: { readonly returnTo?: string; readonly until?: (url: URL) => boolean } = {},
): Promise<Page> {
  const page = await browser.open(`${publicUrl}/oidc/sign-in?return_to=${encodeURIComponent(returnTo)}`);
  return passProvider(browser, page, { provider }, name, until);
}

/** Enters a name and a password at the provider, and consents, beginning at its first page. */
export async function passProvider(
  browser: Browser,
  first: Page,
  { provider }: Pick<SignInWorld, 'provider'>,
  name: string,
  until?: (url: URL) => boolean,
): Promise<Page> {
  let page = first;
  for (let pages = 0; page.url.origin === provider.issuer && pages < 3; pages++) {
    const [, action = '', prompt = ''] = /action="([^"]+)"[\s\S]*name="prompt" value="(\w+)"/.exec(page.text) ?? [];
    page = await browser.open(action, { form: { prompt, login: name, password: 'x' }, until });
  }
  return page;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}
