import { beforeAll, describe, expect, it } from 'vitest';
import { type Rendered, renderFile, renderFolder } from './__fixtures__/rendered.ts';
import { schemaProblems } from './__fixtures__/strict-schemas.ts';

const folders = ['overlays/production', 'overlays/development', 'overlays/small', 'mesh', 'autoscaling-by-streams'];
const examples = ['ingress', 'admin-ingress', 'gateway-api'].map((name) => `examples/${name}.yaml`);

describe('the objects of deploy/kubernetes', () => {
  const rendered = new Map<string, readonly Rendered[]>();

  beforeAll(async () => {
    for (const folder of folders) rendered.set(folder, await renderFolder(folder));
    for (const path of examples) rendered.set(path, await renderFile(path));
  });

  it.each([...folders, ...examples])(
    'fit the schemas of Kubernetes, without a field that those do not know: %s',
    (place) => {
      const objects = rendered.get(place) ?? [];
      expect(objects.length).toBeGreaterThan(0);
      expect(
        objects.flatMap(({ kind, name, document }) => schemaProblems(document).map((text) => [kind, name, text])),
      ).toEqual([]);
    },
  );

  it('would be refused with a made-up field anywhere', () => {
    const samples = new Map([...rendered.values()].flat().map((object) => [object.kind, object.document]));
    expect(samples.size).toBeGreaterThan(10);
    for (const [kind, document] of samples) {
      const places = placesForFields(document, '');
      expect(places.length).toBeGreaterThan(0);
      for (const { path, insert } of places) {
        expect(schemaProblems(insert('madeUp')), `${kind}${path}/madeUp`).toContainEqual(
          `${path}/madeUp is no field of ${kind}`,
        );
      }
    }
  });

  it('would be refused with a value of another type', () => {
    const [first] = rendered.get('overlays/production') ?? [];
    expect(schemaProblems({ ...first?.document, metadata: { name: 7 } })).not.toEqual([]);
    expect(schemaProblems({ apiVersion: 'v1', kind: 'ConfigMaps' })).not.toEqual([]);
  });
});

interface Place {
  readonly path: string;
  readonly insert: (field: string) => Readonly<Record<string, unknown>>;
}

/** Members whose names are free. */
const maps =
  /^(labels|annotations|matchLabels|data|stringData|requests|limits|selector|nodeSelector|matchExpressions)$/;

/** Every object inside an object, except maps with free names. */
function placesForFields(value: Readonly<Record<string, unknown>>, path: string): readonly Place[] {
  const own: Place = { path, insert: (field) => ({ ...value, [field]: 'x' }) };
  const inner = Object.entries(value).flatMap(([name, member]) => {
    if (typeof member !== 'object' || member === null || isMap(name, member)) return [];
    const entries: Readonly<Record<string, unknown>> = Object.fromEntries(Object.entries(member));
    return placesForFields(entries, `${path}/${name}`)
      .filter((place) => !(Array.isArray(member) && place.path === `${path}/${name}`))
      .map((place) => ({
        path: place.path,
        insert: (field: string) => {
          const changed = place.insert(field);
          return { ...value, [name]: Array.isArray(member) ? Object.values(changed) : changed };
        },
      }));
  });
  return [own, ...inner];
}

/** `selector` is a map in a Service and an object elsewhere. */
function isMap(name: string, member: object): boolean {
  return maps.test(name) && !('matchLabels' in member);
}
