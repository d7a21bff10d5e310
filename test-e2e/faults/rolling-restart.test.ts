import { roomMs } from '@gateway/testkit/room';
import { describe, expect, it } from 'vitest';
import { startCommand } from '../topologies/gateway-process.ts';

const isLong = process.env.FAULTS === 'long';

/**
 * The long form replaces everything, with certificates in the middle; the short form one process of
 * each service on the path of streams and requests.
 */
const form = isLong
  ? ['--streams', '300', '--tls']
  : [
      ...['--streams', '60', '--stream-seconds', '3', '--edges', '2', '--once'],
      // Clients need the delay to notice, and a slow machine needs longer.
      ...['--drain-delay-seconds', String(Math.ceil(roomMs(1_000) / 1_000))],
      ...['edge-router', 'messages-adapter', 'pool-broker'].flatMap((service) => ['--only', service]),
    ];

describe('a gateway whose processes are replaced one after the other', () => {
  it('cuts no stream, fails no request, and records what the providers served', async () => {
    await using command = startCommand(process.execPath, ['deploy/scripts/rolling-restart.ts', ...form], {});
    const { exitCode, stdout, stderr } = await command.ended;
    if (isLong) process.stdout.write(stdout);
    const said = `${stdout}\n${stderr}`;
    expect(said).toMatch(/^streams cut +0 of [1-9]/m);
    expect(said).toMatch(/^small requests failed +0 of [1-9]/m);
    expect(said).toMatch(isLong ? /^processes replaced +19 in/m : /^processes replaced +3 in/m);
    expect({ exitCode, said: exitCode === 0 ? '' : said }).toEqual({ exitCode: 0, said: '' });
  });
});
