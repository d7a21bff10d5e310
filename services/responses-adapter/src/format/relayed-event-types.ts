/** What an event is to the relay, by its type. */
export type RelayedKind =
  /** Comes whether or not the account will answer. */
  | 'preamble'
  /** Tells how the response ended. */
  | 'last'
  /** Everything else, known or not. */
  | 'content';

export function relayedKind(type: string): RelayedKind {
  if (lastTypes.has(type)) return 'last';
  return preambleTypes.has(type) || type.startsWith('codex.') ? 'preamble' : 'content';
}

const lastTypes: ReadonlySet<string> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
  'error',
]);

const preambleTypes: ReadonlySet<string> = new Set([
  'response.created',
  'response.in_progress',
  'response.queued',
  'keepalive',
  'ping',
]);
