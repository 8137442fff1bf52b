import { setImmediate as turn } from 'node:timers/promises'
import type { Contender, Entrant, Row } from '../../harness/row.ts'
import { keys } from './cache-row.ts'
import type { Lookup } from './contract.ts'

/** The loop gets a turn after this many lookups, as in a server that answers requests. */
const burst = 10_000

function cacheContender(lookup: Lookup): Contender {
  return {
    prepare(size) {
      return async () => {
        for (let done = 0; done < size; done += burst) {
          for (let index = 0; index < burst; index++) {
            const key = keys[index % keys.length]!
            if (lookup(key)?.key !== key) throw new Error(`missed ${key}`)
          }
          await turn()
        }
      }
    },
  }
}

const entrant = (role: Entrant['role'], open: () => Promise<Lookup>): Entrant => ({
  role,
  load: async () => cacheContender(await open()),
})

export const row: Row = {
  name: 'cache hit',
  measure: 'rate',
  unit: 'hits/s',
  size: 5_000_000,
  quickSize: 100_000,
  warmUps: 2,
  warmUpSize: 1_000_000,
  rounds: 3,
  children: 3,
  entrants: {
    heddle: entrant('ours', async () => (await import('../../ours/cache.ts')).lookup()),
    'lru-cache': entrant('peer', async () => (await import('../../peers/lru-cache.ts')).lookup()),
  },
}
