import { TextField } from '../../ui/field.tsx';
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
        type="number"
        min={0}
        max={maxCount}
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
        max={maxCount}
        {...field('concurrentRequests', 'limits.concurrentRequests')}
      />
    </>
  );
}

const maxCount = 4_294_967_295;

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
