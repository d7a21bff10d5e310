import { formatCountOf } from '@gateway/presentation';
import { GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import type { Group } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import type { Problem } from '../../api/problem.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { SelectField, TextAreaField, TextField } from '../../ui/field.tsx';
import { fieldsOf } from '../../ui/form.tsx';
import { ProblemNote } from '../../ui/state.tsx';
import { draftOf, emptyGroup, type GroupDraft, groupFieldNames, newGroupOf, updateOf } from './group-draft.ts';

export function CreateGroup({ onClose }: { readonly onClose: () => void }) {
  const [draft, setDraft] = useState(emptyGroup);
  const { run, busy, problem } = useChange(GroupService.method.createGroup, {
    notice: ({ group }) => `${group?.name} was created.`,
    onDone: onClose,
  });
  return (
    <FormDialog
      title="Create group"
      submitLabel="Create group"
      busy={busy}
      problem={problem}
      fields={groupFieldNames}
      onSubmit={() => run(newGroupOf(draft))}
      onClose={onClose}
    >
      <GroupFields draft={draft} onDraft={setDraft} problem={problem} />
    </FormDialog>
  );
}

interface GroupProps {
  /** The current state, which may change while this is open. */
  readonly group: Group;
  readonly onClose: () => void;
}

export function EditGroup({ group, onClose }: GroupProps) {
  const [seen] = useState(group);
  const [draft, setDraft] = useState(() => draftOf(seen));
  const { run, busy, problem } = useChange(GroupService.method.updateGroup, {
    notice: ({ group: updated }) => `${updated?.name} was updated.`,
    onDone: onClose,
  });
  const isChanged = group.revision !== seen.revision;
  return (
    <FormDialog
      title={`Edit ${seen.name}`}
      submitLabel={isChanged ? 'Apply my changes' : 'Save'}
      busy={busy}
      problem={problem?.kind === 'conflict' && isChanged ? undefined : problem}
      fields={groupFieldNames}
      onSubmit={() => run({ ...updateOf(seen, draft), expectedRevision: group.revision })}
      onClose={onClose}
    >
      <GroupFields draft={draft} onDraft={setDraft} problem={problem} />
      {isChanged && (
        <ProblemNote>
          Another operator changed this group meanwhile: see the audit log. Your changes replace theirs where both
          changed limits, or models and labels.
        </ProblemNote>
      )}
    </FormDialog>
  );
}

export function DeleteGroup({ group, onClose, onDeleted }: GroupProps & { readonly onDeleted: () => void }) {
  const { groupId, name, tokens } = group;
  const { run, busy, problem } = useChange(GroupService.method.deleteGroup, {
    alsoRefresh: [TokenService],
    notice: () => `${name} was deleted.`,
    onDone: onDeleted,
  });
  return (
    <FormDialog
      title={`Delete ${name}?`}
      submitLabel="Delete group"
      danger
      busy={busy}
      problem={problem}
      onSubmit={() => run({ groupId })}
      onClose={onClose}
    >
      <p>
        {formatCountOf(tokens, 'token')} of this group stay valid, without its limits, its budget and its rules. Usage
        history is kept.
      </p>
    </FormDialog>
  );
}

interface GroupFieldsProps {
  readonly draft: GroupDraft;
  readonly onDraft: (draft: GroupDraft) => void;
  readonly problem: Problem | undefined;
}

function GroupFields({ draft, onDraft, problem }: GroupFieldsProps) {
  const field = fieldsOf(draft, onDraft, problem);
  const count = { type: 'number', min: 0, max: 4_294_967_295 } as const;
  return (
    <>
      <TextField label="Name" required maxLength={100} autoComplete="off" {...field('name')} />
      <TextField
        label="Requests per minute"
        hint="Of all its tokens together. Empty: unlimited."
        {...count}
        {...field('requestsPerMinute', 'limits.requestsPerMinute')}
      />
      <TextField
        label="Tokens per day"
        {...count}
        max={Number.MAX_SAFE_INTEGER}
        {...field('tokensPerDay', 'limits.tokensPerDay')}
      />
      <TextField label="Requests at a time" {...count} {...field('concurrentRequests', 'limits.concurrentRequests')} />
      <TextField
        label="Budget"
        hint="In the currency of the prices. Needs prices in gateway.yaml. Empty: none."
        inputMode="decimal"
        pattern="\d{1,9}(\.\d{1,6})?"
        {...field('budget', 'limits.budget.amount')}
      />
      <SelectField label="Budget period" {...field('period', 'limits.budget.period')}>
        <option value="day">a day</option>
        <option value="week">a week, from Monday</option>
        <option value="month">a month</option>
      </SelectField>
      <TextField
        label="Models"
        hint="Models and classes that its tokens may use, separated by commas; * is any text. Empty: all."
        {...field('models', 'access.models')}
      />
      <TextField
        label="Account labels"
        hint="Only accounts with one of these labels, separated by commas. Empty: all accounts."
        {...field('accountLabels', 'access.accountLabels')}
      />
      <TextAreaField label="Note" hint="Visible to operators only." maxLength={1000} {...field('note')} />
    </>
  );
}
