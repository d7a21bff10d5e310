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
        </>
      )}
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
