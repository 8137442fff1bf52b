/** The options of a server, and their checks before anything is opened. */
import { HeddleError } from '@heddle/core'
import {
  checkCount,
  checkFunction,
  checkMethods,
  checkOptions,
  checkText,
  checkWord,
  isPostgresAddress,
  type Journal,
  type Kernel,
  type OptionNames,
} from '@heddle/core/lowlevel'
import { fleetLimitNames, type FleetLimits } from './fleet/fleet-room.ts'
import type { AccessPolicy } from './http/caller.ts'
import { checkLimits, type ServerLimits } from './limits.ts'
import { checkLogOptions, type LogOptions } from './log/structured-log.ts'

export interface ServerLog {
  readonly level: 'info' | 'warning'
  readonly text: string
}

export interface ServerOptions {
  /** Jobs and served jobs: a list, or the exports of a module. When absent, the server shows runs and takes no jobs. */
  readonly jobs?: Readonly<Record<string, unknown>> | readonly unknown[] | undefined
  /** `127.0.0.1` when absent: only this machine. */
  readonly host?: string | undefined
  /** 4500 when absent; 0 takes a free one. */
  readonly port?: number | undefined
  /**
   * Where acknowledged work and results are: `memory` when absent, `sqlite:FILE`, or `postgres://HOST/DATABASE`, which several
   * servers may share.
   */
  readonly store?: string | undefined
  /**
   * An open journal instead of a store, of a process that shows its own runs: the server takes no jobs, steers the runs that it
   * is given with `adopt`, and leaves the journal open.
   */
  readonly journal?: Journal | undefined
  /** Where other servers on the same PostgreSQL reach this one: `http://10.0.0.5:4500`. The address it listens on when absent. */
  readonly advertise?: string | undefined
  /** A file with the secret that these servers share. Needed with `advertise`; a second line is the old or the next one. */
  readonly clusterSecret?: string | undefined
  /** Thread jobs at a time; as many as the machine runs at a time, and at least two, when absent. One more thread is kept for priority 0. */
  readonly threads?: number | undefined
  readonly limits?: ServerLimits | undefined
  /** Times and limits of the fleet: see docs/design/fleet.md. */
  readonly fleet?: FleetLimits | undefined
  /** Where artifacts are: `folder:PATH`, which servers on one PostgreSQL may share. Beside the store, or in the database, when absent. */
  readonly artifacts?: string | undefined
  /**
   * Addresses and networks (`10.0.0.0/8`) of proxies in front of this server. Many clients share such an address: its
   * connections are not limited by `limits.connectionsPerAddress`.
   */
  readonly trustedProxies?: readonly string[] | undefined
  /** Folder with the built files of the dashboard, which is at `/ui/`. When absent, the files that the package brings. */
  readonly ui?: string | undefined
  /**
   * The file that `heddle analyze --inventory --json` has written: the dashboard shows the code that runs on the loop.
   */
  readonly inventory?: string | undefined
  /** Identifies callers and decides their rights. When absent every caller may do everything. */
  readonly policy?: AccessPolicy | undefined
  /**
   * Which callers see why a job, the store or the server itself failed: callers that are logged in or have a token,
   * with the role operator; or every caller. The others see the code and a reference that the log has too. `operators`
   * when absent.
   */
  readonly errorDetails?: 'operators' | 'everyone' | undefined
  /**
   * The structured log: one JSON object for each refusal, cancel, timeout, broken pipe and error of a job, and for what
   * `onLog` is given. None when absent.
   */
  readonly log?: LogOptions | undefined
  /** Server-side events that no client sees (warnings, job logs), one line each. */
  readonly onLog?: ((line: ServerLog) => void) | undefined
  /** Called once when the door is closed, for whatever reason, with the milliseconds for admitted work. */
  readonly onDrain?: ((deadline: number) => void) | undefined
  readonly kernel?: Kernel | undefined
}

const optionNames = {
  jobs: 1,
  host: 1,
  port: 1,
  store: 1,
  journal: 1,
  advertise: 1,
  clusterSecret: 1,
  threads: 1,
  limits: 1,
  fleet: 1,
  artifacts: 1,
  trustedProxies: 1,
  ui: 1,
  inventory: 1,
  policy: 1,
  errorDetails: 1,
  log: 1,
  onLog: 1,
  onDrain: 1,
  kernel: 1,
} satisfies OptionNames<ServerOptions>

/** @throws `HDL_BAD_OPTION`, `HDL_UNKNOWN_OPTION`. */
export function checkServerOptions(options: ServerOptions): void {
  checkOptions(options, optionNames)
  const { host, port = 0, store, threads, limits = {}, trustedProxies, onLog, onDrain } = options
  if (host !== undefined) checkText('host', host)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    const expected = 'a whole number from 0 to 65535'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'port', value: port, expected })
  }
  if (store !== undefined) checkText('store', store)
  if (options.journal !== undefined) checkJournal(options)
  if (options.advertise !== undefined) checkAddress(options.advertise)
  if (options.clusterSecret !== undefined) checkText('clusterSecret', options.clusterSecret)
  checkIsShared(options)
  if (options.artifacts !== undefined) checkText('artifacts', options.artifacts)
  if (options.ui !== undefined) checkText('ui', options.ui)
  if (options.inventory !== undefined) checkText('inventory', options.inventory)
  if (threads !== undefined) checkCount('threads', threads)
  checkLimits(limits)
  if (options.fleet !== undefined) checkFleetLimits(options.fleet)
  if (trustedProxies !== undefined && !isListOfText(trustedProxies)) {
    const expected = 'a list of addresses and networks'
    const value = trustedProxies
    throw new HeddleError('HDL_BAD_OPTION', { option: 'trustedProxies', value, expected })
  }
  if (options.policy !== undefined)
    checkMethods('policy', options.policy, ['callerOf', 'check'], '{ callerOf, check }')
  checkWord('errorDetails', options.errorDetails ?? 'operators', ['operators', 'everyone'])
  if (options.log !== undefined) checkLogOptions(options.log)
  if (onLog !== undefined) checkFunction('onLog', onLog)
  if (onDrain !== undefined) checkFunction('onDrain', onDrain)
}

function checkJournal({ journal, jobs, store }: ServerOptions): void {
  checkMethods('journal', journal!, ['overview', 'list'], 'an open journal')
  if (jobs === undefined && store === undefined) return
  const expected = 'undefined beside `jobs` or `store`: a server has one of them'
  throw new HeddleError('HDL_BAD_OPTION', { option: 'journal', value: journal!.address, expected })
}

function checkAddress(advertise: string): void {
  checkText('advertise', advertise)
  if (URL.canParse(advertise) && /^https?:$/.test(new URL(advertise).protocol)) return
  const expected = 'an address such as http://10.0.0.5:4500'
  throw new HeddleError('HDL_BAD_OPTION', { option: 'advertise', value: advertise, expected })
}

/** What only servers of one database can use is not ignored silently. */
function checkIsShared({ store = 'memory', advertise, clusterSecret }: ServerOptions): void {
  if (isPostgresAddress(store)) return
  for (const [option, value] of Object.entries({ advertise, clusterSecret })) {
    if (value === undefined) continue
    const expected = 'undefined without a store that several servers share (postgres://…)'
    throw new HeddleError('HDL_BAD_OPTION', { option, value, expected })
  }
}

function checkFleetLimits(fleet: FleetLimits): void {
  checkOptions(fleet, fleetLimitNames, 'fleet')
  for (const [name, value] of Object.entries(fleet) as [string, number][]) {
    checkCount(`fleet.${name}`, value)
  }
}

function isListOfText(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}
