import { Command, InvalidArgumentError, Option } from 'commander'
import { exitCodeHelp } from '../exit-codes.ts'
import type { CommandContext } from '../command-table.ts'
import { stateChoices, type StateChoice } from '../runs/outcome-text.ts'
import { parsePoint } from '../runs/point.ts'
import type { Point } from '@heddle/core/lowlevel'
import { parseAge } from '../arguments/duration.ts'
import { parseSize } from '../arguments/size.ts'
import { parseStored } from '../arguments/journal-address.ts'
import { parseCount } from '../arguments/whole-number.ts'

interface CommonFlags {
  readonly journal?: string
  readonly json?: boolean
  readonly color: boolean
}

/** The options of every subcommand. */
function withCommon(command: Command, json: string): Command {
  const journal = new Option(
    '-j, --journal <where>',
    'sqlite:FILE or postgres://HOST/DATABASE (default: sqlite:.heddle/runs.db)',
  )
  return withOutput(command.addOption(journal.argParser(parseStored)), json)
}

function withOutput(command: Command, json: string): Command {
  return command.option('--json', json).option('--no-color', 'no colours')
}

function common({ journal, json = false, color }: CommonFlags): {
  readonly journal: string | undefined
  readonly json: boolean
  readonly color: boolean
} {
  return { journal, json, color }
}

function help(examples: readonly string[], codes: Parameters<typeof exitCodeHelp>[0]): string {
  const title = examples.length === 1 ? 'Example' : 'Examples'
  return [`\n${title}:`, ...examples.map((each) => `  $ ${each}`), exitCodeHelp(codes)].join('\n')
}

const unreadable = 'there is no such run, or the journal cannot be read'
const runArgument = 'its id, an unambiguous part of it, `last`, or `last~1` for the one before'

/** `heddle runs [list | show | timeline | compare | export | artifacts | retry | send | cancel | prune]` */
export function runsCommand(context: CommandContext): Command {
  return new Command('runs')
    .description(
      'Inspect recorded runs: list them, see their history, compare two, turn one into a test.\n' +
        'This works while a run is being written, and after a crash. send, cancel, retry, prune and copy write to a journal.',
    )
    .addCommand(listCommand(), { isDefault: true })
    .addCommand(showCommand())
    .addCommand(timelineCommand())
    .addCommand(compareCommand())
    .addCommand(exportCommand())
    .addCommand(artifactsCommand())
    .addCommand(retryCommand(context))
    .addCommand(sendCommand())
    .addCommand(cancelCommand())
    .addCommand(pruneCommand())
    .addCommand(copyCommand())
    .addHelpText(
      'after',
      help(
        [
          'heddle runs',
          'heddle runs show last',
          'heddle runs timeline last',
          'heddle runs compare last~1 last',
        ],
        {
          0: 'the answer was printed',
          1: 'compare --fail-on-slower: the second run is worse; send, cancel: the run has ended; copy: a run differs or was not copied; retry: a job failed',
          2: unreadable,
          130: 'retry: the run was cancelled',
        },
      ),
    )
}

async function refuseWord(word: string, { parent }: Command): Promise<never> {
  const { suggest } = await import('@heddle/core/lowlevel')
  const names = parent!.commands.map((command) => command.name())
  const suggestion = suggest(word, names)
  const hint = suggestion === undefined ? '' : `\n(Did you mean ${suggestion}?)`
  return parent!.error(`error: unknown command '${word}'${hint}`)
}

interface ListFlags extends CommonFlags {
  readonly state?: StateChoice
  readonly limit: number
}

function listCommand(): Command {
  const command = new Command('list')
    .usage('[options]')
    // As the default command, it gets words that were meant as another command.
    .argument('[word...]')
    .summary('list the runs of a journal, newest first (the default)')
    .description(
      'List the runs of a journal, newest first. One that was interrupted comes with the command\n' +
        'that resumes it.',
    )
    .addOption(new Option('-s, --state <state>', 'only runs in this state').choices(stateChoices))
    .addOption(new Option('-n, --limit <n>', 'how many').argParser(parseCount(1)).default(20))
  return withCommon(command, 'one JSON object: { ok, journal, runs }')
    .addHelpText(
      'after',
      help(
        [
          'heddle runs',
          'heddle runs --state failed --limit 5',
          'heddle runs --json | jq -r .runs[0].id',
        ],
        {
          0: 'the list was printed, even if it is empty',
          2: 'the journal cannot be read',
        },
      ),
    )
    .action(async (words: readonly string[], flags: ListFlags, own: Command) => {
      if (words[0] !== undefined) await refuseWord(words[0], own)
      const { listRuns } = await import('../runs/list.ts')
      await listRuns({ ...common(flags), state: flags.state, limit: flags.limit })
    })
}

