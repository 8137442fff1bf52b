import { HeddleError } from '../errors.ts'
import { checkOptions, type OptionNames } from '../kernel/check.ts'

/** One step of load. Exactly one of `below` and `upTo`, or neither for the last. */
export interface LoadLevel {
  readonly name: string
  /** Utilisations smaller than this one, as a share of 1. */
  readonly below?: number
  /** Utilisations up to and including this one. */
  readonly upTo?: number
}

export interface LoadLevelsOptions {
  /** The levels from idle to full; the last one has no limit. */
  readonly levels: readonly LoadLevel[]
  /** The first level at which new work is refused. */
  readonly refuseAt: string
  /**
   * The utilisation at which refused callers should come back: `Retry-After` is the time
   * until the load has fallen to it. Coming back at the first free seat instead would keep the
   * service at the edge, where most of them are refused again. 0.5 when absent.
   */
  readonly resumeAt?: number
}

const optionNames = {
  levels: 1,
  refuseAt: 1,
  resumeAt: 1,
} satisfies OptionNames<LoadLevelsOptions>

/** Names for utilisation, and the line above which the door is closed. Immutable. */
export class LoadLevels {
  readonly levels: readonly LoadLevel[]
  readonly resumeAt: number
  readonly #refuseFrom: number

  constructor(options: LoadLevelsOptions) {
    checkOptions(options, optionNames)
    this.levels = options.levels
    this.resumeAt = options.resumeAt ?? 0.5
    this.#refuseFrom = options.levels.findIndex((level) => level.name === options.refuseAt)
    if (this.#refuseFrom < 0) {
      throw new HeddleError('HDL_BAD_OPTION', {
        option: 'refuseAt',
        value: options.refuseAt,
        expected: `one of ${options.levels.map((level) => level.name).join(', ')}`,
      })
    }
  }

  /** The level of a utilisation. */
  of(utilisation: number): string {
    return this.levels[this.#indexOf(utilisation)]!.name
  }

  /** Whether work that comes at this utilisation is refused. */
  refuses(utilisation: number): boolean {
    return this.#indexOf(utilisation) >= this.#refuseFrom
  }

  #indexOf(utilisation: number): number {
    const { levels } = this
    const index = levels.findIndex(
      ({ below, upTo }) =>
        (below === undefined || utilisation < below) && (upTo === undefined || utilisation <= upTo),
    )
    return index < 0 ? levels.length - 1 : index
  }
}

/** Loaded below 50 %, overloaded up to 75 %, above that full: refused. The default. */
export const threeLevels = new LoadLevels({
  levels: [{ name: 'loaded', below: 0.5 }, { name: 'overloaded', upTo: 0.75 }, { name: 'full' }],
  refuseAt: 'full',
})

/** Six finer levels, refused from 99 %. Their names are the labels in `load()`, whatever the preset. */
export const sixLevels = new LoadLevels({
  levels: [
    { name: 'idle', below: 0.01 },
    { name: 'lightly loaded', below: 0.25 },
    { name: 'loaded', below: 0.5 },
    { name: 'heavily loaded', below: 0.75 },
    { name: 'overloaded', below: 0.99 },
    { name: 'full' },
  ],
  refuseAt: 'full',
})

/** How busy something is. */
export interface Load {
  /** Reserved, queued and running work as a share of the capacity. */
  readonly utilisation: number
  /** Its level in the configured {@link LoadLevels}. */
  readonly level: string
  /** Its level among the six of {@link sixLevels}. */
  readonly label: string
  /** Whether new work would be refused for it. */
  readonly refusing: boolean
}

/** The load of several queues is that of the fullest. Undefined when there is none. */
export function highestLoad(loads: Iterable<Load>): Load | undefined {
  let highest: Load | undefined
  for (const load of loads) {
    if (highest === undefined || load.utilisation > highest.utilisation) highest = load
  }
  return highest
}
