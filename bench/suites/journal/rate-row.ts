import path from 'node:path'
import type { Entrant, Row } from '../../harness/row.ts'
import { workFolder } from '../../servers/work-folder.ts'
import { timedInFlight } from './conditions.ts'
import type { Durability } from './contract.ts'
import { ledgerContender, type Waits } from './ledger-contender.ts'
import { peers } from './peers.ts'
import { queueContender } from './queue-contender.ts'

async function fileName(): Promise<string> {
  return path.join(await workFolder(), 'journal.db')
}

/** How many changes become durable in a second when this many are under way at once. */
export function rateRow(durability: Durability, inFlight: number): Row {
  const ours = async (waits: Waits) => {
    const { ledger } = await import('../../ours/journal.ts')
    const address = `sqlite:${await fileName()}`
    return ledgerContender(await ledger(address, durability), inFlight, waits)
  }
  const entrants: Record<string, Entrant> = {
    heddle: { role: 'ours', load: () => ours('each') },
    'heddle as in a run': { role: 'variant', load: () => ours('last'), children: 2 },
    floor: {
      role: 'floor',
      load: async () => {
        const { ledger } = await import('./floor.ts')
        return ledgerContender(await ledger(await fileName(), durability), inFlight, 'each')
      },
    },
  }
  for (const [name, { open, needs, children }] of Object.entries(peers)) {
    entrants[name] = {
      role: 'peer',
      needs: needs[durability],
      children,
      rounds: 3,
      load: async () => queueContender(await open(), durability, inFlight),
    }
  }
  return {
    name: `${durability}, ${inFlight} in flight`,
    measure: 'rate',
    unit: 'transitions/s',
    size: 250,
    quickSize: 100,
    warmUps: 2,
    warmUpSize: 250,
    rounds: 5,
    children: 4,
    entrants,
    ...(timedInFlight.includes(inFlight) && {
      also: [
        { name: 'p50', measure: 'latency', unit: 'µs' },
        { name: 'p99', measure: 'latency', unit: 'µs' },
      ],
    }),
  }
}
