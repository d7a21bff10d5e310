import { get as getPlain } from 'node:http';
import { get as getOverTls } from 'node:https';
import { isIP } from 'node:net';

// The image's HEALTHCHECK: exits with status 0 if the service in this container is ready, otherwise
// with 1 and the reason. It has the service's environment.

const { HOST = '127.0.0.1', ADMIN_HOST = HOST, ADMIN_PORT = '9090', TLS_CERT_FILE = '' } = process.env;

const host = ADMIN_HOST === '0.0.0.0' ? '127.0.0.1' : ADMIN_HOST === '::' ? '::1' : ADMIN_HOST;
const url = new URL(`http://${isIP(host) === 6 ? `[${host}]` : host}:${ADMIN_PORT}/readyz`);
const request =
  TLS_CERT_FILE === ''
    ? getPlain(url)
    : // The connection does not leave the container, and the certificate may lack its loopback
      // address.
      getOverTls({ host, port: ADMIN_PORT, path: url.pathname, rejectUnauthorized: false });
request
  .setTimeout(4_000, () => request.destroy(new Error('no answer within 4 s')))
  .on('response', (answer) => {
    if (answer.statusCode !== 200) fail(`/readyz answers ${answer.statusCode}`);
    answer.pipe(process.stdout);
  })
  .on('error', ({ message }) => fail(message));

function fail(reason: string): void {
  process.stderr.write(`${reason}\n`);
  process.exitCode = 1;
}
