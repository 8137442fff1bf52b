/** Runs a program of this folder in a process of its own. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Resolves with its output. *Cancellation*: none, it ends by itself. */
export function runChild(name: string, ...args: readonly string[]): Promise<string> {
  const program = fileURLToPath(new URL(name, import.meta.url))
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      ['--conditions=heddle-source', program, ...args],
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout.trim())
        else reject(new Error(`${name} failed: ${stderr.trim()}`, { cause: error }))
      },
    )
  })
}
