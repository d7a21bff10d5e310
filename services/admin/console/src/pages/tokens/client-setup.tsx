import { useQuery } from '@connectrpc/connect-query';
import { type ClientModels, clientModelsOf, clientSettingsFor } from '@gateway/presentation';
import { PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { useState } from 'react';
import { Choice } from '../../ui/choice.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Answer, Empty } from '../../ui/state.tsx';
import { usePublicAddress } from './public-address.ts';

/** The settings of each client for the gateway, with models that it has. */
export function ClientSetup() {
  const pools = useQuery(PoolService.method.listPools, {});
  return (
    <Answer of={pools} what="models">
      {(listed) => <SettingsOfClients models={clientModelsOf(listed)} />}
    </Answer>
  );
}

export function SettingsOfClients({ models }: { readonly models: ClientModels }) {
  const [address, setAddress] = usePublicAddress();
  const [draft, setDraft] = useState<string>();
  const all = clientSettingsFor(address, models);
  const [client, setClient] = useState(all[0]?.client ?? '');
  if (all.length === 0) return <Empty title="No model">Add an account to a pool, so that it can serve a model.</Empty>;
  const shown = all.find((each) => each.client === client) ?? all[0];
  return (
    <div className="stack">
      <TextField
        label="Gateway address for clients"
        hint="The public port, or the address of your load balancer. This browser remembers it."
        type="url"
        value={draft ?? address}
        onValue={setDraft}
        onBlur={() => {
          if (draft !== undefined) setAddress(draft);
          setDraft(undefined);
        }}
      />
      <Choice
        label="Client"
        options={all.map((each) => ({ value: each.client, label: each.client }))}
        value={shown?.client ?? ''}
        onValue={setClient}
      />
      {shown !== undefined && (
        <figure>
          <figcaption className="snippet-head">
            <span className="faint">
              {shown.file === '' ? 'Shell' : <code>{shown.file}</code>}, with the token in <code>GATEWAY_TOKEN</code>
            </span>
            <CopyButton text={`${shown.text}\n`} what={`settings for ${shown.client}`} />
          </figcaption>
          <CodeBlock label={`Settings for ${shown.client}`} text={shown.text} />
          {shown.note !== '' && <p className="faint">{shown.note}</p>}
        </figure>
      )}
    </div>
  );
}