interface ShowFlags extends CommonFlags {
  readonly at?: Point
  readonly node?: string
  readonly value?: string
  readonly logs?: boolean
  readonly history?: boolean
  readonly all?: boolean
}

function showCommand(): Command {
  const command = new Command('show')
    .summary('show one run, now or at an earlier moment')
    .description(
      'Show one run: its jobs with state, place, attempts, waiting and running time, and all errors.\n' +
        'With --at, as it was at that moment of its past.',
    )
    .argument('<run>', runArgument)
    .addOption(
      new Option(
        '--at <point>',
        'as of this row (1234), this long after its start (+90s), or this time (2026-11-15T22:45:01)',
      ).argParser(parsePoint),
    )
    .option('--node <name>', 'everything about one job: attempts, neighbours, errors, log')
    .option('--logs', 'also the log lines of jobs')
    .option('--history', 'also the rows of the journal: the points that --at can go to')
    .option('--value <node>', 'only the result of this job, as JSON')
    .option('--all', 'every job, also of a large graph')
  return withCommon(command, 'one JSON object: { ok, id, state, outcome, nodes, … }')
    .addHelpText(
      'after',
      help(
        [
          'heddle runs show last',
          'heddle runs show last --node upload --logs',
          'heddle runs show k3f9q2 --at +90s',
          'heddle runs show last --value report > report.json',
        ],
        { 0: 'the run was printed, however it ended', 2: unreadable },
      ),
    )
    .action(async (run: string, flags: ShowFlags) => {
      const { showRun } = await import('../runs/show.ts')
      await showRun({
        ...common(flags),
        run,
        at: flags.at,
        node: flags.node,
        value: flags.value,
        logs: flags.logs ?? false,
        history: flags.history ?? false,
        all: flags.all ?? false,
      })
    })
}

interface TimelineFlags extends CommonFlags {
  readonly width?: number
  readonly all?: boolean
}

/** In less than this a bar shows nothing; no terminal has more. */
const narrowest = 40
const widest = 1_000

function parseWidth(text: string): number {
  const width = parseCount(narrowest)(text)
  if (width <= widest) return width
  throw new InvalidArgumentError(`Expected at most ${widest}.`)
}

function timelineCommand(): Command {
  const command = new Command('timeline')
    .summary('draw when each job of a run waited and ran')
    .description(
      'Draw when each job of a run waited and ran, in lanes by place, with the critical path marked.\n' +
        'Stretches in which nothing ran are shortened. More than 60 rows are folded.',
    )
    .argument('<run>', runArgument)
    .addOption(
      new Option('-w, --width <n>', 'columns (default: those of the terminal, or 100)').argParser(
        parseWidth,
      ),
    )
    .option('--all', 'a row for every job')
  return withCommon(command, 'one JSON object: { ok, run, criticalPath, idle, rows, … }')
    .addHelpText(
      'after',
      help(['heddle runs timeline last', 'heddle runs timeline last~1 --width 160 --all'], {
        0: 'the timeline was printed',
        2: unreadable,
      }),
    )
    .action(async (run: string, flags: TimelineFlags) => {
      const { showTimeline } = await import('../runs/timeline/timeline.ts')
      const { width, all = false } = flags
      await showTimeline({ ...common(flags), run, width, all })
    })
}

interface CompareFlags extends CommonFlags {
  readonly failOnSlower?: number
  readonly all?: boolean
}

function parsePercent(text: string): number {
  const percent = text.trim() === '' ? NaN : Number(text.replace(/%$/, ''))
  if (Number.isFinite(percent) && percent >= 0) return percent
  throw new InvalidArgumentError('Expected a number of percent, 0 or more.')
}

function compareCommand(): Command {
  const command = new Command('compare')
    .summary('compare two runs: what got slower, faster, or ended differently')
    .description(
      'Compare two runs: jobs that got slower or faster, by their effect on the total, jobs that ended\n' +
        'differently, and what changed in the graph.',
    )
    .argument('<a>', `the first: ${runArgument}`)
    .argument('<b>', 'the second')
    .addOption(
      new Option(
        '--fail-on-slower <percent>',
        'exit with 1 if the second took this much longer, or did not succeed where the first did',
      ).argParser(parsePercent),
    )
    .option('--all', 'every change, also of a large graph')
  return withCommon(command, 'one JSON object: { ok, a, b, total, criticalPath, nodes, … }')
    .addHelpText(
      'after',
      help(
        ['heddle runs compare last~1 last', 'heddle runs compare k3f9q2 last --fail-on-slower 10'],
        {
          0: 'the comparison was printed',
          1: 'the second run is worse, and --fail-on-slower was given',
          2: unreadable,
        },
      ),
    )
    .action(async (a: string, b: string, flags: CompareFlags) => {
      const { showComparison } = await import('../runs/compare/compare.ts')
      const { failOnSlower, all = false } = flags
      await showComparison({ ...common(flags), a, b, failOnSlower, all })
    })
}

