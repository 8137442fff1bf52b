/**
 * What `npm start` does in a terminal: serves the sample with its dashboard, starts one run, and waits for Ctrl+C.
 */
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { startHeddle } from './heddle.ts'

const module = path.join(import.meta.dirname, 'served.ts')
const store = 'sqlite:.heddle/serve.db'

/** Serves until a signal ends it. Returns the exit code. */
export async function dashboard(port: number): Promise<number> {
  const server = startHeddle(
    [
      'serve',
      '--jobs',
      path.relative(process.cwd(), module),
      '--store',
      store,
      '--port',
      String(port),
      '--json',
    ],
    ['ignore', 'pipe', 'inherit'],
  )
  // Ctrl+C reaches both of us; the server drains, and we end with it.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => server.kill('SIGTERM'))
  const ended = once(server, 'exit') as Promise<[number | null]>
  for await (const line of createInterface(server.stdout!)) {
    const event = JSON.parse(line) as { type?: string; url?: string; text?: string; level?: string }
    if (event.type === 'listening') await begin(event.url!)
    else if (event.type === 'draining')
      console.log('  Ending: work under way may finish. Ctrl+C again stops at once.')
    else if (event.level === 'warning') console.log(`  ${event.text}`)
  }
  const [code] = await ended
  return code ?? 1
}

async function begin(url: string): Promise<void> {
  const response = await fetch(`${url}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ graph: 'climate', title: 'climate of ten stations' }),
  })
  const { run } = (await response.json()) as { run: string }
  console.log(`
  Dashboard   ${url}/ui/
  This run    ${url}/ui/#/runs/${run}

  Ctrl+C ends it.  npm start -- --kill-demo kills a run in the middle and resumes it.
`)
}
