import { chmod, cp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tlsEnvironment, writeDevCertificates } from '../dev-certificates.ts';
import { Container, type Image, newVolume } from './container.ts';
import type { ImageConfig } from './image-builder.ts';
import { runCommand, say } from './run-command.ts';

// Runs services from the files of an image, and sends them the requests of clients and platforms.
// It has a network of its own.
//
//   node try-image.ts <image's files> <image's configuration as JSON> <folder for volumes>

const [root = '', config = '{}', folder = ''] = process.argv.slice(2);
const image: Image = { root, config: JSON.parse(config) as ImageConfig, folder };
const signal = AbortSignal.timeout(4 * 60_000);
signal.addEventListener('abort', () => process.exit(1));

await runCommand('ip', ['link', 'set', 'lo', 'up'], { signal, timeoutMs: 5_000 });
sayLabels(image.config);
await checkContents();
await checkReadOnly();
await tryAllInOne();
await tryHealthOverTls();
await tryOneService();

function sayLabels({ User, Labels }: ImageConfig): void {
  const label = (name: string) => Labels[`org.opencontainers.image.${name}`];
  say(`user ${User}, version ${label('version')}, revision ${label('revision')}`);
  expect(/^\d+:\d+$/.test(User), `the user is not a number: ${User}`);
}

/** The parts of the image, and their sizes. */
async function checkContents(): Promise<void> {
  const script = `
    cd /usr/share/doc/model-gateway
    node -p '"components: " + JSON.parse(fs.readFileSync("sbom.cdx.json", "utf8")).components.length'
    echo "licences: $(sed '/^$/q' licences.txt | grep -c @)"
    echo "sizes in MiB: $(du -sm /app /usr/local/bin | tr -s '\\t\\n' ' ')"
    echo "for development: $(find /app -name '*.ts' -not -name healthcheck.ts -o -name node_modules | wc -l)"
    echo "npm: $(command -v npm || echo none)"`;
  const { printed } = await runIn(['sh', '-euc', script]);
  for (const line of printed.trim().split('\n')) say(line);
  expect(/^for development: 0$/m.test(printed), 'the image contains development files');
  expect(/^npm: none$/m.test(printed), 'npm is in the image');
}

async function checkReadOnly(): Promise<void> {
  const script = `
    for place in /app /usr/local/bin /etc /data /tmp; do
      if touch $place/written 2>/tmp/why; then echo "$place: writable"; else echo "$place: $(sed 's/.*: //' /tmp/why)"; fi
    done; id`;
  const { printed } = await runIn(['sh', '-c', script]);
  say(printed.trim().replaceAll('\n', '; '));
  for (const place of ['/app', '/usr/local/bin', '/etc'])
    expect(printed.includes(`${place}: Read-only file system`), `${place} can be written to`);
  for (const place of ['/data', '/tmp']) expect(printed.includes(`${place}: writable`), `${place} is not writable`);
}

/** The image as it is: no setting, no argument, on simulated providers. */
async function tryAllInOne(): Promise<void> {
  const data = await newVolume(image);
  await using gateway = await Container.start(image, { data });
  await healthy(gateway);
  const { Uid, CapEff, CapBnd, NoNewPrivs } = await gateway.status();
  say(`all-in-one is healthy: Uid ${Uid}, CapEff ${CapEff}, CapBnd ${CapBnd}, NoNewPrivs ${NoNewPrivs}`);
  expect(/^1000\b/.test(Uid ?? '') && /^0+$/.test(CapEff ?? 'none'), 'the process has more rights than it should');
  say(`/livez: ${await textOf('http://127.0.0.1:9090/livez')}`);
  const [, token = ''] = /^ {2}Token +(\S+)/m.exec(gateway.printed) ?? [];
  await streamChat(token, 'Hello from the image');
  // Large requests are translated in threads, which start from files of their own.
  await streamChat(token, 'Hello'.repeat(100_000));
  const { code, printed } = await runIn(['gatewayctl', 'token', 'create', '--label', 'smoke'], {}, data);
  expect(code === 0, `gatewayctl ended with ${code}: ${printed}`);
  say('gatewayctl in the container made a token');
  expect((await textOf('http://127.0.0.1:9090/')).includes('<div id="console">'), 'there is no console');
  say('the console is served');
  await gateway.terminate();
  const ended = await gateway.ended(20_000);
  expect(ended === 0, `after SIGTERM it ended with ${ended}\n${gateway.printed}`);
  say('SIGTERM: drained, ended with 0');
}

