import type { MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import { coolingText, failureTexts, skipTexts, spareCapacityText } from '@gateway/presentation';
import type { PoolOverviewSchema, PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import {
  type AccountSchema,
  AccountState,
  AccountUse,
  AttemptResult,
  ProviderFormat,
} from '@gateway/proto/pool/v1/account_pb.js';
import { QuotaOutlook } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';

export const poolService: Partial<ServiceImpl<typeof PoolService>> = {
  listPools: ({ pool }) => ({ overview: overview(pool) }),
  async *watchPools({ pool }, { signal }) {
    while (!signal.aborted) {
      yield { overview: overview(pool) };
      await new Promise((resolve) => setTimeout(resolve, 2000));
    }
  },
  explainModel({ model }) {
    if (!/gpt|gateway|claude/.test(model)) throw new ConnectError(`There is no model ${model}.`, Code.NotFound);
    const reasons = [
      '',
      coolingText(`after ${failureTexts.rate_limited}`, started + 17 * 60_000),
      skipTexts.busy,
      'disabled: Its workspace was disabled by the provider.',
      skipTexts.draining,
      spareCapacityText('responses/team-a'),
    ];
    const accounts = responses().map((account, index) => ({
      account,
      chosen: index === 0,
      reason: reasons[index] ?? '',
    }));
    return { candidates: [{ pool: 'responses', model: 'gpt-5.5', accounts }] };
  },
};

function overview(only: string): MessageInitShape<typeof PoolOverviewSchema> {
  const pools = [
    {
      pool: {
        name: 'responses',
        format: ProviderFormat.RESPONSES,
        ownedBy: 'provider_a',
        modelsReportedAtMs: Date.now(),
      },
      accounts: responses(),
      forecasts: [
        { pool: 'responses', outlook: QuotaOutlook.ENDS, endsAtMs: inMinutes(134), window: '5h' },
        {
          pool: 'responses',
          models: 'gpt-5.5-pro*',
          outlook: QuotaOutlook.ENDS,
          endsAtMs: inMinutes(38),
          window: '5h_pro',
        },
      ],
    },
    {
      pool: {
        name: 'messages',
        format: ProviderFormat.MESSAGES,
        ownedBy: 'provider_b',
        modelsReportedAtMs: Date.now(),
      },
      accounts: messages(),
      forecasts: [{ pool: 'messages', outlook: QuotaOutlook.LASTS }],
      pauses: [
        {
          ...{ pool: 'messages', model: 'claude-opus-4-8', wholePool: true },
          ...{ reason: AttemptResult.OVERLOADED, untilMs: inMinutes(1) },
        },
      ],
    },
    {
      pool: { name: 'research', format: ProviderFormat.RESPONSES, ownedBy: 'provider_c', simulated: true },
      accounts: [
        account('research', 'lab-1', {
          note: 'The credential was revoked on 21 Nov.',
          state: AccountState.DISABLED,
          use: AccountUse.DISABLED,
        }),
      ],
      forecasts: [{ pool: 'research', outlook: QuotaOutlook.UNSPECIFIED }],
    },
  ];
  return {
    atMs: Date.now(),
    pools: pools.filter(({ pool }) => only === '' || pool.name === only),
    classes: [
      {
        id: 'gateway/sterk',
        name: 'Sterk',
        effort: 'high',
        candidates: ['responses/gpt-5.5', 'messages/claude-opus-4-8'],
      },
      {
        id: 'gateway/snel',
        name: 'Snel',
        effort: 'low',
        candidates: ['responses/gpt-5.5-mini', 'messages/claude-haiku-4-5'],
      },
      { id: 'gateway/claude', name: 'Claude', effort: 'medium', candidates: ['messages/claude-sonnet-5'] },
    ],
  };
}

function responses() {
  return [
    account('responses', 'team-a', { inFlight: 9, used: [0.62, 0.41] }),
    account('responses', 'team-b', {
      inFlight: 0,
      used: [1, 0.78],
      state: AccountState.COOLING,
      cooling: AttemptResult.RATE_LIMITED,
    }),
    account('responses', 'team-c', { inFlight: 12, used: [0.88, 0.52] }),
    account('responses', 'team-d', {
      used: [0.12, 0.93],
      state: AccountState.DISABLED,
      use: AccountUse.DISABLED,
      note: 'Its workspace was disabled by the provider.',
    }),
    account('responses', 'batch-1', {
      inFlight: 3,
      used: [0.33, 0.2],
      state: AccountState.DRAINING,
      use: AccountUse.DRAINING,
      stored: true,
    }),
    account('responses', 'batch-2', { inFlight: 1, used: [0.97, 0.61], state: AccountState.PROBING, stored: true }),
  ];
}

function messages() {
  return Array.from({ length: 14 }, (_, index) =>
    account('messages', `seat-${String(index + 1).padStart(2, '0')}`, {
      inFlight: (index * 5) % 7,
      used: [((index * 37) % 90) / 100, ((index * 13) % 70) / 100],
      credentialKind: 'oauth',
      ...(index === 6 && { state: AccountState.COOLING, cooling: AttemptResult.OVERLOADED }),
    }),
  );
}

/** The operators' changes of accounts since the page was loaded. */
export const uses = new Map<string, AccountUse>();

/** The labels of accounts. */
export const labelled = new Map([['responses/batch-1', ['batch', 'reserved']]]);

interface Details {
  readonly inFlight?: number;
  readonly used?: readonly [number, number];
  readonly state?: AccountState;
  readonly use?: AccountUse;
  readonly cooling?: AttemptResult;
  readonly note?: string;
  readonly stored?: boolean;
  readonly credentialKind?: string;
}

function account(pool: string, name: string, details: Details): MessageInitShape<typeof AccountSchema> {
  const {
    inFlight = 0,
    used,
    state = AccountState.AVAILABLE,
    use = uses.get(`${pool}/${name}`) ?? AccountUse.ACTIVE,
    cooling,
    note = '',
    stored = false,
  } = details;
  return {
    id: `${pool}/${name}`,
    pool,
    name,
    state,
    use,
    inFlight,
    note,
    stored,
    labels: labelled.get(`${pool}/${name}`) ?? [],
    source: stored ? 'database' : 'gateway.yaml',
    maxInFlight: 12,
    credentialKind: details.credentialKind ?? 'bearer',
    cooldowns: cooling === undefined ? [] : [{ untilMs: inMinutes(17), reason: cooling, givenByProvider: true }],
    windows:
      used === undefined
        ? []
        : [
            { name: '5h', usedFraction: used[0], resetsAtMs: inMinutes(96), lengthSeconds: 18_000 },
            { name: '7d', usedFraction: used[1], resetsAtMs: inMinutes(4200), lengthSeconds: 604_800 },
          ],
  };
}

const started = Date.now();

function inMinutes(minutes: number) {
  return started + minutes * 60_000;
}
