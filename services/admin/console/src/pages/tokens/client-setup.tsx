import { useQuery } from '@connectrpc/connect-query';
import { type PoolOverview, PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { useState } from 'react';
import { Choice } from '../../ui/choice.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Answer } from '../../ui/state.tsx';
import { clientModelsOf } from './client-models.ts';
import { usePublicAddress } from './public-address.ts';
import { snippetsFor } from './snippets.ts';

/** How each client is set up to use the gateway, with models that it has. */
export function ClientSetup() {
  const pools = useQuery(PoolService.method.listPools, {});
  return (
    <Answer of={pools} what="the models">
      {({ overview }) => overview && <Snippets overview={overview} />}
    </Answer>
  );
}

function Snippets({ overview }: { readonly overview: PoolOverview }) {
  const [address, setAddress] = usePublicAddress();
  const [draft, setDraft] = useState<string>();
  const snippets = snippetsFor(address, clientModelsOf(overview));
  const [client, setClient] = useState(snippets[0]?.client ?? '');
  const shown = snippets.find((snippet) => snippet.client === client) ?? snippets[0];
  return (
    <div className="stack">
      <TextField
        label="The gateway's address for clients"
        hint="Its public port, or what stands before it. This browser remembers it."
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
        options={snippets.map((snippet) => ({ value: snippet.client, label: snippet.client }))}
        value={shown?.client ?? ''}
        onValue={setClient}
      />
      {shown !== undefined && (
        <figure>
          <figcaption className="snippet-head">
            <span className="faint">
              {shown.file === '' ? 'In a shell' : <code>{shown.file}</code>}, with the token in{' '}
              <code>GATEWAY_TOKEN</code>
            </span>
            <CopyButton text={shown.text} what={`settings for ${shown.client}`} />
          </figcaption>
          <CodeBlock label={`Settings for ${shown.client}`} text={shown.text} />
          {shown.note !== '' && <p className="faint">{shown.note}</p>}
        </figure>
      )}
    </div>
  );
}
