import { type SignInProvider, startSignInProvider } from '@gateway/admin/__fixtures__/sign-in-provider';
import { freePorts } from '@gateway/testkit';
import { signInSettings } from '../client/person.ts';
import { managedGroup } from './gateway-file.ts';
import type { Topology } from './topology.ts';

/** A gateway whose people sign in at a real provider of OpenID Connect on this machine. */
export interface SignInTopology extends Topology {
  readonly provider: SignInProvider;
}

/** The group of the tokens of `narrow`. */
export const narrowGroup = 'Narrow';

/**
 * Starts the provider, and a gateway with its settings. The members of `developers` and `managed`
 * may sign in, and may issue tokens. Clients of `managed` have managed settings.
 */
export async function withSignIn<T extends Topology>(
  start: (env: Readonly<Record<string, string>>) => Promise<T>,
): Promise<T & SignInTopology> {
  const [adminPort] = await freePorts(1);
  const consoleUrl = `http://127.0.0.1:${adminPort}`;
  await using stack = new AsyncDisposableStack();
  const provider = stack.use(await startSignInProvider(`${consoleUrl}/oidc/callback`));
  for (const name of ['dana', 'erin', 'finn', 'hugo', 'ida', 'jona', 'kim']) {
    provider.groups.set(name, ['developers']);
    provider.claims.set(name, { email: `${name}@acme.test`, email_verified: true });
  }
  provider.groups.set('mia', ['managed']);
  provider.claims.set('mia', { email: 'mia@acme.test', email_verified: true });
  provider.groups.set('lena', ['narrow']);
  provider.claims.set('lena', { email: 'lena@acme.test', email_verified: true });
  const gateway = stack.use(
    await start({
      ADMIN_PORT: String(adminPort),
      ...signInSettings(provider, consoleUrl),
      SIGN_IN_PAGE_URL: `${consoleUrl}/device`,
      OIDC_PEOPLE_GROUPS: `developers,managed=${managedGroup},narrow=${narrowGroup}`,
      OPENCODE_MODELS: 'gateway/sterk,claude-sonnet-5',
      PEOPLE_MAY_ISSUE_TOKENS: 'true',
      PEOPLE_TOKEN_MAX_DAYS: '7',
    }),
  );
  const open = stack.move();
  return { ...gateway, provider, [Symbol.asyncDispose]: () => open.disposeAsync() };
}
