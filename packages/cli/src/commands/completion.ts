import { Argument, Command } from 'commander'
import { exitCodeHelp } from '../exit-codes.ts'

/** Shells that a script can be printed for. */
const shells = ['bash', 'zsh', 'fish'] as const

/** `heddle completion <shell>` */
export function completionCommand(): Command {
  return new Command('completion')
    .description('Print a script that completes commands, options and their values in a shell.')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText(
      'after',
      [
        '\nExamples:',
        '  $ heddle completion bash >> ~/.bashrc',
        '  $ heddle completion zsh >> ~/.zshrc',
        '  $ heddle completion fish > ~/.config/fish/completions/heddle.fish',
        exitCodeHelp({ 0: 'the script was printed', 2: '' }),
      ].join('\n'),
    )
    .action(async (shell: (typeof shells)[number]) => {
      const { collectPaths } = await import('../completion/paths.ts')
      const { scriptFor } = await import('../completion/scripts.ts')
      process.stdout.write(scriptFor(shell, await collectPaths()))
    })
}