function cancelCommand(): Command {
  const command = new Command('cancel')
    .summary('ask the process that runs a run to cancel it')
    .description(
      'Ask the process that runs a run to cancel it: running jobs may finish, the rest is skipped.\n' +
        'It reads the message within a second, on this machine.',
    )
    .argument('<run>', runArgument)
  return withCommon(command, 'one JSON object: { ok, run, … }')
    .addHelpText(
      'after',
      help(['heddle runs cancel last'], {
        0: 'the process was asked',
        1: 'the run is not running',
        2: unreadable,
      }),
    )
    .action(async (run: string, flags: CommonFlags) => {
      const { cancelRun } = await import('../runs/cancel.ts')
      await cancelRun({ ...common(flags), run })
    })
}

function sendCommand(): Command {
  const command = new Command('send')
    .summary('send a signal to a run, for a job that waits with ctx.waitFor()')
    .description(
      'Send a signal to a run, also while another process runs it: a job that waits for its name with ctx.waitFor() continues\n' +
        'within a second. A signal that no job waits for yet is kept, also for a run that was interrupted.',
    )
    .argument('<run>', runArgument)
    .argument('<name>', 'the name of the signal')
    .argument('[value]', 'its value: JSON, or else a text; nothing when absent')
  return withCommon(command, 'one JSON object: { ok, run, … }')
    .addHelpText(
      'after',
      help(
        ['heddle runs send last approval', 'heddle runs send last approval \'{ "by": "Ada" }\''],
        {
          0: 'the signal was sent',
          1: 'the run has ended',
          2: unreadable,
        },
      ),
    )
    .action(async (run: string, name: string, value: string | undefined, flags: CommonFlags) => {
      const { sendSignal } = await import('../runs/send.ts')
      await sendSignal({ ...common(flags), run, name, value })
    })
}

interface PruneFlags extends CommonFlags {
  readonly olderThan?: number
  readonly keep?: number
  readonly maxSize?: number
  readonly interrupted?: boolean
  readonly yes?: boolean
}

function pruneCommand(): Command {
  const command = new Command('prune')
    .summary('remove old runs, by age, number or size')
    .description(
      'Remove runs that have ended, with their results and large values. A run goes when one of the bounds\n' +
        'says so. Without --yes nothing is removed: it only says what would be.',
    )
    .addOption(
      new Option(
        '--older-than <age>',
        'runs that ended at least this long ago: 12h, 30d, 8w',
      ).argParser(parseAge),
    )
    .addOption(new Option('--keep <n>', 'all but the newest n').argParser(parseCount(0)))
    .addOption(
      new Option('--max-size <size>', 'the oldest, until the rest takes no more: 500MB').argParser(
        parseSize,
      ),
    )
    .option('--interrupted', 'also runs that were interrupted and could be resumed')
    .option('--yes', 'remove them')
  return withCommon(command, 'one JSON object: { ok, removed, bytes, runs }')
    .addHelpText(
      'after',
      help(
        ['heddle runs prune --older-than 30d', 'heddle runs prune --keep 100 --max-size 1GB --yes'],
        {
          0: 'the runs were removed, or listed',
          2: 'no bound was given, or the journal cannot be written',
        },
      ),
    )
    .action(async (flags: PruneFlags) => {
      const { pruneRuns } = await import('../runs/prune.ts')
      const { olderThan, keep, maxSize, interrupted = false, yes = false } = flags
      await pruneRuns({ ...common(flags), olderThan, keep, maxSize, interrupted, yes })
    })
}

function copyCommand(): Command {
  const command = new Command('copy')
    .summary('copy runs to PostgreSQL')
    .description(
      'Copy all runs of a journal that no process is running to a store on PostgreSQL, with their results and\n' +
        'artifacts. A copy that was cut off is continued by the next one; runs that are there already stay as they are.\n' +
        'Rows and results are counted in the target, and checksums of artifacts compared, before a run is seen there.',
    )
    .argument('<from>', 'the journal to read, such as sqlite:runs.db')
    .argument('<to>', 'the store to write, such as postgres://host/database')
  return withOutput(
    command,
    'one JSON object: { ok, runs, copied, present, different, removed, running, unfinished, rows, results, artifacts, artifactBytes }',
  )
    .addHelpText(
      'after',
      help(['heddle runs copy sqlite:.heddle/runs.db postgres://db.example/heddle'], {
        0: 'all runs are there, are running, or were removed there',
        1: 'some are there with another content, or another process is copying them',
        2: 'a journal cannot be opened, or the target is not PostgreSQL',
      }),
    )
    .action(async (from: string, to: string, flags: CommonFlags) => {
      const { copyRuns } = await import('../runs/copy.ts')
      const { json, color } = common(flags)
      await copyRuns({ from, to, json, color })
    })
}

