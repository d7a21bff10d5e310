import { type Caller, limiterKeyOwners, RpcError } from '@gateway/rpc';

/**
 * The key under which a caller's key is counted. The gateway's own keys stay as they are; those of
 * other services become `<service>:<key>`, with the first name in their certificate. So no service
 * can use the keys of another one, or those of the gateway's tokens and groups.
 * @throws RpcError `permission_denied` for a key that is the gateway's own.
 */
export function countedKey(key: string, caller: Caller | undefined): string {
  if (isOfGateway(caller)) return key;
  const counted = prefixed(key, caller);
  // The prefixed key is checked too, because a service may be named `token`.
  if (isReserved(key) || isReserved(counted)) throw refused(`keys that begin with ${reservedPrefixes.join(' or ')}`);
  return counted;
}

/**
 * The name under which the replicas of a caller's group are counted, with the same rules as keys.
 * @throws RpcError `permission_denied` for a group that is the gateway's own.
 */
export function countedGroup(group: string, caller: Caller | undefined): string {
  if (isOfGateway(caller)) return group;
  if (reservedGroups.includes(group)) throw refused(`the groups ${reservedGroups.join(' and ')}`);
  return prefixed(group, caller);
}

/** The gateway's own keys start with one of these. */
const reservedPrefixes: readonly string[] = ['token:', 'group:'];

/** The replica groups of the gateway's own services. */
const reservedGroups: readonly string[] = ['edge', 'limiter'];

function isOfGateway(caller: Caller | undefined): boolean {
  return caller === undefined || caller.some((name) => limiterKeyOwners.includes(name));
}

function isReserved(key: string): boolean {
  return reservedPrefixes.some((prefix) => key.startsWith(prefix));
}

/** Callers without a name share the empty name, which no service has. */
function prefixed(name: string, [service = '']: Caller = []): string {
  return `${service}:${name}`;
}

function refused(what: string): RpcError {
  return new RpcError('permission_denied', `Only ${limiterKeyOwners.join(' and ')} may use ${what}.`);
}
