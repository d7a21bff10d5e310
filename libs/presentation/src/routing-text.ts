/*
 * Why the broker chose or skipped an account, in words for operators. The broker prints these
 * texts, and the console's made-up data has them too.
 */

/** Why an account was chosen. */
export const choiceTexts = {
  bound: 'because its session is bound to it',
  preferred: "because its session's key prefers it",
  spare: 'because no account has more spare capacity',
  only: 'as the only eligible account',
  probe: 'as a recovery probe',
  anyway: 'although no account is known to support what the request needs',
} as const;

/** Why an account can't take a request, where this needs no further value. */
export const skipTexts = {
  share_used_up: 'the pool is short of capacity, and the caller has used its share',
  busy: 'busy: at its maximum of concurrent requests',
  draining: 'draining: takes no new requests',
  model_not_served: 'its configuration does not include this model',
} as const;

/** An account that cools down: "cooling until 2026-11-21T09:00:00.000Z after 429". */
export function coolingText(cause: string, untilMs?: number): string {
  return `cooling${untilText(untilMs)} ${cause}`;
}

/** " until 2026-11-21T09:00:00.000Z" */
export function untilText(untilMs: number | undefined): string {
  return untilMs === undefined ? '' : ` until ${new Date(untilMs).toISOString()}`;
}

/** Another account comes first: "responses/team-a has at least as much spare capacity". */
export function spareCapacityText(chosenId: string): string {
  return `${chosenId} has at least as much spare capacity`;
}

/** What an account failed with: "after 429". */
export const failureTexts = {
  rate_limited: '429',
  unauthorized: '401 or 403',
  overloaded: 'overload',
  server_error: 'server errors',
  network_error: 'network errors',
  timeout: 'timeouts',
  model_unavailable: 'its provider did not offer the model to it',
  feature_unavailable: 'its provider did not offer the feature to it',
  refused: '402 or 403',
} as const;
