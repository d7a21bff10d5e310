import { Argument, Command, type Option } from 'commander';
import { print } from '../output/print.ts';

/** `gatewayctl completion <shell>` */
export function completionCommand(): Command {
  return new Command('completion')
    .description('Prints a shell completion script. For bash: source <(gatewayctl completion bash)')
    .addArgument(new Argument('<shell>', 'shell').choices(Object.keys(scripts)))
    .action((shell: keyof typeof scripts) => print(scripts[shell]));
}

/** `gatewayctl complete`, which the scripts call. */
export function completeCommand(): Command {
  return new Command('complete')
    .argument('[words...]', 'words of the line; the last one is incomplete')
    .action((words: readonly string[], _flags, command: Command) => {
      print(
        candidatesFor(command.parent ?? command, words)
          .map((word) => `${word}\n`)
          .join(''),
      );
    });
}

/** The candidates for the last word. */
function candidatesFor(program: Command, words: readonly string[]): readonly string[] {
  const begun = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const command = before.reduce((at, word) => at.commands.find((each) => namesOf(each).includes(word)) ?? at, program);
  const isValueOf = ({ long, short, required }: Option) => required && [long, short].includes(before.at(-1));
  const flag = command.options.find(isValueOf);
  const all = flag === undefined ? [...wordsOf(command, begun)] : (flag.argChoices ?? []);
  return all.filter((word) => word.startsWith(begun));
}

function wordsOf(command: Command, begun: string): readonly string[] {
  const help = command.createHelp();
  if (begun.startsWith('-')) {
    const flags = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
    return flags.map(({ long, short }) => long ?? short ?? '');
  }
  const commands = help.visibleCommands(command).flatMap(namesOf);
  return [...commands, ...command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices)];
}

function namesOf(command: Command): readonly string[] {
  return [command.name(), ...command.aliases()];
}

const scripts = {
  bash: `_gatewayctl() {
  local IFS=$'\\n'
  COMPREPLY=($(gatewayctl complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _gatewayctl gatewayctl
`,
  zsh: `#compdef gatewayctl
_gatewayctl() {
  local -a candidates
  candidates=("\${(@f)$(gatewayctl complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -a candidates
}
compdef _gatewayctl gatewayctl
`,
  fish: `complete -c gatewayctl -f -a '(gatewayctl complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
};
