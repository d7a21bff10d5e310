import { requestFilterName, requestFilters } from '@gateway/presentation';
import { RequestFilter, UsageGrouping } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { endOfLocalDayMs, isLocalDay, startOfLocalDayMs } from '@gateway/time';
import { z } from 'zod';
import { invalidFields } from '../rpc/problems.ts';

const text = z.string().max(512).default('');
const localDay = z.string().refine(isLocalDay, 'Must be a day such as 2026-11-20.');
const time = z.iso.datetime({ offset: true, error: 'Must be a time such as 2026-11-20T10:00:00Z.' });
const format = z.enum(['csv', 'ndjson'], 'Must be csv or ndjson.').default('csv');
/** A token by its id, the beginning of its id, or its label. */
const token = { token_id: text, token: text };

const groupings = {
  day: UsageGrouping.DAY,
  token: UsageGrouping.TOKEN,
  model: UsageGrouping.MODEL,
  account: UsageGrouping.ACCOUNT,
  group: UsageGrouping.GROUP,
  all: UsageGrouping.ALL,
};
const filter = z.preprocess(
  (name) => (typeof name === 'string' ? (requestFilterName(name) ?? name) : name),
  z.enum(namesOf(requestFilters), `Must be one of ${namesOf(requestFilters).join(', ')}.`).optional(),
);

const usageQuery = z
  .strictObject({
    first_day: localDay,
    last_day: localDay,
    grouping: z.enum(namesOf(groupings), `Must be one of ${namesOf(groupings).join(', ')}.`).default('day'),
    ...token,
    model: text,
    account_id: text,
    group_id: text,
    format: z.enum(['csv', 'ndjson', 'focus'], 'Must be csv, ndjson or focus.').default('csv'),
  })
  .transform(({ first_day: firstDay, last_day: lastDay, account_id: accountId, group_id: groupId, ...rest }) => {
    // Charges are by the finest grouping.
    const grouping = rest.format === 'focus' ? UsageGrouping.ALL : groupings[rest.grouping];
    return { ...rest, firstDay, lastDay, accountId, groupId, grouping };
  });

export type UsageExport = z.output<typeof usageQuery>;

const requestQuery = z
  .strictObject({
    first_day: localDay.optional(),
    last_day: localDay.optional(),
    since: time.optional(),
    until: time.optional(),
    ...token,
    model: text,
    filter,
    account_id: text,
    endpoint: text,
    status: z.coerce.number('Must be a status such as 503.').int().min(0).max(999).default(0),
    request_id: text,
    format,
  })
  .transform(({ first_day, last_day, since, until, account_id: accountId, request_id: requestId, filter, ...rest }) => {
    const sinceMs = since === undefined ? first_day && startOfLocalDayMs(first_day) : Date.parse(since);
    const untilMs = until === undefined ? last_day && endOfLocalDayMs(last_day) : Date.parse(until);
    const { format: as, token: named, token_id: tokenId, ...search } = rest;
    return {
      format: as,
      token: named,
      search: {
        ...search,
        accountId,
        requestId,
        tokenIds: tokenId === '' ? [] : [tokenId],
        filter: filter === undefined ? RequestFilter.UNSPECIFIED : requestFilters[filter],
        ...(typeof sinceMs === 'number' && { sinceMs }),
        ...(typeof untilMs === 'number' && { untilMs }),
      },
    };
  });

export type RequestExport = z.output<typeof requestQuery>;

/** Parses the parameters of an address. @throws ConnectError with the problems */
export function readUsageExport(parameters: unknown): UsageExport {
  return resultOf(usageQuery.safeParse(parameters));
}

export function readRequestExport(parameters: unknown): RequestExport {
  return resultOf(requestQuery.safeParse(parameters));
}

function resultOf<T>(parsed: z.ZodSafeParseResult<T>): T {
  if (parsed.success) return parsed.data;
  // Unknown parameters are problems too: a misspelt filter would export more than was asked for.
  const problems = parsed.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => [key, 'Unknown parameter.'] as const)
      : [[issue.path.join('.'), issue.message] as const],
  );
  throw invalidFields(Object.fromEntries(problems));
}

function namesOf<K extends string>(values: Readonly<Record<K, number>>): [K, ...K[]] {
  return Object.keys(values) as [K, ...K[]];
}
