import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { type PoolOverview, PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { useState } from 'react';
import { useParams } from 'wouter';
import { useLive } from '../../api/live.ts';
import { useSigned } from '../../api/session.tsx';
import { Link } from '../../frame/link.tsx';
import { Page, Panel } from '../../frame/page.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty, Failure, Loading } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { CheckOutcome, useAccountCheck } from './account-check.tsx';
import { AddAccount } from './add-account.tsx';
import { ExplainModel } from './explain-model.tsx';
import { PoolPanel } from './pool-panel.tsx';
import './pools.css';

/**
 * Every pool, or the one of the address: the state of its accounts, the reason, and how long its
 * quotas last.
 */
export function PoolsPage() {
  const { pool = '' } = useParams();
  const { may } = useSigned();
  const [adding, setAdding] = useState(false);
  const check = useAccountCheck();
  const { data: overview, connection } = useLive(
    PoolService.method.watchPools,
    { pool },
    (message) => message.overview,
  );
  const mayChange = may(Role.OPERATOR);
  return (
    <Page
      title={pool === '' ? 'Pools' : `Pool ${pool}`}
      about={
        pool === '' ? (
          'Provider accounts, their state, and when their quotas run out.'
        ) : (
          <Link to="/pools">All pools</Link>
        )
      }
      actions={mayChange && overview !== undefined && <Button onClick={() => setAdding(true)}>Add account</Button>}
    >
      {check.accountId !== '' && (
        <div className="added-account">
          <code>{check.accountId}</code> was added. <CheckOutcome check={check} />
        </div>
      )}
      {overview !== undefined ? (
        <Pools overview={overview} only={pool} />
      ) : connection.state === 'refused' || connection.state === 'lost' ? (
        <Failure problem={connection.problem} />
      ) : (
        <Loading what="pools" />
      )}
      {adding && overview !== undefined && (
        <AddAccount overview={overview} pool={pool} onAdded={check.check} onClose={() => setAdding(false)} />
      )}
    </Page>
  );
}

function Pools({ overview, only }: { readonly overview: PoolOverview; readonly only: string }) {
  const { pools } = overview;
  if (pools.length === 0) {
    return (
      <Empty title={only === '' ? 'No pools' : `No pool named ${only}`}>
        Pools are defined in gateway.yaml. <Link to="/configuration">View the running configuration.</Link>
      </Empty>
    );
  }
  return (
    <>
      {pools.map((status) => (
        <PoolPanel key={status.pool?.name} status={status} />
      ))}
      <ExplainModel overview={overview} />
      {only === '' && <Classes overview={overview} />}
    </>
  );
}

/** The meaning of the gateway's model names. */
function Classes({ overview: { classes, pools } }: { readonly overview: PoolOverview }) {
  const known = pools.map(({ pool }) => pool?.name);
  return (
    <Panel title="Model classes" aside="Model names of the gateway, defined in gateway.yaml" wide>
      <Table
        caption="Model classes with their candidates"
        rows={classes}
        keyOf={({ id }) => id}
        empty={<Empty title="No classes">Clients use the providers' model names.</Empty>}
        columns={[
          { label: 'Model', names: true, render: ({ id }) => <code>{id}</code> },
          { label: 'Name', render: ({ name }) => name },
          { label: 'Effort', render: ({ effort }) => effort || '–' },
          {
            label: 'Candidates, in order of preference',
            render: ({ candidates }) => (
              <ol className="candidates">
                {candidates.map((candidate) => {
                  const pool = candidate.slice(0, candidate.indexOf('/'));
                  return (
                    <li key={candidate}>
                      <code>{known.includes(pool) ? candidate : `${candidate} (no such pool)`}</code>
                    </li>
                  );
                })}
              </ol>
            ),
          },
        ]}
      />
    </Panel>
  );
}
