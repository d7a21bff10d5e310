import { probeText } from '@gateway/presentation';
import { type AccountProbe, AccountService, ProbeResult } from '@gateway/proto/admin/v1/account_service_pb.js';
import { type ReactNode, useState } from 'react';
import { useChange } from '../../api/change.ts';
import { ProblemNote } from '../../ui/state.tsx';
import { Status } from '../../ui/status.tsx';
import { wording } from '../requests/request-words.ts';

/** Asks the provider of an account for its model list, which is free of charge. */
export function useAccountCheck() {
  const [probe, setProbe] = useState<AccountProbe>();
  const [accountId, setAccountId] = useState('');
  const { run, busy, problem } = useChange(AccountService.method.probeAccounts, {
    onDone: ({ probes }) => setProbe(probes[0]),
  });
  return {
    accountId,
    busy,
    problem,
    probe,
    check: (id: string) => {
      setAccountId(id);
      setProbe(undefined);
      run({ accountIds: [id] });
    },
  };
}

type Check = ReturnType<typeof useAccountCheck>;

interface OutcomeProps {
  readonly check: Check;
  /** Shown after a check that succeeded. */
  readonly children?: ReactNode;
}

/** What came of the check. Nothing before the first one. */
export function CheckOutcome({ check: { accountId, busy, problem, probe }, children }: OutcomeProps) {
  return (
    <div className="check-outcome small" role="status" aria-label={`Check of ${accountId || 'the account'}`}>
      {busy && 'Asking the provider…'}
      {problem !== undefined && <ProblemNote>{problem.text}</ProblemNote>}
      {!busy && probe !== undefined && <Status tone={tones[probe.result]}>Checked: {probeText(probe, wording)}</Status>}
      {!busy && probe?.result === ProbeResult.SUCCEEDED && children}
    </div>
  );
}

const tones = {
  [ProbeResult.UNSPECIFIED]: 'warn',
  [ProbeResult.SUCCEEDED]: 'good',
  [ProbeResult.FAILED]: 'bad',
  [ProbeResult.NOT_ASKED]: 'bad',
  [ProbeResult.SKIPPED]: 'warn',
} as const;
