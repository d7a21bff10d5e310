import { Secret } from '@gateway/config';
import type { StoredRole } from '@gateway/database';
import * as client from 'openid-client';
import { z } from 'zod';
import { beginningOf, isOperatorName } from './operator-names.ts';
import { roleNames } from './role-names.ts';

/** How operators sign in by OpenID Connect. */
export interface OidcConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Secret | undefined;
  /** "openid profile email" */
  readonly scopes: string;
  /** The same where people may be looked up later. With `offline_access`, if configured. */
  readonly personScopes: string;
  /** Whether people are asked for their consent to lookups, which strict providers require. */
  readonly asksConsent: boolean;
  /** How often people are looked up again. Undefined: never. */
  readonly lookupMs: number | undefined;
  readonly groupsClaim: string;
  /** The role of each group. */
  readonly roles: ReadonlyMap<string, StoredRole>;
  /** As in `PersonRulesParts`. */
  readonly peopleGroups: ReadonlyMap<string, string>;
  /** The label of the button on the sign-in page. */
  readonly label: string;
  /** The console's address for browsers: "https://admin.example". */
  readonly publicUrl: string;
}

/**
 * State that the browser keeps until it comes back: without it, one browser could finish a sign-in
 * that another one began.
 */
export interface PendingSignIn {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  /** The requested page. */
  readonly returnTo: string;
  /**
   * The code of a client that waits to be signed in. Absent: the person signs in to the console.
   */
  readonly userCode?: string | undefined;
  /** The provider is asked for the right to look the person up later. */
  readonly forLookups?: boolean | undefined;
}

/** The user that the provider authenticated. */
export interface Identity {
  readonly subject: string;
  readonly name: string;
  /** The highest role of the user's groups. Undefined if no group has a role. */
  readonly role: StoredRole | undefined;
  /** Empty if the provider sends none. */
  readonly email: string;
  /** The provider says that the address is not verified. */
  readonly isEmailUnverified: boolean;
  readonly groups: readonly string[];
}

/** A user who came back from the provider. */
export interface FinishedSignIn {
  readonly identity: Identity;
  /** Undefined: the provider gave none. */
  readonly refreshToken: Secret | undefined;
}

/** A sign-in that the provider has confirmed again. */
export interface RenewedSignIn {
  /** Undefined: the present one stays valid. */
  readonly refreshToken: Secret | undefined;
  /**
   * What the provider says about the user now. Undefined: it says nothing at a refresh.
   * @throws if it is another user
   */
  identityOf(subject: string): Promise<Identity | undefined>;
}

/**
 * The OpenID Connect provider: authorization code with PKCE, nonce and state. Discovery runs at the
 * first sign-in, and again after a failure, so that a provider that is away affects nothing else.
 */
export class OidcProvider {
  readonly #config: OidcConfig;
  #discovery: Promise<client.Configuration> | undefined;

  constructor(config: OidcConfig) {
    this.#config = config;
  }

