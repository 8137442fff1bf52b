import type { Contender, Entrant, Row } from '../../harness/row.ts'
import { load } from './cache-row.ts'
import type { OpenShared } from './contract.ts'

/** Callers that ask for the same missing key at once: one computation, one answer for each. */
const callers = 100

function sharedContender(open: OpenShared): Contender {
  return {
    prepare(size) {
      return async () => {
        let loads = 0
        const get = await open((key) => {
          loads++
          return load(key)
        })
        const rounds = size / callers
        for (let index = 0; index < rounds; index++) {
          const key = `key ${index}`
          const answers = await Promise.all(Array.from({ length: callers }, () => get(key)))
          for (const answer of answers) {
            if (answer?.key !== key) throw new Error(`wrong answer for ${key}`)
          }
        }
        if (loads !== rounds) throw new Error(`${loads} loads for ${rounds} keys`)
      }
    },
  }
}

const entrant = (role: Entrant['role'], open: () => Promise<OpenShared>): Entrant => ({
  role,
  load: async () => sharedContender(await open()),
})

export const row: Row = {
  name: 'cache single flight',
  measure: 'rate',
  unit: 'calls/s',
  size: 300_000,
  quickSize: 10_000,
  warmUps: 2,
  warmUpSize: 100_000,
  rounds: 3,
  children: 3,
  entrants: {
    heddle: entrant('ours', async () => (await import('../../ours/cache.ts')).shared),
    'lru-cache': entrant('peer', async () => (await import('../../peers/lru-cache.ts')).shared),
    effect: entrant('peer', async () => (await import('../../peers/effect.ts')).shared),
  },
}
