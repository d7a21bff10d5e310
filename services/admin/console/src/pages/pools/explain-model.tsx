import { skipToken, useQuery } from '@connectrpc/connect-query';
import { type PoolOverview, PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import type { CandidateExplanation } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { useEffect, useEffectEvent, useId, useRef, useState } from 'react';
import { useSearchParams } from '../../frame/address.ts';
import { Panel } from '../../frame/page.tsx';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Answer, Empty } from '../../ui/state.tsx';
import { Status } from '../../ui/status.tsx';
import { Table } from '../../ui/table.tsx';
import { withLocalTimes } from '../../ui/time.tsx';
import { standOf } from './account-words.ts';

type Asked = Readonly<Record<'model' | 'session' | 'token', string>>;

/**
 * The account that would serve the next request for a model, and why the others would not. The
 * model is in the URL.
 */
export function ExplainModel({ overview: { classes } }: { readonly overview: PoolOverview }) {
  const [params, setParams] = useSearchParams();
  const asked: Asked = {
    model: params.get('model') ?? '',
    session: params.get('session') ?? '',
    token: params.get('token') ?? '',
  };
  const [draft, setDraft] = useState(asked);
  const list = useId();
  const panel = useRef<HTMLDivElement>(null);
  const comesToAsk = useEffectEvent(() => asked.model !== '');
  // After a link with a model, the answer gets the focus.
  useEffect(() => {
    if (comesToAsk()) panel.current?.scrollIntoView();
  }, []);
  const set = (name: keyof typeof draft) => (value: string) => setDraft({ ...draft, [name]: value.trim() });
  const sessionAlone = draft.session !== '' && draft.token === '';
  return (
    <div ref={panel}>
      <Panel title="Explain routing" aside="Which account would serve a request now, and why not the others" wide>
        <Form className="filters" onSubmit={() => sessionAlone || setParams(draft)}>
          <TextField
            label="Model"
            required
            list={list}
            placeholder="gateway/sterk"
            value={draft.model}
            onValue={set('model')}
          />
          <datalist id={list}>
            {[
              ...classes.map(({ id }) => id),
              ...new Set(classes.flatMap(({ candidates }) => candidates.map(modelOf))),
            ].map((model) => (
              <option key={model} value={model} />
            ))}
          </datalist>
          <TextField
            label="Session (optional)"
            placeholder="session-id header"
            value={draft.session}
            onValue={set('session')}
          />
          <TextField
            label="Token (for a session)"
            placeholder="label or id"
            value={draft.token}
            onValue={set('token')}
            problem={sessionAlone ? 'A session belongs to a token: enter the token.' : undefined}
          />
          <Button type="submit">Explain</Button>
        </Form>
        {asked.model !== '' && <Explanation {...asked} />}
      </Panel>
    </div>
  );
}

/** The pool in "<pool>/<model>". */
function modelOf(candidate: string): string {
  return candidate.slice(candidate.indexOf('/') + 1);
}

function Explanation({ model, session, token }: Asked) {
  const named = useQuery(TokenService.method.getToken, session === '' ? skipToken : { token });
  const tokenId = named.data?.token?.token?.tokenId ?? '';
  const waits = session !== '' && tokenId === '';
  const explained = useQuery(
    PoolService.method.explainModel,
    waits ? skipToken : { model, sessionId: session, tokenId },
    { refetchInterval: 5_000 },
  );
  const question = waits ? { ...named, data: undefined } : explained;
  return (
    <div aria-live="polite">
      <Answer of={{ ...question, data: explained.data }} what="the explanation">
        {({ candidates }) => (
          <>
            <p className="verdict">{verdictOf(candidates)}</p>
            {candidates.map((candidate) => (
              <Candidate key={`${candidate.pool}/${candidate.model}`} candidate={candidate} />
            ))}
          </>
        )}
      </Answer>
    </div>
  );
}

function verdictOf(candidates: readonly CandidateExplanation[]): string {
  if (candidates.length === 0) return 'No model or class has that name.';
  const chosen = candidates.flatMap(({ accounts }) => accounts).find((account) => account.chosen)?.account;
  return chosen === undefined ? 'No account would serve a request now.' : `${chosen.id} would serve it.`;
}

function Candidate({ candidate: { pool, model, accounts } }: { readonly candidate: CandidateExplanation }) {
  return (
    <>
      <h3 className="candidate">
        <code>{model}</code> of {pool}
      </h3>
      <Table
        caption={`Accounts of ${pool} for ${model}`}
        rows={accounts}
        keyOf={({ account }) => account?.id ?? ''}
        empty={<Empty title="No account in this pool serves the model." />}
        columns={[
          { label: 'Account', names: true, render: ({ account }) => account?.name },
          { label: 'State', render: ({ account }) => account && <Status {...withChildren(standOf(account))} /> },
          { label: 'In flight', align: 'end', render: ({ account }) => account?.inFlight },
          {
            label: 'Verdict',
            render: ({ chosen, reason }) =>
              chosen ? (
                <Status tone="good">Selected</Status>
              ) : (
                withLocalTimes(`Skipped: ${reason || 'another account comes first'}`)
              ),
          },
        ]}
      />
    </>
  );
}

function withChildren({ tone, text }: ReturnType<typeof standOf>) {
  return { tone, children: text };
}
