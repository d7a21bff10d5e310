import { useMutation } from '@connectrpc/connect-query';
import { formatCountOf } from '@gateway/presentation';
import {
  type CheckConfigurationResponse,
  ConfigurationService,
} from '@gateway/proto/admin/v1/configuration_service_pb.js';
import { type DragEvent, useState } from 'react';
import { problemOf } from '../../api/problem.ts';
import { Panel } from '../../frame/page.tsx';
import { Button } from '../../ui/button.tsx';
import { TextAreaField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { ProblemNote } from '../../ui/state.tsx';
import { Status } from '../../ui/status.tsx';

/**
 * Shows the problems of a gateway.yaml, or the changes that it would make, before it is deployed.
 */
export function CheckFilePanel({ runningText }: { readonly runningText: string }) {
  const [text, setText] = useState('');
  const check = useMutation(ConfigurationService.method.checkConfiguration);
  const take = (changed: string) => {
    setText(changed);
    check.reset();
  };
  const takeFile = async (file: File | undefined) => file && take(await file.text());
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    void takeFile(event.dataTransfer.files[0]);
  };
  return (
    <Panel title="Check a file">
      <Form className="stack" busy={check.isPending} onSubmit={() => check.mutate({ text })}>
        {/* biome-ignore lint/a11y/noStaticElementInteractions: a shortcut of the button. */}
        <div onDragOver={(event) => event.preventDefault()} onDrop={onDrop}>
          <TextAreaField
            label="Contents of a gateway.yaml"
            hint="Paste the text, drop a file here, or choose one. The check changes nothing. It does not verify that referenced environment variables are set."
            value={text}
            onValue={take}
            rows={8}
            spellCheck={false}
            className="mono"
          />
        </div>
        <div className="row">
          <Button type="submit" kind="primary" busy={check.isPending} disabled={text.trim() === ''}>
            Check
          </Button>
          <label className="button plain file-button">
            Choose a file
            <input
              type="file"
              accept=".yaml,.yml,.json,text/yaml"
              onChange={(event) => void takeFile(event.target.files?.[0])}
            />
          </label>
          {runningText !== '' && <Button onClick={() => take(runningText)}>Load the running file</Button>}
        </div>
      </Form>
      <div aria-live="polite" className="block">
        {check.data !== undefined && <Verdict answer={check.data} />}
        {check.error !== null && <ProblemNote>{problemOf(check.error).text}</ProblemNote>}
      </div>
    </Panel>
  );
}

interface VerdictProps {
  readonly answer: CheckConfigurationResponse;
}

function Verdict({ answer: { problems, changes, newReferences, modelsWithoutPrice } }: VerdictProps) {
  if (problems.length > 0) {
    return (
      <>
        <Status tone="bad">{formatCountOf(problems.length, 'problem')}: the file is invalid</Status>
        <ProblemList problems={problems} />
      </>
    );
  }
  return (
    <>
      <Status tone="good">{changes.length === 0 ? 'Valid; no changes' : 'Valid; these changes would apply'}</Status>
      {newReferences.length > 0 && (
        <p className="block">
          Set {newReferences.join(', ')} before you deploy the file: the running file does not reference{' '}
          {newReferences.length === 1 ? 'it' : 'them'}.
        </p>
      )}
      <ModelsWithoutPrice models={modelsWithoutPrice} />
      {changes.length > 0 && (
        <ul className="diff block">
          {changes.map((change) => (
            <li key={change} data-sign={change[0]}>
              {change}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** Models that a group with a budget refuses, or prices as others. */
export function ModelsWithoutPrice({ models }: { readonly models: readonly string[] }) {
  if (models.length === 0) return null;
  return (
    <p className="block">
      <Status tone="warn">{formatCountOf(models.length, 'model')} without a price today</Status> {models.join(', ')}
    </p>
  );
}

/** The problems, each with its path and its remedy. */
export function ProblemList({ problems }: { readonly problems: readonly string[] }) {
  return (
    <ul className="problem-note block">
      {problems.map((problem) => (
        <li key={problem}>{problem}</li>
      ))}
    </ul>
  );
}
