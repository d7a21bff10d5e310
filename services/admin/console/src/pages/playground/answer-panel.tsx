import { formatCount, formatSeconds } from '@gateway/presentation';
import { Fact, Panel } from '../../frame/page.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Empty, ProblemNote } from '../../ui/state.tsx';
import { Status, type Tone } from '../../ui/status.tsx';
import type { Run } from './use-relay.ts';

/** The answer as it arrives: its text, its status, and the headers that clients read. */
export function AnswerPanel({ run }: { readonly run: Run | undefined }) {
  return (
    <Panel title="Answer" aside={run?.answer?.text ? <CopyButton text={run.answer.text} what="answer" /> : undefined}>
      {/* Only the state is announced: the words of a stream would never end. */}
      <p role="status" className="row ending">
        {run !== undefined && <State run={run} />}
      </p>
      {run === undefined ? (
        <Empty title="No request yet">The answer appears here as it arrives.</Empty>
      ) : (
        <Shown run={run} />
      )}
    </Panel>
  );
}

function Shown({ run }: { readonly run: Run }) {
  const { answer, raw, headers, firstTokenMs, tookMs, problem } = run;
  return (
    <div className="stack">
      {problem !== '' && <ProblemNote>{problem}</ProblemNote>}
      {answer !== undefined && answer.error !== '' && <p className="problem-note">{answer.error}</p>}
      {answer !== undefined && answer.text !== '' && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to scroll it.
        <section className="text-block answer-text" tabIndex={0} aria-label="Text of the answer">
          {answer.text}
        </section>
      )}
      <dl className="facts">
        {firstTokenMs !== undefined && <Fact name="First token">after {seconds(firstTokenMs)}</Fact>}
        {tookMs !== undefined && <Fact name="Whole answer">after {seconds(tookMs)}</Fact>}
        {answer?.usage !== undefined && (
          <Fact name="Usage">
            {countText(answer.usage.input)} in, {countText(answer.usage.output)} out
          </Fact>
        )}
        {answer !== undefined && answer.finish !== '' && <Fact name="Finish">{answer.finish}</Fact>}
        {shownHeaders
          .filter((name) => headers.has(name))
          .map((name) => (
            <Fact key={name} name={name}>
              <code>{headers.get(name)}</code>
            </Fact>
          ))}
      </dl>
      {raw !== '' && (
        <details>
          <summary>The answer as it came</summary>
          <CodeBlock label="The answer as it came" text={`${headLines(headers)}\n\n${raw}`} />
        </details>
      )}
    </div>
  );
}

/** The headers that clients act on, in the order in which they are shown. */
const shownHeaders = [
  ...['x-gateway-provider', 'x-gateway-model', 'retry-after', 'x-should-retry'],
  ...['x-ratelimit-remaining-requests', 'x-ratelimit-remaining-tokens', 'x-request-id'],
];

function State({ run: { state, status, answer } }: { readonly run: Run }) {
  const [tone, word] = stateOf(state, status, answer?.isComplete === true && answer.error === '');
  return (
    <>
      <Status tone={tone}>{word}</Status>
      {status !== 0 && <span>HTTP {status}</span>}
    </>
  );
}

function stateOf(state: Run['state'], status: number, isComplete: boolean): readonly [Tone, string] {
  if (state === 'waiting') return ['neutral', 'Waiting for the answer'];
  if (state === 'receiving') return ['info', 'Receiving the answer'];
  if (state === 'stopped') return ['neutral', 'Stopped'];
  if (state === 'failed') return ['bad', 'No whole answer'];
  if (status >= 400) return [status === 429 ? 'warn' : 'bad', 'Error'];
  return isComplete ? ['good', 'Complete'] : ['bad', 'Broken off'];
}

function seconds(ms: number): string {
  return formatSeconds(ms / 1_000);
}

function countText(count: number | undefined): string {
  return count === undefined ? '?' : formatCount(count);
}

function headLines(headers: ReadonlyMap<string, string>): string {
  return [...headers].map(([name, value]) => `${name}: ${value}`).join('\n');
}
