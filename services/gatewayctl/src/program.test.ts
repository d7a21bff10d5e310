import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { buildProgram, fullName } from './program.ts';

const program = await buildProgram({ env: {}, connect: () => Promise.reject(new Error('nothing is asked')) });

const options = everyCommand(program).flatMap((command) =>
  command.options.map((option) => ({ name: `${fullName(command)} ${option.long}`, command, option })),
);

describe('an option that is given more than once', () => {
  it.each(options)('is refused, not the last one taken: $name', ({ command, option: { long, required } }) => {
    command.configureOutput({ writeErr: () => {} });
    const given = required ? `${long}=x` : `${long}`;
    const name = command.options.find((each) => each.long === long)?.attributeName() ?? '';
    command.setOptionValueWithSource(name, 'x', 'cli');
    expect(() => command.parseOptions([given])).toThrow(/ is given more than once\. Write it once/);
  });

  it('is refused with the way to write several values', async () => {
    const account = options.find(({ name }) => name === 'gatewayctl account add --models');
    expect(() => account?.command.parseOptions(['--models', 'a', '--models', 'b'])).toThrow(
      'Write it once, with commas between the values: --models one,two',
    );
  });
});

function everyCommand(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}
