import type { Checker, Evidence } from './evidence.ts';

export const accessRules: Checker = {
  promise: 'what a group may not use answers none of its requests, through no failover either',
  check: ({ groups, rows }: Evidence) =>
    groups.flatMap(({ groupId, models }) => {
      const answered = rows.filter((row) => row.groupId === groupId && row.model !== '' && models.length > 0);
      return answered
        .filter(({ model }) => !models.includes(model))
        .map(({ requestId, model }) => `${requestId} of a group without ${model} is answered by it`);
    }),
};
