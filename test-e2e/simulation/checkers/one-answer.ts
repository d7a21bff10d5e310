import type { Checker } from './evidence.ts';

/** What the checker needs to know, be it from the world or from a real gateway. */
interface AnswersOfClients {
  readonly requests: readonly {
    readonly marker: string;
    readonly requestId?: string | undefined;
    readonly problem?: string | undefined;
  }[];
  /** What no process may end with. */
  readonly uncaught: readonly string[];
}

export const oneAnswer = {
  promise: 'one answer per request: no two halves, nothing after an error, no false end',
  check({ requests, uncaught }: AnswersOfClients): readonly string[] {
    const wrong = requests.flatMap(({ problem, marker, requestId = 'no id' }) =>
      problem === undefined ? [] : [`${marker} (${requestId}): ${problem}`],
    );
    return [...wrong, ...uncaught.map((what) => `not caught: ${what}`)];
  },
} satisfies Checker;
