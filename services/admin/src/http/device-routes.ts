import type { GatewayDatabase } from '@gateway/database';
import type { DeviceGrant, PersonService } from '@gateway/proto/identity/v1/person_service_pb.js';
import type { Client } from '@gateway/rpc';
import { epochMs } from '@gateway/time';
import { type Request, type RequestHandler, type Response, Router, urlencoded } from 'express';
import { noteInAudit } from '../access/audit-trail.ts';
import type { MinuteRate } from '../access/minute-rate.ts';
import type { FinishedSignIn, OidcProvider } from '../access/oidc-provider.ts';
import { type PendingSignIns, pendingSeconds } from '../access/pending-sign-ins.ts';
import type { PersonLookups } from '../access/person-lookups.ts';
import type { PersonRules } from '../access/person-rules.ts';
import type { Refusals } from '../access/refusals.ts';
import { cookieText } from '../access/session-cookie.ts';
import { networkOf } from '../access/sign-in-throttle.ts';
import { peerCall } from '../peer-calls.ts';
import { connectionOf, leftSignal } from './connection.ts';
import { escaped, sendForm, sendPage } from './plain-page.ts';

export interface DevicePagesParts {
  readonly provider: Pick<OidcProvider, 'begin' | 'origin'>;
  readonly pendingSignIns: Pick<PendingSignIns, 'toCookie'>;
  readonly people: Pick<Client<typeof PersonService>, 'findDeviceGrant' | 'decideDeviceGrant'>;
  readonly rules: PersonRules;
  /** Undefined: people are not looked up again. */
  readonly lookups: Pick<PersonLookups, 'keep'> | undefined;
  /** The most wrong codes that may be tried, by the browser's network. */
  readonly rate: MinuteRate;
  readonly refusals: Refusals;
  readonly database: GatewayDatabase;
}

/**
 * The page where a person confirms the code that a client shows. The person first compares who
 * asks, and only then signs in at the provider: a link alone approves nothing.
 * @see https://www.rfc-editor.org/rfc/rfc8628#section-5.4
 */
export class DevicePages {
  readonly #parts: DevicePagesParts;

  constructor(parts: DevicePagesParts) {
    this.#parts = parts;
  }

  routes(): Router {
    const { provider, pendingSignIns } = this.#parts;
    const router = Router();
    const form = urlencoded({ extended: false, limit: 2_048, parameterLimit: 10 });

    router.get('/device', this.#throttled(), async (request, response) => {
      const userCode = textOf(request.query.user_code);
      if (userCode === '') return sendForm(response, 200, 'Sign in to the gateway', codeForm);
      const grant = await this.#pendingGrant(userCode, request);
      if (grant === undefined) return sendForm(response, 404, noGrantTitle, codeForm);
      // The provider's address: a browser checks redirects after a form as well.
      response.set('content-security-policy', pagePolicy(await provider.origin()));
      sendForm(response, 200, 'Do you want to sign in this client?', confirmForm(userCode, grant));
    });

