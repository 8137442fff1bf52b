/** Journals for tests of runs, and runs that were cut off at any row. */
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { TestContext } from 'node:test'
import { Graph, job, type NodeRef } from '@heddle/core'
import { openJournal, type HistoryEntry, type Journal, type Kernel } from '@heddle/core/lowlevel'
import type { RunHeader } from '../../src/journal/journal.ts'

/** A new folder that is removed after the test. */
export function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-run-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A way to get an empty journal that is closed after the test. */
export type OpenEmpty = (t: TestContext, kernel?: Kernel) => Promise<Journal>

/** The journals that a run must work with alike. */
export const journals: Readonly<Record<string, OpenEmpty>> = {
  memory: (t, kernel) => openFor(t, 'memory', kernel),
  sqlite: (t, kernel) => openFor(t, `sqlite:${path.join(temporaryFolder(t), 'runs.db')}`, kernel),
}

/** A journal that is closed after the test. */
export async function openFor(t: TestContext, address: string, kernel?: Kernel): Promise<Journal> {
  const journal = await openJournal(address, {
    durability: 'process',
    ...(kernel !== undefined && { kernel }),
  })
  t.after(() => journal.stop().catch(() => undefined))
  return journal
}

export async function historyOf(journal: Journal, run: string): Promise<HistoryEntry[]> {
  return Array.fromAsync(journal.history(run))
}

/** `node state` of every row of a node, in order. */
export function steps(history: readonly HistoryEntry[]): string[] {
  return history.flatMap((row) => (row.kind === 'node' ? [`${row.node} ${row.state}`] : []))
}

/** Successes by node. */
export function successes(history: readonly HistoryEntry[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const row of history) {
    if (row.kind !== 'node' || row.state !== 'succeeded') continue
    counts.set(row.node, (counts.get(row.node) ?? 0) + 1)
  }
  return counts
}

/**
 * Writes the first `rows` rows of a run into another journal and leaves it there: what a crash right
 * after that row leaves, for durability is a prefix (J2). Returns the id it has there.
 */
export async function cutOff(
  from: Journal,
  run: string,
  rows: number,
  into: Journal,
): Promise<string> {
  const history = await historyOf(from, run)
  const results = await Array.fromAsync(from.results(run))
  const parts = new Map<number, unknown>()
  for (const name of new Set(history.flatMap((row) => (row.kind === 'part' ? [row.node] : [])))) {
    for await (const { position, value } of from.parts(run, name)) parts.set(position, value)
  }
  const { title, startedAt, pid, host, command, options } = await from.snapshot(run)
  const id = `${run}-${rows}`
  const start = history.findIndex(({ kind }) => kind === 'run') + 1
  const nodes = history.slice(0, start).flatMap((row) => (row.kind === 'nodes' ? row.added : []))
  const header: RunHeader = { id, title, startedAt, pid, host, command, options, nodes }
  let writer = await into.openRun(header)
  for (const row of history.slice(start, rows)) {
    switch (row.kind) {
      case 'run':
        if (row.by === undefined) {
          writer.setState(row.state, row.at)
          break
        }
        await writer[Symbol.asyncDispose]()
        writer = await into.resumeRun(id, row.by)
        break
      case 'nodes':
        writer.addNodes(row.added)
        break
      case 'log':
        writer.log(row)
        break
      case 'node':
        if (row.state === 'succeeded') await writer.commit(row, results.shift()![1])
        else writer.append(row)
        break
      case 'part':
        if (row.state === 'succeeded') await writer.commit(row, parts.get(row.position))
        else writer.append(row)
    }
  }
  await writer[Symbol.asyncDispose]()
  return id
}

/** A graph whose jobs count their calls and fail on demand. */
export class CountedGraph {
  readonly graph = new Graph()
  readonly calls: string[] = []
  readonly failing = new Set<string>()

  /** `{ b: ['a'] }`: b after a. Each returns `job name(results of its dependencies)`. */
  add(nodes: Readonly<Record<string, readonly string[]>>): this {
    for (const [name, after] of Object.entries(nodes)) this.addNode(name, after)
    return this
  }

  addNode(name: string, after: readonly string[], jobName = 'call'): NodeRef<string> {
    const call = job({ name: jobName }, async (inputs: readonly string[]) => {
      this.calls.push(name)
      if (this.failing.has(name)) throw new Error(`${name} broke`)
      return `${jobName} ${name}(${inputs.join(' ')})`
    })
    const dependencies = after.map((dependency): NodeRef<string> => ({ name: dependency }))
    return this.graph.add(name, call, {
      after: dependencies,
      input: (of) => dependencies.map((dependency) => of(dependency)),
    })
  }
}
