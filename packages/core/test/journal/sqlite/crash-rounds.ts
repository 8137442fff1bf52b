/**
 * Kills a writing process again and again, and looks each time at what is left.
 *
 * A step is three rows: ready, a line of its log, and its success with a value that follows from its
 * number. Steps are added in order, so the remaining ones must be a prefix of that order.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Durability, Journal } from '../../../src/journal/journal.ts'
import { openJournal } from '../../../src/journal/open-journal.ts'
import { seededRandom, type Random } from '../../../src/kernel/random.ts'
import { newFolder } from './store-folder.ts'

export const runId = 'crash'

/** Small ones, none, ones of some size, and now and then one that is a file. */
export function valueOfStep(step: number): unknown {
  if (step % 5 === 0) return undefined
  if (step % 97 === 13) return { step, text: `${step} `.repeat(40_000) }
  if (step % 11 === 3) return { step, bytes: new Uint8Array(3000).fill(step % 251) }
  return { step, list: [step, `${step}`, null] }
}

/** The first step whose success is not in the journal. */
export async function nextStep(journal: Journal): Promise<number> {
  const { counts } = await journal.snapshot(runId)
  return counts.succeeded ?? 0
}

/** Runs the writer until it has acknowledged this many more steps, and kills it. Returns the last one. */
async function writeAndKill(
  file: string,
  durability: Durability,
  patience: number,
): Promise<number | undefined> {
  const program = path.join(import.meta.dirname, 'fixtures/crash-writer.ts')
  const child = spawn(process.execPath, [program, file, durability], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  let rest = ''
  let count = 0
  let last: number | undefined
  for await (const chunk of child.stdout) {
    const lines = (rest + String(chunk)).split('\n')
    rest = lines.pop()!
    for (const line of lines) {
      if (line !== 'open') last = Number(line)
      count++
    }
    if (count > patience) child.kill('SIGKILL')
  }
  const [code, signal] = (await exited) as [number | null, string | null]
  assert.deepEqual([code, signal], [null, 'SIGKILL'], 'the writer ended by itself')
  return last
}

/** What must hold of the rows, whatever happened. Returns how many steps succeeded. */
async function checkRows(journal: Journal, random: Random): Promise<number> {
  let position = 0
  let succeeded = 0
  let readied = 0
  for await (const row of journal.history(runId)) {
    assert.ok(row.position > position, 'positions grow')
    position = row.position
    // A writer continues with the first step that has not succeeded.
    if (row.kind === 'run') readied = succeeded
    if (row.kind === 'log') assert.equal(row.text, `line ${readied - 1}`)
    if (row.kind !== 'node') continue
    if (row.state === 'ready') assert.equal(row.attempt, readied++, 'no step is left out')
    else assert.equal(row.attempt, succeeded++, 'no success is left out or twice')
    assert.equal(row.node, `n${row.attempt}`)
  }
  const looks = new Set([succeeded - 1, succeeded - 2, succeeded - 3])
  for (let i = 0; i < 20; i++) looks.add(Math.floor(random.next() * succeeded))
  for (let step = 13; step < succeeded; step += 97) looks.add(step)
  for (const step of looks) {
    if (step < 0) continue
    assert.deepEqual(await journal.valueOf(runId, `n${step}`), valueOfStep(step), `value ${step}`)
  }
  return succeeded
}

/** Files that no row names are gone after a writer has opened the journal. */
async function checkFiles(file: string): Promise<void> {
  const files = await readdir(`${file}.values`).catch(() => [])
  using database = new DatabaseSync(file, { readOnly: true })
  const named = database.prepare("SELECT value FROM result WHERE typeof(value) = 'text'").all()
  assert.deepEqual(new Set(files), new Set(named.map(({ value }) => value)))
}

export interface CrashOptions {
  readonly rounds: number
  readonly seed: number
  readonly durability: Durability
  /** Acknowledgements per round at most. */
  readonly most: number
  readonly report?: (line: string) => void
}

export async function crashRounds(options: CrashOptions): Promise<void> {
  const { rounds, seed, durability, most, report } = options
  const random = seededRandom(seed)
  await using folder = await newFolder()
  const file = path.join(folder.path, 'runs.db')
  let acknowledged = -1
  for (let round = 1; round <= rounds; round++) {
    // The first round gets at least as far as a run; later ones may be killed at their first words.
    const patience = Math.floor(random.next() ** 2 * most) + (round === 1 ? 1 : 0)
    acknowledged = (await writeAndKill(file, durability, patience)) ?? acknowledged
    {
      await using reader = await openJournal(file, { readOnly: true })
      const [summary] = await reader.runs()
      assert.equal(summary?.state, 'interrupted')
      const succeeded = await checkRows(reader, random)
      assert.ok(
        succeeded > acknowledged,
        `${acknowledged} was acknowledged, ${succeeded} are there`,
      )
      report?.(`round ${round}: ${acknowledged + 1} acknowledged, ${succeeded} there`)
    }
    if (round % 4 !== 0) continue
    await using writer = await openJournal(file)
    await checkRows(writer, random)
    await checkFiles(file)
  }
}
