import type { Exchange } from '../target/gateway-client.ts';

/** What was sent after `>`, what came after `<`. */
export function exchangeLines({ request, answer }: Exchange): readonly string[] {
  const status = answer.status === undefined ? 'no answer' : String(answer.status);
  return [
    ...[request.line, ...headerLines(request.headers), ...bodyLines(request.body)].map((line) => `> ${line}`),
    ...[status, ...headerLines(answer.headers), ...bodyLines(answer.body)].map((line) => `< ${line}`),
  ];
}

function headerLines(headers: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
}

function bodyLines(body: string): readonly string[] {
  return body === '' ? [] : ['', ...body.trimEnd().split('\n')];
}
