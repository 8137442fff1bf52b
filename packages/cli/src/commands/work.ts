import { Command, InvalidArgumentError, Option } from 'commander'
import { exitCodeHelp } from '../exit-codes.ts'
import { parseDuration } from '../run/settings.ts'
import { defaults as serveDefaults, parseWhole } from '../serve/settings.ts'

interface WorkFlags {
  readonly server: string
  readonly token?: string
  readonly jobs: string
  readonly name?: string
  readonly concurrency?: number
  readonly capability?: readonly string[]
  readonly tag?: readonly string[]
  readonly exitWhenIdle?: boolean
  readonly stopDeadline: number
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
      new Option('--server <url>', 'the address of the server, such as https://host:4500')
        .argParser(parseServer)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--token <token>', 'a token with the scope "worker", of `heddle tokens add`').env(
        'HEDDLE_TOKEN',
      ),
    )
    .option(
      '--jobs <file>',
      'the module with the jobs, from the current folder',
      serveDefaults.jobs,
    )
    .option('--name <name>', 'what people call this worker (default: the machine and the process)')
    .addOption(
      new Option(
        '-c, --concurrency <n>',
        'leases at a time (default: as many as the machine runs)',
      ).argParser(parseWhole(1, 1_024)),
    )
    .option('--capability <name...>', 'what this machine has that jobs may ask for, such as gpu')
    .option('--tag <name...>', 'words by which campaigns choose workers')
    .option('--exit-when-idle', 'end when there is no work')
    .addOption(
      new Option('--stop-deadline <ms>', 'how long a stop waits for what runs; also 90s, 5min')
        .argParser(parseDuration)
        .default(30_000),
    )
    .option('--json', 'one JSON object per event and line')
    .option('--no-color', 'plain lines without colours')
    .addHelpText(
      'after',
      [
        '\nExamples:',
        '  $ heddle work --server http://127.0.0.1:4500 --jobs jobs.ts',
        '  $ HEDDLE_TOKEN=… heddle work --server https://host:4500 --capability gpu --exit-when-idle',
        '\nSIGTERM and SIGINT stop: what runs may finish until the deadline, the rest is handed back.',
        exitCodeHelp({
          0: 'it was stopped, or there is no work and --exit-when-idle was given',
          2: 'it could not start: the command, the module, or the server refused the token',
          4: 'this version of heddle and the server have no protocol in common: update one of them',
          130: 'stopped at once by a second SIGINT',
          143: 'stopped at once by a second SIGTERM',
        }),
      ].join('\n'),
    )
    .action(async (flags: WorkFlags) => {
      const { executeWork } = await import('../work/execute.ts')
      await executeWork({
        server: flags.server,
        token: flags.token,
        jobs: flags.jobs,
        name: flags.name,
        concurrency: flags.concurrency,
        capabilities: flags.capability,
        tags: flags.tag,
        exitWhenIdle: flags.exitWhenIdle ?? false,
        stopDeadline: flags.stopDeadline,
        json: flags.json ?? false,
        color: flags.color,
      })
    })
}

export function parseServer(text: string): string {
  const url = URL.parse(text)
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.href.replace(/\/$/, '')
  throw new InvalidArgumentError('Expected an address such as https://host:4500.')
}
