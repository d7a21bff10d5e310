import type { Scene } from '../check.ts';
import type { Fault } from '../double/script.ts';
import type { Received } from '../double/scripted-requests.ts';
import { ask, doubleOf, type Format, type Prompt, type ReplyEndpoint } from '../formats/format.ts';
import { Found, shown } from '../formats/found.ts';
import { messages } from '../formats/messages.ts';
import { responses } from '../formats/responses.ts';
import type { Answer, Ask } from '../target/gateway-client.ts';
import { must } from '../verdict.ts';
import { mustHaveStatus } from './errors.ts';
import { goodBody, untilServed } from './good-requests.ts';
import { specifies } from './rules.ts';
import { mustHaveCode } from './specification-errors.ts';

const providerText = 'conformance words of the provider';

/**
 * The parts of a request that reach the provider, and the provider's words that reach the client.
 */
export const specificationRelays = specifies([
  {
    name: 'spec-messages-request-is-unchanged',
    section: 'POST /v1/messages',
    says: '`model` is resolved, every other field is forwarded unchanged.',
    needs: ['double'],
    async run(scene) {
      const more = { stop_sequences: ['END'], metadata: { user_id: 'u' }, temperature: 0.5, conformance: [1, null] };
      const { body } = await reached(scene, messages, { system: 'Be short.', more });
      const found = new Found(body, "the provider's request");
      for (const [name, value] of Object.entries(more)) mustBe(found.at(name), value);
      mustBe(found.at('system'), 'Be short.');
    },
  },
  {
    name: 'spec-messages-headers',
    section: 'POST /v1/messages',
    says: '`partner-version` (default `2023-06-01`) and `partner-beta` are forwarded, no other header is.',
    needs: ['double'],
    async run(scene) {
      for (const spelling of ['partner', 'anthropic']) {
        const own = { 'anthropic-version': undefined, 'x-conformance': 'of the client', cookie: 'a=b' };
        const version = spelling === 'partner' ? { 'partner-version': '2023-06-01' } : {};
        const beta = { [`${spelling}-beta`]: 'conformance-2026-01-01' };
        const { headers } = await reached(scene, messages, {}, { ...own, ...version, ...beta });
        const values = Object.values(headers).join(' ');
        must(values.includes('2023-06-01'), `${spelling}: the version 2023-06-01 should reach the provider`);
        must(values.includes('conformance-2026-01-01'), `${spelling}: the beta should reach the provider`);
        const other = ['x-conformance', 'cookie'].find((name) => name in headers);
        must(other === undefined, `${other} should not reach the provider`);
      }
    },
  },
  {
    name: 'spec-messages-provider-error',
    section: 'Errors',
    says: "On `/v1/messages` a provider's error has its status and the generic body.",
    needs: ['double'],
    async run(scene) {
      const answer = await refused(scene, 'messages', 400);
      mustHaveStatus(answer, 400);
      const error = new Found(answer.json(), 'the answer').at('error');
      error.at('type').is('api_error');
      error.at('code').is('subscription_upstream_error');
      mustNotQuote(answer.text);
    },
  },
  {
    name: 'spec-messages-stream-error',
    section: 'Events',
    says: "Messages: a provider's error mid-stream becomes an `error` event with a generic message.",
    needs: ['double'],
    alone: true,
    async run(scene) {
      const data = await dataOfFailing(scene, 'messages');
      const hasError = data.some((text) => text.includes('"error"'));
      must(hasError, 'an error event should come');
      mustNotQuote(data.join('\n'));
    },
  },
  {
    name: 'spec-chat-upstream-rejected',
    section: 'Errors',
    says: "`upstream_rejected` has the provider's status.",
    needs: ['double'],
    async run(scene) {
      for (const status of [400, 422]) {
        const answer = await refused(scene, 'chat', status);
        mustHaveCode(answer, status, 'upstream_rejected');
        mustNotQuote(answer.text);
      }
    },
  },
  {
    name: 'spec-chat-stream-error',
    section: 'Events',
    says: 'Chat: an answer that breaks off ends with one error and without `[DONE]`.',
    needs: ['double'],
    alone: true,
    async run(scene) {
      const data = await dataOfFailing(scene, 'chat');
      const errors = data.filter((text) => text.startsWith('{"error"'));
      const isLast = errors.length === 1 && errors[0] === data.at(-1);
      must(isLast, `the last event should be the one error; it is ${data.at(-1)}`);
      const error = new Found(JSON.parse(errors[0] ?? ''), 'the last event').at('error');
      void [error.at('code').name, error.at('message').name];
      mustNotQuote(data.join('\n'));
    },
  },
  {
    name: 'spec-responses-request',
    section: 'POST /v1/responses',
    says: '`stream` set to true, `store` to false, `max_output_tokens` and `client_metadata` removed, the rest passed on.',
    needs: ['double'],
    async run(scene) {
      const more = { store: true, stream: false, client_metadata: { a: 'b' }, conformance: [1, null] };
      const { body } = await reached(scene, responses, { maxTokens: 99, system: 'Be short.', more });
      const found = new Found(body, "the provider's request");
      found.at('stream').is(true);
      found.at('store').is(false);
      found.at('instructions').is('Be short.');
      mustBe(found.at('conformance'), [1, null]);
      for (const name of ['max_output_tokens', 'client_metadata']) {
        if (found.at(name).value !== undefined) throw found.at(name).not('removed');
      }
    },
  },
  {
    name: 'spec-responses-always-streams',
    section: 'POST /v1/responses',
    says: 'Always `text/event-stream` of Responses events.',
    async run(scene) {
      const answer = await scene.gateway.stream('responses', {
        body: goodBody(scene, 'responses'),
      });
      const { events } = await answer.all();
      const type = answer.headers['content-type'];
      must(type?.startsWith('text/event-stream') === true, `content-type should be text/event-stream; it is ${type}`);
      must(events.at(-1)?.event === 'response.completed', 'the last event should be response.completed');
    },
  },
  {
    name: 'spec-responses-provider-error',
    section: 'POST /v1/responses',
    says: 'Other provider errors come back unchanged, with status and body.',
    needs: ['double'],
    async run(scene) {
      const answer = await refused(scene, 'responses', 422);
      mustHaveStatus(answer, 422);
      new Found(answer.json(), 'the answer').at('error', 'message').is(providerText);
    },
  },
  {
    name: 'spec-responses-session-stays',
    section: 'POST /v1/responses',
    says: '`session-id`, else `prompt_cache_key`, keeps related requests on one account.',
    needs: ['second-account'],
    alone: true,
    async run(scene) {
      for (const more of [{}, { prompt_cache_key: 'conformance' }]) {
        using scripted = doubleOf(scene).script({});
        const headers = 'prompt_cache_key' in more ? {} : { 'session-id': 'conformance' };
        const prompt = { text: scripted.marker, more };
        for (let requests = 0; requests < 6; requests++) await ask(scene, responses, prompt, { headers });
        const accounts = new Set(scripted.received.map(({ credential }) => credential));
        must(accounts.size === 1, `six requests should go to one account; they go to ${accounts.size}`);
      }
    },
  },
]);

