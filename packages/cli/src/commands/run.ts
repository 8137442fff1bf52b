import { Command, Option } from 'commander'
import { exitCodeHelp } from '../exit-codes.ts'
import type { CommandContext } from '../command-table.ts'
import { graphFormats, type GraphFormat } from '../run/draw-graph.ts'
import { parseDuration, parsePatience } from '../arguments/duration.ts'
import { parseSize } from '../arguments/size.ts'
import { parseJournal } from '../arguments/journal-address.ts'
import { parseCount, parseWhole } from '../arguments/whole-number.ts'
import { defaultLimits } from '../run/run-settings.ts'
import { defaults } from '../serve/serve-settings.ts'

interface RunFlags {
  readonly concurrency?: number
  readonly retries?: number
  readonly timeout?: number
  readonly journal?: string
  readonly only?: readonly string[]
  readonly graph?: GraphFormat
  readonly quiet?: boolean
  readonly key?: string
  readonly resume?: string | true
  readonly from?: string
  readonly threads?: number
  readonly threadMemory?: number
  readonly journalRetry?: number
  readonly ui?: boolean
  readonly uiPort?: number
  readonly allowChanges?: boolean
  readonly title?: string
  readonly json?: boolean
  readonly color: boolean
}

/** `heddle run <file> [options] [-- arguments of the module]` */
export function runCommand({ rest }: CommandContext): Command {
  return new Command('run')
    .description(
      'Run the graph that a module exports: its default export is a Graph, or an (async) function that ' +
        'returns one and is called with an array of the arguments after `--`.',
    )
    .usage('<file.ts> [options] [-- arguments of the module]')
    .argument('[file]', 'the module, from the current folder')
    .addOption(
      new Option(
        '-c, --concurrency <n>',
        `how many jobs run at once (default: ${defaultLimits.concurrency})`,
      ).argParser(parseCount(1)),
    )
    .addOption(
      new Option(
        '-j, --journal <where>',
        'sqlite:FILE, postgres://HOST/DATABASE or memory (default: sqlite:.heddle/runs.db)',
      ).argParser(parseJournal),
    )
    .addOption(
      new Option(
        '--journal-retry <ms>',
        'how long a failed write of the journal is tried again before the run ends; also 5min, 0 (default: 30s)',
      ).argParser(parsePatience),
    )
    .option(
      '--key <key>',
      'a name for this piece of work: a run that has it is waited for, resumed, or answered with its recorded result',
    )
    .option(
      '--resume [run]',
      'resume a run: its id, or the newest of this title that has something left to do, also one that failed',
    )
    .option(
      '--from <node>',
      'make a new run from the last one, or from that of --resume: this node and everything computed from it run again',
    )
    .option('--allow-changes', 'resume although the graph has changed; what changed runs again')
    .addOption(
      new Option(
        '-r, --retries <n>',
        `how often a failed attempt is tried again (default: ${defaultLimits.retries})`,
      ).argParser(parseCount(0)),
    )
    .addOption(
      new Option(
        '-t, --timeout <ms>',
        `how long one attempt may take; also 90s, 5min, Infinity (default: ${defaultLimits.timeout})`,
      ).argParser(parseDuration),
    )
    .addOption(
      new Option(
        '--threads <n>',
        'how many threads thread jobs run in (default: one for each processor)',
      ).argParser(parseCount(1)),
    )
    .addOption(
      new Option(
        '--thread-memory <size>',
        'how much memory the jobs of one thread may take: 512MB',
      ).argParser(parseSize),
    )
    .option('--only <node...>', 'run these nodes and their dependencies')
    .addOption(
      new Option('--graph <format>', 'print the graph and run nothing').choices(graphFormats),
    )
    .option(
      '--ui',
      'serve the dashboard of this run; in a terminal until Ctrl+C, else until the run has ended',
    )
    .addOption(
      new Option(
        '--ui-port <n>',
        `the port of the dashboard (default: ${defaults.port}, or a free one)`,
      ).argParser(parseWhole(0, 65_535)),
    )
    .option('--title <text>', 'what the run is called in lists (default: the file)')
    .option('--json', 'one JSON object per event and line; the last line is the result')
    .option('-q, --quiet', 'print failures and the summary only')
    .option('--no-color', 'no colours')
    .addHelpText(
      'after',
      [
        '\nExamples:',
        '  $ heddle run build.ts --concurrency 8 --retries 2',
        '  $ heddle run build.ts --resume',
        '  $ heddle run build.ts --from bundle',
        '  $ heddle run build.ts --ui',
        '  $ heddle run report.ts --key nightly-2026-11-16',
        '  $ heddle run build.ts --only test lint --quiet',
        '  $ heddle run build.ts --graph mermaid',
        '  $ heddle run report.ts --json -- --month 2026-10 | tail -n 1',
        '\nA module may also export `options`, as run() takes them; options of the command line take precedence.',
        '\nWhile it runs: p pause, r resume, q cancel (again: abort), f filter, a all, w window, l log, ? help.',
        'SIGUSR1 pauses and SIGUSR2 resumes. SIGTERM cancels; while everything sleeps it only ends the process: resume it later.',
        exitCodeHelp({
          0: 'every job succeeded',
          1: 'a job failed, or the run was cut short',
          2: 'the command was not understood or the graph could not be loaded; nothing has run',
          130: 'the run was cancelled',
        }),
      ].join('\n'),
    )
    .action(async (file: string | undefined, flags: RunFlags, command: Command) => {
      const { graph } = flags
      const { named, resume, only } = findFile(file, flags)
      if (named === undefined || only?.length === 0) {
        const missing = named === undefined ? "argument 'file'" : "node of '--only'"
        command.error(`error: missing required ${missing}\n(${fileHint})`)
      }
      if (graph !== undefined) {
        const { printGraph } = await import('../run/print-graph.ts')
        return printGraph({ file: named, args: rest, only }, graph)
      }
      const { executeRun } = await import('../run/execute-run.ts')
      return executeRun({
        file: named,
        args: rest,
        only,
        title: flags.title,
        concurrency: flags.concurrency,
        retries: flags.retries,
        timeout: flags.timeout,
        journal: flags.journal,
        journalRetry: flags.journalRetry,
        key: flags.key,
        resume,
        from: flags.from,
        threads: flags.threads,
        threadMemory: flags.threadMemory,
        ui: flags.ui === true || flags.uiPort !== undefined ? { port: flags.uiPort } : undefined,
        allowChanges: flags.allowChanges ?? false,
        json: flags.json ?? false,
        quiet: flags.quiet ?? false,
        color: flags.color,
      })
    })
}

const fileHint = 'the file comes first: heddle run build.ts --only test'

const isModule = /\.[cm]?[jt]sx?$/

/** `--resume build.ts` and `--only test build.ts`: an option that takes words has taken the file. */
function findFile(
  file: string | undefined,
  { resume, only }: Pick<RunFlags, 'resume' | 'only'>,
): {
  readonly named: string | undefined
  readonly resume: RunFlags['resume'] | undefined
  readonly only: RunFlags['only'] | undefined
} {
  if (file !== undefined) return { named: file, resume, only }
  if (typeof resume === 'string' && isModule.test(resume)) {
    return { named: resume, resume: true, only }
  }
  const last = only?.at(-1)
  if (last !== undefined && isModule.test(last)) {
    return { named: last, resume, only: only!.slice(0, -1) }
  }
  return { named: undefined, resume, only }
}
