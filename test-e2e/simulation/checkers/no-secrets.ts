import type { Checker, Evidence } from './evidence.ts';

export const noSecrets: Checker = {
  promise: 'no credential, account or token of another client is in an answer',
  check: ({ requests }: Evidence) =>
    requests.flatMap(({ leaked, marker }) => (leaked === undefined ? [] : [`${marker} shows ${leaked.slice(0, 12)}`])),
};
