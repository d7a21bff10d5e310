import { gzipSync } from 'node:zlib';
import type { Scene } from '../check.ts';
import { doubleOf, type Format, hello } from '../formats/format.ts';
import { shown } from '../formats/found.ts';
import { requestThatReached } from '../formats/provider-request.ts';
import { must } from '../verdict.ts';
import { ofEach, type Rule, rulesOfEachFormat } from './rules.ts';
import { sources } from './sources.ts';

interface Writing {
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** How the JSON is encoded and sent. */
  body(json: string): unknown;
}

const writings: Readonly<Record<string, Writing>> = {
  'in chunks that end within characters': {
    text: 'Überraschung 🏖 日本語 '.repeat(20),
    body: (json) => pieces(Buffer.from(json), 7),
  },
  'a million characters': { text: 'A few words. '.repeat(80_000), body: (json) => json },
  'escapes for characters': {
    text: 'A 🏖 é " \\ / \b \f \n \r \t \u0000 \u2028',
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: (json) => json.replaceAll(/[\u0080-\uffff]/g, escapeOf),
  },
};

/** The encodings of requests. */
export const httpBodies = rulesOfEachFormat((format, endpoint): readonly Rule[] => [
  {
    name: `${endpoint}-body-reaches-the-provider`,
    rule: 'Text reaches the provider unchanged, whether the body is chunked, contains escapes, or is large.',
    source: sources.chunked,
    needs: ['double'],
    run: (scene) =>
      ofEach(writings, async ({ text, headers, body }) => {
        using scripted = doubleOf(scene).script({ parts: [{ kind: 'text', text: 'Read.' }] });
        const sent = `${scripted.marker} ${text}`;
        const status = await statusOf(scene, format, body(jsonOf(scene, format, sent)), headers);
        must(status === 200, `the status should be 200; it is ${status}`);
        const reached = requestThatReached(scripted).user.join('');
        must(
          reached.trim() === sent.trim(),
          `the text should reach the provider (${sent.length} characters); ${reached.length} do: ${shown(reached)}`,
        );
      }),
  },
  {
    name: `${endpoint}-gzip-body`,
    rule: 'A gzip body is accepted, or rejected with 415 or 400. A body that claims to be gzip but is not is rejected with 4xx.',
    source: sources.contentCoding,
    async run(scene) {
      const zipped = gzipSync(jsonOf(scene, format));
      const status = await statusOf(scene, format, zipped, { 'content-encoding': 'gzip' });
      must([200, 400, 415].includes(status), `the status should be 200, 415 or 400; it is ${status}`);
      const ofBroken = await statusOf(scene, format, zipped.subarray(0, 40), { 'content-encoding': 'gzip' });
      must(ofBroken >= 400 && ofBroken < 500, `the status of broken gzip should be 4xx; it is ${ofBroken}`);
    },
  },
  {
    name: `${endpoint}-odd-json`,
    rule: 'JSON that parsers read differently is accepted or rejected, but does not cause a server error.',
    source: sources.json,
    run: (scene) =>
      ofEach(oddJson(jsonOf(scene, format)), async (json) => {
        const status = await statusOf(scene, format, json);
        must(status < 500, `the status should be below 500; it is ${status}`);
      }),
  },
]);

function jsonOf(scene: Scene, format: Format, text = hello.text): string {
  return JSON.stringify(format.request(scene.modelOf(format.endpoint), { ...hello, text }));
}

async function statusOf(scene: Scene, { endpoint }: Format, body: unknown, headers = {}): Promise<number> {
  return (await scene.gateway.ask(endpoint, { body, headers })).status;
}

function oddJson(good: string): Readonly<Record<string, string>> {
  const having = (members: string) => `{${members},${good.slice(1)}`;
  return {
    'a key twice': having('"model":"another"'),
    'half of a surrogate pair': good.replace('Say hello.', 'Say \\ud83c hello.'),
    'a byte order mark': `\ufeff${good}`,
    'a thousand levels': having(`"metadata":${'['.repeat(1_000)}${']'.repeat(1_000)}`),
    'a number out of range': having('"seed":1e999'),
    'keys of prototypes': having('"__proto__":{"stream":true},"constructor":{"prototype":{}}'),
  };
}

function escapeOf(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

async function* pieces(bytes: Uint8Array, size: number): AsyncIterable<Uint8Array> {
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
}
