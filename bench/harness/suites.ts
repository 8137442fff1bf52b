import { readdir } from 'node:fs/promises'
import type { Row, Suite } from './row.ts'

const folder = new URL('../suites/', import.meta.url)

/** Every folder below `suites/` is a suite. */
export async function suiteNames(): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .toSorted()
}

/** The name must be one of {@link suiteNames}. */
export async function loadSuite(name: string): Promise<Suite> {
  const module = (await import(new URL(`${name}/suite.ts`, folder).href)) as { suite: Suite }
  return module.suite
}

export function findRow(suite: Suite, name: string): Row {
  const row = suite.rows.find((candidate) => candidate.name === name)
  if (row === undefined) throw new Error(`suite ${suite.name} has no row ${name}`)
  return row
}
