import { Code, ConnectError } from '@connectrpc/connect';
import type { Logger } from '@gateway/telemetry';
import { type Request, type RequestHandler, type Response, Router } from 'express';
import type { MinuteRate } from '../access/minute-rate.ts';
import { callbackPath, type OidcProvider } from '../access/oidc-provider.ts';
import { type PendingSignIns, pendingSeconds } from '../access/pending-sign-ins.ts';
import type { PersonLookups } from '../access/person-lookups.ts';
import type { Refusals } from '../access/refusals.ts';
import { cookieText, noCookieText, readCookie } from '../access/session-cookie.ts';
import type { SignIn, SignInCounter } from '../access/sign-in.ts';
import { networkOf } from '../access/sign-in-throttle.ts';
import { connectionOf, leftSignal } from './connection.ts';
import type { DevicePages } from './device-routes.ts';
import { localPath } from './local-path.ts';
import { sendPage } from './plain-page.ts';

export interface OidcRoutesParts {
  readonly provider: OidcProvider;
  readonly pendingSignIns: PendingSignIns;
  /** Undefined: people are not looked up again. */
  readonly lookups: Pick<PersonLookups, 'has' | 'keep'> | undefined;
  /** The most requests that lead to the provider, by the browser's network. */
  readonly rate: MinuteRate;
  readonly refusals: Refusals;
  readonly signIn: SignIn;
  readonly signIns: SignInCounter;
  readonly devicePages: DevicePages;
  readonly logger: Logger;
}

/**
 * The redirects to the OpenID Connect provider and back. The browser keeps the state of the sign-in
 * in a cookie of its own.
 */
export function oidcRoutes(parts: OidcRoutesParts): Router {
  const { provider, pendingSignIns, lookups, refusals, signIn, signIns, devicePages, logger } = parts;
  const router = Router();
  const throttled = throttle(parts);
  /** Leads the browser to the provider. */
  const begin = async (request: Request, response: Response, returnTo: string, forLookups: boolean) => {
    const { url, pending } = await provider.begin(returnTo, { forLookups });
    const value = await pendingSignIns.toCookie(pending);
    // Lax: the provider's page, which is of another site, redirects back here.
    const rules = { maxAgeSeconds: pendingSeconds, sameSite: 'Lax' } as const;
    response.append('set-cookie', cookieText('oidc', value, connectionOf(request), rules));
    response.redirect(303, url.href);
  };

  router.get('/oidc/sign-in', throttled, async (request, response) => {
    try {
      await begin(request, response, localPath(request.query.return_to), false);
    } catch (thrown) {
      logger.warn({ err: thrown }, 'the OpenID Connect provider cannot be used');
      signIns.count('oidc', 'failed');
      sendPage(response, 502, 'The identity provider is unreachable', tryAgain);
    }
  });

  router.get(callbackPath, throttled, async (request, response) => {
    const connection = connectionOf(request);
    // The cookie is valid for one answer of the provider.
    response.append('set-cookie', noCookieText('oidc', connection));
    try {
      const pending = await pendingSignIns.fromCookie(readCookie(request.headers.cookie, 'oidc', connection));
      if (pending === undefined) {
        signIns.count('oidc', 'failed');
        const subject = 'an answer of the provider for another browser';
        await refusals.note({ reason: 'sign_in', actor: '', address: connection.address, subject });
        return sendPage(response, 400, 'This sign-in took too long, or was started in another browser', tryAgain);
      }
      const finished = await provider.finish(request.originalUrl, pending);
      if (pending.userCode !== undefined) {
        return await devicePages.finish(pending.userCode, finished, request, response);
      }
      const caller = await signIn.byProvider(finished, connection, leftSignal(request));
      if (caller.kind === 'person' && lookups !== undefined) {
        const { refreshToken } = finished;
        const isKnown = refreshToken !== undefined || (await lookups.has(caller.person.personId));
        // Operators are not asked: only people without a role are looked up.
        if (!isKnown && !pending.forLookups) return await begin(request, response, pending.returnTo, true);
        if (!isKnown || refreshToken !== undefined) await lookups.keep(caller.person, refreshToken);
      }
      const { cookie } = await signIn.begin(caller, connection, 'oidc');
      response.append('set-cookie', cookie);
      response.redirect(303, localPath(pending.returnTo));
    } catch (thrown) {
      if (thrown instanceof ConnectError) {
        const isTooMuch = thrown.code === Code.ResourceExhausted;
        return sendPage(response, isTooMuch ? 429 : 403, thrown.rawMessage, isTooMuch ? tryLater : tryAgain);
      }
      logger.warn({ err: thrown }, 'an OpenID Connect sign-in failed');
      signIns.count('oidc', 'failed');
      sendPage(response, 400, 'Sign-in failed', tryAgain);
    }
  });

  return router;
}

/** Each of these requests may make this service call the provider. */
function throttle({ rate, refusals, signIns }: OidcRoutesParts): RequestHandler {
  return async (request, response, next) => {
    const { address } = connectionOf(request);
    if (rate.take(networkOf(address))) return next();
    signIns.count('oidc', 'throttled');
    await refusals.note({ reason: 'sign_in', actor: '', address, subject: 'too many sign-ins at the provider' });
    sendPage(response, 429, 'Too many sign-ins', tryLater);
  };
}

const tryAgain = 'Go back to the console and sign in again. See the log of the gateway for details.';

const tryLater = 'Wait a minute, then go back to the console and sign in again.';
