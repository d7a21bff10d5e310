import type { JsonBody } from '@gateway/json';

/**
 * Whether a request chooses a service tier or a speed, which have limits of their own. `own`: by
 * member, the values with which the account's limits apply; an absent member is one of them.
 */
export function choosesTier(body: JsonBody, own: Readonly<Record<string, readonly unknown[]>>): boolean {
  return Object.entries(own).some(([key, values]) => {
    const member = body.member(key);
    if (member === undefined) return false;
    // No tier has so long a name, and a client may send anything.
    return member.valueEnd - member.valueStart > longestName || !values.includes(body.value(key));
  });
}

const longestName = 100;
