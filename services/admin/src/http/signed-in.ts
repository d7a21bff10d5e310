import { Code, ConnectError } from '@connectrpc/connect';
import type { RequestHandler } from 'express';
import type { AccessGate } from '../access/access-gate.ts';
import type { Permission } from '../access/permissions.ts';
import { connectionOf } from './connection.ts';

/**
 * Authorizes requests that are not RPCs, such as exports. They change nothing, so that a session
 * needs no CSRF token.
 */
export function signedIn(gate: AccessGate, permission: Permission): RequestHandler {
  return async (request, response, next) => {
    const { authorization, cookie } = request.headers;
    const left = new AbortController();
    response.once('close', () => left.abort());
    try {
      const signed = await gate.signed({ authorization, cookie }, connectionOf(request), left.signal);
      if (signed === undefined) throw new ConnectError('Sign in first.', Code.Unauthenticated);
      await gate.allow(signed, permission, `${request.method} ${request.baseUrl}${request.path}`);
    } catch (thrown) {
      if (!(thrown instanceof ConnectError)) throw thrown;
      const status = statuses[thrown.code] ?? 500;
      return void response.status(status).type('text').send(`${thrown.rawMessage}\n`);
    }
    next();
  };
}

const statuses: Readonly<Partial<Record<Code, number>>> = {
  [Code.Unauthenticated]: 401,
  [Code.PermissionDenied]: 403,
  [Code.ResourceExhausted]: 429,
};
