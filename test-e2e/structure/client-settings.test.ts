import { clientSettingsFor } from '@gateway/presentation';
import { readPages } from '@gateway/testkit/pages';
import { describe, expect, it } from 'vitest';
import { repositoryRoot } from '../docs/page-folder.ts';

const pages = new Map((await readPages(repositoryRoot)).map(({ path, blocks }) => [path, blocks]));
const models = { chat: 'gateway/sterk', small: 'gateway/snel', messages: 'gateway/claude', responses: 'gpt-5.5' };

describe('the settings that the console and gatewayctl show', () => {
  it.each(clientSettingsFor('http://127.0.0.1:8080', models))(
    'are those of the quickstart of $client',
    ({ id, text, file }) => {
      const blocks = pages.get(`docs/quickstart/${id === 'ai-sdk' ? 'vercel-ai-sdk' : id}.md`) ?? [];
      const lines = blocks.flatMap((block) => block.text.split('\n'));
      expect(lines).toEqual(expect.arrayContaining(text.split('\n')));
      if (file !== '') expect(blocks.map(({ attributes }) => attributes.file)).toContain(file);
    },
  );
});
