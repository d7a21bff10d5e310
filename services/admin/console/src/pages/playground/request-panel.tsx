import type { KeyboardEvent } from 'react';
import { Panel } from '../../frame/page.tsx';
import { Button } from '../../ui/button.tsx';
import { Choice } from '../../ui/choice.tsx';
import { CheckField, SelectField, TextAreaField, TextField } from '../../ui/field.tsx';
import { Form, fieldsOf } from '../../ui/form.tsx';
import { bodyToEdit, type Endpoint, endpoints, type RequestDraft } from './request-draft.ts';
import type { KnownModels } from './use-models.ts';

interface RequestPanelProps {
  readonly draft: RequestDraft;
  readonly onDraft: (draft: RequestDraft) => void;
  readonly models: KnownModels['models'];
  readonly isRunning: boolean;
  /** Undefined: there is no token yet. */
  readonly onSend: (() => void) | undefined;
  readonly onStop: () => void;
}

/** The fields of a request, or its JSON. */
export function RequestPanel({ draft, onDraft, models, isRunning, onSend, onStop }: RequestPanelProps) {
  const { endpoint, body } = draft;
  return (
    <Panel title="Request">
      <Form className="stack" busy={isRunning} onSubmit={() => onSend?.()} onKeyDown={submitsByKey}>
        <Choice
          label="Endpoint"
          options={endpointNames.map((value) => ({ value, label: endpoints[value].label }))}
          value={endpoint}
          onValue={(chosen) => onDraft({ ...draft, endpoint: chosen, model: '', body: undefined })}
        />
        {body === undefined ? (
          <Fields draft={draft} onDraft={onDraft} models={models} />
        ) : (
          <TextAreaField
            label="Body"
            hint="JSON of up to 64 KiB, sent as it is."
            className="mono"
            rows={14}
            spellCheck={false}
            maxLength={65_536}
            value={body}
            onValue={(text) => onDraft({ ...draft, body: text })}
          />
        )}
        <CheckField
          label="Edit as JSON"
          checked={body !== undefined}
          onChecked={(isJson) => onDraft({ ...draft, body: isJson ? bodyToEdit(draft) : undefined })}
        />
        <div className="row">
          <Button kind="primary" type="submit" busy={isRunning} disabled={onSend === undefined}>
            Send
          </Button>
          {isRunning && <Button onClick={onStop}>Stop</Button>}
          {onSend === undefined && <span className="faint">Choose a token first.</span>}
        </div>
      </Form>
    </Panel>
  );
}

const endpointNames: readonly Endpoint[] = ['chat', 'messages', 'responses'];

/** Ctrl or Cmd with Enter sends from a text of several lines, too. */
function submitsByKey(event: KeyboardEvent<HTMLFormElement>): void {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit();
}

function Fields({ draft, onDraft, models }: Pick<RequestPanelProps, 'draft' | 'onDraft' | 'models'>) {
  const { endpoint, model, system, prompt, maxTokens, stream } = draft;
  const field = fieldsOf({ model, system, prompt, maxTokens }, (texts) => onDraft({ ...draft, ...texts }));
  const isAlwaysStream = endpoint === 'responses';
  return (
    <>
      <ModelField models={models} {...field('model')} />
      <TextAreaField label="Prompt" required rows={4} {...field('prompt')} />
      <TextAreaField label="System prompt" rows={2} {...field('system')} />
      {!isAlwaysStream && (
        <>
          <TextField
            label="Maximum output tokens"
            hint={endpoint === 'messages' ? 'Empty: 1024.' : 'Empty: the usual number of the model.'}
            type="number"
            min={1}
            max={1_000_000}
            {...field('maxTokens')}
          />
          <CheckField
            label="Stream the answer"
            checked={stream}
            onChecked={(isStream) => onDraft({ ...draft, stream: isStream })}
          />
        </>
      )}
    </>
  );
}

interface ModelFieldProps extends Pick<KnownModels, 'models'> {
  readonly value: string;
  readonly onValue: (value: string) => void;
}

/** A choice of the models that the token may use. If they are not known, the name is typed. */
function ModelField({ models, ...field }: ModelFieldProps) {
  if (models === undefined || models.length === 0) {
    const none =
      models === undefined ? 'Its models are listed when you choose a token.' : 'The token may use no model.';
    return <TextField label="Model" required autoComplete="off" hint={none} {...field} />;
  }
  const others = models.every(({ id }) => id !== field.value) && field.value !== '' ? [field.value] : [];
  return (
    <SelectField label="Model" {...field}>
      {[...others, ...models.map(({ id }) => id)].map((id) => (
        <option key={id}>{id}</option>
      ))}
    </SelectField>
  );
}
