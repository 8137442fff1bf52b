import path from 'node:path'
import type { Contender } from '../../harness/row.ts'
import type { Durability, OpenLedger } from './contract.ts'
import { workFolder } from './work-folder.ts'
import { Tally } from './tally.ts'

/** Keeps `inFlight` commits on their way. Each lane takes one node after the other through its life. */
export async function ledgerContender(
  open: OpenLedger,
  durability: Durability,
  inFlight: number,
): Promise<Contender> {
  const ledger = await open(path.join(await workFolder(), 'journal.db'), durability)
  let nodes = 0
  return {
    prepare: (milliseconds) => async () => {
      const tally = new Tally(milliseconds)
      const lane = async (): Promise<void> => {
        while (!tally.isOver) {
          const node = `node ${nodes++}`
          for (const step of [0, 1, 2] as const) {
            const since = performance.now()
            await ledger.commit(node, step)
            tally.acknowledge(1, since)
          }
        }
      }
      await Promise.all(Array.from({ length: inFlight }, lane))
      return () => tally.figures()
    },
  }
}
