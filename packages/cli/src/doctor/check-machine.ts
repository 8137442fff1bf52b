/** The checks of `heddle doctor`. Each check answers, also when its subject is broken. */
import { once } from 'node:events'
import os from 'node:os'
import { Worker } from 'node:worker_threads'
import { LoopWatch, openJournal } from '@heddle/core/lowlevel'
import { chooseView, type Surroundings } from '../terminal/capabilities.ts'
import { formatError, plural } from '../text/format.ts'
import type { Check } from './check.ts'

/** What package.json asks for under `engines`. */
const leastNode = [22, 18] as const

export function checkNode(version: string = process.versions.node): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const ok = major > leastNode[0] || (major === leastNode[0] && minor >= leastNode[1])
  const found = `${version} at ${process.execPath}`
  const help = `Install Node ${leastNode.join('.')} or newer.`
  return { name: 'node', ok, found, ...(!ok && { help }) }
}

/** Runs a check; a thrown error is its result. */
async function runCheck(name: string, help: string, work: () => Promise<string>): Promise<Check> {
  try {
    return { name, ok: true, found: await work() }
  } catch (error) {
    return { name, ok: false, found: formatError(error), help }
  }
}

export function checkSqlite(): Promise<Check> {
  return runCheck(
    'sqlite',
    'Use a Node that was built with SQLite, or `--journal memory`.',
    async () => {
      const { DatabaseSync } = await import('node:sqlite')
      using database = new DatabaseSync(':memory:')
      // heddle-ignore B110 -- one row in memory, in a command that does nothing else meanwhile
      const row = database.prepare('SELECT sqlite_version() AS version').get()
      return String(row?.['version'])
    },
  )
}

const answer = `require('node:worker_threads').parentPort.postMessage('up')`

export function checkThreads(): Promise<Check> {
  return runCheck(
    'threads',
    'Jobs with `place: thread` cannot run here; run them on the loop.',
    async () => {
      const worker = new Worker(answer, { eval: true })
      await once(worker, 'message')
      await worker.terminate()
      return `start, for ${plural(os.availableParallelism(), 'core')}`
    },
  )
}

export function checkLoopWatch(): Promise<Check> {
  const help = 'Loop gaps are measured, but without naming the job that caused them.'
  return runCheck('loop watch', help, async () => {
    await using watch = new LoopWatch()
    await watch.start()
    const { blindness } = watch.stats()
    if (blindness !== undefined) throw new Error(blindness)
    return 'names the code that blocks the event loop'
  })
}

/** Nothing to repair here: it says what will be shown, and why. */
export function checkTerminal(
  surroundings: Surroundings,
  size: readonly [columns: number, rows: number] | undefined,
): Check {
  const { mode, reason, unicode } = chooseView(surroundings, { json: false, color: true })
  const shape = size === undefined ? '' : `, ${size[0]} × ${size[1]}`
  const letters = unicode ? 'Unicode' : 'ASCII'
  const found = reason === undefined ? `live view${shape}, ${letters}` : `plain lines: ${reason}`
  return { name: 'terminal', ok: true, found: mode === 'live' ? found : `${found}${shape}` }
}

export function checkJournal(address: string): Promise<Check> {
  const help = 'Check the path and its permissions. The file is not changed by looking at it.'
  return runCheck('journal', help, async () => {
    await using journal = await openJournal(address, { readOnly: true })
    const runs = await journal.runs()
    const open = runs.filter(({ state }) => state === 'interrupted')
    const resumable = open.length === 0 ? '' : `, ${open.length} interrupted`
    return `${journal.address}: ${plural(runs.length, 'run')}${resumable}`
  })
}
