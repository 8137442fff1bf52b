/** The limits of a server, and which values of them make sense. */
import { HeddleError, isError, type Resources } from '@heddle/core'
import { Capacity, checkOptions, type OptionNames, type PermitOptions } from '@heddle/core/lowlevel'

export interface ServerLimits {
  /** Seats of the first stage: reserved, queued and running. 32 when absent. */
  readonly prepareCapacity?: number | undefined
  /** Seats of the second stage. 256 when absent. */
  readonly itemCapacity?: number | undefined
  /** Seats of the first stage that one tenant may hold. All of them when absent; over it a tenant is answered 429. */
  readonly tenantCapacity?: number | undefined
  /** Attempts in threads at a time, over both stages. `threads`, and on top of them one for priority 0, when absent. */
  readonly thread?: number | PermitOptions | undefined
  /**
   * Bytes of the heap that the jobs of one thread may take, at least 16 MiB. A job that takes more fails, and its thread is
   * replaced. Node's own limit (some gigabytes) when absent.
   */
  readonly threadMemory?: number | undefined
  /** Attempts on the loop at a time, over both stages. No limit but the seats when absent: waiting costs no processor. */
  readonly loop?: number | PermitOptions | undefined
  /** Attempts on workers of the fleet at a time, waiting for a worker included. No limit but the seats when absent. */
  readonly fleet?: number | PermitOptions | undefined
  /**
   * Named resources that jobs may need in addition: permits, rates, limits for each key. They hold for this process, or
   * with `{ permits, scope: 'cluster' }` for all servers on one PostgreSQL.
   */
  readonly resources?: Resources | undefined
  /** Milliseconds from submit to start. 30,000 when absent. */
  readonly queue?: number | undefined
  /** Milliseconds of the first stage. 600,000 when absent. */
  readonly prepare?: number | undefined
  /** Milliseconds of the second stage. 600,000 when absent. */
  readonly item?: number | undefined
  /** Milliseconds of a request. 600,000 when absent. */
  readonly request?: number | undefined
  /** Milliseconds in which the head of a request must have arrived: the address and the headers. 10,000 when absent. */
  readonly head?: number | undefined
  /** Milliseconds in which the body of a request must have arrived, from its head on. 60,000 when absent. */
  readonly arrival?: number | undefined
  /** Milliseconds in which a client must take some more of an answer. 60,000 when absent. */
  readonly sending?: number | undefined
  /** Bodies that may be on their way at a time; one that comes with its head does not count. 128 when absent. */
  readonly bodies?: number | undefined
  /** Connections in all. 10,000 when absent. */
  readonly connections?: number | undefined
  /**
   * Connections of one address (of IPv6: of its first 64 bits). 1,000 when absent, and none for loopback. A number that
   * is given counts for loopback too; `trustedProxies` are never limited.
   */
  readonly connectionsPerAddress?: number | undefined
  /** Connections that the system keeps until the server takes them; the system may keep fewer. 4,096 when absent. */
  readonly backlog?: number | undefined
  /** Milliseconds of a drain. 10,000 when absent. */
  readonly drain?: number | undefined
  /**
   * Milliseconds for which the event loop may be blocked. A longer gap is logged. 50 when absent; with Infinity the loop
   * is not watched.
   */
  readonly loopGap?: number | undefined
  /**
   * Milliseconds of a gap after which the server is not ready for ten seconds. Time in which the machine ran something
   * else does not count. 250 when absent.
   */
  readonly readyGap?: number | undefined
  /** Bytes of the input of a job. 1 MiB when absent, at most 2 MiB. */
  readonly body?: number | undefined
  /**
   * Characters of the longest JSON body that is parsed on the loop. A longer one is parsed in a thread, and comes back to the
   * loop in slices. 65,536 when absent: two to three milliseconds of the loop at worst.
   */
  readonly loopBody?: number | undefined
  /** Bytes of results in memory. 64 MiB when absent. */
  readonly cacheBytes?: number | undefined
  /**
   * Bytes of results that are kept: on disk beside a file, in memory (encoded) with the store `memory`. The ones unused for
   * longest leave first, and are computed again when they are submitted again. 1 GiB when absent, 256 MiB in memory. On
   * PostgreSQL results are rows, which this does not count.
   */
  readonly resultBytes?: number | undefined
  /** Milliseconds that lines of the log of actions (`GET /actions`) are kept. 400 days when absent; Infinity keeps all of them. */
  readonly actionAge?: number | undefined
}

