import { useQuery } from '@connectrpc/connect-query';
import { GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import type { Problem } from '../../api/problem.ts';
import { SelectField, TextAreaField, TextField } from '../../ui/field.tsx';
import { fieldsOf } from '../../ui/form.tsx';
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
  const { data } = useQuery(GroupService.method.listGroups, {});
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
      {draft.kind === 'service' && (
        <>
          <TextField
            label="Requests per minute"
            hint="Counted over any 60 seconds. Empty: unlimited. 0: every request is rejected."
            type="number"
            min={0}
            max={4_294_967_295}
            {...field('requestsPerMinute', 'limits.requestsPerMinute')}
          />
          <TextField
            label="Tokens per day"
            hint="Input and output tokens, from midnight to midnight in Amsterdam. Empty: unlimited."
            type="number"
            min={0}
            max={Number.MAX_SAFE_INTEGER}
            {...field('tokensPerDay', 'limits.tokensPerDay')}
          />
          <TextField
            label="Requests at a time"
            hint="Requests that run at the same time. Empty: unlimited."
            type="number"
            min={0}
            max={4_294_967_295}
            {...field('concurrentRequests', 'limits.concurrentRequests')}
          />
        </>
      )}
      <SelectField label="Group" hint="Its tokens share its limits, its budget and its rules." {...field('groupId')}>
        <option value="">None</option>
        {data?.groups.map(({ group }) => (
          <option key={group?.groupId} value={group?.groupId}>
            {group?.name}
          </option>
        ))}
      </SelectField>
      <TextField
        label="Models"
        hint="Models and classes that it may use, separated by commas; * is any text. Empty: all."
        {...field('models', 'access.models')}
      />
      <TextField
        label="Account labels"
        hint="Only accounts with one of these labels, separated by commas. Empty: all accounts."
        {...field('accountLabels', 'access.accountLabels')}
      />
      <TextField
        label="Expires"
        hint="In your time zone. Empty: never."
        type="datetime-local"
        {...field('expiresAt')}
      />
      <TextAreaField label="Note" hint="Visible to operators only." maxLength={1000} {...field('note')} />
    </>
  );
}
