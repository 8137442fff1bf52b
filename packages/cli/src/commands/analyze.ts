import { Command, Option } from 'commander'
import type { FailOn, Level } from '@heddle/analyze'
import { failOnChoices, formats, levels, type Format } from '../analyze/choices.ts'
import { exitCodeHelp } from '../exit-codes.ts'

interface AnalyzeFlags {
  readonly format?: Format
  readonly json?: boolean
  readonly inventory?: boolean
  readonly level?: Level
  readonly baseline?: string
  readonly writeBaseline?: boolean
  readonly failOn?: FailOn
  readonly changedSince?: string
  readonly types: boolean
  readonly explain?: string | true
  readonly watch?: boolean
  readonly lsp?: boolean
  readonly config?: string
  readonly output?: string
  readonly color: boolean
}

/** `heddle analyze [targets…] [options]` */
export function analyzeCommand(): Command {
  return new Command('analyze')
    .description(
      'Find async races and loop blocking in TypeScript and JavaScript, with the\n' +
        'interleaving that goes wrong and the ways to repair it. Without targets, the\n' +
        'current folder is analysed.',
    )
    .usage('[paths… | file.ts:120-180 | file.ts#function | -] [options]')
    .argument('[targets...]', 'files, folders, globs, lines, functions, or - for standard input')
    .addOption(new Option('-f, --format <format>', 'how to answer').choices(formats))
    .option('--json', 'the same as --format json: one document { version, findings, … }')
    .option('--inventory', 'what runs where: loop, threads, processes; as Markdown or JSON')
    .addOption(
      new Option('-l, --level <level>', 'leave out findings below it (default: warning)').choices(
        levels,
      ),
    )
    .option('-b, --baseline <file>', 'findings that were there before')
    .option('--write-baseline', 'write the current findings to the baseline')
    .addOption(
      new Option('--fail-on <what>', 'which findings make the exit code 1 (default: new)').choices(
        failOnChoices,
      ),
    )
    .option('--changed-since <rev>', 'only what git says has changed since a revision')
    .option('--no-types', 'do not ask the TypeScript compiler: faster, less exact')
    .option('--explain [rule]', 'what a rule reports and why; without a rule, all of them')
    .addOption(
      new Option('-w, --watch', 'analyse again whenever a file changes').conflicts([
        'explain',
        'inventory',
        'writeBaseline',
      ]),
    )
    .addOption(
      new Option('--lsp', 'a language server on standard input and output').conflicts([
        'watch',
        'explain',
        'inventory',
        'writeBaseline',
        'changedSince',
        'output',
        'format',
        'json',
      ]),
    )
    .option('-c, --config <file>', 'settings (default: the nearest heddle-analyze.json)')
    .option('-o, --output <file>', 'write the answer to a file')
    .option('--no-color', 'no colours')
    .addHelpText(
      'after',
      [
        '\nExamples:',
        '  $ heddle analyze src',
        '  $ heddle analyze src/client.ts#Client.connect --format markdown',
        '  $ heddle analyze --changed-since main --format github',
        '  $ heddle analyze --explain H101',
        '  $ git show main:src/cache.ts | heddle analyze -',
        exitCodeHelp({
          0: 'nothing was found',
          1: 'something was found, at or above the level',
          2: 'the command or the settings were not understood; nothing was analysed',
          3: 'incomplete: a file could not be read, or the types were lost',
        }),
      ].join('\n'),
    )
    .action(async (targets: readonly string[], flags: AnalyzeFlags, command: Command) => {
      if (flags.watch === true && targets.includes('-'))
        command.error(
          "error: option '--watch' cannot be used with '-': standard input is read once",
        )
      if (flags.lsp === true && targets.includes('-'))
        command.error("error: option '--lsp' cannot be used with '-': it reads messages there")
      if (flags.json === true && flags.format !== undefined && flags.format !== 'json')
        command.error(`error: option '--json' cannot be used with '--format ${flags.format}'`)
      if (flags.inventory === true && (flags.format === 'sarif' || flags.format === 'github'))
        command.error(`error: option '--inventory' cannot be used with '--format ${flags.format}'`)
      const { executeAnalyze } = await import('../analyze/execute-analyze.ts')
      await executeAnalyze({
        targets,
        format: flags.format ?? (flags.json === true ? 'json' : undefined),
        inventory: flags.inventory ?? false,
        level: flags.level,
        baseline: flags.baseline,
        writeBaseline: flags.writeBaseline ?? false,
        failOn: flags.failOn,
        changedSince: flags.changedSince,
        types: flags.types,
        explain: flags.explain,
        watch: flags.watch ?? false,
        lsp: flags.lsp ?? false,
        config: flags.config,
        output: flags.output,
        color: flags.color,
      })
    })
}
