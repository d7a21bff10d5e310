import { describe, expect, it } from 'vitest';
import { problemText, readCommand } from './command.ts';
import { startSimulator } from './simulator.ts';

describe('the command', () => {
  it('listens on its usual address without flags', () => {
    expect(readCommand([])).toMatchObject({
      host: '127.0.0.1',
      port: 8090,
      responsesBackend: 'api',
    });
  });

  it('reads its flags', () => {
    const words = '--port 0 --messages-model m --subscription --event-delay-ms 20'.split(' ');
    expect(readCommand(words)).toMatchObject({
      port: 0,
      messagesModels: ['m'],
      responsesBackend: 'subscription',
      eventDelayMs: 20,
    });
  });

  it('refuses flags that make no sense', () => {
    expect(() => readCommand(['--port', 'x'])).toThrow('--port must be a whole number, but is "x".');
    expect(() => readCommand(['--prot', '1'])).toThrow("Unknown option '--prot'");
  });

  it('says so when the port is taken', async () => {
    await using first = await startSimulator();
    const problem = await startSimulator({ port: first.port }).catch(problemText);
    expect(problem).toBe(
      `The simulator can't start: port ${first.port} of 127.0.0.1 is taken by another process. Stop it, or choose another port with --port.`,
    );
  });
});
