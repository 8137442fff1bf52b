import type { Contender } from '../../harness/row.ts'
import type { Ledger } from './contract.ts'
import { Tally } from './tally.ts'

/**
 * How a node is taken through its life:
 *
 * - `each`: every step is waited for, so as many steps are on their way as nodes;
 * - `last`: only its success is, as in a run. The other steps are durable with it.
 */
export type Waits = 'each' | 'last'

/** Keeps `inFlight` nodes on their way. Each lane takes one after the other. */
export function ledgerContender(ledger: Ledger, inFlight: number, waits: Waits): Contender {
  const takeThrough = waits === 'each' ? stepByStep : atOnce
  let nodes = 0
  return {
    prepare: (milliseconds) => async () => {
      const tally = new Tally(milliseconds)
      const lane = async (): Promise<void> => {
        while (!tally.isOver) {
          await takeThrough(ledger, `node ${nodes++}`, tally)
        }
      }
      await Promise.all(Array.from({ length: inFlight }, lane))
      return () => tally.figures()
    },
  }
}

async function stepByStep(ledger: Ledger, node: string, tally: Tally): Promise<void> {
  for (const step of [0, 1, 2] as const) {
    const since = performance.now()
    await ledger.commit(node, step)
    tally.acknowledge(1, since)
  }
}

async function atOnce(ledger: Ledger, node: string, tally: Tally): Promise<void> {
  const since = performance.now()
  ledger.append(node, 0)
  ledger.append(node, 1)
  await ledger.commit(node, 2)
  tally.acknowledge(3, since)
}
