import { type Caller, limiterKeyOwners, RpcError } from '@gateway/rpc';

/**
 * The key under which a caller's key is counted: the gateway's own as they are, those of other services as `<service>:<key>`, by the
 * first name in their certificate. So no service reaches the keys of another one, nor those of the gateway's tokens and groups.
 * @throws RpcError `permission_denied` for a key that is the gateway's own.
 */
export function countedKey(key: string, caller: Caller | undefined): string {
  if (isOfGateway(caller)) return key;
  const counted = prefixed(key, caller);
  // The second one: a service may be named `token`.
  if (isReserved(key) || isReserved(counted)) throw refused(`keys that begin with ${reservedPrefixes.join(' or ')}`);
  return counted;
}

/**
 * The name under which the replicas of a caller's group are counted, as with keys.
 * @throws RpcError `permission_denied` for a group that is the gateway's own.
 */
export function countedGroup(group: string, caller: Caller | undefined): string {
  if (isOfGateway(caller)) return group;
  if (reservedGroups.includes(group)) throw refused(`the groups ${reservedGroups.join(' and ')}`);
  return prefixed(group, caller);
}

/** Keys that are the gateway's own begin with one of these. */
const reservedPrefixes: readonly string[] = ['token:', 'group:'];

/** Replicas of the gateway's own services. */
const reservedGroups: readonly string[] = ['edge', 'limiter'];

function isOfGateway(caller: Caller | undefined): boolean {
  return caller === undefined || caller.some((name) => limiterKeyOwners.includes(name));
}

function isReserved(key: string): boolean {
  return reservedPrefixes.some((prefix) => key.startsWith(prefix));
}

/** Callers without a name share the empty one, which no service has. */
function prefixed(name: string, [service = '']: Caller = []): string {
  return `${service}:${name}`;
}

function refused(what: string): RpcError {
  return new RpcError('permission_denied', `Only ${limiterKeyOwners.join(' and ')} may use ${what}.`);
}