  /**
   * The provider's address, where the browser signs in. `forLookups`: so that the user may be
   * looked up again later.
   */
  async begin(
    returnTo: string,
    { forLookups = false }: { readonly forLookups?: boolean } = {},
  ): Promise<{ readonly url: URL; readonly pending: PendingSignIn }> {
    const { scopes, personScopes, asksConsent, lookupMs, publicUrl } = this.#config;
    const isOffline = forLookups && lookupMs !== undefined;
    const configuration = await this.#configuration();
    const pending = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      codeVerifier: client.randomPKCECodeVerifier(),
      ...{ returnTo, forLookups },
    };
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: `${publicUrl}${callbackPath}`,
      scope: isOffline ? personScopes : scopes,
      // Without it a provider ignores offline_access. @see OpenID Connect Core, section 11
      ...(isOffline && asksConsent && { prompt: 'consent' }),
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(pending.codeVerifier),
      code_challenge_method: 'S256',
    });
    return { url, pending };
  }

  /** The origin of the page where people sign in: "https://login.example". */
  async origin(): Promise<string> {
    const { authorization_endpoint: address = this.#config.issuer } = (await this.#configuration()).serverMetadata();
    return new URL(address).origin;
  }

  /**
   * The user who came back. @param path with the query that the provider sent. @throws if it is not
   * the answer to `pending`
   */
  async finish(path: string, { state, nonce, codeVerifier }: PendingSignIn): Promise<FinishedSignIn> {
    const configuration = await this.#configuration();
    const tokens = await client.authorizationCodeGrant(configuration, new URL(path, this.#config.publicUrl), {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: codeVerifier,
    });
    const claims = tokens.claims();
    if (claims === undefined) throw new TypeError('The provider sent no ID token.');
    const identity = this.#identityOf(await this.#withGroups(configuration, tokens.access_token, claims));
    return { identity, refreshToken: secretOf(tokens.refresh_token) };
  }

  /**
   * Undefined: the provider no longer accepts the refresh token.
   *
   * @throws if the provider gives no usable answer; `isUnanswered` says whether it may have used
   *   the token up
   */
  async renew(refreshToken: Secret): Promise<RenewedSignIn | undefined> {
    const configuration = await this.#configuration();
    const tokens = await client.refreshTokenGrant(configuration, refreshToken.reveal()).catch((thrown: unknown) => {
      if (thrown instanceof client.ResponseBodyError && thrown.error === 'invalid_grant') return undefined;
      throw thrown;
    });
    if (tokens === undefined) return undefined;
    return {
      refreshToken: secretOf(tokens.refresh_token),
      identityOf: async (subject) => {
        const claims = tokens.claims();
        if (claims !== undefined && claims.sub !== subject) throw new TypeError('The provider names another user.');
        const isSilent = claims === undefined && configuration.serverMetadata().userinfo_endpoint === undefined;
        if (isSilent) return undefined;
        return this.#identityOf(await this.#withGroups(configuration, tokens.access_token, claims ?? { sub: subject }));
      },
    };
  }

  /**
   * Some providers put groups into the ID token; others return them only from the userinfo
   * endpoint.
   */
  async #withGroups(configuration: client.Configuration, accessToken: string, claims: Claims): Promise<Claims> {
    if (claims[this.#config.groupsClaim] !== undefined) return claims;
    if (configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
    return { ...claims, ...(await client.fetchUserInfo(configuration, accessToken, claims.sub)) };
  }

  #identityOf(claims: Claims): Identity {
    const { preferred_username, email, name, email_verified } = names.parse(claims);
    const groups = groupList.parse(claims[this.#config.groupsClaim]);
    const roles = groups.map((group) => this.#config.roles.get(group));
    // The provider's users may choose their names: names that look like another one are skipped.
    const given = [preferred_username, email, name, claims.sub].map((text) => beginningOf(text ?? '', maxNameLength));
    return {
      subject: claims.sub,
      name: given.find(isOperatorName) ?? unnamed,
      role: roleNames.findLast((role) => roles.includes(role)),
      email: beginningOf(email ?? '', maxEmailLength),
      isEmailUnverified: email !== undefined && email_verified === false,
      groups,
    };
  }

  /** One request for all concurrent callers. */
  async #configuration(): Promise<client.Configuration> {
    this.#discovery ??= this.#discover();
    try {
      return await this.#discovery;
    } catch (thrown) {
      this.#discovery = undefined;
      throw thrown;
    }
  }

  #discover(): Promise<client.Configuration> {
    const { issuer, clientId, clientSecret } = this.#config;
    const auth = clientSecret === undefined ? client.None() : withSecret(clientSecret.reveal());
    // Without TLS on this machine only, as the settings require: a provider beside the gateway.
    const execute = issuer.startsWith('http:') ? [client.allowInsecureRequests] : [];
    return client.discovery(new URL(issuer), clientId, undefined, auth, { timeout: timeoutSeconds, execute });
  }
}

export const callbackPath = '/oidc/callback';

/**
 * Whether a call that failed may have reached the provider, and its answer was lost. An answer that
 * can't be used counts as lost, unless it says that the provider refused the call.
 */
export function isUnanswered(thrown: unknown): boolean {
  if (thrown instanceof client.ResponseBodyError || thrown instanceof client.WWWAuthenticateChallengeError)
    return false;
  for (let cause = thrown; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && unconnectedCodes.has(cause.code)) return false;
  }
  return true;
}

/** Errors before a request is sent. */
const unconnectedCodes: ReadonlySet<unknown> = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'],
]);

type Claims = Readonly<Record<string, unknown>> & { readonly sub: string };

function secretOf(text: string | undefined): Secret | undefined {
  return text === undefined ? undefined : new Secret(text);
}

/** In the header, which every provider must accept unless it says otherwise. */
function withSecret(secret: string): client.ClientAuth {
  const basic = client.ClientSecretBasic(secret);
  const post = client.ClientSecretPost(secret);
  return (server, metadata, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const auth = !methods.includes('client_secret_basic') && methods.includes('client_secret_post') ? post : basic;
    return auth(server, metadata, body, headers);
  };
}

const text = z.string().optional().catch(undefined);
const names = z.object({
  preferred_username: text,
  email: text,
  name: text,
  email_verified: z.boolean().optional().catch(undefined),
});

/** Most providers send a list, some a single name. Any other value means no groups. */
const groupList = z.union([z.array(z.string()), z.string().transform((group) => [group])]).catch([]);

/**
 * The timeout of each call to the provider. Its answer may be the only copy of a refresh token, so
 * that a slow one is waited for.
 */
export const timeoutSeconds = 30;

const maxNameLength = 100;
const maxEmailLength = 200;
/** The name of an operator if the provider gives no name that can be shown. */
const unnamed = 'operator';
