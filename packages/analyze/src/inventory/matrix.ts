/** The one-screen view: a row for each file, or for each folder when files are many. */
import path from 'node:path'
import { isAsyncLike } from '../blocking/async-like.ts'
import { compare } from '../blocking/find-blocking.ts'
import type { RootKind } from '../blocking/roots.ts'
import type { FileUnit } from '../ir/program.ts'
import type { Tag } from '../models/model.ts'
import type { NamedRoot } from './entry-points.ts'
import type { MatrixRow, TaggedName } from './inventory.ts'
import type { WorkFinder } from './work-finder.ts'

/** Rows that fit on a screen. */
const maxRows = 25

const nouns: Readonly<Record<RootKind, readonly [one: string, many: string]>> = {
  request: ['request handler', 'request handlers'],
  job: ['job', 'jobs'],
  timer: ['timer', 'timers'],
  event: ['listener', 'listeners'],
  'exported-async': ['async function', 'async functions'],
  exported: ['function', 'functions'],
  command: ['async function of a command', 'async functions of commands'],
  'start-up': ['module', 'modules'],
  'process-end': ['exit handler', 'exit handlers'],
}
const counted: readonly RootKind[] = [
  'request',
  'job',
  'timer',
  'event',
  'exported-async',
  'command',
  'process-end',
]

export function matrixOf(
  files: readonly FileUnit[],
  roots: readonly NamedRoot[],
  finder: WorkFinder,
): readonly MatrixRow[] {
  const byFile = rowsBy(files, roots, finder, ({ path: file }) => file)
  if (byFile.length <= maxRows) return byFile
  for (let depth = 6; depth > 1; depth -= 1) {
    const rows = rowsBy(files, roots, finder, (file) => folderOf(file, depth))
    if (rows.length <= maxRows) return rows
  }
  return rowsBy(files, roots, finder, (file) => folderOf(file, 1))
}

function folderOf({ path: file }: FileUnit, depth: number): string {
  const folders = path.posix.dirname(file).split('/')
  return `${folders.slice(0, depth).join('/')}/`
}

function rowsBy(
  files: readonly FileUnit[],
  roots: readonly NamedRoot[],
  finder: WorkFinder,
  componentOf: (file: FileUnit) => string,
): readonly MatrixRow[] {
  const components = new Map<string, FileUnit[]>()
  for (const file of files) {
    const component = componentOf(file)
    const known = components.get(component)
    if (known === undefined) components.set(component, [file])
    else known.push(file)
  }
  const rows: MatrixRow[] = []
  for (const [component, members] of components) {
    const own = roots.filter(({ unit }) => members.includes(unit.file))
    const items = members.flatMap(({ units }) => units.flatMap((unit) => finder.ownWork(unit)))
    const loop = counted.flatMap((kind) => {
      const many = own.filter((root) => root.kind === kind && isCounted(root)).length
      return many === 0 ? [] : [`${many} ${nouns[kind][many === 1 ? 0 : 1]}`]
    })
    const isRemaining = (tag: Tag): boolean => tag === 'CPU/LOOP'
    const elsewhere = countNames(items.filter(({ tag }) => !isRemaining(tag) && tag !== 'LOOP'))
    const remaining = countNames(
      items.filter(({ tag, isVague }) => isRemaining(tag) && isVague !== true),
    )
    if (loop.length + elsewhere.length + remaining.length === 0) continue
    rows.push({ component, loop, elsewhere, remaining })
  }
  return rows.toSorted((a, b) => compare(a.component, b.component))
}

/** For commands, only async functions count: their other functions start nothing. */
function isCounted({ kind, unit }: NamedRoot): boolean {
  return kind !== 'command' || isAsyncLike(unit)
}

function countNames(items: readonly { tag: Tag; name: string }[]): readonly TaggedName[] {
  const counts = new Map<string, { tag: Tag; name: string; count: number }>()
  for (const { tag, name } of items) {
    const key = `${tag} ${name}`
    const known = counts.get(key)
    if (known === undefined) counts.set(key, { tag, name, count: 1 })
    else known.count += 1
  }
  return [...counts.values()].toSorted(
    (a, b) => compare(a.tag, b.tag) || b.count - a.count || compare(a.name, b.name),
  )
}
