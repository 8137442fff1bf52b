/**
 * Looks whether this server may still work on the tables of its store (C11). Servers are deployed one at a time, and the first of
 * a newer version migrates the tables: they work for the version before, and may not for older ones.
 */
import { isError } from '@heddle/core'
import type { Clock, OpenStore } from '@heddle/core/lowlevel'
import { RepeatedLook } from '../repeated-look.ts'

/** Milliseconds between two checks. */
const lookEvery = 2_000

export interface VersionWatchOptions {
  readonly database: Pick<OpenStore, 'checkVersion'>
  readonly clock: Clock
  /** Called once: this server is too old. */
  readonly onTooOld: (error: Error) => void
}

/** Made, and not started. */
export function makeVersionWatch({ database, clock, onTooOld }: VersionWatchOptions): RepeatedLook {
  return new RepeatedLook({
    what: 'The watch over the version of the store',
    clock,
    deadline: 1_000,
    first: lookEvery,
    look: async (signal) => {
      try {
        await database.checkVersion()
      } catch (error) {
        // A database that is away says nothing about its version.
        if (!isError(error, 'HDL_JOURNAL_NEWER')) return lookEvery
        if (!signal.aborted) onTooOld(error)
        return Infinity
      }
      return lookEvery
    },
  })
}
