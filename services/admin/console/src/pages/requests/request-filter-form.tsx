import { useEffect, useState } from 'react';
import type { Problem } from '../../api/problem.ts';
import { useNavigate } from '../../frame/routing.tsx';
import { Button } from '../../ui/button.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { endpoints, filterNames, kinds, type RequestFilters, requestsLink, statuses } from './request-search.ts';

/** Shown when they are asked for. */
const rare = ['endpoint', 'account', 'id', 'since', 'until'] as const;

interface RequestFilterFormProps {
  readonly filters: RequestFilters;
  /** What is wrong with them. */
  readonly problem: Problem | undefined;
}

/** Filters above the list. Choices count at once, texts with Enter. */
export function RequestFilterForm({ filters, problem }: RequestFilterFormProps) {
  const navigate = useNavigate();
  const [draft, setDraft] = useState(filters);
  const address = requestsLink(filters);
  // Links and the way back change what is asked; what is typed meanwhile goes with it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: filters are made anew each time, the address is not.
  useEffect(() => setDraft(filters), [address]);
  const some = filterNames.some((name) => filters[name] !== '');
  const set = (name: keyof RequestFilters) => (value: string) => setDraft({ ...draft, [name]: value });
  const choose = (name: keyof RequestFilters) => (value: string) =>
    void navigate(requestsLink({ ...draft, [name]: value }));
  const localTime = (name: 'since' | 'until') => (value: string) =>
    set(name)(value === '' ? '' : new Date(value).toISOString());
  return (
    <form
      className="filters"
      aria-label="Filters"
      onSubmit={(event) => {
        event.preventDefault();
        void navigate(requestsLink(draft));
      }}
    >
      <SelectField label="Kind" value={draft.kind} onValue={choose('kind')}>
        <option value="">All</option>
        {kinds.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </SelectField>
      <SelectField label="Status" value={draft.status} onValue={choose('status')}>
        <option value="">All</option>
        {[...new Set([...statuses, draft.status])].filter(Boolean).map((status) => (
          <option key={status}>{status}</option>
        ))}
      </SelectField>
      <TextField
        label="Token"
        placeholder="label or id"
        value={draft.token}
        onValue={set('token')}
        problem={problem?.fields.token}
      />
      <TextField label="Model" placeholder="gateway/sterk" value={draft.model} onValue={set('model')} />
      <Button type="submit">Filter</Button>
      {some && (
        <Button kind="quiet" onClick={() => navigate('/requests')}>
          Clear
        </Button>
      )}
      <details open={rare.some((name) => filters[name] !== '')}>
        <summary>More filters</summary>
        <div className="filters">
          <SelectField label="Endpoint" value={draft.endpoint} onValue={choose('endpoint')}>
            <option value="">All</option>
            {[...new Set([...endpoints, draft.endpoint])].filter(Boolean).map((endpoint) => (
              <option key={endpoint}>{endpoint}</option>
            ))}
          </SelectField>
          <TextField label="Account" placeholder="pool/name" value={draft.account} onValue={set('account')} />
          <TextField label="Id begins with" placeholder="ours or the client's" value={draft.id} onValue={set('id')} />
          <TextField
            label="Received from"
            type="datetime-local"
            step={1}
            value={localText(draft.since)}
            onValue={localTime('since')}
          />
          <TextField
            label="until"
            type="datetime-local"
            step={1}
            value={localText(draft.until)}
            onValue={localTime('until')}
          />
        </div>
      </details>
    </form>
  );
}

/** "2026-11-22T14:03:00" in the operator's zone, as the browser's field wants it. */
function localText(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
