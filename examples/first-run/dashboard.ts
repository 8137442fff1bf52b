/**
 * What `npm start` does in a terminal: a server with the sample and its dashboard, two workers on this machine, and one run.
 *
 *   starting ── the server listens ──▶ serving, with two workers and a run ── Ctrl+C, SIGTERM ──▶ ending ──▶ ended
 *       └── the server cannot start ──────────────────────────────────────────────────────────────────────▶ ended
 *
 *  N1  It ends when the server and both workers have ended, however that came about: nothing is left behind.
 *  N2  A run that is cut short stays in the journal; the next `npm start` continues it.
 */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { startHeddle } from './heddle.ts'

const module = path.relative(process.cwd(), path.join(import.meta.dirname, 'served.ts'))
const workers = ['anni', 'otti'] as const

/** What the server and the workers say, one object a line. */
interface Said {
  readonly type?: string
  readonly url?: string
  readonly level?: string
  readonly text?: string
}

/** Serves until a signal ends it. Returns the exit code. */
export async function dashboard(port: number): Promise<number> {
  const children: ChildProcess[] = []
  const start = (...args: readonly string[]): ChildProcess => {
    const child = startHeddle([...args, '--json'], ['ignore', 'pipe', 'inherit'])
    children.push(child)
    return child
  }
  let isAsked = false
  const end = (signal: NodeJS.Signals): void => {
    isAsked = true
    for (const child of children) child.kill(signal)
  }
  // Ctrl+C reaches all of us.
  process.on('SIGINT', () => (isAsked = true))
  process.on('SIGTERM', () => end('SIGTERM'))
  const store = 'sqlite:.heddle/serve.db'
  const serve = ['serve', '--jobs', module, '--store', store, '--port', String(port)]
  const server = start(...serve, '--drain-deadline', '3s')
  const ended = once(server, 'exit') as Promise<[number | null]>
  for await (const { type, url, level, text } of linesOf(server)) {
    if (type === 'listening') {
      if (!isAsked) for (const name of workers) work(start, url!, name)
      // A server that ends in between refuses the connection: its end is reported below.
      await begin(url!).catch(() => undefined)
    } else if (type === 'draining') {
      console.log('\n  Ending: what runs has three seconds to finish. Ctrl+C again stops at once.')
    } else if (level === 'warning') {
      console.log(`  ${text}`)
    }
  }
  const [code] = await ended
  await Promise.all(children.map(endChild))
  // Work that was cut off has not failed: the next start continues it (N2).
  return isAsked && code === 1 ? 0 : (code ?? 1)
}

/** Each works in a folder of its own, and its one job at a time is what the fleet page shows. */
function work(start: (...args: string[]) => ChildProcess, url: string, name: string): void {
  const folder = `.heddle/workers/${name}`
  const at = ['--server', url, '--folder', folder, '--name', name]
  const worker = start('work', '--jobs', module, ...at, '-c', '1', '--stop-deadline', '2s')
  // It is not shown, and a pipe that is full would hold the worker up.
  worker.stdout!.resume()
}

async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}

async function* linesOf(child: ChildProcess): AsyncGenerator<Said, void, undefined> {
  for await (const line of createInterface(child.stdout!)) yield JSON.parse(line) as Said
}

async function begin(url: string): Promise<void> {
  const response = await fetch(`${url}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ graph: 'climate', title: 'climate of ten stations' }),
  })
  const { run } = (await response.json()) as { run?: string }
  // It was asked to end before it had begun.
  if (run === undefined) return
  console.log(`
  Dashboard   ${url}/ui/
  This run    ${url}/ui/#/runs/${run}
  Workers     ${workers.join(' and ')}, on this machine: ${url}/ui/#/fleet

  Ctrl+C ends it.  npm start -- --kill-demo kills a run in the middle and resumes it.
`)
}
