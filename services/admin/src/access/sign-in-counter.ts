import type { Counter, Metrics } from '@gateway/telemetry';

type Method = 'token' | 'oidc';
type Result = 'done' | 'refused' | 'throttled' | 'failed';

/** Counts how those fared who wanted to sign in. */
export class SignInCounter {
  readonly #counter: Counter<'method' | 'result'>;

  constructor(metrics: Metrics) {
    this.#counter = metrics.counter({
      name: 'gateway_admin_sign_ins_total',
      help: 'Attempts to sign in, by their result. Calls that bring a token of their own count only when it is refused.',
      labels: ['method', 'result'],
    });
    for (const result of ['done', 'refused', 'throttled'] as const) this.#counter.inc({ method: 'token', result }, 0);
  }

  count(method: Method, result: Result): void {
    this.#counter.inc({ method, result });
  }
}
