/** The command line of this checkout, as a process of its own whose lines are printed and read. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'

const launcher = path.join(import.meta.dirname, '../../packages/cli/bin/heddle.js')

/** Runs a command, calls `onLine` for each line, and returns its exit code: null when it was killed. */
export async function heddle(
  args: readonly string[],
  onLine: (line: string, child: ChildProcess) => void = () => {},
): Promise<number | null> {
  console.log(`\n$ npx heddle ${args.join(' ')}`)
  const child = spawn(process.execPath, ['--conditions=heddle-source', launcher, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit') as Promise<[number | null]>
  for await (const line of createInterface(child.stdout)) {
    console.log(line)
    onLine(line, child)
  }
  const [code] = await ended
  return code
}
