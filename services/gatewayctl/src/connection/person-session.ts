import { mkdirSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Environment, readSettings } from '@gateway/config/env-reader';
import { epochMs, sleep, timeoutSignal } from '@gateway/time';
import { z } from 'zod';
import { loginsFile } from './admin-token.ts';
import { safeAddress } from './safe-address.ts';

/** A person's tokens at a gateway. */
export interface PersonSession {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresAtMs: number;
  readonly email: string;
}

/** What a person has to do to be signed in. */
export interface SignInPrompt {
  readonly userCode: string;
  readonly pageUrl: string;
  /** The page with the code filled in. */
  readonly completeUrl: string;
}

/** GATEWAY_URL, otherwise PORT (8080) of this machine. @throws ConfigError, UsageError */
export function readGatewayUrl(env: Environment): string {
  const url = readSettings(env, (reader) => {
    const named = reader.optionalUrl('GATEWAY_URL', 'https://gateway.example', ['https', 'http']);
    return (named ?? `http://127.0.0.1:${reader.port('PORT', 8080)}`).replace(/(?<!\/)\/+$/, '');
  });
  return safeAddress('GATEWAY_URL', url, env);
}

/**
 * Signs a person in by the device grant, and stores the session. @param show is called once, with
 * what the person has to do. @see https://www.rfc-editor.org/rfc/rfc8628
 */
export async function signInPerson(
  env: Environment,
  url: string,
  show: (prompt: SignInPrompt) => void,
): Promise<PersonSession> {
  const begun = await post(url, '/oauth/device_authorization', { surface: 'gatewayctl' }, patienceMs);
  if (begun.status === 404) throw new Error(`${url} offers no sign-in for people. See SIGN_IN_PAGE_URL.`);
  const grant = deviceGrant.parse(okay(begun));
  show({
    userCode: grant.user_code,
    pageUrl: grant.verification_uri,
    completeUrl: grant.verification_uri_complete ?? grant.verification_uri,
  });
  let intervalMs = (grant.interval ?? 5) * 1_000;
  for (const giveUpAtMs = epochMs() + grant.expires_in * 1_000; epochMs() < giveUpAtMs; ) {
    await sleep(intervalMs);
    const form = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: grant.device_code };
    const polled = await post(url, '/oauth/token', form, patienceMs).catch(unlessLate);
    if (polled === undefined) continue;
    const problem = oauthError.safeParse(polled.body).data?.error;
    if (problem === 'slow_down') intervalMs += 5_000;
    else if (problem === 'access_denied') throw new Error('The sign-in was denied in the browser.');
    else if (problem === 'expired_token') break;
    else if (problem !== 'authorization_pending' && problem !== 'temporarily_unavailable') {
      const session = sessionOf(okay(polled));
      await storeSession(env, url, session);
      return session;
    }
  }
  throw new Error('The sign-in timed out. Start again.');
}

/**
 * A valid access token of the person who is signed in. A token that is about to expire is
 * refreshed, by one process at a time.
 * @throws Error that says how to sign in
 */
export async function personToken(env: Environment, url: string): Promise<string> {
  const stored = await readSession(env, url);
  if (stored !== undefined && isFresh(stored)) return stored.accessToken;
  using _lock = lockSessions(env);
  // Another process may have refreshed it meanwhile.
  const session = await readSession(env, url);
  if (session === undefined) throw notSignedIn(url);
  if (isFresh(session)) return session.accessToken;
  const answer = await post(url, '/oauth/token', { grant_type: 'refresh_token', refresh_token: session.refreshToken });
  if (answer.status === 400) {
    await storeSession(env, url, undefined);
    throw notSignedIn(url);
  }
  // The gateway is away: the token is still good for a while, or the caller tries again.
  if (answer.status !== 200 && session.expiresAtMs > epochMs()) return session.accessToken;
  const refreshed = { ...sessionOf(okay(answer)), email: session.email };
  await storeSession(env, url, refreshed);
  return refreshed.accessToken;
}

/** Ends the session at the gateway, and forgets it. @returns false if there was none. */
export async function signOutPerson(env: Environment, url: string): Promise<boolean> {
  const session = await readSession(env, url);
  if (session === undefined) return false;
  await post(url, '/oauth/revoke', { token: session.refreshToken, token_type_hint: 'refresh_token' });
  await storeSession(env, url, undefined);
  return true;
}

