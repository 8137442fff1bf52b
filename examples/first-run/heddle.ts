/** The command line of this checkout, as a process of its own. */
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'

const launcher = path.join(import.meta.dirname, '../../packages/cli/bin/heddle.js')

/** The graph, as seen from the folder in which the command is given. */
export const graphFile: string = path.relative(
  process.cwd(),
  path.join(import.meta.dirname, 'graph.ts'),
)

export function startHeddle(args: readonly string[], stdio: StdioOptions): ChildProcess {
  return spawn(process.execPath, ['--conditions=heddle-source', launcher, ...args], { stdio })
}

/** Runs a command in this terminal: keys, signals and exit code are its own. */
export async function heddle(...args: readonly string[]): Promise<number> {
  // Ctrl+C reaches both of us; what it means is for the command to say.
  process.on('SIGINT', () => {})
  const child = startHeddle(args, 'inherit')
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 1
}
