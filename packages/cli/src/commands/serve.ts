import { Command, Option } from 'commander'
import { exitCodeHelp } from '../exit-codes.ts'
import { parseDuration, parseJournal } from '../run/settings.ts'
import { defaults, parseWhole } from '../serve/settings.ts'

interface ServeFlags {
  readonly jobs: string
  readonly store?: string
  readonly host: string
  readonly port: number
  readonly threads?: number
  readonly advertise?: string
  readonly clusterSecretFile?: string
  readonly drainDeadline: number
  readonly json?: boolean
  readonly color: boolean
}

/** `heddle serve [options]` */
export function serveCommand(): Command {
  return new Command('serve')
    .description(
      'Serve the jobs that a module exports over HTTP: job(…) as they are, serveJob(…) with more to\n' +
        'say. Work that was acknowledged is in the store, and is resumed after a restart.',
    )
    .option('--jobs <file>', 'the module, from the current folder', defaults.jobs)
    .addOption(
      new Option(
        '--store <where>',
        'sqlite:FILE, postgres://HOST/DATABASE, which several servers may share, or memory (default: sqlite:.heddle/serve.db)',
      ).argParser(parseJournal),
    )
    .option('--host <address>', 'the address to listen on', defaults.host)
    .addOption(
      new Option('-p, --port <n>', 'the port to listen on; 0 takes a free one')
        .argParser(parseWhole(0, 65_535))
        .default(defaults.port),
    )
    .addOption(
      new Option(
        '--threads <n>',
        'thread jobs at a time (default: as many as the machine runs, at least 2); one more thread is kept for priority 0',
      ).argParser(parseWhole(1, 1_024)),
    )
    .option(
      '--advertise <url>',
      'where other servers on the same PostgreSQL reach this one, such as http://10.0.0.5:4500',
    )
    .option(
      '--cluster-secret-file <path>',
      'a file with the secret that these servers share; needed with --advertise',
    )
    .addOption(
      new Option('--drain-deadline <ms>', 'how long a drain waits for work; also 90s, 5min')
        .argParser(parseDuration)
        .default(defaults.drainDeadline),
    )
    .option('--json', 'one JSON object per event and line')
    .option('--no-color', 'plain lines without colours')
    .addHelpText(
      'after',
      [
        '\nExamples:',
        '  $ heddle serve --jobs jobs.ts',
        '  $ heddle serve --port 0 --store memory --json',
        '  $ heddle serve --store postgres://db/app --host 0.0.0.0 --advertise http://10.0.0.5:4500 --cluster-secret-file secret',
        '  $ curl "http://127.0.0.1:4500/jobs/square?wait=5000" --json 12',
        '\nSIGTERM and SIGINT drain: no new work, what was admitted is finished. A second one stops at once.',
        exitCodeHelp({
          0: 'it was drained: everything that was admitted has ended',
          1: 'work was cut off at the deadline, or by an error that no job has caught',
          2: 'it could not start: the command, the module, the store or the port',
          130: 'stopped at once by a second SIGINT',
          143: 'stopped at once by a second SIGTERM',
        }),
      ].join('\n'),
    )
    .action(async (flags: ServeFlags) => {
      const { executeServe } = await import('../serve/execute.ts')
      await executeServe({
        jobs: flags.jobs,
        store: flags.store,
        host: flags.host,
        port: flags.port,
        threads: flags.threads,
        advertise: flags.advertise,
        clusterSecret: flags.clusterSecretFile,
        drainDeadline: flags.drainDeadline,
        json: flags.json ?? false,
        color: flags.color,
      })
    })
}
