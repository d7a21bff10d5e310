import { parseArgs } from 'node:util';

// Sends a running gateway what its clients send, and checks the answers: in each format, streamed
// and whole, with and without a token. Then it checks the counted usage. It changes nothing, and
// needs only Node, without any installed package.
//
//   GATEWAY_TOKEN=gw_… node deploy/scripts/gateway-smoke.ts --base-url http://127.0.0.1:8080
//
// --base-url   where clients reach the gateway
// --text       the prompt. Simulated providers repeat it, and the answers must contain it
//
// The token must not have been used today, because the counted usage is compared with these
// requests. Exits with status 1 if a check fails.

const { values } = parseArgs({
  options: { 'base-url': { type: 'string' }, text: { type: 'string', default: 'Hello from the smoke test' } },
});
const { 'base-url': baseUrl = '', text } = values;
const { GATEWAY_TOKEN: token = '' } = process.env;
const answerWithinMs = 60_000;

const messages = [{ role: 'user', content: text }];
const checks: Readonly<Record<string, () => Promise<void>>> = {
  'without a token: 401': async () => {
    expect(await ask('/v1/models', { token: '' }), 401, ['unauthorized']);
  },
  'models and classes are listed': async () => {
    expect(await ask('/v1/models'), 200, ['gateway/sterk', 'gateway/claude', 'gpt-5.5']);
  },
  'chat, streamed': async () => {
    const body = { model: 'gateway/sterk', stream: true, messages };
    expect(await ask('/v1/chat/completions', { body }), 200, ['data: [DONE]']);
  },
  'chat, whole': async () => {
    const body = { model: 'gateway/claude', messages };
    expect(await ask('/v1/chat/completions', { body }), 200, [text, '"usage"']);
  },
  'Messages, streamed': async () => {
    const body = { model: 'gateway/claude', max_tokens: 100, stream: true, messages };
    expect(await ask('/v1/messages', { body }), 200, ['event: message_stop']);
  },
  'Messages, whole': async () => {
    const body = { model: 'gateway/claude', max_tokens: 100, messages };
    expect(await ask('/v1/messages', { body }), 200, [text, '"output_tokens"']);
  },
  Responses: async () => {
    const input = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }];
    expect(await ask('/v1/responses', { body: { model: 'gpt-5.5', input } }), 200, ['event: response.completed', text]);
  },
  'an unknown model: 404': async () => {
    const body = { model: 'gateway/unknown', messages };
    expect(await ask('/v1/chat/completions', { body }), 404, ['model_not_found']);
  },
  'five requests were counted': async () => {
    const answer = await ask('/v1/usage');
    expect(answer, 200, []);
    const { today }: { readonly today: { readonly requests: number } } = JSON.parse(answer.text);
    if (today.requests !== 5) throw new Error(`${today.requests} requests were counted today, not 5`);
  },
};

if (baseUrl === '' || token === '') {
  fail('Say where the gateway is, and give a token: GATEWAY_TOKEN=… gateway-smoke.ts --base-url http://127.0.0.1:8080');
} else {
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check();
      process.stdout.write(`ok    ${name}\n`);
    } catch (thrown) {
      fail(`FAIL  ${name}: ${reasonOf(thrown)}`);
    }
  }
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** @param options the caller's own token, and no body, unless others are given. */
async function ask(path: string, options: { readonly token?: string; readonly body?: object } = {}): Promise<Answer> {
  const { token: shown = token, body } = options;
  const response = await fetch(new URL(path, baseUrl), {
    headers: { 'content-type': 'application/json', ...(shown !== '' && { authorization: `Bearer ${shown}` }) },
    signal: AbortSignal.timeout(answerWithinMs),
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text() };
}

function expect(answer: Answer, status: number, parts: readonly string[]): void {
  const missing = parts.filter((part) => !answer.text.includes(part));
  if (answer.status === status && missing.length === 0) return;
  const wanted = [`${status}`, ...parts.map((part) => JSON.stringify(part))].join(', ');
  throw new Error(`expected ${wanted}; the gateway answered ${answer.status}: ${answer.text.slice(0, 600)}`);
}

function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  return thrown.cause instanceof Error ? `${thrown.message} (${thrown.cause.message})` : thrown.message;
}

function fail(line: string): void {
  process.stderr.write(`${line}\n`);
  process.exitCode = 1;
}
