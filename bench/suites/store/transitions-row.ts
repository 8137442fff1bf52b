import type { Entrant, Row } from '../../harness/row.ts'
import { ledgerContender, type Waits } from '../journal/ledger-contender.ts'
import { queueContender } from '../journal/queue-contender.ts'
import { cpuFigure } from '../journal/tally.ts'
import { needsOf, ownAddress, type Backend } from './own-address.ts'
import { peers } from './peers.ts'

/** How many changes become durable in a second when this many are under way at once, and the CPU of one. */
export function transitionsRow(backend: Backend, inFlight: number): Row {
  const ours = async (waits: Waits) => {
    const { ledger } = await import('../../ours/journal.ts')
    return ledgerContender(await ledger(await ownAddress(backend), 'fsync'), inFlight, waits)
  }
  const needs = needsOf(backend)
  const entrants: Record<string, Entrant> = {
    heddle: { role: 'ours', needs, load: () => ours('each') },
    'heddle as in a run': { role: 'variant', needs, load: () => ours('last'), children: 1 },
  }
  for (const [name, { open, needs: wanted }] of Object.entries(peers)) {
    entrants[name] = {
      role: 'peer',
      needs: wanted,
      children: 1,
      load: async () => queueContender(await open(), 'fsync', inFlight),
    }
  }
  return {
    name: `${backend}, ${inFlight} in flight`,
    measure: 'rate',
    unit: 'transitions/s',
    size: 1_000,
    quickSize: 100,
    warmUps: 2,
    warmUpSize: 500,
    rounds: 3,
    children: 3,
    entrants,
    also: [{ name: cpuFigure, measure: 'latency', unit: 'µs' }],
  }
}
