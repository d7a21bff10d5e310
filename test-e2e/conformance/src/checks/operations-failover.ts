import { setTimeout } from 'node:timers/promises';
import type { Scene } from '../check.ts';
import type { Fault, Script } from '../double/script.ts';
import type { Received } from '../double/scripted-requests.ts';
import { ask, converse, doubleOf, type Format, type Way } from '../formats/format.ts';
import { must, NotApplicable } from '../verdict.ts';
import { mustBeError } from './errors.ts';
import { askWell, untilServed } from './good-requests.ts';
import { waitOf } from './operations-limits.ts';
import { type Rule, rulesOfEachFormat } from './rules.ts';

const source = 'https://sre.google/sre-book/addressing-cascading-failures/';
const idleConnections = 'https://www.rfc-editor.org/rfc/rfc9112#section-9.3.1';
const tooManyRequests = 'https://www.rfc-editor.org/rfc/rfc6585#section-4';

const limited: Fault = { kind: 'refuse', status: 429, headers: { 'retry-after': '1' }, message: 'Slow down.' };

/** After this time a limited account is used again. */
const restMs = 1_200;

/** The client sees nothing of accounts that refuse, while another account serves. */
export const operationsFailover = rulesOfEachFormat((format, endpoint): readonly Rule[] => [
  ...(['whole', 'stream'] as const).map((way) => movesOn(format, way, 'when-an-account-is-limited', limited)),
  ...(endpoint === 'chat'
    ? [
        movesOn(format, 'whole', 'when-the-provider-fails', {
          kind: 'refuse',
          status: 503,
          headers: { 'retry-after': '1' },
        }),
        ...whenConnectionsEnd(format),
      ]
    : []),
  {
    name: `${endpoint}-says-when-all-accounts-are-limited`,
    rule: 'If every account is rate limited, the answer is 429 with the error object of the format and the time to wait.',
    source: tooManyRequests,
    needs: ['double'],
    alone: true,
    async run(scene) {
      await untilServed(scene, endpoint);
      using scripted = doubleOf(scene).script({ fault: limited });
      const answer = await ask(scene, format, { text: `Say hello. ${scripted.marker}` });
      await setTimeout(restMs, undefined, { signal: scene.signal });
      mustBeError(endpoint, answer, [429]);
      const seconds = waitOf(answer);
      must(seconds <= 2, `retry-after should be the 1 second of the provider; it is ${seconds}`);
      const { status } = await askWell(scene, endpoint);
      must(status === 200, `after that time a request should be answered; its status is ${status}`);
    },
  },
]);

function movesOn(format: Format, way: Way, when: string, fault: Fault): Rule {
  return {
    name: `${format.endpoint}-moves-on-${when}${when.includes('limited') && way === 'stream' ? '-in-a-stream' : ''}`,
    rule: 'If one account rejects a request, another account answers it, and the client sees one complete answer.',
    source,
    needs: ['second-account'],
    alone: true,
    async run(scene) {
      await untilServed(scene, format.endpoint);
      const { text, received } = await conversation(scene, format, way, { fault, faultForFirst: 1 });
      const credentials = received.map(({ credential }) => credential);
      await setTimeout(restMs, undefined, { signal: scene.signal });
      must(text === 'It is noon.', `the text should be "It is noon."; it is "${text}"`);
      must(credentials.length === 2, `the provider should be asked twice; it is asked ${credentials.length} times`);
      must(credentials[0] !== credentials[1], 'the second request should be made with another account; it is not');
    },
  };
}

/**
 * A connection ends before any byte of the answer: a provider may close an idle connection at the
 * moment when a request is sent on it.
 */
function whenConnectionsEnd(format: Format): readonly Rule[] {
  const rule = { needs: ['second-account'], alone: true } as const;
  return [
    {
      ...rule,
      name: 'chat-moves-on-when-the-connection-breaks',
      rule: 'If a new connection to the provider closes before any byte of the answer, another account answers the request.',
      source,
      async run(scene) {
        const [first, second] = await cutOn(scene, format, 'new');
        must(first?.credential !== second?.credential, 'the second request should be made with another account');
      },
    },
    {
      ...rule,
      name: 'chat-goes-on-when-a-reused-connection-ends',
      rule: 'If a reused connection to the provider closes before any byte of the answer, the request is resent once on a new connection.',
      source: idleConnections,
      async run(scene) {
        const [first, second] = await cutOn(scene, format, 'reused');
        // The end says nothing about the account: the second one may be the same.
        const isAnother = first?.credential !== second?.credential;
        const isNew = second?.isOnReusedConnection === false;
        must(isAnother || isNew, 'the second request to an account should be made on a new connection');
      },
    },
  ];
}

/**
 * Cuts off a request on such a connection, and returns what the provider received. The client must
 * not notice.
 */
async function cutOn(scene: Scene, format: Format, connection: 'new' | 'reused'): Promise<readonly Received[]> {
  await untilServed(scene, 'chat');
  const fault: Fault = { kind: 'cut-before-answer', connection };
  for (let left = tries; left > 0; left--) {
    if (connection === 'new') doubleOf(scene).closeIdleConnections();
    const { text, received } = await conversation(scene, format, 'stream', { fault, faultForFirst: 1 });
    must(text === 'It is noon.', `the text should be "It is noon."; it is "${text}"`);
    must(received.length <= 2, `the provider should be asked twice; it is asked ${received.length} times`);
    if (received.length < 2) continue;
    await setTimeout(restMs, undefined, { signal: scene.signal });
    return received;
  }
  throw new NotApplicable(`the gateway makes no request on a ${connection} connection`);
}

/**
 * Each of two accounts has connections of its own. The third request at the latest may find a
 * connection that has served one.
 */
const tries = 8;

async function conversation(scene: Scene, format: Format, way: Way, script: Script) {
  using scripted = doubleOf(scene).script({ parts: [{ kind: 'text', text: 'It is noon.' }], ...script });
  // An endpoint without whole answers is streamed.
  const streams = format.endpoint === 'responses' ? 'stream' : way;
  const { text } = await converse(scene, format, streams, { text: `What time is it? ${scripted.marker}` });
  return { text, received: scripted.received };
}
