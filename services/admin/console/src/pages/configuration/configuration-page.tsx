import { useQuery } from '@connectrpc/connect-query';
import { formatCount, moneyText } from '@gateway/presentation';
import { servedText } from '@gateway/presentation/usage-parts';
import { ConfigurationService } from '@gateway/proto/admin/v1/configuration_service_pb.js';
import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import type { ClassSummary, GatewayFile, ModelPrice } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { useSigned } from '../../api/session.tsx';
import { Page, Panel } from '../../frame/page.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Answer, Empty } from '../../ui/state.tsx';
import { Status } from '../../ui/status.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { CheckFilePanel, ModelsWithoutPrice, ProblemList } from './check-file-panel.tsx';
import { SettingsPanel } from './settings-panel.tsx';

/**
 * The running configuration, read-only. Operators edit the file itself, and check it here first.
 */
export function ConfigurationPage() {
  const mayCheck = useSigned().may(Role.ADMIN);
  const configuration = useQuery(ConfigurationService.method.getConfiguration, {}, { refetchInterval: 15_000 });
  return (
    <Page
      title="Configuration"
      about={`The running configuration, and where each value comes from.${mayCheck ? ' Check a file here before you deploy it.' : ''}`}
    >
      <Answer of={configuration} what="the configuration">
        {({ file, settings, silent, modelsWithoutPrice }) => (
          <>
            {file !== undefined && <FilePanel file={file} />}
            {mayCheck && <CheckFilePanel runningText={file?.text ?? ''} />}
            {file !== undefined && <Catalog file={file} modelsWithoutPrice={modelsWithoutPrice} />}
            <SettingsPanel settings={settings} silent={silent} />
          </>
        )}
      </Answer>
    </Page>
  );
}

function FilePanel({ file: { path, text, loadedAtMs, problems } }: { readonly file: GatewayFile }) {
  if (path === '') {
    return (
      <Panel title="gateway.yaml">
        <Empty title="No configuration file: the built-in defaults apply.">
          To define your own accounts and classes, set GATEWAY_CONFIG to the path of a file.
        </Empty>
      </Panel>
    );
  }
  return (
    <Panel title="gateway.yaml" aside={<CopyButton text={text} what="file" />}>
      <div className="row">
        <code>{path}</code>
        <span className="faint">
          in use since <Time at={loadedAtMs} />
        </span>
        {problems.length === 0 ? (
          <Status tone="good">matches the file on disk</Status>
        ) : (
          <Status tone="bad">the newer file on disk is invalid</Status>
        )}
      </div>
      {problems.length > 0 && <ProblemList problems={problems} />}
      <details className="block">
        <summary>Show the file in use</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls. */}
        <pre className="text-block" tabIndex={0}>
          {text}
        </pre>
      </details>
    </Panel>
  );
}

interface CatalogProps {
  readonly file: GatewayFile;
  readonly modelsWithoutPrice: readonly string[];
}

function Catalog({ file: { classes, prices, specialPrices, currency }, modelsWithoutPrice }: CatalogProps) {
  const price = (micros: number) => moneyText(micros, '');
  const priceColumns: readonly Column<ModelPrice>[] = [
    { label: 'Model', names: true, render: ({ model }) => <code>{model}</code> },
    { label: 'Served', render: (given) => servedText(given) || 'by default' },
    { label: 'Input', align: 'end', render: ({ inputMicros }) => price(inputMicros) },
    { label: 'Cached input', align: 'end', render: ({ cachedInputMicros }) => price(cachedInputMicros) },
    { label: 'Cache write, shorter', align: 'end', render: ({ cacheWrite5mMicros }) => price(cacheWrite5mMicros) },
    { label: 'Cache write, longer', align: 'end', render: ({ cacheWrite1hMicros }) => price(cacheWrite1hMicros) },
    { label: 'Output', align: 'end', render: ({ outputMicros }) => price(outputMicros) },
    {
      label: 'Tool calls',
      render: ({ toolFees }) => toolFees.map(({ tool, micros }) => `${tool} ${price(micros)}`).join(', ') || '–',
    },
    { label: 'From', render: ({ fromDay }) => fromDay || 'always' },
    {
      label: 'Large requests',
      render: ({ above }) => (above === undefined ? '–' : `other rates above ${formatCount(above.inputTokens)} tokens`),
    },
  ];
  return (
    <div className="panels">
      <Panel title="Model classes">
        <Table
          caption="Model classes"
          columns={classColumns}
          rows={classes}
          keyOf={({ id }) => id}
          empty={<Empty title="No classes">Clients use the providers' model names.</Empty>}
        />
      </Panel>
      <Panel title="Prices" aside={currency !== '' && `${currency} per million tokens`}>
        <Table
          caption="Model prices"
          columns={priceColumns}
          rows={[...prices, ...specialPrices]}
          keyOf={(given) => `${given.model} ${given.fromDay} ${servedText(given)}`}
          empty={<Empty title="No prices">Set prices in gateway.yaml to see what usage costs.</Empty>}
        />
        <ModelsWithoutPrice models={modelsWithoutPrice} />
      </Panel>
    </div>
  );
}

const classColumns: readonly Column<ClassSummary>[] = [
  { label: 'Class', names: true, render: ({ id }) => <code>{id}</code> },
  { label: 'Effort', render: ({ effort }) => effort || '–' },
  {
    label: 'Candidates',
    render: ({ candidates }) => (
      <ol className="plain">
        {candidates.map((candidate) => (
          <li key={candidate}>
            <code>{candidate}</code>
          </li>
        ))}
      </ol>
    ),
  },
];
