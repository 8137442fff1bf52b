import { Command, InvalidArgumentError, Option } from 'commander'
import { describe } from '@heddle/core/lowlevel'
import { exitCodeHelp, exitCodes } from '../exit-codes.ts'
import { parseDuration } from '../arguments/duration.ts'
import { configName, readConfig, type WorkConfig } from '../work/worker-config.ts'
import type { WorkerConcurrency } from '@heddle/worker'
import { parseWorkerConcurrency } from '../work/concurrency.ts'
import { defaults as serveDefaults } from '../serve/serve-settings.ts'

interface WorkFlags {
  readonly server?: string
  readonly config?: string
  readonly folder: string
  readonly token?: string
  readonly jobs?: string
  readonly name?: string
  readonly concurrency?: WorkerConcurrency
  readonly capability?: readonly string[]
  readonly tag?: readonly string[]
  readonly exitWhenIdle?: boolean
  readonly stopDeadline?: number
  readonly json?: boolean
  readonly color: boolean
}

/** `heddle work --server URL [options]` */
export function workCommand(): Command {
  return new Command('work')
    .description(
      'Run jobs of a server on this machine: claims leases over HTTP, runs them, reports their results.',
    )
    .addOption(
      new Option(
        '--server <url>',
        'the address of the server, such as https://host:4500; several with commas',
      ).argParser(parseServer),
    )
    .option(
      '--config <file>',
      `settings as JSON; flags win (default: ${configName}, if it is there)`,
    )
    .option('--folder <folder>', 'where it works: one worker at a time in each folder', '.')
    .addOption(
      new Option('--token <token>', 'a token with the scope "worker", of `heddle tokens add`').env(
        'HEDDLE_TOKEN',
      ),
    )
    .option(
      '--jobs <file>',
      `the module with the jobs, from the current folder (default: ${serveDefaults.jobs})`,
    )
    .option('--name <name>', 'what people call this worker (default: the machine and the process)')
    .addOption(
      new Option(
        '-c, --concurrency <n>',
        'leases at a time, or for each place: loop=50,thread=2 (default: as many as the machine runs)',
      ).argParser(parseWorkerConcurrency),
    )
    .option('--capability <name...>', 'what this machine has that jobs may ask for, such as gpu')
    .option('--tag <name...>', 'words by which campaigns choose workers')
    .option('--exit-when-idle', 'end when there is no work')
    .addOption(
      new Option(
        '--stop-deadline <ms>',
        'how long a stop waits for running jobs; also 90s, 5min (default: 30s)',
      ).argParser(parseDuration),
    )
    .option('--json', 'one JSON object per event and line')
    .option('--no-color', 'plain lines without colours')
    .addHelpText(
      'after',
      [
        '\nExamples:',
        '  $ heddle work --server http://127.0.0.1:4500 --jobs jobs.ts',
        '  $ HEDDLE_TOKEN=… heddle work --server https://host:4500 --capability gpu --exit-when-idle',
        '\nSIGTERM and SIGINT stop: running jobs may finish until the deadline, the rest is handed back.',
        exitCodeHelp({
          0: 'it was stopped, or there is no work and --exit-when-idle was given',
          1: 'its connections failed in a way that only a new process repairs: start it again',
          2: 'it could not start: the command, the module, or another worker works in this folder',
          3: 'the server refused it for good: the token was revoked, or its user was blocked',
          4: 'this version of heddle and the server have no protocol in common: update one of them',
          130: 'stopped at once by a second SIGINT',
          143: 'stopped at once by a second SIGTERM',
        }),
      ].join('\n'),
    )
    .action(async (flags: WorkFlags, command: Command) => {
      const { executeWork } = await import('../work/execute-work.ts')
      const config = await configOf(flags, command)
      const server = flags.server ?? serverOf(config, command)
      await executeWork({
        server,
        token: flags.token,
        jobs: flags.jobs ?? config.jobs ?? serveDefaults.jobs,
        name: flags.name ?? config.name,
        concurrency: flags.concurrency ?? config.concurrency,
        capabilities: flags.capability ?? config.capabilities,
        tags: flags.tag ?? config.tags,
        folder: flags.folder,
        exitWhenIdle: flags.exitWhenIdle ?? false,
        stopDeadline: flags.stopDeadline ?? config.stopDeadline ?? 30_000,
        json: flags.json ?? false,
        color: flags.color,
      })
    })
}

async function configOf({ config }: WorkFlags, command: Command): Promise<WorkConfig> {
  try {
    return await readConfig(config)
  } catch (error) {
    return command.error(`error: ${describe(error)}`, { exitCode: exitCodes.usage })
  }
}

function serverOf({ server }: WorkConfig, command: Command): string {
  if (server === undefined) {
    const problem = 'error: name the server: --server URL, or "server" in the config file'
    return command.error(problem, { exitCode: exitCodes.usage })
  }
  try {
    return parseServer(server)
  } catch (error) {
    return command.error(`error: server in the config file: ${describe(error)}`, {
      exitCode: exitCodes.usage,
    })
  }
}

/** One address, or several on one PostgreSQL: `https://one:4500,https://two:4500`. */
export function parseServer(text: string): string {
  return text.split(',').map(parseAddress).join(',')
}

function parseAddress(text: string): string {
  const url = URL.parse(text.trim())
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.href.replace(/\/$/, '')
  throw new InvalidArgumentError('Expected an address such as https://host:4500.')
}