    router.post('/device', this.#throttled(), form, async (request, response) => {
      const userCode = textOf(request.body?.user_code);
      const grant = await this.#pendingGrant(userCode, request);
      if (grant === undefined) return sendForm(response, 404, noGrantTitle, codeForm);
      const { url, pending } = await provider.begin('/', { forLookups: true });
      const value = await pendingSignIns.toCookie({ ...pending, userCode });
      const rules = { maxAgeSeconds: pendingSeconds, sameSite: 'Lax' } as const;
      response.append('set-cookie', cookieText('oidc', value, connectionOf(request), rules));
      response.redirect(303, url.href);
    });

    router.post('/device/deny', this.#throttled(), form, async (request, response) => {
      const userCode = textOf(request.body?.user_code);
      const { grant } = await this.#parts.people.decideDeviceGrant({ userCode }, callOf(request));
      if (grant === undefined) return sendForm(response, 404, noGrantTitle, codeForm);
      this.#parts.rate.giveBack(networkOf(connectionOf(request).address));
      await this.#note('sign_in.deny', '', request, grant);
      sendPage(response, 200, 'Denied', 'The client was not signed in. You can close this page.');
    });

    return router;
  }

  /** Approves the grant for the person who came back from the provider. */
  async finish(
    userCode: string,
    { identity, refreshToken }: FinishedSignIn,
    request: Request,
    response: Response,
  ): Promise<void> {
    const { people, rules, lookups, refusals } = this.#parts;
    const { address } = connectionOf(request);
    const decision = await rules.decide(identity);
    if (decision.kind !== 'allowed') {
      await people.decideDeviceGrant({ userCode }, callOf(request));
      await refusals.note({ reason: 'sign_in', actor: '', address, subject: `${identity.name}: ${decision.reason}` });
      return sendPage(response, 403, 'You may not sign in', decision.text);
    }
    const claims = { ...decision.claims, notLookedUp: refreshToken === undefined };
    const decided = await people.decideDeviceGrant({ userCode, person: claims }, callOf(request));
    const { grant, person, personIsDisabled } = decided;
    if (personIsDisabled) {
      await refusals.note({ reason: 'sign_in', actor: '', address, subject: `${identity.name}: disabled` });
      return sendPage(response, 403, 'You may not sign in', 'An operator has disabled your access to the gateway.');
    }
    if (grant === undefined) return sendForm(response, 404, noGrantTitle, codeForm);
    // First: identity has approved the grant, whatever follows.
    await this.#note('sign_in.approve', identity.name, request, grant);
    if (person !== undefined) await lookups?.keep(person, refreshToken);
    sendPage(response, 200, 'You are signed in', 'Return to your client. You can close this page.');
  }

  async #pendingGrant(userCode: string, request: Request): Promise<DeviceGrant | undefined> {
    const { people, rate, refusals } = this.#parts;
    const { grant } = await people.findDeviceGrant({ userCode }, callOf(request));
    const { address } = connectionOf(request);
    // Many people may share the address of a proxy: only wrong codes count.
    if (grant !== undefined) rate.giveBack(networkOf(address));
    else await refusals.note({ reason: 'sign_in', actor: '', address, subject: 'an unknown code' });
    return grant;
  }

  /** A code must not be found by trying. */
  #throttled(): RequestHandler {
    const { rate, refusals } = this.#parts;
    return async (request, response, next) => {
      const { address } = connectionOf(request);
      if (rate.take(networkOf(address))) return next();
      await refusals.note({ reason: 'sign_in', actor: '', address, subject: 'too many codes' });
      sendPage(response, 429, 'Too many attempts', 'Wait a minute, then open the page again.');
    };
  }

  async #note(action: string, actor: string, request: Request, grant: DeviceGrant): Promise<void> {
    const { database } = this.#parts;
    const { address } = connectionOf(request);
    const { surface, client, address: clientAddress } = grant;
    const after = { surface, client, clientAddress };
    const subject = surface || client;
    await noteInAudit(database, { atMs: epochMs(), actor, address, action, subject, outcome: 'done', after });
  }
}

const noGrantTitle = 'No sign-in is waiting for this code';

const codeForm = `<p>Enter the code that your client shows.</p>
<form method="get" action="/device"><p><label>Code <input name="user_code" autocomplete="off" autocapitalize="characters" spellcheck="false" required maxlength="20" autofocus></label>
<button>Continue</button></p></form>`;

function confirmForm(userCode: string, grant: DeviceGrant): string {
  const { surface, client, address, createdAtMs } = grant;
  const ageSeconds = Math.max(0, (epochMs() - createdAtMs) / 1_000);
  const age = ageSeconds < 60 ? 'less than a minute ago' : `${Math.floor(ageSeconds / 60)} min ago`;
  const rows = [
    ['Code', userCode.toUpperCase()],
    ['Client', [surface, client].filter(Boolean).join(', ')],
    ['Address', address],
    ['Started', age],
  ].map(([name = '', value = '']) => `<tr><th align="left">${escaped(name)}</th><td>${escaped(value)}</td></tr>`);
  const hidden = `<input type="hidden" name="user_code" value="${escaped(userCode)}">`;
  return `<table>${rows.join('')}</table>
<p>Continue only if you started this sign-in yourself, and your client shows the same code. If someone sent you a link or a code, choose Deny: they would use the gateway in your name.</p>
<form method="post" action="/device"><p>${hidden}<button>Continue to sign-in</button></p></form>
<form method="post" action="/device/deny"><p>${hidden}<button>Deny</button></p></form>`;
}

function pagePolicy(providerOrigin: string): string {
  return `default-src 'none'; base-uri 'none'; form-action 'self' ${providerOrigin}; frame-ancestors 'none'`;
}

function textOf(given: unknown): string {
  return typeof given === 'string' ? given.trim().slice(0, maxCode) : '';
}

const maxCode = 20;

function callOf(request: Request) {
  return peerCall(leftSignal(request));
}
