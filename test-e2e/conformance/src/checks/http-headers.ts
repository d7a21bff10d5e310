import type { Scene } from '../check.ts';
import { ask, askWhole, doubleOf, type Format, hello, openStream } from '../formats/format.ts';
import { messages } from '../formats/messages.ts';
import type { Ask } from '../target/gateway-client.ts';
import { must } from '../verdict.ts';
import { mustAnswerWith } from './errors.ts';
import { ofEach, type Rule, rulesOfEachFormat } from './rules.ts';
import { sources } from './sources.ts';

/** Required and forbidden headers of answers. */
export const httpHeaders: readonly Rule[] = [
  ...rulesOfEachFormat((format, endpoint): readonly Rule[] => [
    {
      name: `${endpoint}-answers-json`,
      rule: 'Unstreamed answers and errors have the content type `application/json`: SDKs read others as text.',
      source: sources.sdkClient[endpoint],
      async run(scene) {
        mustBeOfType(await scene.gateway.ask(endpoint, { body: '{' }), 'application/json');
        mustBeOfType(await askWhole(scene, format, hello), 'application/json');
      },
    },
    {
      name: `${endpoint}-stream-is-event-stream`,
      rule: '`stream` in the body selects `text/event-stream`, even with `accept: application/json`, which SDKs send.',
      source: sources.eventStream,
      run: (scene) =>
        ofEach(
          { 'any accept': { accept: '*/*' }, 'accept of JSON': { accept: 'application/json' } },
          async (headers) => {
            const stream = await openStream(scene, format, hello, headers);
            await stream.all();
            mustBeOfType(stream, 'text/event-stream');
          },
        ),
    },
    {
      name: `${endpoint}-encodes-as-asked`,
      rule: 'Answers are compressed only for clients that accept it, as `content-encoding` says.',
      source: sources.acceptEncoding,
      async run(scene) {
        const plain = await openStream(scene, format, hello, { 'accept-encoding': 'identity' });
        await plain.all();
        const encoding = plain.headers['content-encoding'] ?? 'identity';
        must(encoding === 'identity', `the answer should not be encoded; it is in ${encoding}`);
        const taken = await openStream(scene, format, hello, { 'accept-encoding': 'gzip, deflate' });
        const { events, end } = await taken.all();
        must(end === 'whole' && events.length > 0, `it should decode as ${taken.headers['content-encoding']}`);
      },
    },
    {
      name: `${endpoint}-keeps-the-providers-headers`,
      rule: 'Cookies of the provider, and headers that it names in `connection`, are not forwarded to the client.',
      source: sources.hopByHop,
      needs: ['double'],
      async run(scene) {
        const { headers } = await refused(scene, format, {
          'set-cookie': 'conformance=provider; Path=/; HttpOnly',
          connection: 'close, x-conformance-hop',
          'x-conformance-hop': 'provider',
        });
        must(!('x-conformance-hop' in headers), 'x-conformance-hop should not be in the answer; it is');
        must(!headers['set-cookie']?.includes('conformance='), 'the cookie should not be in the answer; it is');
      },
    },
    {
      name: `${endpoint}-keeps-the-accounts-credential`,
      rule: 'No answer contains the credential that the gateway uses at the provider.',
      source: sources.request[endpoint],
      needs: ['double'],
      async run(scene) {
        using scripted = doubleOf(scene).script({ parts: [{ kind: 'text', text: 'Hello.' }] });
        const { headers, text } = await ask(scene, format, { text: scripted.marker });
        const [received] = scripted.received;
        must(received !== undefined, 'the request should reach the provider');
        const isThere = received.credential !== '' && JSON.stringify([headers, text]).includes(received.credential);
        must(!isThere, 'the credential of the account should not be in the answer; it is');
      },
    },
  ]),
  taken('takes-x-api-key', 'A token in `x-api-key`, as releases of the SDK and agents send it', {
    headers: { authorization: undefined },
  }),
  taken('takes-bearer', 'A token in `Authorization: Bearer`, as other releases of the SDK send it', {
    headers: { 'x-api-key': undefined },
  }),
  taken('takes-a-query', 'A path with `?beta=true`, as SDKs and agents send it', {
    path: '/v1/messages?beta=true',
  }),
];

/** A way to request a message that must work. */
function taken(name: string, what: string, how: Omit<Ask, 'body'>): Rule {
  return {
    name: `messages-${name}`,
    rule: `${what}, is accepted.`,
    source: sources.sdkClient.messages,
    run: async (scene) => mustAnswerWith(await ask(scene, messages, hello, how), 200),
  };
}

async function refused(scene: Scene, format: Format, headers: Readonly<Record<string, string>>) {
  using scripted = doubleOf(scene).script({ fault: { kind: 'refuse', status: 400, headers } });
  return await ask(scene, format, { text: scripted.marker });
}

function mustBeOfType({ headers }: { readonly headers: Readonly<Record<string, string>> }, type: string): void {
  const found = headers['content-type'];
  const isType = found?.split(';')[0]?.trim().toLowerCase() === type;
  must(isType, `content-type should be ${type}; it is ${found ?? 'not there'}`);
}
