import { describe, expect, it } from 'vitest';
import { renderFolder } from './__fixtures__/rendered.ts';
import { migrationJob } from './objects/migration.ts';
import { defaultValues, valuesSchema } from './values.ts';

describe('the migration', () => {
  it('is another Job for each version, which deployers may replace and nothing waits for in vain', async () => {
    const [job] = (await renderFolder('overlays/production')).filter(({ kind }) => kind === 'Job');
    expect(job?.name).toBe(`migrate-${defaultValues.image.tag.replaceAll('.', '-')}`);
    expect(job?.document.spec).toMatchObject({ ttlSecondsAfterFinished: 86_400 });
    // Before the sync it would wait for Secrets that come with it.
    expect(job?.document.metadata).toMatchObject({
      annotations: {
        'argocd.argoproj.io/hook': 'Sync',
        'argocd.argoproj.io/hook-delete-policy': 'BeforeHookCreation',
        'kustomize.toolkit.fluxcd.io/force': 'Enabled',
      },
    });
  });

  it.each([
    ['0.1.0', 'migrate-0-1-0'],
    ['2.0.0-RC.1_b', 'migrate-2-0-0-rc-1-b'],
    [`1.${'0'.repeat(47)}..-`, `migrate-1-${'0'.repeat(47)}`],
    ['9'.repeat(128), `migrate-${'9'.repeat(50)}`],
  ])('of %s is %s', (tag, name) => {
    expect(migrationJob(valuesSchema.parse({ image: { tag } })).metadata?.name).toBe(name);
  });

  it('of a digest is named by it, whatever the tag says', () => {
    const image = { tag: '2.0.0', digest: `sha256:${'0123456789abcdef'.repeat(4)}` };
    expect(migrationJob(valuesSchema.parse({ image })).metadata?.name).toBe(
      'migrate-sha256-0123456789abcdef0123456789abcdef0123456789a',
    );
  });
});
