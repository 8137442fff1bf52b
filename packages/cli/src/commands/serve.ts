import { Command, Option } from 'commander'
import { describe } from '@heddle/core/lowlevel'
import { exitCodeHelp, exitCodes } from '../exit-codes.ts'
import { parseDuration } from '../arguments/duration.ts'
import { parseBytes } from '../arguments/size.ts'
import { parseWhole } from '../arguments/whole-number.ts'
import { parseJournal } from '../arguments/journal-address.ts'
import type { ServerConfig, ServerLimits } from '@heddle/server'
import { configNames, parseLimit, readServeConfig } from '../serve/serve-config.ts'
import { defaults, type ServeFlags, type ServeSettings } from '../serve/serve-settings.ts'

/** `heddle serve [options]` */
export function serveCommand(): Command {
  return new Command('serve')
    .description(
      'Serve what a module exports over HTTP: jobs, graphs and schedules. Work that was acknowledged is in the store, and is resumed after a restart.',
    )
    .option(
      '--config <file>',
      `a module, or JSON, with the options of startServer(); flags win (default: ${configNames[0]}, if it is there)`,
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
    .option(
      '--inventory <file>',
      'the file written by `heddle analyze --inventory --json`: the dashboard shows the code that runs on the loop',
    )
    .addOption(
      new Option('--result-memory <bytes>', 'results in memory: 64MiB when absent').argParser(
        parseBytes,
      ),
    )
    .addOption(
      new Option(
        '--result-disk <bytes>',
        'results that are kept, the ones used last: 1GiB when absent',
      ).argParser(parseBytes),
    )
    .option(
      '--log <file>',
      'a structured log: one JSON object for each refusal, cancel, timeout, broken pipe and error; - is the standard error',
    )
    .addOption(
      new Option('--log-level <level>', 'lines below it are not written (default: info)').choices([
        'debug',
        'info',
        'warn',
        'error',
      ]),
    )
    .option('--log-redact <field...>', 'fields that the log shows as [redacted], such as reason')
    .addOption(
      new Option('--drain-deadline <ms>', 'how long a drain waits for work; also 90s, 5min')
        .argParser(parseDuration)
        .default(defaults.drainDeadline),
    )
    .addOption(
      new Option(
        '--limit <name=value>',
        'a limit of the server, such as queue=10s, prepareCapacity=64 or resources.license=4; may be repeated',
      ).argParser(parseLimit),
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
        '\nSIGTERM and SIGINT drain: the server refuses new work and finishes what it has admitted. A second one stops at once.',
        exitCodeHelp({
          0: 'it was drained: everything that was admitted has ended',
          1: 'work was cut off at the deadline, or by an error that no job has caught',
          2: 'it could not start: the command, the module, the store or the port',
          130: 'stopped at once by a second SIGINT',
          143: 'stopped at once by a second SIGTERM',
        }),
      ].join('\n'),
    )
    .action(async (typed: ServeFlags, command: Command) => {
      const { executeServe } = await import('../serve/execute-serve.ts')
      await executeServe(settingsOf(typed, await configOf(typed, command), command))
    })
}

async function configOf({ config }: ServeFlags, command: Command): Promise<ServerConfig> {
  try {
    return await readServeConfig(config)
  } catch (error) {
    return command.error(`error: ${describe(error)}`, { exitCode: exitCodes.usage })
  }
}

/** The command line takes precedence over the file, and the file over the defaults. */
function settingsOf(flags: ServeFlags, config: ServerConfig, command: Command): ServeSettings {
  const typed = <K extends keyof ServeFlags>(name: K): ServeFlags[K] | undefined =>
    command.getOptionValueSource(name) === 'cli' ? flags[name] : undefined
  const limits: ServerLimits = {
    drain: defaults.drainDeadline,
    ...config.limits,
    ...defined({
      drain: typed('drainDeadline'),
      cacheBytes: flags.resultMemory,
      resultBytes: flags.resultDisk,
    }),
    ...flags.limit,
    ...defined({ resources: bothResources(config.limits, flags.limit) }),
  }
  const { log: to = config.log?.to, logLevel: level, logRedact: redact } = flags
  return {
    ...config,
    jobs: typed('jobs') ?? config.jobs ?? defaults.jobs,
    host: typed('host') ?? config.host ?? defaults.host,
    port: typed('port') ?? config.port ?? defaults.port,
    ...defined({
      store: flags.store,
      threads: flags.threads,
      advertise: flags.advertise,
      clusterSecret: flags.clusterSecretFile,
      inventory: flags.inventory,
    }),
    limits,
    ...(to !== undefined && { log: { ...config.log, to, ...defined({ level, redact }) } }),
    json: flags.json ?? false,
    color: flags.color,
  }
}

/** A resource that was typed does not hide the others of the file. */
function bothResources(file?: ServerLimits, typed?: ServerLimits): ServerLimits['resources'] {
  if (file?.resources === undefined || typed?.resources === undefined) {
    return typed?.resources ?? file?.resources
  }
  return { ...file.resources, ...typed.resources }
}

/** Drops undefined options: they would hide those of the file. */
function defined<T extends object>(values: T): Partial<T> {
  const kept = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(kept) as Partial<T>
}