const mostBody = 2 * 2 ** 20

/** Less than this and a thread cannot load its modules. */
const leastThreadMemory = 16 * 2 ** 20

/** The expected form, and whether a value has it. */
type Rule = readonly [expected: string, holds: (value: number) => boolean]

const count: Rule = ['a whole number of at least 1', (n) => Number.isInteger(n) && n >= 1]
const countOrAny: Rule = [`${count[0]}, or Infinity`, (n) => count[1](n) || n === Infinity]
/** Infinity means no limit. At 0 everything would be too late. */
const duration: Rule = ['a number of milliseconds above 0', (n) => n > 0]

const rules: Readonly<
  Record<Exclude<keyof ServerLimits, 'thread' | 'loop' | 'fleet' | 'resources'>, Rule>
> = {
  prepareCapacity: count,
  itemCapacity: count,
  tenantCapacity: count,
  threadMemory: [
    `a whole number of at least ${leastThreadMemory}`,
    (n) => count[1](n) && n >= leastThreadMemory,
  ],
  queue: duration,
  prepare: duration,
  item: duration,
  request: duration,
  // Node counts these: it takes 0 for "without limit", and refuses Infinity.
  head: count,
  arrival: count,
  sending: count,
  bodies: count,
  connections: countOrAny,
  connectionsPerAddress: countOrAny,
  backlog: count,
  drain: ['a number of milliseconds of at least 0', (n) => n >= 0],
  loopGap: countOrAny,
  readyGap: countOrAny,
  body: [`a whole number from 1 to ${mostBody}`, (n) => count[1](n) && n <= mostBody],
  loopBody: count,
  cacheBytes: count,
  resultBytes: count,
  actionAge: duration,
}

const limitNames = {
  thread: 1,
  loop: 1,
  fleet: 1,
  resources: 1,
  ...(Object.fromEntries(Object.keys(rules).map((name) => [name, 1])) as OptionNames<typeof rules>),
} satisfies OptionNames<ServerLimits>

/** @throws `HDL_BAD_OPTION` that names the limit; `HDL_UNKNOWN_OPTION` for a limit that does not exist. */
export function checkLimits(limits: ServerLimits): void {
  refuseSlots(limits)
  checkOptions(limits, limitNames, 'limits')
  for (const [name, rule] of Object.entries(rules)) {
    check(`limits.${name}`, limits[name as keyof typeof rules], rule)
  }
  checkPermits(limits)
}

/** Its name before there was a capacity. */
function refuseSlots(limits: object): void {
  if (typeof limits !== 'object' || limits === null || !('slots' in limits)) return
  throw new HeddleError('HDL_BAD_OPTION', {
    option: 'limits.slots',
    value: limits.slots,
    expected: 'to be `limits.thread` and `limits.loop`: permits are counted for each place',
  })
}

/** Makes a capacity with these options: its own checks refuse wrong values. */
function checkPermits({ thread, loop, fleet, resources }: ServerLimits): void {
  try {
    void new Capacity({ thread, loop, fleet, resources })
  } catch (error) {
    if (isError(error, 'HDL_UNKNOWN_OPTION')) {
      const { option, suggestion } = error.details
      throw new HeddleError('HDL_UNKNOWN_OPTION', {
        option: `limits.${option}`,
        suggestion: suggestion && `limits.${suggestion}`,
      })
    }
    if (!isError(error, 'HDL_BAD_OPTION')) throw error
    const { option, value, expected } = error.details
    throw new HeddleError('HDL_BAD_OPTION', { option: `limits.${option}`, value, expected })
  }
}

function check(option: string, value: unknown, [expected, holds]: Rule): void {
  if (value === undefined || (typeof value === 'number' && holds(value))) return
  throw new HeddleError('HDL_BAD_OPTION', { option, value, expected })
}
