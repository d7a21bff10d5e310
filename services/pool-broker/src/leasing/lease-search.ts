import type { PoolFormat } from '@gateway/config';
import type { Attempt } from '../accounts/attempt.ts';
import type { Broker } from '../broker.ts';
import type { Candidate } from '../catalog/catalog.ts';
import { choiceText, type SkippedGroup, skippedGroups } from '../selection/choice-text.ts';
import { type CandidateView, type Examination, type Selection, selectAccount } from '../selection/select-account.ts';
import type { LeasingHistory } from './request-history.ts';

export interface LeaseRequest {
  readonly model: string;
  /** Empty: any. */
  readonly formats: ReadonlySet<PoolFormat>;
  /** Empty: no affinity. */
  readonly affinityKey: string;
  /** Oldest first. */
  readonly attempts: readonly Attempt[];
  readonly allowCandidateFailover: boolean;
  /** Who asks, as an opaque key. Empty: nobody's share is counted. */
  readonly caller: string;
}

/** The right to send one request with one account. */
export interface Lease {
  readonly leaseId: string;
  readonly accountId: string;
  readonly candidate: Candidate;
}

export type LeaseResult = { readonly choice: LeaseChoice } & (
  | { readonly kind: 'leased'; readonly lease: Lease }
  | { readonly kind: 'exhausted'; readonly retryAtMs: number | undefined }
  | { readonly kind: 'unavailable' }
  /** `otherFormatsOnly`: the id is known, but not for the formats that were asked for. */
  | { readonly kind: 'unknown_model'; readonly otherFormatsOnly: boolean }
);

/** Why it is this account, or none, for operators. */
export interface LeaseChoice {
  /** In words; empty when the skipped accounts say it all. */
  readonly reason: string;
  readonly skipped: readonly SkippedGroup[];
}

/** A request on its way to a lease. */
export interface Search {
  readonly request: LeaseRequest;
  readonly candidates: readonly Candidate[];
  readonly history: LeasingHistory;
  /** See `toCallerId`. */
  readonly caller: string;
  /** Its try has been taken: once, however often it is overtaken. */
  mayTry: boolean;
}

export interface Selected {
  readonly selection: Selection;
  readonly choice: LeaseChoice;
}

/** What would be leased by what is known of the candidates, and why. */
export function select(
  { clock, random, settings }: Broker,
  { request: { affinityKey }, history }: Search,
  candidates: readonly CandidateView[],
): Selected {
  const examinations: Examination[] = [];
  const onExamined = (examination: Examination) => examinations.push(examination);
  const nowMs = clock.nowMs();
  const selection = selectAccount({ candidates, affinityKey, history, rules: settings, nowMs, random, onExamined });
  const last = examinations.at(-1);
  const reason = last === undefined ? '' : choiceText(last, affinityKey);
  return { selection, choice: { reason, skipped: skippedGroups(examinations) } };
}

export type Chosen = Extract<Selection, { kind: 'chosen' }>;