interface ArtifactsFlags extends CommonFlags {
  readonly save?: string
  readonly force?: boolean
}

function artifactsCommand(): Command {
  const command = new Command('artifacts')
    .summary('list and save the files that jobs of a run have left')
    .description(
      'List the files that jobs of a run have written with ctx.artifact(), or save them in a folder.\n' +
        'Each is checked against its checksum while it is saved.',
    )
    .argument('<run>', runArgument)
    .argument('[name...]', 'only these')
    .option('--save <folder>', 'save them here; a name with slashes becomes folders')
    .option('--force', 'replace files that are there')
  return withCommon(
    command,
    'one JSON object: { ok, run, artifacts: [{ name, length, sha256, by, … }] }',
  )
    .addHelpText(
      'after',
      help(['heddle runs artifacts last', 'heddle runs artifacts last report.html --save out'], {
        0: 'the artifacts were listed or saved',
        2: 'there is no such run or artifact, the journal cannot be read, or a file is there already',
      }),
    )
    .action(async (run: string, names: readonly string[], flags: ArtifactsFlags) => {
      const { showArtifacts } = await import('../runs/artifacts.ts')
      const { save, force = false } = flags
      await showArtifacts({ ...common(flags), run, names, save, force })
    })
}

interface RetryFlags extends CommonFlags {
  readonly from?: string
  readonly file?: string
  readonly allowChanges?: boolean
  readonly quiet?: boolean
}

function retryCommand({ rest }: CommandContext): Command {
  const command = new Command('retry')
    .summary('run again what did not succeed, or everything from a node on')
    .description(
      'Run again what did not succeed in a run, also nodes that were set aside after three interruptions: the same run continues.\n' +
        'With --from a new run is made: this node and everything computed from it run again, and the other results are reused.\n' +
        'The module, its arguments and the limits are those that the run was started with.',
    )
    .usage('<run> [options] [-- arguments of the module]')
    .argument('<run>', runArgument)
    .option('--from <node>', 'make a new run, from this node on; the old one stays as it is')
    .option('--file <file>', 'the module, where it is not the one that the run was started with')
    .option('--allow-changes', 'although the graph has changed; what changed runs again')
    .option('-q, --quiet', 'print failures and the summary only')
  return withCommon(command, 'one JSON object per event and line; the last line is the result')
    .addHelpText(
      'after',
      help(['heddle runs retry last', 'heddle runs retry k3f9q2 --from bundle'], {
        0: 'every job succeeded',
        1: 'a job failed, or the run was cut short',
        2: unreadable,
        130: 'the run was cancelled',
      }),
    )
    .action(async (run: string, flags: RetryFlags) => {
      const { retryRun } = await import('../runs/retry.ts')
      const { from, file, allowChanges = false, quiet = false } = flags
      await retryRun({ ...common(flags), run, from, file, args: rest, allowChanges, quiet })
    })
}

interface ExportFlags extends CommonFlags {
  readonly out?: string
  readonly force?: boolean
}

function exportCommand(): Command {
  const command = new Command('export')
    .summary('turn a run into a test that plays it again')
    .description(
      'Turn a run into a test: the same graph, order, durations and outcomes, played on a virtual clock.\n' +
        'Without --out the test goes to standard output.',
    )
    .argument('<run>', runArgument)
    .option('-o, --out <file>', 'the file to write: .ts, .mts, .js or .mjs')
    .option('--force', 'overwrite a file that is there')
  return withCommon(command, 'one JSON object: { ok, run, kind, file } or, without --out, source')
    .addHelpText(
      'after',
      help(
        [
          'heddle runs export last --out test/incident.test.ts',
          'node --test test/incident.test.ts',
        ],
        {
          0: 'the test was written',
          2: 'there is no such run, the journal cannot be read, or the file cannot be written',
        },
      ),
    )
    .action(async (run: string, flags: ExportFlags) => {
      const { exportRun } = await import('../runs/export/export.ts')
      await exportRun({ ...common(flags), run, out: flags.out, force: flags.force ?? false })
    })
}
