import type { Entrant, Row } from '../../harness/row.ts'
import { timedInFlight } from './conditions.ts'
import type { Durability } from './contract.ts'
import { ledgerContender } from './ledger-contender.ts'
import { peers } from './peers.ts'
import { queueContender } from './queue-contender.ts'

/** How many changes become durable in a second when so many are under way at once. */
export function rateRow(durability: Durability, inFlight: number): Row {
  const entrants: Record<string, Entrant> = {
    heddle: {
      role: 'ours',
      load: async () => {
        const { ledger } = await import('../../ours/journal.ts')
        return ledgerContender(ledger, durability, inFlight)
      },
    },
    floor: {
      role: 'floor',
      load: async () => {
        const { ledger } = await import('./floor.ts')
        return ledgerContender(ledger, durability, inFlight)
      },
    },
  }
  for (const [name, { open, needs }] of Object.entries(peers)) {
    entrants[name] = {
      role: 'peer',
      needs: needs[durability],
      children: 2,
      load: async () => queueContender(await open(), durability, inFlight),
    }
  }
  return {
    name: `${durability}, ${inFlight} in flight`,
    measure: 'rate',
    unit: 'transitions/s',
    size: 600,
    quickSize: 100,
    warmUps: 1,
    warmUpSize: 300,
    rounds: 2,
    children: 3,
    entrants,
    ...(timedInFlight.includes(inFlight) && {
      also: [
        { name: 'p50', measure: 'latency', unit: 'µs' },
        { name: 'p99', measure: 'latency', unit: 'µs' },
      ],
    }),
  }
}
