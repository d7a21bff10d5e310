import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { serviceNames } from '@gateway/testkit';
import { CertificateAuthority } from '@gateway/testkit/certificates';
import { roomMs } from '@gateway/testkit/room';
import { expect, it } from 'vitest';
import { chat } from '../client/chat.ts';
import { issueToken } from '../client/tokens.ts';
import { useCertificates } from '../topologies/certificates.ts';
import { startServicesTopology } from '../topologies/services.ts';

const isLong = process.env.FAULTS === 'long';
const streams = isLong ? 300 : 60;
/** Files are read every ten seconds. */
const untilReadMs = 10_000 + roomMs(1_000);
const holders = [...serviceNames, 'prometheus'];

/**
 * A certificate for each holder, in files for `start:services --tls`. All of them trust `trusted`.
 */
async function writeCertificates(
  folder: string,
  authority: CertificateAuthority,
  trusted: readonly CertificateAuthority[],
) {
  for (const name of holders) {
    await authority.writeFiles(folder, name, { names: [name, 'localhost', '127.0.0.1'] });
  }
  await trust(folder, trusted);
}

async function trust(folder: string, trusted: readonly CertificateAuthority[]): Promise<void> {
  await writeFile(join(folder, 'ca.crt'), trusted.map(({ certificatePem }) => certificatePem).join(''));
}

it(`a new authority and new certificates cut none of ${streams} streams, and fail no request meanwhile`, async () => {
  const [old, next] = [await CertificateAuthority.create('old'), await CertificateAuthority.create('next')];
  await using gateway = await startServicesTopology('rotation', {
    tls: true,
    prepareCertificates: (folder) => writeCertificates(folder, old, [old]),
  });
  const { certificates: folder = '', services } = gateway;
  const token = await issueToken(gateway, { kind: 'personal' });
  const steps = [
    () => trust(folder, [old, next]),
    () => writeCertificates(folder, next, [old, next]),
    ...(isLong ? [() => trust(folder, [next])] : []),
  ];
  // As long as the rotation, and some seconds more.
  const [betweenEventsMs, words] = [250, Math.ceil((steps.length * untilReadMs + roomMs(6_000)) / 250)];
  for (const account of ['messages-a', 'messages-b']) {
    gateway.simulator.faults.add({ account, fault: { kind: 'delay', betweenEventsMs } });
  }
  const body = { model: 'gateway/claude', stream: true, messages: [{ role: 'user', content: `#long ${words}` }] };
  const signal = AbortSignal.timeout(roomMs(240_000));
  let ended = 0;
  const answers = Array.from({ length: streams }, async () => {
    const answer = await chat(gateway, token.text, body, { signal });
    ended += 1;
    return answer;
  });

  const statuses: number[] = [];
  const asking = new AbortController();
  const small = (async () => {
    while (!asking.signal.aborted) {
      const { status } = await chat(gateway, token.text, { model: 'gateway/sterk' });
      statuses.push(status);
      await sleep(50);
    }
  })();

  await sleep(1_000);
  for (const step of steps) {
    await step();
    await sleep(untilReadMs);
  }
  expect(ended).toBe(0);
  // Its peers open new connections to it, and it opens new ones to them.
  for (const name of ['usage-query', 'limiter'] as const) await services[name].restart();
  useCertificates(folder);
  const response = await fetch(`${gateway.adminUrls.limiter}/metrics`);
  expect(response.status).toBe(200);

  const texts = (await Promise.all(answers)).map(({ text }) => text);
  asking.abort();
  await small;
  expect(texts.filter((text) => !text.endsWith('data: [DONE]\n\n'))).toEqual([]);
  expect(statuses.length).toBeGreaterThan(20);
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
  const problems = gateway
    .logs()
    .split('\n')
    .filter((line) => /can not be read again|was refused/.test(line));
  expect(problems).toEqual([]);
});