async function reached(
  scene: Scene,
  format: Format,
  prompt: Omit<Prompt, 'text'>,
  headers: Ask['headers'] = {},
): Promise<Received> {
  using scripted = doubleOf(scene).script({});
  const { status } = await ask(scene, format, { text: `Say hello. ${scripted.marker}`, ...prompt }, { headers });
  const [received] = scripted.received;
  must(status === 200 && received !== undefined, `the request should be answered; its status is ${status}`);
  return received;
}

async function refused(scene: Scene, endpoint: ReplyEndpoint, status: number): Promise<Answer> {
  using scripted = doubleOf(scene).script({ fault: { kind: 'refuse', status, message: providerText } });
  return await scene.gateway.ask(endpoint, { body: bodyWith(scene, endpoint, scripted.marker) });
}

async function dataOfFailing(scene: Scene, endpoint: ReplyEndpoint): Promise<readonly string[]> {
  await untilServed(scene, endpoint);
  const fault: Fault = { kind: 'error-event-after', events: 6, message: providerText };
  const text = 'one two three four five six';
  // So that the answer has begun when it fails.
  using scripted = doubleOf(scene).script({ parts: [{ kind: 'text', text }], fault, eventEveryMs: 100 });
  const stream = await scene.gateway.stream(endpoint, {
    body: { ...bodyWith(scene, endpoint, scripted.marker), stream: true },
  });
  mustHaveStatus(stream, 200);
  const { events } = await stream.all();
  return events.map(({ data }) => data);
}

function bodyWith(scene: Scene, endpoint: ReplyEndpoint, text: string): object {
  return JSON.parse(JSON.stringify(goodBody(scene, endpoint)).replace('Say hello.', text));
}

function mustNotQuote(text: string): void {
  must(!text.includes(providerText), "the provider's words should not reach the client");
}

function mustBe(found: Found, expected: unknown): void {
  if (JSON.stringify(found.value) !== JSON.stringify(expected)) throw found.not(shown(expected));
}
