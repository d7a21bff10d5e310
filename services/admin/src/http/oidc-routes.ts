import { ConnectError } from '@connectrpc/connect';
import type { Logger } from '@gateway/telemetry';
import { type Request, Router } from 'express';
import { z } from 'zod';
import { callbackPath, type OidcProvider, type PendingSignIn } from '../access/oidc-provider.ts';
import { cookieText, noCookieText, readCookie } from '../access/session-cookie.ts';
import type { SignIn, SignInCounter } from '../access/sign-in.ts';
import { connectionOf } from './connection.ts';
import { sendPage } from './plain-page.ts';

export interface OidcRoutesParts {
  readonly provider: OidcProvider;
  readonly signIn: SignIn;
  readonly signIns: SignInCounter;
  readonly logger: Logger;
}

/** The way to the provider of OpenID Connect and back. What the browser is to remember meanwhile is in a cookie of its own. */
export function oidcRoutes({ provider, signIn, signIns, logger }: OidcRoutesParts): Router {
  const router = Router();

  router.get('/oidc/sign-in', async (request, response) => {
    try {
      const { url, pending } = await provider.begin(localPath(request.query.return_to));
      response.append('set-cookie', pendingCookie(request, pending));
      response.redirect(303, url.href);
    } catch (thrown) {
      logger.warn({ err: thrown }, 'the provider of OpenID Connect can not be used');
      signIns.count('oidc', 'failed');
      sendPage(response, 502, 'The sign-in provider does not answer', tryAgain);
    }
  });

  router.get(callbackPath, async (request, response) => {
    const connection = connectionOf(request);
    // Good for one answer of the provider.
    response.append('set-cookie', noCookieText('oidc', connection));
    const pending = pendingIn(request);
    if (pending === undefined) {
      signIns.count('oidc', 'failed');
      return sendPage(response, 400, 'This sign-in took too long, or began in another browser', tryAgain);
    }
    try {
      const identity = await provider.finish(request.originalUrl, pending);
      const { cookie } = await signIn.begin(await signIn.byProvider(identity, connection), connection, 'oidc');
      response.append('set-cookie', cookie);
      response.redirect(303, localPath(pending.returnTo));
    } catch (thrown) {
      if (thrown instanceof ConnectError) return sendPage(response, 403, thrown.rawMessage, tryAgain);
      logger.warn({ err: thrown }, 'a sign-in by OpenID Connect failed');
      signIns.count('oidc', 'failed');
      sendPage(response, 400, 'The sign-in did not work', tryAgain);
    }
  });

  return router;
}

const tryAgain = 'Go back to the console and sign in again. The log of the gateway says more.';

/** Long enough for a second factor. */
const pendingSeconds = 600;

function pendingCookie(request: Request, pending: PendingSignIn): string {
  const value = Buffer.from(JSON.stringify(pending)).toString('base64url');
  // Lax: the provider's page, which is of another site, leads back here.
  return cookieText('oidc', value, connectionOf(request), { maxAgeSeconds: pendingSeconds, sameSite: 'Lax' });
}

function pendingIn(request: Request): PendingSignIn | undefined {
  const value = readCookie(request.headers.cookie, 'oidc', connectionOf(request));
  try {
    return pendingSignIn.parse(JSON.parse(Buffer.from(value ?? '', 'base64url').toString()));
  } catch {
    return undefined;
  }
}

const pendingSignIn = z.object({
  state: z.string(),
  nonce: z.string(),
  codeVerifier: z.string(),
  returnTo: z.string(),
});

/** A path of this console; its first page for what would lead to another site. */
function localPath(text: unknown): string {
  if (typeof text !== 'string' || text.length > 2_000) return '/';
  const url = URL.parse(text, 'http://console.invalid');
  return url?.host === 'console.invalid' && text.startsWith('/') ? `${url.pathname}${url.search}` : '/';
}
