/** A run that is killed in the middle, and a run that resumes from there. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { openJournal, type RunSnapshot } from '@heddle/core/lowlevel'
import { heddle, startHeddle } from './heddle.ts'

/** How many jobs may finish before the accident. */
const patience = 9

export async function killDemo(graph: string, options: readonly string[]): Promise<number> {
  say(`npx heddle run ${graph}    # kill -9 after ${patience} jobs`)
  const killed = await runAndKill(['run', graph, ...options])
  if (killed.signalCode !== 'SIGKILL') return killed.exitCode ?? 1
  const before = await lastRun()
  const done = before.nodes.filter(({ state }) => state === 'succeeded')
  const cut = before.nodes.filter(({ state }) => state === 'running')
  console.log(`
Process ${killed.pid} is gone, and with it the ${cut.length} jobs that were running. It could not save anything
at the end; it had saved everything on the way.`)

  say('npx heddle runs')
  await heddle('runs', '--limit', '1')

  say(`npx heddle run ${graph} --resume`)
  const code = await heddle('run', graph, '--resume', before.id, ...options)
  if (code !== 0) return code

  const started = await startedAfter(before)
  const repeated = done.filter(({ name }) => started.has(name))
  console.log(`
${done.length} jobs had finished before the kill. Of these ${repeated.length} ran again; the results came from the journal:
  ${namesOf(done)}
${cut.length} jobs were running at the kill, and ran a second time:
  ${namesOf(cut)}`)
  return repeated.length
}

function namesOf(nodes: readonly { readonly name: string }[]): string {
  return nodes.map(({ name }) => name).join(', ')
}

function say(command: string): void {
  console.log(`\n$ ${command}\n`)
}

async function runAndKill(args: readonly string[]): Promise<ChildProcess> {
  const child = startHeddle(args, ['ignore', 'pipe', 'inherit'])
  let done = 0
  for await (const line of createInterface(child.stdout!)) {
    console.log(line)
    if (/^\S+ done /.test(line) && ++done === patience) child.kill('SIGKILL')
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return child
}

async function lastRun(): Promise<RunSnapshot> {
  await using journal = await openJournal('sqlite:.heddle/runs.db', { readOnly: true })
  const [last] = await journal.runs({ limit: 1 })
  return await journal.snapshot(last!.id)
}

/** Names of the jobs that were started after a moment of a run. */
async function startedAfter({ id, position }: RunSnapshot): Promise<Set<string>> {
  await using journal = await openJournal('sqlite:.heddle/runs.db', { readOnly: true })
  const rows = await Array.fromAsync(journal.history(id, { from: position }))
  return new Set(
    rows.flatMap((row) => (row.kind === 'node' && row.state === 'running' ? [row.node] : [])),
  )
}
