import { expect } from 'vitest';
import { cells } from './cells.ts';
import { checkEvents } from './check-events.ts';
import { type ContractCase, providerWords, type TokenKind } from './contract-case.ts';
import { type DescribedAnswer, type OpenApiDocument, objectOf } from './openapi-document.ts';
import type { RawAnswer } from './send.ts';

/** Checks that an answer matches the contract of its cell, and has nothing else. */
export function checkAnswer(
  contractCase: ContractCase,
  kind: TokenKind,
  answer: RawAnswer,
  document: OpenApiDocument,
): void {
  const rule = cells[contractCase.cell];
  expect(answer.status, answer.text).toBe(rule.status);
  const described = describedAnswer(contractCase.route, answer.status, document);
  checkHeaders(contractCase, kind, answer, described);
  checkBody(contractCase, answer, described);
}

function describedAnswer(route: string, status: number, document: OpenApiDocument): DescribedAnswer {
  const answers = document.routes().find((described) => described.route === route)?.answers;
  const described = answers?.get(String(status)) ?? answers?.get('default');
  if (described === undefined) throw new Error(`docs/openapi.yaml describes no ${status} of ${route}`);
  return described;
}

/** The allowed headers of every HTTP answer: about its transport, and its body. */
const transportHeaders = ['connection', 'content-length', 'content-type', 'date', 'keep-alive', 'transfer-encoding'];

function checkHeaders(contractCase: ContractCase, kind: TokenKind, answer: RawAnswer, described: DescribedAnswer) {
  const names = [...answer.headers.keys()].filter((name) => !transportHeaders.includes(name));
  expect(names.filter((name) => !described.headers.has(name))).toEqual([]);
  for (const name of names) {
    const problems = described.headers.get(name)?.problems(answer.headers.get(name) ?? '') ?? [];
    expect(problems, `${name}: ${answer.headers.get(name)}`).toEqual([]);
  }
  const required = [...described.headers].filter(([, { required }]) => required).map(([name]) => name);
  expect(names).toEqual(expect.arrayContaining(required));
  const due = [...names.filter((name) => !conditionalHeaders.includes(name)), ...headersDue(contractCase, kind)];
  expect(names.toSorted()).toEqual(due.toSorted());
  checkRequestId(contractCase, answer);
}

/** Every answer has the id of its request, which no other answer has. */
function checkRequestId({ route }: ContractCase, { headers }: RawAnswer): void {
  const requestId = headers.get('x-request-id') ?? '';
  expect(requestId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(seenRequestIds.has(requestId)).toBe(false);
  seenRequestIds.add(requestId);
  expect(headers.get('request-id')).toBe(route.includes('/v1/messages') ? requestId : null);
}

const seenRequestIds = new Set<string>();

const rateLimitHeaders = ['requests', 'tokens'].flatMap((limit) =>
  ['limit', 'remaining', 'reset'].map((what) => `x-ratelimit-${what}-${limit}`),
);
const conditionalHeaders = [...rateLimitHeaders, 'retry-after', 'x-should-retry'];

/** The way of a case in which a service behind the edge does not run. */
export const whilePartIsAway = 'while a part is away';

/** The conditional headers that this answer must have. */
function headersDue({ route, cell, way }: ContractCase, kind: TokenKind): readonly string[] {
  const isPost = route.startsWith('POST ');
  const knowsToken = cell !== 'unauthorized';
  const isLimited = cells[cell].status === 429 && cell !== 'pool_exhausted, reset unknown';
  return [
    ...(isPost && knowsToken && kind === 'service' ? rateLimitHeaders : []),
    ...(isLimited || way === whilePartIsAway ? ['retry-after'] : []),
    ...(cell === 'rate_limit_exceeded, tokens_per_day' || cell === 'unauthorized' ? ['x-should-retry'] : []),
  ];
}

function checkBody(contractCase: ContractCase, answer: RawAnswer, described: DescribedAnswer): void {
  const content = described.content.get(answer.mediaType);
  if (content === undefined) throw new Error(`the content type ${answer.mediaType} is not described`);
  const isStream = answer.mediaType === 'text/event-stream';
  expect(isStream).toBe(contractCase.cell.startsWith('stream'));
  expect(answer.headers.get('content-type')).toMatch(/^(application\/json|text\/event-stream)(; charset=utf-8)?$/);
  if (isStream) return checkEvents(contractCase, answer.text, content.eventProblems);
  const body: unknown = JSON.parse(answer.text);
  expect(content.problems(body), answer.text).toEqual([]);
  checkError(contractCase, answer.text, body);
}

function checkError({ route, cell, unchanged }: ContractCase, text: string, body: unknown): void {
  const rule = cells[cell];
  if (!('from' in rule)) return;
  if (unchanged !== undefined) return expect(text).toBe(unchanged);
  expect(text).not.toContain(providerWords);
  const error = objectOf(objectOf(body).error);
  const isMessages = route.includes('/v1/messages');
  if (rule.from === 'provider') return expect(error.code).toBe('subscription_upstream_error');
  if (isMessages) return expect([error.type, error.code]).toEqual([messagesType(rule.status), undefined]);
  expect(error.code).toBe(rule.code);
  if (cell.startsWith('rate_limit_exceeded, ')) expect(cell).toContain(String(error.limit));
  if (cell.startsWith('pool_exhausted')) expect('retryAt' in error).toBe(cell === 'pool_exhausted, reset known');
}

/** @see spec "Shapes" */
function messagesType(status: number): string {
  return (
    {
      400: 'invalid_request_error',
      401: 'authentication_error',
      404: 'not_found_error',
      413: 'request_too_large',
      429: 'rate_limit_error',
    }[status] ?? 'api_error'
  );
}
