import { useState } from 'react';
import { Page, Panel } from '../../frame/page.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { asCurl } from '../requests/repeat-as-curl.ts';
import { usePublicAddress } from '../tokens/public-address.ts';
import { AnswerPanel } from './answer-panel.tsx';
import { bodyOf, emptyRequest, endpoints, isStreamed, type RequestDraft, usualModel } from './request-draft.ts';
import { RequestPanel } from './request-panel.tsx';
import { type HeldToken, TokenPanel } from './token-panel.tsx';
import { TracePanel } from './trace-panel.tsx';
import { useModels } from './use-models.ts';
import { useRelay } from './use-relay.ts';
import './playground.css';

/** One request to the gateway, as a client sends it, with its answer, its command and its trace. */
export function PlaygroundPage() {
  const [held, setHeld] = useState<HeldToken>();
  const [draft, setDraft] = useState<RequestDraft>(emptyRequest);
  const { run, send, stop } = useRelay();
  const { models, problem } = useModels(held?.text);
  const model = draft.model || usualModel(draft.endpoint, models ?? []);
  const asked = { ...draft, model };
  const body = bodyOf(asked);
  const isRunning = run?.state === 'waiting' || run?.state === 'receiving';
  return (
    <Page
      title="Playground"
      about="Send a request as a client does. Limits, the ledger and the request log treat it like any other."
    >
      <div className="playground">
        <div className="stack">
          <TokenPanel held={held} onHeld={setHeld} problem={problem} />
          <RequestPanel
            draft={asked}
            onDraft={setDraft}
            models={models}
            isRunning={isRunning}
            onSend={held && (() => void send({ endpoint: draft.endpoint, tokenText: held.text, body }))}
            onStop={stop}
          />
        </div>
        <AnswerPanel run={run} />
        <TracePanel run={run} />
        <CurlPanel draft={asked} body={body} />
      </div>
    </Page>
  );
}

function CurlPanel({ draft: { endpoint }, body }: { readonly draft: RequestDraft; readonly body: string }) {
  const [address] = usePublicAddress();
  const text = asCurl({ endpoint: endpoints[endpoint].path, body, streamed: isStreamed(endpoint, body) }, address);
  return (
    <Panel title="As curl" wide aside={<CopyButton text={`${text}\n`} what="command" />}>
      <CodeBlock label="Command" text={text} />
      <p className="faint small">Set GATEWAY_TOKEN to your token: the command does not contain it.</p>
    </Panel>
  );
}
