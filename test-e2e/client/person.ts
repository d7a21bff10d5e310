import type { DescService } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { Browser, type Page } from '@gateway/admin/__fixtures__/browser';
import { clientId, clientSecret, type SignInProvider } from '@gateway/admin/__fixtures__/sign-in-provider';
import { PersonService } from '@gateway/proto/admin/v1/person_service_pb.js';
import { SessionService } from '@gateway/proto/admin/v1/session_service_pb.js';
import { roomMs } from '@gateway/testkit/room';
import { z } from 'zod';
import type { Topology } from '../topologies/topology.ts';
import type { SignInTopology } from '../topologies/with-sign-in.ts';
import { adminClient } from './operator.ts';

/** The settings of a gateway whose people sign in at this provider. */
export function signInSettings(provider: Pick<SignInProvider, 'issuer'>, consoleUrl: string) {
  return {
    ADMIN_PUBLIC_URL: consoleUrl,
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: clientId,
    OIDC_CLIENT_SECRET: clientSecret,
    OIDC_SCOPES: 'openid profile groups email offline_access',
    OIDC_LOOKUP_SECONDS: '1',
    OIDC_ROLES: 'platform=admin',
  };
}

const begun = z.object({
  device_code: z.string(),
  user_code: z.string(),
  verification_uri: z.string(),
  verification_uri_complete: z.string(),
  expires_in: z.number(),
  interval: z.number(),
});

const issued = z.object({
  access_token: z.string(),
  token_type: z.literal('Bearer'),
  expires_in: z.number(),
  refresh_token: z.string(),
  email: z.string().optional(),
});

export type PersonTokens = z.infer<typeof issued>;

/** Posts a form to an endpoint of the sign-in. */
export async function postForm(url: string, form: Readonly<Record<string, string>>) {
  const signal = AbortSignal.timeout(roomMs(10_000));
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams({ ...form }), signal });
  return { status: response.status, headers: response.headers, body: (await response.json()) as unknown };
}

/** Begins a device grant, as a client does that knows only the gateway's address. */
export async function beginSignIn(baseUrl: string) {
  const { body } = await postForm(`${baseUrl}/oauth/device_authorization`, { surface: 'claude_code' });
  return begun.parse(body);
}

/** One poll for the tokens of a device code. */
export function pollSignIn(baseUrl: string, deviceCode: string) {
  const grantType = 'urn:ietf:params:oauth:grant-type:device_code';
  return postForm(`${baseUrl}/oauth/token`, { grant_type: grantType, device_code: deviceCode });
}

/** Exchanges a refresh token. */
export function refresh(baseUrl: string, refreshToken: string) {
  return postForm(`${baseUrl}/oauth/token`, { grant_type: 'refresh_token', refresh_token: refreshToken });
}

/** Confirms a code in a browser, and signs in at the provider. Returns the last page. */
export async function confirmCode(
  page: string,
  userCode: string,
  { issuer }: Pick<SignInProvider, 'issuer'>,
  name: string,
  browser = new Browser(),
) {
  await browser.open(`${page}?user_code=${userCode}`);
  return await passProvider(await browser.open(page, { form: { user_code: userCode } }), issuer, name, browser);
}

/** Enters a name and a password on the provider's pages, and consents. Returns the last page. */
async function passProvider(first: Page, issuer: string, name: string, browser: Browser): Promise<Page> {
  let next = first;
  for (let pages = 0; next.url.origin === issuer && pages < 3; pages++) {
    const [, action = '', prompt = ''] = /action="([^"]+)"[\s\S]*name="prompt" value="(\w+)"/.exec(next.text) ?? [];
    next = await browser.open(action, { form: { prompt, login: name, password: 'x' } });
  }
  return next;
}

/** A person who has signed in to the console in a browser. */
export async function signInToConsole({ adminUrl, provider }: SignInTopology, name: string) {
  const browser = new Browser();
  await passProvider(await browser.open(`${adminUrl}/oidc/sign-in`), provider.issuer, name, browser);
  const headers: Record<string, string> = { cookie: browser.header(adminUrl), 'sec-fetch-site': 'same-origin' };
  const transport = createConnectTransport({
    baseUrl: adminUrl,
    httpVersion: '1.1',
    interceptors: [
      (next) => (request) => {
        for (const [header, value] of Object.entries(headers)) request.header.set(header, value);
        return next(request);
      },
    ],
  });
  const { session } = await createClient(SessionService, transport).getSession({});
  if (session !== undefined) headers['x-csrf-token'] = session.csrfToken;
  const client = <S extends DescService>(service: S) => createClient(service, transport);
  return { session, client };
}

/** Signs a person in, from the first request to the tokens. */
export async function signInPerson(
  baseUrl: string,
  provider: Pick<SignInProvider, 'issuer'>,
  name: string,
): Promise<PersonTokens> {
  const grant = await beginSignIn(baseUrl);
  await confirmCode(grant.verification_uri, grant.user_code, provider, name);
  return tokensIn((await pollSignIn(baseUrl, grant.device_code)).body);
}

/** An operator disables a person. */
export async function disablePerson(gateway: Topology, name: string): Promise<void> {
  const personId = await personIdOf(gateway, name);
  await adminClient(PersonService, gateway).setPersonDisabled({ personId, disabled: true });
}

/** An operator ends all sessions of a person. */
export async function endSessionsOf(gateway: Topology, name: string): Promise<void> {
  const personId = await personIdOf(gateway, name);
  await adminClient(PersonService, gateway).endSessions({ personId });
}

async function personIdOf(gateway: Topology, name: string): Promise<string> {
  const { people } = await adminClient(PersonService, gateway).listPeople({ search: `${name}@` });
  return people[0]?.personId ?? '';
}

export function tokensIn(body: unknown): PersonTokens {
  return issued.parse(body);
}
