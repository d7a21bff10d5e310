import {
  accountErrorText,
  formatCountOf,
  formatPercent,
  isFailing,
  usedUpAtMs,
  usedUpText,
} from '@gateway/presentation';
import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import type { PoolStatus } from '@gateway/proto/admin/v1/pool_service_pb.js';
import {
  type Account,
  type AccountError,
  AccountState,
  AccountUse,
  ProviderFormat,
} from '@gateway/proto/pool/v1/account_pb.js';
import { useSigned } from '../../api/session.tsx';
import { useSearchParams } from '../../frame/address.ts';
import { Link } from '../../frame/link.tsx';
import { Panel } from '../../frame/page.tsx';
import { Empty } from '../../ui/state.tsx';
import { Bar, Status } from '../../ui/status.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Ago, Countdown, Time, useNowMs, withLocalTimes } from '../../ui/time.tsx';
import { requestsLink } from '../requests/request-search.ts';
import { AccountActions } from './account-actions.tsx';
import { cooldownText, remedyOf, runningCooldowns, silentAccounts, sourceText, standOf } from './account-words.ts';
import { ForecastLine } from './forecast-line.tsx';
import { PauseLine } from './pause-line.tsx';

/** One pool: how long its quotas last, and each of its accounts. */
export function PoolPanel({ status }: { readonly status: PoolStatus }) {
  const { pool, accounts, forecasts, pauses } = status;
  const { may } = useSigned();
  const available = accounts.filter(
    (account) => account.state === AccountState.AVAILABLE && !isFailing(account),
  ).length;
  const format = pool?.format === ProviderFormat.MESSAGES ? 'Messages' : 'Responses';
  const title = pool?.name ?? '';
  return (
    <Panel
      title={title}
      aside={`${pool?.simulated ? 'Simulated provider, ' : ''}${format}, ${available} of ${formatCountOf(accounts.length, 'account')} available`}
      wide
    >
      <ul className="forecasts">
        {pauses.map((pause) => (
          <li key={`${pause.model} ${pause.reason}`}>
            <PauseLine pause={pause} />
          </li>
        ))}
        {forecasts.map((forecast) => (
          <ForecastLine key={forecast.models} forecast={forecast} silent={silentAccounts(status)} />
        ))}
        {pool !== undefined && pool.modelListFailure !== '' && accounts.length > 0 && (
          <li>
            <Status tone="bad">Model list unavailable</Status> {pool.modelListFailure}
          </li>
        )}
        {pool?.modelsReportedAtMs === undefined && (
          <li>
            <Status tone="warn">No model list</Status> The provider's model list has not been read yet. Until then, the
            configured models are routed.
          </li>
        )}
      </ul>
      <Table
        caption={`Accounts of the pool ${title}`}
        rows={accounts}
        keyOf={({ id }) => id}
        columns={may(Role.OPERATOR) ? [...columns, actions] : columns}
        empty={
          <Empty title="No accounts">
            Add an account here or in gateway.yaml. Until then, the pool serves no requests.
          </Empty>
        }
      />
    </Panel>
  );
}

const columns: readonly Column<Account>[] = [
  {
    label: 'Account',
    names: true,
    render: ({ id, name, source, credentialKind, labels }) => (
      <>
        <AccountName id={id} name={name} />
        <div className="faint small nowrap">
          {credentialKind.replace('_', ' ')}, {sourceText({ source })}
        </div>
        {labels.length > 0 && <div className="faint small">labels: {labels.join(', ')}</div>}
      </>
    ),
  },
  { label: 'State', render: (account) => <Stand account={account} /> },
  { label: 'Quotas used', render: (account) => <Quotas account={account} /> },
  {
    label: 'In flight',
    render: ({ id, inFlight, maxInFlight }) => (
      <div className="in-flight">
        {maxInFlight === 0 ? inFlight : `${inFlight} of ${maxInFlight}`}
        {maxInFlight > 0 && (
          <Bar share={inFlight / maxInFlight} label={`${id}: requests in flight, of its maximum`} tone="info" />
        )}
      </div>
    ),
  },
];

const actions: Column<Account> = {
  label: 'Actions',
  labelHidden: true,
  align: 'end',
  render: (account) => <AccountActions account={account} />,
};

/** An account with a link to its requests. The account of the address is highlighted. */
function AccountName({ id, name }: { readonly id: string; readonly name: string }) {
  const [params] = useSearchParams();
  const link = <Link to={requestsLink({ account: id })}>{name}</Link>;
  return params.get('account') === id ? <mark ref={scrollTo}>{link}</mark> : link;
}

function scrollTo(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: 'center' });
}

/** The state of an account and why. */
function Stand({ account }: { readonly account: Account }) {
  const nowMs = useNowMs();
  const { tone, text } = standOf(account);
  const cooldowns = runningCooldowns(account, nowMs);
  const remedy = remedyOf(account);
  return (
    <div className="stand">
      <Status tone={tone}>{text}</Status>
      {cooldowns.map((cooldown) => (
        <p key={`${cooldown.model} ${cooldown.feature} ${cooldown.reason}`} className="small">
          {cooldownText(cooldown)}
          {cooldown.untilMs !== undefined && (
            <>
              , {cooldown.givenByProvider ? '' : 'estimated: '}
              available in <Countdown to={cooldown.untilMs} />
            </>
          )}
        </p>
      ))}
      {account.note !== '' && <p className="small">{withLocalTimes(account.note)}</p>}
      {account.lastError !== undefined && <LastError error={account.lastError} />}
      {remedy !== '' && <p className="small">{remedy}</p>}
    </div>
  );
}

function LastError({ error }: { readonly error: AccountError }) {
  const { inARow, atMs } = error;
  const counted = inARow > 1 ? `${inARow} errors in a row, last` : inARow === 1 ? 'Error' : 'Last error';
  return (
    <p className={inARow === 0 ? 'small faint' : 'small'}>
      {counted} <Ago at={atMs} />: {accountErrorText(error)}
    </p>
  );
}

/**
 * How much of each quota is used, and when it is used up or resets, whichever comes first. An
 * account out of service uses no more.
 */
function Quotas({ account: { windows, use } }: { readonly account: Account }) {
  const nowMs = useNowMs();
  if (windows.length === 0) return <span className="faint">None reported</span>;
  return (
    <ul className="quotas">
      {windows.map((window) => {
        const { name, models, usedFraction, resetsAtMs } = window;
        const atMs = use === AccountUse.ACTIVE ? usedUpAtMs(window, nowMs) : undefined;
        return (
          <li key={`${name} ${models}`}>
            <span title={models === '' ? undefined : `for ${models}`}>{name}</span>
            <Bar share={usedFraction} label={`${name}${models && ` for ${models}`}: quota used`} />
            <b>{formatPercent(usedFraction)}</b>
            {atMs !== undefined && atMs > nowMs ? (
              <span className="warn-text" title={`At the current rate: ${usedUpText(name)}`}>
                used up at <Time at={atMs} toMinute />
              </span>
            ) : (
              <span className="faint">
                {resetsAtMs !== undefined && (
                  <>
                    resets in <Countdown to={resetsAtMs} />
                  </>
                )}
              </span>
            )}
          </li>
        );
      })}
    </ul>
  );
}
