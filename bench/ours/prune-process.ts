/** Prunes in a process of its own, as `heddle runs prune` does. */
import { runChild } from './child-process.ts'

/** Resolves with the number of runs that were removed. */
export async function pruneInProcess(address: string, before: number): Promise<number> {
  return Number(await runChild('prune-child.ts', address, String(before)))
}
