import type { Setting } from '@gateway/proto/admin/v1/configuration_service_pb.js';
import { useState } from 'react';
import { Panel } from '../../frame/page.tsx';
import { CheckField, TextField } from '../../ui/field.tsx';
import { Empty } from '../../ui/state.tsx';
import { Status } from '../../ui/status.tsx';
import { type Column, Table } from '../../ui/table.tsx';

/** Every setting of every service. Those with other values than their default come first. */
export function SettingsPanel({
  settings,
  silent,
}: {
  readonly settings: readonly Setting[];
  /** Replicas that did not report their settings, with the reason. */
  readonly silent: readonly string[];
}) {
  const [search, setSearch] = useState('');
  const [madeOnly, setMadeOnly] = useState(false);
  const wanted = search.trim().toLowerCase();
  const found = settings.filter(({ service, name }) => `${service} ${name}`.toLowerCase().includes(wanted));
  const [changed, unchanged] = [found.filter(isChanged), found.filter((setting) => !isChanged(setting))];
  const shown = madeOnly ? changed : [...changed, ...unchanged];
  return (
    <Panel title="Settings" aside={`${shown.length} of ${settings.length}`}>
      <div className="filters">
        <TextField label="Service or name" type="search" value={search} onValue={setSearch} />
        <CheckField label="Hide defaults" checked={madeOnly} onChecked={setMadeOnly} />
      </div>
      <Table
        caption="Settings"
        columns={columns}
        rows={shown}
        keyOf={({ service, name, address }) => `${service} ${name} ${address}`}
        empty={<Empty title="No matching settings" />}
      />
      {silent.map((text) => (
        <p key={text} className="row">
          <Status tone="warn">Unknown</Status> {text}
        </p>
      ))}
    </Panel>
  );
}

function isChanged({ origin }: Setting): boolean {
  return origin !== 'default';
}

const columns: readonly Column<Setting>[] = [
  {
    label: 'Service',
    render: ({ service, address }) => (
      <>
        {service}
        {address !== '' && <div className="faint small">{address}</div>}
      </>
    ),
  },
  { label: 'Name', names: true, render: ({ name }) => <code>{name}</code> },
  {
    label: 'Value',
    render: ({ value }) => (value === '' ? <span className="faint">empty</span> : <code>{value}</code>),
  },
  {
    label: 'Source',
    render: ({ origin }) =>
      origin === 'default' ? <span className="faint">default</span> : <Status tone="info">{origin}</Status>,
  },
];
