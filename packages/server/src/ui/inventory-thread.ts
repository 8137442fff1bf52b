/** The inventory of a program is read in a thread: its megabytes would hold up the loop while they are parsed and written. */
import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { job } from '@heddle/core'
import type { InventoryView } from '../client/contract/machine.ts'

/** The answer as JSON. */
export const inventoryJob = job(
  { name: 'inventory', place: 'thread', module: import.meta.url },
  async (file: string | undefined) => JSON.stringify(await inventoryOf(file)),
)

/** Bytes: a larger inventory is not sent to a browser. */
const longestInventory = 4_000_000

/** Read each time: it is made again while the server runs. */
async function inventoryOf(file: string | undefined): Promise<InventoryView> {
  if (file === undefined) return { file: null, problem: null, written_at: null }
  const named = { file: path.basename(file), written_at: null }
  try {
    const { size, mtimeMs } = await stat(file)
    if (size > longestInventory) {
      return { ...named, problem: `it has ${size} bytes, more than ${longestInventory}` }
    }
    const inventory = JSON.parse(await readFile(file, 'utf8')) as { readonly matrix?: unknown }
    if (!Array.isArray(inventory.matrix)) {
      return { ...named, problem: 'it is not an inventory: it has no matrix' }
    }
    return { ...named, problem: null, written_at: mtimeMs, inventory }
  } catch (error) {
    return { ...named, problem: error instanceof Error ? error.message : String(error) }
  }
}
