import { useEffect, useState } from 'react';
import { navigate } from 'wouter/use-browser-location';
import type { Problem } from '../../api/problem.ts';
import { Button } from '../../ui/button.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { Form, fieldsOf } from '../../ui/form.tsx';
import { endpoints, filterNames, kinds, type RequestFilters, requestsLink, statuses } from './request-search.ts';

/** Filters that are shown on demand. */
const rare = ['endpoint', 'account', 'id', 'since', 'until'] as const;

interface RequestFilterFormProps {
  readonly filters: RequestFilters;
  /** The problem of the search. */
  readonly problem: Problem | undefined;
}

/** Filters above the list. Choices apply at once, texts with Enter. */
export function RequestFilterForm({ filters, problem }: RequestFilterFormProps) {
  const [draft, setDraft] = useState(filters);
  const address = requestsLink(filters);
  // Links and the back button change the filters; they replace typed texts.
  // biome-ignore lint/correctness/useExhaustiveDependencies: filters is a new object each time.
  useEffect(() => setDraft(filters), [address]);
  const some = filterNames.some((name) => filters[name] !== '');
  const text = fieldsOf(draft, setDraft, problem);
  const choice = fieldsOf(draft, (chosen) => navigate(requestsLink(chosen)));
  const localTime = (name: 'since' | 'until') => ({
    value: localText(draft[name]),
    onValue: (value: string) => text(name).onValue(value === '' ? '' : new Date(value).toISOString()),
  });
  return (
    <Form className="filters" aria-label="Filters" onSubmit={() => navigate(requestsLink(draft))}>
      <SelectField label="Show" {...choice('kind')}>
        <option value="">All requests</option>
        {kinds.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </SelectField>
      <SelectField label="HTTP status" {...choice('status')}>
        <option value="">All</option>
        {[...new Set([...statuses, draft.status])].filter(Boolean).map((status) => (
          <option key={status}>{status}</option>
        ))}
      </SelectField>
      <TextField label="Token" placeholder="label or id" {...text('token')} />
      <TextField label="Model" placeholder="gateway/sterk" {...text('model')} />
      <Button type="submit">Filter</Button>
      {some && (
        <Button kind="quiet" onClick={() => navigate('/requests')}>
          Clear
        </Button>
      )}
      <details open={rare.some((name) => filters[name] !== '')}>
        <summary>More filters</summary>
        <div className="filters">
          <SelectField label="Endpoint" {...choice('endpoint')}>
            <option value="">All</option>
            {[...new Set([...endpoints, draft.endpoint])].filter(Boolean).map((endpoint) => (
              <option key={endpoint}>{endpoint}</option>
            ))}
          </SelectField>
          <TextField label="Account" placeholder="pool/name" {...text('account')} />
          <TextField label="Id begins with" placeholder="the gateway's or the client's" {...text('id')} />
          <TextField label="Received after" type="datetime-local" step={1} {...localTime('since')} />
          <TextField label="Received before" type="datetime-local" step={1} {...localTime('until')} />
        </div>
      </details>
    </Form>
  );
}

/** "2026-11-22T14:03:00" in the operator's zone, as the browser's field requires it. */
function localText(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
