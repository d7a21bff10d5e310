import type { Secret } from '@gateway/config';
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

  /** The provider's address, where the browser signs in. */
  async begin(returnTo: string): Promise<{ readonly url: URL; readonly pending: PendingSignIn }> {
    const configuration = await this.#configuration();
    const pending = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      codeVerifier: client.randomPKCECodeVerifier(),
      returnTo,
    };
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: `${this.#config.publicUrl}${callbackPath}`,
      scope: this.#config.scopes,
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
  async finish(path: string, { state, nonce, codeVerifier }: PendingSignIn): Promise<Identity> {
    const configuration = await this.#configuration();
    const tokens = await client.authorizationCodeGrant(configuration, new URL(path, this.#config.publicUrl), {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: codeVerifier,
    });
    const claims = tokens.claims();
    if (claims === undefined) throw new TypeError('The provider sent no ID token.');
    return this.#identityOf(await this.#withGroups(configuration, tokens.access_token, claims));
  }

  /**
   * Some providers put groups into the ID token; others return them only from the userinfo
   * endpoint.
   */
  async #withGroups(configuration: client.Configuration, accessToken: string, claims: client.IDToken) {
    if (claims[this.#config.groupsClaim] !== undefined) return claims;
    if (configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
    return { ...claims, ...(await client.fetchUserInfo(configuration, accessToken, claims.sub)) };
  }

  #identityOf(claims: Readonly<Record<string, unknown>> & { readonly sub: string }): Identity {
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

/** The timeout of each call to the provider. */
const timeoutSeconds = 5;

const maxNameLength = 100;
const maxEmailLength = 200;
/** The name of an operator if the provider gives no name that can be shown. */
const unnamed = 'operator';
