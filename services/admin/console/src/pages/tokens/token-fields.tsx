import type { Problem } from '../../api/problem.ts';
import { SelectField, TextAreaField, TextField } from '../../ui/field.tsx';
import { fieldsOf } from '../../ui/form.tsx';
import { useGroups } from '../groups/use-groups.ts';
import { AccessFields, LimitFields } from './terms-fields.tsx';
import type { TokenDraft } from './token-draft.ts';

interface TokenFieldsProps {
  readonly draft: TokenDraft;
  readonly onDraft: (draft: TokenDraft) => void;
  readonly problem: Problem | undefined;
  /** The kind of a token can't be changed. */
  readonly isNew: boolean;
}

export function TokenFields({ draft, onDraft, problem, isNew }: TokenFieldsProps) {
  const field = fieldsOf(draft, onDraft, problem);
  return (
    <>
      <TextField
        label="Label"
        hint="Who the token is for. Its holder can see it."
        required
        maxLength={200}
        autoComplete="off"
        {...field('label')}
      />
      {isNew && (
        <SelectField label="Kind" {...field('kind')}>
          <option value="service">Service (with the limits below)</option>
          <option value="personal">Personal (no limits)</option>
        </SelectField>
      )}
      <GroupField {...field('groupId')} />
      {draft.kind === 'service' && <LimitFields field={field} />}
      <AccessFields field={field} />
      <TextField
        label="Expires"
        hint="In your time zone. Empty: never."
        type="datetime-local"
        {...field('expiresAtMs')}
      />
      <TextAreaField label="Note" hint="Visible to operators only." maxLength={1000} {...field('note')} />
    </>
  );
}

interface GroupFieldProps {
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly problem: string | undefined;
}

/** The choice of a group. It keeps the current one, also while groups are not known. */
function GroupField(field: GroupFieldProps) {
  const groups = useGroups();
  return (
    <SelectField label="Group" hint="Its limits, budget and rules apply in addition to those of the token." {...field}>
      <option value="">none</option>
      {groups.map(({ groupId, name }) => (
        <option key={groupId} value={groupId}>
          {name}
        </option>
      ))}
      {field.value !== '' && groups.every(({ groupId }) => groupId !== field.value) && (
        <option value={field.value}>the current one</option>
      )}
    </SelectField>
  );
}