/** A token that expires sooner is refreshed first. */
const freshMs = 300_000;
/** A client that runs `token print` waits for it: Codex for 5 s by default. */
const answerWithinMs = 4_000;
/** A person waits longer than a program. */
const patienceMs = 30_000;
const lockWithinMs = 4_000;

function isFresh({ expiresAtMs }: PersonSession): boolean {
  return expiresAtMs - epochMs() > freshMs;
}

function notSignedIn(url: string): Error {
  return new Error(`you are not signed in to ${url}. Run gatewayctl login --person.`);
}

const deviceGrant = z.object({
  device_code: z.string(),
  user_code: z.string(),
  verification_uri: z.string(),
  verification_uri_complete: z.string().optional(),
  expires_in: z.number(),
  interval: z.number().optional(),
});
const oauthError = z.object({ error: z.string(), error_description: z.string().optional() });
const oauthTokens = z.object({
  access_token: z.string(),
  refresh_token: z.string(),
  expires_in: z.number(),
  email: z.string().optional(),
});

function sessionOf(body: unknown): PersonSession {
  const { access_token, refresh_token, expires_in, email = '' } = oauthTokens.parse(body);
  return {
    ...{ accessToken: access_token, refreshToken: refresh_token, email },
    expiresAtMs: epochMs() + expires_in * 1_000,
  };
}

interface OauthAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** @throws LateAnswer, or another Error if there is no connection */
async function post(
  url: string,
  path: string,
  form: Readonly<Record<string, string>>,
  withinMs = answerWithinMs,
): Promise<OauthAnswer> {
  const signal = timeoutSignal(withinMs);
  try {
    const options = { method: 'POST', body: new URLSearchParams({ ...form }), redirect: 'error', signal } as const;
    const response = await fetch(`${url}${path}`, options);
    return { status: response.status, body: await response.json().catch(() => undefined) };
  } catch (cause) {
    if (signal.aborted)
      throw new LateAnswer(`${url} did not answer within ${withinMs / 1_000} s. Try again.`, { cause });
    const why = cause instanceof Error && cause.cause instanceof Error ? ` (${cause.cause.message})` : '';
    throw new Error(`${url} can't be reached${why}. Set GATEWAY_URL to the address of the gateway's API.`, { cause });
  }
}

class LateAnswer extends Error {}

function unlessLate(thrown: unknown): undefined {
  if (!(thrown instanceof LateAnswer)) throw thrown;
}

function okay({ status, body }: OauthAnswer): unknown {
  if (status === 200) return body;
  throw new Error(oauthError.safeParse(body).data?.error_description ?? `The gateway answered with status ${status}.`);
}

// Sessions, by the address of the gateway: a file that only its owner can read.

const sessions = z.record(
  z.string(),
  z.object({ accessToken: z.string(), refreshToken: z.string(), expiresAtMs: z.number(), email: z.string() }),
);

function sessionsFile(env: Environment): string {
  return join(dirname(loginsFile(env)), 'sessions.json');
}

async function readSessions(env: Environment): Promise<Readonly<Record<string, PersonSession>>> {
  const file = sessionsFile(env);
  try {
    return sessions.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return {};
    throw new Error(`${file} is not a valid file of sessions. Remove it and sign in again.`);
  }
}

async function readSession(env: Environment, url: string): Promise<PersonSession | undefined> {
  return (await readSessions(env))[url];
}

async function storeSession(env: Environment, url: string, session: PersonSession | undefined): Promise<void> {
  const { [url]: _before, ...others } = await readSessions(env);
  const all = session === undefined ? others : { ...others, [url]: session };
  const file = sessionsFile(env);
  if (Object.keys(all).length === 0) return await rm(file, { force: true });
  makeFolder(env);
  const written = `${file}.${process.pid}`;
  await writeFile(written, `${JSON.stringify(all, undefined, 2)}\n`, { mode: 0o600 });
  await rename(written, file);
}

function makeFolder(env: Environment): void {
  mkdirSync(dirname(sessionsFile(env)), { recursive: true, mode: 0o700 });
}

/** The operating system frees the lock when its process ends, however it ends. */
function lockSessions(env: Environment): Disposable {
  makeFolder(env);
  const lock = new DatabaseSync(`${sessionsFile(env)}.lock`, { timeout: lockWithinMs });
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch {
    lock.close();
    throw new Error('another process has been refreshing the session for too long. Try again.');
  }
  return { [Symbol.dispose]: () => lock.close() };
}
