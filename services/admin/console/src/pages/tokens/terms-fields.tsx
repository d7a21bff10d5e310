import { SelectField, TextField } from '../../ui/field.tsx';
import type { fieldsOf } from '../../ui/form.tsx';
import type { TermsDraft } from './terms-draft.ts';

interface TermsFieldsProps {
  readonly field: ReturnType<typeof fieldsOf<Readonly<Record<keyof TermsDraft, string>>>>;
}

export function LimitFields({ field }: TermsFieldsProps) {
  return (
    <>
      <TextField
        label="Requests per minute"
        hint="Counted over any 60 seconds. Empty: unlimited. 0: every request is rejected."
        {...count}
        {...field('requestsPerMinute', 'limits.requestsPerMinute')}
      />
      <TextField
        label="Tokens per day"
        hint="Input and output tokens, from midnight to midnight in Amsterdam. Empty: unlimited."
        {...count}
        max={Number.MAX_SAFE_INTEGER}
        {...field('tokensPerDay', 'limits.tokensPerDay')}
      />
      <SelectField
        label="Requests near this limit"
        hint="Strict: each reserves the tokens that it can use, so requests at the same time can't exceed the limit by more than one of them."
        disabled={field('tokensPerDay').value === ''}
        {...field('strictTokens', 'limits.strictTokens')}
      >
        <option value="">run while tokens are left</option>
        <option value="strict">reserve their tokens (strict)</option>
      </SelectField>
      <TextField
        label="Requests at a time"
        hint="Requests that run at the same time. Empty: unlimited."
        {...count}
        {...field('concurrentRequests', 'limits.concurrentRequests')}
      />
    </>
  );
}

const count = { type: 'number', min: 0, max: 4_294_967_295 } as const;

export function AccessFields({ field }: TermsFieldsProps) {
  return (
    <>
      <TextField
        label="Models"
        hint="Models and classes that it may use, separated by spaces; “*” matches any text. Empty: all."
        autoComplete="off"
        {...field('models', 'access.models')}
      />
      <TextField
        label="Accounts"
        hint="Labels, separated by spaces: only accounts with one of them serve its requests. Empty: all accounts."
        autoComplete="off"
        {...field('accountLabels', 'access.accountLabels')}
      />
    </>
  );
}
