/** The options of `heddle serve`, checked. */
import { InvalidArgumentError } from 'commander'

export interface ServeSettings {
  /** The module, from the current folder. */
  readonly jobs: string
  /** Undefined for the default. */
  readonly store: string | undefined
  readonly host: string
  readonly port: number
  /** Undefined: the server decides. */
  readonly threads: number | undefined
  /** Where other servers reach this one. */
  readonly advertise: string | undefined
  /** The file of the secret that servers share. */
  readonly clusterSecret: string | undefined
  /** Milliseconds. */
  readonly drainDeadline: number
  readonly json: boolean
  readonly color: boolean
}

export const defaults = {
  jobs: 'jobs.ts',
  store: 'sqlite:.heddle/serve.db',
  host: '127.0.0.1',
  port: 4_500,
  drainDeadline: 10_000,
} as const

export function parseWhole(least: number, most: number): (text: string) => number {
  return (text) => {
    const n = text.trim() === '' ? NaN : Number(text)
    if (Number.isInteger(n) && n >= least && n <= most) return n
    throw new InvalidArgumentError(`Expected a whole number from ${least} to ${most}.`)
  }
}
