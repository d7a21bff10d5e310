import { expect, it } from 'vitest';
import { madeUpTree } from './made-up-tree.ts';
import {
  filesOfOneAdapterOnly,
  missingEndpoints,
  missingHandlers,
  missingPartsOfServices,
  unservedContracts,
} from './service-rules.ts';
import { violationText } from './source-tree.ts';

const packages = { proto: [], 'services/limiter': [], 'services/edge-router': [], 'services/all-in-one': [] };

const whole: Readonly<Record<string, string>> = {
  'proto/gateway/limiter/v2/limiter_service.proto':
    'service LimiterService {\n  // rpc Never(A) returns (B);\n  rpc Admit(A) returns (B);\n  rpc AdmitStream(stream A) returns (stream B);\n}',
  'services/limiter/README.md': '',
  'services/limiter/src/main.ts': '',
  'services/limiter/src/config.ts': '',
  'services/limiter/src/service.ts': '',
  'services/limiter/src/routes.ts': 'serviceRoute(LimiterService, { admit, admitStream })',
  'services/limiter/src/rpc/admit.ts': '',
  'services/limiter/src/rpc/admit-stream.ts': '',
  'services/edge-router/README.md': '',
  'services/edge-router/src/main.ts': '',
  'services/edge-router/src/config.ts': '',
  'services/edge-router/src/service.ts': '',
  'services/edge-router/src/routes.ts': '',
  'services/edge-router/src/endpoints/models.ts': '',
};

const rules = [missingPartsOfServices, missingHandlers, missingEndpoints, unservedContracts];

function check(files: Readonly<Record<string, string>>): readonly string[] {
  const tree = madeUpTree(packages, files);
  return rules.flatMap((rule) => rule(tree)).map(violationText);
}

function without(path: string): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(whole).filter(([name]) => name !== path));
}

it('finds nothing in services that are whole', () => {
  expect(check(whole)).toEqual([]);
});

it.each([
  ['services/limiter/README.md', 'services/limiter: has no README.md'],
  ['services/limiter/src/config.ts', 'services/limiter: has no src/config.ts'],
  [
    'services/limiter/src/rpc/admit-stream.ts',
    'services/limiter/src/rpc/admit-stream.ts: is missing: every RPC has a file of its own, or is in that of its service',
  ],
  [
    'services/edge-router/src/endpoints/models.ts',
    'services/edge-router/src/endpoints: is missing: every endpoint has a file there',
  ],
])('misses %s', (path, violation) => {
  expect(check(without(path))).toEqual([violation]);
});

it('takes one file of a service for those of its RPCs', () => {
  const { 'services/limiter/src/rpc/admit.ts': _, ...files } = without('services/limiter/src/rpc/admit-stream.ts');
  expect(check({ ...files, 'services/limiter/src/rpc/limiter-service.ts': '' })).toEqual([]);
});

it('finds a contract that no process serves', () => {
  expect(check({ ...whole, 'services/limiter/src/routes.ts': '' })).toEqual([
    'services/limiter/src/routes.ts: serves no service of proto/',
    "proto: no service's routes.ts serves LimiterService",
  ]);
});

it('takes the handlers of the kit for those of an adapter', () => {
  const routes = "import { admit } from '@gateway/adapter-kit';\nserviceRoute(LimiterService, { admit })";
  const files = { ...without('services/limiter/src/rpc/admit.ts'), 'services/limiter/src/routes.ts': routes };
  expect(check(files)).toEqual([
    'libs/adapter-kit/src/rpc/admit.ts: is missing: every RPC has a file of its own, or is in that of its service',
    'libs/adapter-kit/src/rpc/admit-stream.ts: is missing: every RPC has a file of its own, or is in that of its service',
  ]);
});

it('misses a file that only one of the adapters has, unless there is a reason', () => {
  const paths = [
    'services/responses-adapter/src/format/convert-tools.ts',
    'services/messages-adapter/src/format/convert-tools.ts',
    'services/messages-adapter/src/format/convert-images.ts',
    'services/messages-adapter/src/format/convert-images.test.ts',
    'services/messages-adapter/src/format/convert-schemas.ts',
    'services/responses-adapter/src/format/output-items.ts',
    'services/messages-adapter/src/format/output-items.ts',
  ];
  const tree = madeUpTree({}, Object.fromEntries(paths.map((path) => [path, ''])));
  expect(filesOfOneAdapterOnly(tree).map(violationText)).toEqual([
    'src/format/output-items.ts: is in both adapters now',
    'src/format/convert-images.ts: is in one of the adapters only',
  ]);
});