async function streamChat(token: string, content: string): Promise<void> {
  const answer = await fetch('http://127.0.0.1:8080/v1/chat/completions', {
    method: 'POST',
    signal: AbortSignal.timeout(30_000),
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'gateway/sterk',
      stream: true,
      messages: [{ role: 'user', content }],
    }),
  });
  const events = (await answer.text()).split('\n\n').filter((event) => event.startsWith('data: '));
  const chunks = events.slice(0, -1).map((event): Chunk => JSON.parse(event.slice('data: '.length)));
  const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
  say(
    `streamed chat answer: ${answer.status}, ${events.length} events, "${text.slice(0, 60)}", last: ${events.at(-1)}`,
  );
  expect(text.includes(content), "the answer is not the simulated provider's");
  expect(events.at(-1) === 'data: [DONE]', 'the stream did not end with [DONE]');
}

interface Chunk {
  readonly choices: readonly { readonly delta: { readonly content?: string | null } }[];
}

/** With certificates the admin port speaks TLS, and may be reached from outside. */
async function tryHealthOverTls(): Promise<void> {
  const data = await newVolume(image);
  const made = join(folder, 'certificates');
  await writeDevCertificates(made);
  await cp(made, join(data, 'certificates'), { recursive: true });
  await runCommand('chown', ['-R', image.config.User, data], { signal, timeoutMs: 5_000 });
  await chmod(join(data, 'certificates'), 0o500);
  const env = tlsEnvironment('/data/certificates', 'limiter');
  await using gateway = await Container.start(image, { env, data });
  await healthy(gateway, env);
  const plain = await textOf('http://127.0.0.1:9090/livez').catch(() => 'refused');
  expect(plain === 'refused', 'the admin port answers in the clear');
  say('with TLS: healthy, and nothing is answered in the clear');
}

/** One service of the image by itself. */
async function tryOneService(): Promise<void> {
  const peers = { POOL_BROKER_URL: 'http://127.0.0.1:50051', CREDENTIAL_URL: 'http://127.0.0.1:50052' };
  const parameters = ['responses-adapter'];
  await using unknown = await Container.start(image, { parameters: ['adapter'] });
  expect((await unknown.ended(20_000)) === 1 && unknown.printed.includes('responses-adapter'), unknown.printed);
  await using refused = await Container.start(image, { parameters, env: peers });
  const code = await refused.ended(20_000);
  expect(code === 1 && refused.printed.includes('ALLOW_PLAINTEXT=true'), `it ended with ${code}\n${refused.printed}`);
  say('responses-adapter without TLS: refuses to listen beyond loopback');
  const env = { ...peers, ALLOW_PLAINTEXT: 'true', GRPC_PORT: '50061' };
  await using adapter = await Container.start(image, { parameters, env });
  await eventually(async () => expect((await textOf('http://127.0.0.1:9090/livez')) === 'ok', 'not alive'), adapter);
  say('responses-adapter with ALLOW_PLAINTEXT=true: /livez: ok');
}

/** Waits until the image's own HEALTHCHECK succeeds. */
async function healthy(container: Container, env: Readonly<Record<string, string>> = {}): Promise<void> {
  const [, ...command] = image.config.Healthcheck.Test;
  await eventually(async () => {
    const { code, printed } = await runIn(command, env);
    expect(code === 0, `HEALTHCHECK ended with ${code}: ${printed}`);
  }, container);
}

async function eventually(attempt: () => Promise<void>, container: Container): Promise<void> {
  const untilMs = performance.now() + 60_000;
  for (;;) {
    try {
      return await attempt();
    } catch (thrown) {
      if (performance.now() > untilMs) throw new Error(`${thrown}\n${container.printed}`);
    }
    await sleep(250);
  }
}

/** Another process in the image, as `docker exec` would start it; it ends by itself. */
async function runIn(command: readonly string[], env: Readonly<Record<string, string>> = {}, data?: string) {
  await using container = await Container.start(image, { command, env, data });
  const code = await container.ended(30_000);
  return { code, printed: container.printed };
}

async function textOf(url: string): Promise<string> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(5_000) });
  return (await answer.text()).trim();
}

function expect(isRight: boolean, problem: string): asserts isRight {
  if (!isRight) throw new Error(problem);
}
