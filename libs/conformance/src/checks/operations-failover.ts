import { setTimeout } from 'node:timers/promises';
import { must, type Scene } from '../check.ts';
import type { Fault, Script } from '../double/script.ts';
import { ask, converse, doubleOf, type Format, type Way } from '../formats/format.ts';
import { mustBeError } from './errors.ts';
import { askWell, untilServed } from './good-requests.ts';
import { waitOf } from './operations-limits.ts';
import { type Rule, rulesOfEachFormat } from './rules.ts';

const source = 'https://sre.google/sre-book/addressing-cascading-failures/';
const tooManyRequests = 'https://www.rfc-editor.org/rfc/rfc6585#section-4';

const limited: Fault = { kind: 'refuse', status: 429, headers: { 'retry-after': '1' }, message: 'Slow down.' };

/** After so long an account that was limited is used again. */
const restMs = 1_200;

/** What clients see of accounts that refuse: nothing, as long as there is another. */
export const operationsFailover = rulesOfEachFormat((format, endpoint): readonly Rule[] => [
  ...(['whole', 'stream'] as const).map((way) => movesOn(format, way, 'when-an-account-is-limited', limited)),
  ...(endpoint === 'chat'
    ? [
        movesOn(format, 'whole', 'when-the-provider-fails', {
          kind: 'refuse',
          status: 503,
          headers: { 'retry-after': '1' },
        }),
        movesOn(format, 'stream', 'when-the-connection-breaks', { kind: 'cut-before-answer' }),
      ]
    : []),
  {
    name: `${endpoint}-says-when-all-accounts-are-limited`,
    rule: 'When every account is limited, the answer is 429 with the error object of the format and the time to wait.',
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
    rule: 'A request that one account does not take is answered by another, and the client sees one clean answer.',
    source,
    needs: ['second-account'],
    alone: true,
    async run(scene) {
      await untilServed(scene, format.endpoint);
      const { text, credentials } = await conversation(scene, format, way, { fault, faultForFirst: 1 });
      await setTimeout(restMs, undefined, { signal: scene.signal });
      must(text === 'It is noon.', `the text should be "It is noon."; it is "${text}"`);
      must(credentials.length === 2, `the provider should be asked twice; it is asked ${credentials.length} times`);
      // A connection that was idle may be at its end, which says nothing of the account (RFC 9112 §9.3.1): the second may be a new one.
      const mayBeSame = fault.kind === 'cut-before-answer';
      const isAnother = credentials[0] !== credentials[1];
      must(mayBeSame || isAnother, 'the second request should be made with another account; it is not');
    },
  };
}

async function conversation(scene: Scene, format: Format, way: Way, script: Script) {
  using scripted = doubleOf(scene).script({ parts: [{ kind: 'text', text: 'It is noon.' }], ...script });
  // What can't be had whole comes as a stream.
  const streams = format.endpoint === 'responses' ? 'stream' : way;
  const { text } = await converse(scene, format, streams, { text: `What time is it? ${scripted.marker}` });
  return { text, credentials: scripted.received.map(({ credential }) => credential) };
}
