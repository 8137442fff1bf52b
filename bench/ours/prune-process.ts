/** Prunes in a process of its own, as `heddle runs prune` does. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('prune-child.ts', import.meta.url))

/** Resolves with the number of runs that were removed. */
export function pruneInProcess(address: string, before: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const args = ['--conditions=heddle-source', program, address, String(before)]
    execFile(process.execPath, args, (error, stdout) => {
      if (error === null) resolve(Number(stdout))
      else reject(new Error('the prune failed', { cause: error }))
    })
  })
}
