import { routes as edgeRoutes } from '@gateway/edge-router/routes';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { contractCases } from '../contract/cases.ts';
import { cellNames, cells, needsFault, specCells } from '../contract/cells.ts';
import { readEvents } from '../contract/check-events.ts';
import { at, type DescribedRoute, escaped, OpenApiDocument, objectOf } from '../contract/openapi-document.ts';
import { openApiMetaSchema } from '../contract/openapi-meta-schema.ts';

const document = OpenApiDocument.read();
const routes = document.routes();
const pathsAndMethods = Object.entries(objectOf(document.root.paths)).flatMap(([path, item]) =>
  ['get', 'post'].filter((method) => method in objectOf(item)).map((method) => ({ path, method })),
);

/** In the notation of the code: `GET /v1/models`. */
const routesOfTheEdge = edgeRoutes.map(({ method, path }) => `${method.toUpperCase()} ${path}`);

describe('docs/openapi.yaml', () => {
  it('describes every route of the edge, and no other', () => {
    const described = pathsAndMethods.map(({ path, method }) => `${method.toUpperCase()} ${path}`);
    expect(described.toSorted()).toEqual(routesOfTheEdge.toSorted());
  });

  it('is OpenAPI 3.1', () => {
    const ajv = new Ajv2020({ strictTypes: false, strictRequired: false, validateFormats: false });
    const isOpenApi = ajv.compile(openApiMetaSchema);
    isOpenApi(document.root);
    expect(isOpenApi.errors ?? []).toEqual([]);
  });

  it('has only references that lead somewhere', () => {
    expect(references().length).toBeGreaterThan(100);
    for (const reference of references()) expect(() => at(document.root, reference)).not.toThrow();
  });

  it('uses every component', () => {
    const used = new Set(references());
    const components = ['schemas', 'responses', 'parameters', 'headers'].flatMap((kind) =>
      Object.keys(objectOf(at(document.root, `#/components/${kind}`))).map((name) => `#/components/${kind}/${name}`),
    );
    expect(components.filter((component) => !used.has(component))).toEqual([]);
  });

  it('gives every operation an id of its own', () => {
    const ids = pathsAndMethods.map(({ path, method }) =>
      at(document.root, `#/paths/${escaped(path)}/${method}/operationId`),
    );
    expect(ids).toHaveLength(routesOfTheEdge.length);
    expect(new Set(ids).size).toBe(routesOfTheEdge.length);
  });

  it.each(Object.keys(objectOf(at(document.root, '#/components/schemas'))))('has a schema %s that compiles', (name) => {
    expect(document.validator(`#/components/schemas/${name}`)).toBeTypeOf('function');
  });

  it('names every error code of the specification, and no other', () => {
    const ofSpecification = cellNames.flatMap((cell) => ('code' in cells[cell] ? [cells[cell].code] : []));
    expect(new Set(codes())).toEqual(new Set(ofSpecification));
  });
});

describe('the examples of docs/openapi.yaml', () => {
  const requestBodies = pathsAndMethods
    .filter(({ method }) => method === 'post')
    .flatMap(({ path, method }) => {
      const content = document.contents(`#/paths/${escaped(path)}/${method}/requestBody/content`);
      const described = content.get('application/json');
      return [...(described?.examples ?? [])].map(([name, value]) => ({ path, name, value, described }));
    });

  it.each(requestBodies)('request $name of $path fits its schema', ({ value, described }) => {
    expect(described?.problems(value)).toEqual([]);
  });

  const answers = routes.flatMap(({ route, answers }) =>
    [...answers].flatMap(([status, { content }]) =>
      [...content].flatMap(([mediaType, described]) =>
        [...described.examples].map(([name, value]) => ({ route, status, mediaType, name, value, described })),
      ),
    ),
  );

  it.each(answers)('answer $name of $route, $status $mediaType, fits its schema', ({ mediaType, value, described }) => {
    expect(described.problems(value)).toEqual([]);
    if (mediaType !== 'text/event-stream') return;
    const events = readEvents(String(value));
    expect(events.length).toBeGreaterThan(1);
    for (const { data } of events) expect(described.eventProblems(data)).toEqual([]);
  });

  it('are there for every request and for every answer in JSON but those that are the provider’s alone', () => {
    expect(new Set(requestBodies.map(({ path }) => path)).size).toBe(4);
    const without = routes.flatMap(({ route, answers: described }) =>
      [...described].flatMap(([status, { content }]) =>
        content.get('application/json')?.examples.size === 0 ? [`${route} ${status}`] : [],
      ),
    );
    expect(without).toEqual(['POST /v1/responses default']);
  });
});

describe('the contract test', () => {
  const statusesOf = (described: DescribedRoute) => [...described.answers.keys()].toSorted();

  it('has a row for every route of the document, and the other way round', () => {
    expect(routes.map(({ route }) => route).toSorted()).toEqual(Object.keys(specCells).toSorted());
  });

  it.each(routes)('has the statuses of $route that the document has', (described) => {
    const filled = (specCells[described.route] ?? []).map((cell) => String(cells[cell].status));
    const rows = filled.map((status) => (described.answers.has(status) ? status : 'default'));
    expect([...new Set(rows)].toSorted()).toEqual(statusesOf(described));
  });

  it.each(routes.filter(({ route }) => !route.includes('/v1/messages') && !route.includes('/v1/responses')))(
    'has the codes of $route that the document has',
    ({ route, answers }) => {
      const documented = [...answers].flatMap(([status, { content }]) =>
        codes()
          .filter((code) => content.get('application/json')?.problems(errorBody(code)).length === 0)
          .map((code) => `${status} ${code}`),
      );
      const filled = (specCells[route] ?? []).flatMap((cell) =>
        'code' in cells[cell] ? [`${cells[cell].status} ${cells[cell].code}`] : [],
      );
      expect(new Set(documented)).toEqual(new Set(filled));
    },
  );

  it('has a case for every cell that the specification fills, but faults of the gateway itself', () => {
    const cased = new Set(contractCases.map(({ route, cell }) => `${route}: ${cell}`));
    const filled = Object.entries(specCells).flatMap(([route, names]) => names.map((cell) => `${route}: ${cell}`));
    expect([...cased].filter((key) => !filled.includes(key))).toEqual([]);
    expect(filled.filter((key) => !cased.has(key) && !needsFault(key))).toEqual([]);
  });

  it('has a cell for every code of the specification', () => {
    const filled = Object.values(specCells).flat();
    expect(cellNames.filter((cell) => !filled.includes(cell))).toEqual([]);
  });
});

function codes(): readonly string[] {
  const named = at(document.root, '#/components/schemas/ErrorCode/enum');
  return Array.isArray(named) ? named.map(String) : [];
}

/** An error with the members that its code requires. */
function errorBody(code: string) {
  const message = 'What went wrong.';
  const limited = { limit: 'requests_per_minute', retryAt: '2026-11-20T12:00:42.000Z' };
  return { error: { code, message, ...(code === 'rate_limit_exceeded' ? limited : {}) } };
}

function references(value: unknown = document.root): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = '$ref' in value && typeof value.$ref === 'string' ? [value.$ref] : [];
  return [...own, ...Object.values(value).flatMap(references)];
}
