import type { Part } from '../double/script.ts';
import { shown } from '../formats/found.ts';
import { must } from '../verdict.ts';
import { onReplies, type Rule, rulesOfEachFormat } from './rules.ts';
import { sources } from './sources.ts';

interface TextCase {
  readonly name: string;
  readonly what: string;
  /** As they are streamed. */
  readonly pieces: readonly string[];
}

const manyScripts = 'Ελληνικά ру|сский עברית العربية |हिन्दी ไทย 中|文 日本語 한국어 |👩|\u200d|🔬 👍|🏽 🇳|🇱 e|\u0301';
const likeFraming =
  'one\n\ndata: [DO|NE]\n\nevent: error\r\ndata: {"error":{}}\n|: "quoted" \\ \\u0041 \t \u0001 \u2028|\u2029 </s>|\n  \n';

const cases: readonly TextCase[] = [
  {
    name: 'text-of-many-scripts',
    what: 'Text in many scripts, and emoji split across events, arrive unchanged',
    pieces: manyScripts.split('|'),
  },
  {
    name: 'text-that-looks-like-framing',
    what: 'Text with quotes, backslashes, line ends and lines that look like events arrives unchanged',
    pieces: likeFraming.split('|'),
  },
  {
    name: 'long-line',
    what: 'A delta of 300,000 characters arrives completely',
    pieces: ['start ', 'abcdefghi€'.repeat(30_000), ' end'],
  },
  { name: 'empty-text', what: 'An answer without text is complete and has no text', pieces: [] },
];

/** The client reads exactly what the provider wrote. */
export const texts = rulesOfEachFormat((format, endpoint) =>
  cases.map(({ name, what, pieces }): Rule => {
    const written = pieces.join('');
    const parts: readonly Part[] = written === '' ? [] : [{ kind: 'text', text: written, pieces }];
    return {
      name: `${endpoint}-${name}`,
      rule: `${what}, streamed or not.`,
      source: sources.stream[endpoint],
      ...onReplies(format, { parts }, ({ text, finish }) => {
        must(text === written, difference(text, written));
        must(finish === 'stop', `the answer should end as a complete one; it ends with ${finish}`);
      }),
    };
  }),
);

function difference(read: string, written: string): string {
  const differs = Array.from(written).findIndex((_, index) => read[index] !== written[index]);
  const from = Math.max(0, (differs === -1 ? written.length : differs) - 20);
  const near = (text: string) => shown(text.slice(from, from + 60));
  return `the text should have ${written.length} characters, near the difference ${near(written)}; it has ${read.length}, there ${near(read)}`;
}
