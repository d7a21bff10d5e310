import { formatCountOf } from '@gateway/presentation';
import { GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import type { Group } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { useState } from 'react';
import { navigate } from 'wouter/use-browser-location';
import type { Problem } from '../../api/problem.ts';
import { ChangeDialog } from '../../ui/dialog.tsx';
import { CheckField, SelectField, TextAreaField, TextField } from '../../ui/field.tsx';
import { fieldsOf } from '../../ui/form.tsx';
import { ChangedMeanwhile } from '../tokens/changed-meanwhile.tsx';
import { AccessFields, LimitFields } from '../tokens/terms-fields.tsx';
import {
  amountPattern,
  emptyGroup,
  type GroupDraft,
  groupDifferences,
  groupDraftOf,
  groupFieldNames,
  groupOf,
  groupUpdateOf,
} from './group-draft.ts';

interface CreateGroupProps {
  /** "EUR". Empty: nothing has a price. */
  readonly currency: string;
  readonly onClose: () => void;
}

interface GroupProps extends CreateGroupProps {
  /** The current state, which may change while this is open. */
  readonly group: Group;
  /** The settings that name it. */
  readonly namedBy: readonly string[];
}

export function CreateGroup({ currency, onClose }: CreateGroupProps) {
  const [draft, setDraft] = useState(emptyGroup);
  return (
    <ChangeDialog
      title="Create group"
      submitLabel="Create group"
      method={GroupService.method.createGroup}
      input={groupOf(draft)}
      fields={groupFieldNames}
      notice={({ group, warnings }) => [`${group?.name} was created.`, ...warnings].join(' ')}
      onDone={({ group }) => navigate(`/groups/${group?.groupId}`)}
      onClose={onClose}
    >
      {(problem) => <GroupFields draft={draft} onDraft={setDraft} problem={problem} currency={currency} />}
    </ChangeDialog>
  );
}

export function EditGroup({ group, namedBy, currency, onClose }: GroupProps) {
  const [seen] = useState(group);
  const [draft, setDraft] = useState(() => groupDraftOf(seen));
  const changed = group.revision === seen.revision ? [] : groupDifferences(seen, group);
  return (
    <ChangeDialog
      title={`Edit ${seen.name}`}
      submitLabel={changed.length > 0 ? 'Apply my changes' : 'Save'}
      method={GroupService.method.updateGroup}
      input={{ ...groupUpdateOf(seen, draft, group), expectedRevision: group.revision }}
      fields={groupFieldNames}
      explainsConflict={changed.length > 0}
      alsoRefresh={[TokenService]}
      notice={({ group: updated, warnings }) => [`${updated?.name} was updated.`, ...warnings].join(' ')}
      onClose={onClose}
    >
      {(problem) => (
        <>
          <GroupFields draft={draft} onDraft={setDraft} problem={problem} currency={currency} />
          {draft.name.trim() !== seen.name && <NamedBySettings namedBy={namedBy} />}
          <ChangedMeanwhile what="group" changes={changed} />
        </>
      )}
    </ChangeDialog>
  );
}

interface GroupFieldsProps {
  readonly draft: GroupDraft;
  readonly onDraft: (draft: GroupDraft) => void;
  readonly problem: Problem | undefined;
  readonly currency: string;
}

function GroupFields({ draft, onDraft, problem, currency }: GroupFieldsProps) {
  const field = fieldsOf(draft, onDraft, problem);
  return (
    <>
      <TextField
        label="Name"
        hint="Unique. Holders of its tokens can see it."
        required
        maxLength={100}
        autoComplete="off"
        {...field('name')}
      />
      <TextField
        label={currency === '' ? 'Budget' : `Budget in ${currency}`}
        hint={
          currency === ''
            ? 'gateway.yaml has no prices: until it has, a budget refuses every request. Empty: none.'
            : 'What all its requests together may cost in a period, such as 250 or 12.50. Empty: none.'
        }
        inputMode="decimal"
        pattern={amountPattern}
        autoComplete="off"
        {...field('budget', 'limits.budget.amount')}
      />
      <SelectField label="Budget period" {...field('budgetPeriod', 'limits.budget.period')}>
        <option value="day">a day</option>
        <option value="week">a week, from Monday</option>
        <option value="month">a month</option>
      </SelectField>
      <SelectField
        label="Models without a price"
        hint="While there is a budget. A class is answered by its candidates that have a price."
        {...field('unpricedModels')}
      >
        <option value="refuse">are refused</option>
        <option value="dearest">cost as the dearest of their pool</option>
      </SelectField>
      <LimitFields field={field} />
      <AccessFields field={field} />
      <TextAreaField label="Note" hint="Visible to operators only." maxLength={1000} {...field('note')} />
    </>
  );
}

/** Asks before people are locked out: they find their group by the name in a setting. */
function NamedBySettings({ namedBy }: Pick<GroupProps, 'namedBy'>) {
  const [isSure, setSure] = useState(false);
  if (namedBy.length === 0) return null;
  return (
    <>
      <p>
        {namedBy.join(' and ')} names this group. Its people can't sign in until you change the setting; those who are
        signed in keep the rules that they have.
      </p>
      <CheckField label="Do it anyway" checked={isSure} onChecked={setSure} required />
    </>
  );
}

export function DeleteGroup({ group, namedBy, onClose }: Omit<GroupProps, 'currency'>) {
  const { groupId, name, tokens } = group;
  return (
    <ChangeDialog
      title={`Delete ${name}?`}
      submitLabel="Delete group"
      danger
      method={GroupService.method.deleteGroup}
      input={{ groupId }}
      alsoRefresh={[TokenService]}
      notice={() => `${name} was deleted.`}
      onDone={() => navigate('/groups')}
      onClose={onClose}
    >
      <p>
        {tokens > 0 && `${formatCountOf(tokens, 'token')} will have no group, and stay valid. `}The group's limits,
        budget and access rules no longer apply, except to people in it until they are in another group. This cannot be
        undone.
      </p>
      <NamedBySettings namedBy={namedBy} />
    </ChangeDialog>
  );
}
