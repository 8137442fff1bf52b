/** The command line of this checkout, in the folder of the repository. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'

const launcher = path.join(import.meta.dirname, '../../packages/cli/bin/heddle.js')

/** Runs a command and returns its exit code: null when it was killed. Its signal kills it as `kill -9` does. */
export async function heddle(
  folder: string,
  args: readonly string[],
  killed?: AbortSignal,
): Promise<number | null> {
  console.log(`\n$ npx heddle ${args.join(' ')}`)
  const child = spawn(process.execPath, ['--conditions=heddle-source', launcher, ...args], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const ended = once(child, 'exit') as Promise<[number | null]>
  const kill = (): boolean => child.kill('SIGKILL')
  killed?.addEventListener('abort', kill)
  const [code] = await ended
  killed?.removeEventListener('abort', kill)
  return code
}
